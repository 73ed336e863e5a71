"""The queue in groups: they add up to the list, whatever the filter lets through."""

from itertools import product

import pytest

from dashboard.db import Database, reading, transaction
from dashboard.domain.permissions import Scope
from dashboard.queries.operations import NONE, OperationFilter, count_operations
from dashboard.queries.queue import MAX_GROUPS, queue_of
from tests.factories import NOW, operation

ALL = (Scope(None, None),)
# A host may write the word that stands for nothing in a filter.
VERDICTS = (None, "divergent", NONE)
FILTERS = [
    OperationFilter(exceptions=True),
    OperationFilter(exceptions=True, types=frozenset({"charge_order"})),
    OperationFilter(exceptions=True, verdicts=frozenset({NONE})),
    OperationFilter(exceptions=True, verdicts=frozenset({NONE, "divergent"}), causes=frozenset({"sent_unknown"})),
    OperationFilter(exceptions=True, causes=frozenset({NONE}), tenants=frozenset({"tienda-es"})),
    OperationFilter(exceptions=True, types=frozenset({"nothing"})),
]


@pytest.fixture
def filled(database: Database) -> Database:
    with transaction(database) as session:
        for kind, verdict, cause in product(("charge_order", "sync_customer"), VERDICTS, (None, "sent_unknown")):
            for _ in range(2 if kind == "charge_order" else 1):
                operation(session, type=kind, verdict=verdict, cause=cause)
        operation(session, state="confirmed")
    return database


@pytest.mark.parametrize("filters", FILTERS, ids=range(len(FILTERS)))
def test_the_groups_of_a_filter_are_as_many_as_its_list(filled: Database, filters: OperationFilter) -> None:
    with reading(filled) as session:
        queue = queue_of(session, filters, scopes=ALL, now=NOW)
        assert queue.chosen == count_operations(session, filters, scopes=ALL, now=NOW).value


def test_the_largest_groups_stand_first_and_all_are_counted(filled: Database) -> None:
    with reading(filled) as session:
        queue = queue_of(session, OperationFilter(exceptions=True), scopes=ALL, now=NOW)
    assert [group.size for group in queue.groups] == sorted((group.size for group in queue.groups), reverse=True)
    assert (len(queue.groups), queue.size) == (min(12, MAX_GROUPS), 18)
