"""The Python door for requests that may come twice: a key is taken once, and everybody else gets what came of it.

1. A view of Flask takes `idempotent` from `dashboard.idempotency.views`; any WSGI application `protect` from
   `dashboard.idempotency.wsgi`.
2. Other code asks `Idempotency` itself: `reserve`, then `complete`, `fail`, `release` or `leave_pending`.
3. `door.within(session)` does so in the host's own transaction, which nothing here commits. Flask is not needed.

An event that is delivered more than once gets its key from `key_for`. What clients may rely on is in
`docs/idempotency.md`.
"""

from dashboard.db import Database
from dashboard.domain.errors import InvalidInputError, LostRaceError, NotFoundError
from dashboard.domain.fingerprint import PayloadError
from dashboard.domain.key_syntax import Profile, key_for, read_key
from dashboard.domain.keys import KeyState
from dashboard.domain.reservations import Answer, Conflict, Outcome, Owned, Replay, Unfinished
from dashboard.idempotency.door import Idempotency
from dashboard.idempotency.exchange import Execution, NotProtectedError, current
from dashboard.idempotency.rules import RuleBook, Rules
from dashboard.services.reservations import Request

__all__ = [
    "Answer",
    "Conflict",
    "Database",
    "Execution",
    "Idempotency",
    "InvalidInputError",
    "KeyState",
    "LostRaceError",
    "NotFoundError",
    "NotProtectedError",
    "Outcome",
    "Owned",
    "PayloadError",
    "Profile",
    "Replay",
    "Request",
    "RuleBook",
    "Rules",
    "Unfinished",
    "current",
    "key_for",
    "read_key",
]
