"""What a list of operations offers for many at once: the actions to ask for, and the filter to take along."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from flask import request

from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ASKING
from dashboard.domain.permissions import ACTION_PERMISSION, Actor, holds
from dashboard.edge.filters import Args
from dashboard.web.labels import label
from dashboard.web.operation_filters import NAMES

LISTS: Mapping[str, str] = {
    "exceptions": "operation_lists.exceptions",
    "operations": "operation_lists.operations",
}


def choice(*, exceptions: bool, asking: Actor) -> dict[str, Any]:
    """Give what the form around a list's rows holds; no actions for whoever may ask for none."""
    return {
        "actions": actions_to_ask_for(asking),
        "filters": kept_filters(request.args),
        "list": "exceptions" if exceptions else "operations",
        "form_key": uuid4().hex,
    }


def actions_to_ask_for(asking: Actor) -> list[tuple[str, str]]:
    """Give the actions that the person may ask for anywhere, with their names."""
    return [(name.value, label("action", name.value)) for name in ActionName if _may(asking, name)]


def kept_filters(args: Args) -> list[tuple[str, str]]:
    """Give the filter of a list as the fields of a form."""
    return [(name, value) for name, value in args.items(multi=True) if name in NAMES and value.strip()]


def _may(asking: Actor, name: ActionName) -> bool:
    return holds(asking.grants, ASKING[name]) or holds(asking.grants, ACTION_PERMISSION[name])
