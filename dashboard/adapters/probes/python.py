"""Ask through a function of the host: `entry` names it as `module:function`.

The function takes the Question. It gives an Answer, or what the destination said: a mapping or a list of mappings is
one candidate or several, and a mapping with `candidates` is a whole answer that `as_of` and `partial` look into.
None is no candidate. An exception is an answer that failed.
"""

import importlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from dashboard.adapters.probes.reading import read_answer
from dashboard.domain.answers import Answer, Question, failure
from dashboard.domain.policy import Destination, ProbeRule
from dashboard.domain.redaction import redact_text

CANDIDATES = "candidates"
LONGEST_REASON = 300


def probe(rule: ProbeRule, _destination: Destination, question: Question) -> Answer:
    """Call the host's function; whatever it raises is an answer that failed."""
    try:
        found = _function(str(rule.settings.get("entry", "")))(question)
    except Exception as error:  # noqa: BLE001 - a host's function may raise anything, and must not end the pass
        return failure("function_failed", redact_text(f"{type(error).__name__}: {error}")[:LONGEST_REASON])
    if isinstance(found, Answer):
        return found
    document, items = _as_document(found)
    settings = {**rule.settings, "items": items}
    return read_answer(ProbeRule(rule.kind, settings), question, document, viewed_at=question.now)


def _as_document(found: Any) -> tuple[object, str | None]:
    if found is None:
        return [], None
    if isinstance(found, Mapping) and CANDIDATES in found:
        return found, CANDIDATES
    return (list(found) if isinstance(found, tuple) else found), None


@lru_cache(maxsize=64)
def _function(entry: str) -> Callable[[Question], Any]:
    module, _, name = entry.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    function: Callable[[Question], Any] = found
    return function
