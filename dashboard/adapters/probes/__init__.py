"""Probes: read-only questions to a destination about one operation.

A probe is a function `(rule, destination, question) -> Answer`. It never raises: whatever goes wrong becomes an
answer that failed, with the reason. It is never called while a transaction is open. To add a kind, copy a neighbour
and name it in `PROBES`; a kind that needs more than these three (a database, say) is bound by its caller and joined
to `PROBES` in `dashboard.services.asking`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dashboard.adapters.probes.http import probe as http
from dashboard.adapters.probes.python import probe as python
from dashboard.adapters.probes.sql import probe as sql
from dashboard.domain.answers import Answer, Question
from dashboard.domain.policy import Destination, ProbeRule

Probe = Callable[[ProbeRule, Destination, Question], Answer]

PROBES: Mapping[str, Probe] = MappingProxyType({"http": http, "python": python, "sql": sql})
