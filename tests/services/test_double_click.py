"""The same form twice at once, with the first done at the worst moment of the second: still one result, twice told."""

import pytest
from sqlalchemy import event, func, select

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.permissions import Role
from dashboard.domain.policy import Policies, TypePolicy
from dashboard.models import Action, AuditEntry, Operation
from dashboard.services.actions import ActionForm, ActionRequest, Performed, perform
from tests import factories

POLICIES = Policies(types={"charge_order": TypePolicy(compensation="refund_order")})
FORM = ActionForm("form-1", 1, "charged_twice", factories.NOTE)


def compensate(database: Database, operation_id: str) -> Performed:
    request = ActionRequest(factories.actor(Role.OPERATOR), operation_id, ActionName.COMPENSATE, POLICIES)
    return perform(database, request, FORM)


# SQLite has one writer at a time: there the second waits before it has read anything.
@pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"])
def test_a_second_click_finds_what_the_first_has_done_meanwhile(database: Database) -> None:
    operation_id = transact(database, lambda session: factories.operation(session).operation_id)
    slow = Database(database.url.render_as_string(hide_password=False))
    first: list[bool] = []

    def overtake(*given: object) -> None:
        # The second has looked for its key and now looks for compensations.
        if "operations.parent_id =" in str(given[2]) and not first:
            first.append(True)
            assert not compensate(database, operation_id).repeated

    event.listen(slow.engine, "before_cursor_execute", overtake)
    second = compensate(slow, operation_id)
    slow.dispose()
    assert (second.repeated, second.child_operation_id) == (True, f"{operation_id}~compensation-1")
    with reading(database) as session:
        counts = [session.scalar(select(func.count()).select_from(table)) for table in (Action, Operation, AuditEntry)]
    assert counts == [1, 2, 1]
