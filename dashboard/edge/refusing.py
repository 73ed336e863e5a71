"""Refusals at the gate: no service learns of these attempts, so they are audited here, unless they are a mere look."""

from flask import request

from dashboard.db import clock
from dashboard.domain.errors import NotAllowedError
from dashboard.domain.permissions import Permission
from dashboard.edge.context import actor, write
from dashboard.services import audit

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def refusal(needed: Permission) -> NotAllowedError:
    """The refusal of who lacks a permission."""
    refused = NotAllowedError(permission=needed.value)
    if request.method not in SAFE_METHODS:
        asking, subject = actor(), request.path
        evidence = {"code": refused.code, "permission": needed.value, "method": request.method}
        write(
            lambda session: audit.append(
                session,
                actor=asking,
                action="request",
                subject=subject,
                now=clock(session),
                outcome=audit.REFUSED,
                evidence=evidence,
            )
        )
    return refused
