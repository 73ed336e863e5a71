"""The kept results of verifications of the audit log in words: the last of each way, and the finding that stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from flask_babel import LazyString

from dashboard.domain.permissions import Actor
from dashboard.domain.text import visible
from dashboard.models import AuditCheck
from dashboard.queries.audit import reads
from dashboard.queries.audit_checks import AuditStanding, Way
from dashboard.services.audit import Verification
from dashboard.web.formatting import moment_title
from dashboard.web.language import gettext, lazy_gettext
from dashboard.web.verifications import Finding, finding_of

WAYS: Mapping[Way, LazyString] = {
    Way.SCREEN: lazy_gettext("On this screen"),
    Way.COMMAND: lazy_gettext("By command"),
    Way.GIVEN: lazy_gettext("By command, with anchors or keys"),
    Way.ANCHOR: lazy_gettext("Before anchoring"),
}


@dataclass(frozen=True)
class LastCheck:
    """The last verification of one way; `at` is None where no result of it is kept, `who` where it is not for all."""

    label: str
    at: datetime | None = None
    who: str | None = None
    finding: Finding | None = None


def last_checks(standing: AuditStanding, *, reader: Actor) -> Sequence[LastCheck]:
    """One for each way, in the order of the page."""
    return [_last(way, standing.last.get(way), reader=reader) for way in WAYS]


def standing_finding(standing: AuditStanding) -> Finding | None:
    """What is wrong with the log by its kept results, and since when it is known; None where nothing is."""
    failed = standing.failed
    if failed is None:
        return None
    found = finding_of(_verification(failed))
    known = [
        gettext("%(way)s: %(when)s.", way=str(WAYS[Way(failed.way)]), when=moment_title(failed.at)),
        *_intact_before(standing, failed),
    ]
    return Finding("danger", found.short, found.title, " ".join([found.text, *known]), found.steps, found.broken_seq)


def _last(way: Way, check: AuditCheck | None, *, reader: Actor) -> LastCheck:
    if check is None:
        return LastCheck(str(WAYS[way]))
    is_known = reads(reader, actor_id=check.actor_id, tenant=None, type=None)
    who = visible(check.actor_id) if is_known else None
    return LastCheck(str(WAYS[way]), check.at, who, finding_of(_verification(check)))


def _intact_before(standing: AuditStanding, failed: AuditCheck) -> list[str]:
    before = [check.at for check in standing.intact.values() if check.id < failed.id]
    return [gettext("Last found intact: %(when)s.", when=moment_title(max(before)))] if before else []


def _verification(check: AuditCheck) -> Verification:
    return Verification(
        check.checked, check.head_hash, check.broken_seq, check.problem, check.detail, check.runs, check.anchors
    )
