"""What operations are called: the words of their type and the entity they are about."""

from typing import Any

from dashboard.domain.text import visible
from dashboard.web.language import gettext


def operation_title(row: Any) -> str:
    """Give a short name: "Charge order 2251", or "Create shipment · order 2251" where the type names no entity."""
    words = type_name(row.type)
    if row.type.lower().endswith(row.entity_type.lower()):
        return visible(f"{words} {row.entity_id}")
    return visible(f"{words} · {entity_name(row)}")


def type_name(operation_type: str) -> str:
    """Give the words of a type: "charge_order" is "Charge order"."""
    words = operation_type.replace("_", " ").strip() or operation_type
    return visible(words[:1].upper() + words[1:])


def entity_name(row: Any) -> str:
    """Give the entity in words: "order 2251"."""
    return visible(f"{row.entity_type.replace('_', ' ')} {row.entity_id}")


def versioned_entity(row: Any) -> str:
    """Give the entity with the version the operation is about, where it names one."""
    if row.expected_version is None:
        return entity_name(row)
    return gettext("%(entity)s, version %(version)s", entity=entity_name(row), version=row.expected_version)
