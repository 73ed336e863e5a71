"""The facts that history is counted from: what each is called, and the days they are counted by."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

ONE_DAY = timedelta(days=1)
IN_TIME = "in_time"
LATE = "late"


class Fact(StrEnum):
    """Something that happened once to an operation or a key, on one UTC day.

    The first three follow what the rows say now; the others are events, and each has a row of its own in
    `operation_facts`. Labels: a verdict's name, `in_time` or `late`, the cause of a retry (`absent` for a reconciler's,
    `requeue` for a person's), the code of a failed probe, the state that was reopened; else blank.
    """

    VERDICT = "verdict"
    CONFIRMED = "confirmed"
    CREATED = "created"
    RETRY = "retry"
    PROBE_FAILED = "probe_failed"
    CONTRADICTED = "contradicted"
    REOPENED = "reopened"
    KEY_CONFLICT = "key_conflict"


# The name that the design gives to the whole set.
Facts = Fact
FROM_ROWS = frozenset({Fact.VERDICT, Fact.CONFIRMED, Fact.CREATED})
LISTED = frozenset(Fact) - FROM_ROWS


@dataclass(frozen=True)
class Period:
    """Whole UTC days from `first` to `last`, both counted."""

    first: date
    last: date

    @classmethod
    def of(cls, *, days: int, now: datetime) -> "Period":
        """Today and the days before it, `days` in all."""
        today = now.astimezone(UTC).date()
        return cls(today - (days - 1) * ONE_DAY, today)

    @property
    def since(self) -> datetime:
        """The first instant inside."""
        return datetime(self.first.year, self.first.month, self.first.day, tzinfo=UTC)

    @property
    def until(self) -> datetime:
        """The first instant after it, as far as there is one."""
        if self.last == date.max:
            return datetime.max.replace(tzinfo=UTC)
        return datetime(self.last.year, self.last.month, self.last.day, tzinfo=UTC) + ONE_DAY

    @property
    def days(self) -> list[date]:
        """Each day in turn."""
        return [self.first + number * ONE_DAY for number in range((self.last - self.first).days + 1)]
