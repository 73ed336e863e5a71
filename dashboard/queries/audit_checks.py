"""What the verifications of the audit log found last, by how they were run, and when the log was last anchored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from dashboard.models import AuditCheck


class Way(StrEnum):
    """How the log was verified: on the screen, by command, by command with anchors or keys, or to anchor it."""

    SCREEN = "screen"
    COMMAND = "command"
    GIVEN = "given"
    ANCHOR = "anchor"


@dataclass(frozen=True)
class AuditStanding:
    """The last check of each way, and the last that found nothing wrong; nothing where there was none."""

    last: Mapping[Way, AuditCheck]
    intact: Mapping[Way, AuditCheck]

    @property
    def checked_at(self) -> datetime | None:
        """When the whole log was last verified, whatever was found."""
        return max((check.at for check in self.last.values()), default=None)

    @property
    def anchored_at(self) -> datetime | None:
        """When an anchor was last written: that takes a log without a fault."""
        return self.intact[Way.ANCHOR].at if Way.ANCHOR in self.intact else None

    @property
    def failed(self) -> AuditCheck | None:
        """The finding that stands: no later check that compared as much was without one."""
        proven = False
        for check in sorted(self.last.values(), key=lambda each: each.id, reverse=True):
            if check.problem is not None and (check.way == Way.GIVEN or not proven):
                return check
            if check.problem is None and check.way == Way.GIVEN:
                return None
            proven = proven or check.problem is None
        return None


def audit_standing(session: Session) -> AuditStanding:
    """How the log stands by what is kept of its verifications; one query over a bounded table."""
    intact = case((AuditCheck.problem.is_(None), 1), else_=0)
    newest = select(func.max(AuditCheck.id)).group_by(AuditCheck.way, intact)
    found = session.scalars(select(AuditCheck).where(AuditCheck.id.in_(newest)).order_by(AuditCheck.id)).all()
    known = [check for check in found if check.way in set(Way)]
    return AuditStanding(
        last={Way(check.way): check for check in known},
        intact={Way(check.way): check for check in known if check.problem is None},
    )
