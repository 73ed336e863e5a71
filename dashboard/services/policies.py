"""The reviewed policy file: read whole and checked, kept by the hash of its bytes.

`load_policies` gives the policies in force, or one problem a key path; `remember` keeps a version that was never
seen before and says so in the audit log.
"""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind
from dashboard.models import PolicyVersion
from dashboard.services import audit, policy_building
from dashboard.services.policy_environment import unmet_needs
from dashboard.services.policy_file import PolicyFile
from dashboard.services.policy_problems import located, problems_of
from dashboard.services.policy_rules import broken_rules

__all__ = ["Checked", "Policies", "check_policies", "load_policies", "read_policies", "remember"]


SYSTEM = Actor(ActorKind.SYSTEM, "policies")


class Checked(NamedTuple):
    """What is wrong with a policy file; `notes` are worth knowing and stop nothing."""

    policies: Policies | None
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]


def load_policies(path: Path | None, *, environment: Mapping[str, str] = os.environ) -> Policies:
    """Read a policy file; raises InvalidInputError with one problem a key path.

    Secrets stay in the environment: one that is missing is found by `policy check`, and when it is needed.
    """
    if path is None:
        return Policies()
    content = path.read_bytes()
    return read_policies(content, environment=environment)


def read_policies(content: bytes, *, environment: Mapping[str, str]) -> Policies:
    """Read the bytes of a policy file; raises InvalidInputError with one problem a key path."""
    text = _text(content)
    file = read_file(text)
    if problems := broken_rules(file, environment):
        raise InvalidInputError(located(problems, text))
    return Policies(
        hash=hashlib.sha256(content).hexdigest(),
        text=text,
        types=policy_building.type_policies(file),
        destinations=policy_building.destinations(file, environment),
        sinks=policy_building.sinks(file, environment),
        defaults=policy_building.default_policy(file),
        alerts=policy_building.alerting(file.alerts, environment),
    )


def read_file(text: str) -> PolicyFile:
    """Read the tables of a policy file, each key checked by itself; raises InvalidInputError."""
    document = _document(text)
    keys: dict[int, tuple[str, ...]] = {}
    try:
        return PolicyFile.model_validate(document, context=keys)
    except ValidationError as error:
        raise InvalidInputError(located(problems_of(error, document, keys), text)) from error


def check_policies(content: bytes, *, environment: Mapping[str, str]) -> Checked:
    """Find all that is wrong with the bytes of a policy file, on this machine too: unset variables, lost functions."""
    try:
        text = _text(content)
        file = read_file(text)
    except InvalidInputError as error:
        return Checked(None, error.problems, ())
    needs = unmet_needs(file, environment)
    problems = located((*broken_rules(file, environment), *needs.problems), text)
    policies = None if problems else read_policies(content, environment=environment)
    return Checked(policies, problems, located(needs.notes, text))


def remember(session: Session, policies: Policies, *, now: datetime, actor: Actor = SYSTEM) -> bool:
    """Keep a version that was never seen and say so in the audit log; tell whether it was new."""
    if policies.hash is None:
        return False
    before = session.scalar(select(PolicyVersion.hash).order_by(PolicyVersion.first_seen_at.desc()).limit(1))
    try:
        with session.begin_nested():
            session.add(PolicyVersion(hash=policies.hash, content=policies.text, first_seen_at=now))
    except IntegrityError:
        return False
    audit.append(
        session,
        actor=actor,
        action="policy_version",
        subject=policies.hash,
        now=now,
        before={"hash": before} if before else None,
        after={"hash": policies.hash, "types": sorted(policies.types), "destinations": sorted(policies.destinations)},
    )
    return True


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _unreadable(f"byte {error.start} is not UTF-8") from error


def _document(text: str) -> dict[str, Any]:
    try:
        # Decimal, because an amount must not lose a digit; some editors begin a file with a byte order mark.
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unreadable(str(error)) from error


def _unreadable(reason: str) -> InvalidInputError:
    return InvalidInputError((Problem("policies", "policy_unreadable", {"reason": reason}),))
