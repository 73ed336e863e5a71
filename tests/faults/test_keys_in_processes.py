"""Many processes, one key: what is killed, and what comes at once."""

import dataclasses
from pathlib import Path

import pytest

from dashboard.db import Database
from dashboard.idempotency import Rules
from dashboard.idempotency.content import content_from
from tests.faults.key_host import ADDRESS, KEY, ORDER, client
from tests.faults.keyed import WRONG_CLOCK, answers, effects_in, facts, program
from tests.services.reserving import SECRET, let_lease_end, own, record, request


@pytest.fixture(autouse=True)
def _counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    effects_in(tmp_path, monkeypatch)


def test_fifty_threads_of_two_processes_make_one_effect(database: Database) -> None:
    """Fault 4: one execution; everybody else 202, or the same bytes."""
    processes = [program(database, requests=50, SECONDS="0.3") for _ in range(2)]
    found = [answer for process in processes for answer in answers(process)]
    assert len(found) == 100
    done = {body for status, body in found if status == 201}
    assert len(done) == 1
    assert {status for status, _body in found} <= {201, 202}
    assert facts(database) == (1, ["completed"])
    assert record(database).replay_count == sum(status == 201 for status, _body in found) - 1


def test_a_kill_before_the_response_leaves_the_answer_to_the_retry(database: Database) -> None:
    """Fault 3: killed once the outcome is recorded, before the first byte left."""
    killed = program(database, BEHAVIOUR="die before the answer")
    assert killed.wait(60) == -9
    killed.communicate()
    kept = record(database).response_body
    again = client(database).post(ADDRESS, json=ORDER, headers=KEY)
    assert (again.status_code, again.data, again.headers["Idempotent-Replayed"]) == (201, kept, "true")
    assert again.json is not None
    assert again.json["by"] == killed.pid
    assert facts(database) == (1, ["completed"])


@pytest.mark.parametrize(("behaviour", "effects"), [("die before", 0), ("die after", 1)])
def test_a_kill_in_the_work_leaves_the_key_pending(sqlite_database: Database, behaviour: str, effects: int) -> None:
    """Faults 1 and 2: nobody starts it again, and the effect is looked for."""
    database = sqlite_database
    killed = program(database, BEHAVIOUR=behaviour)
    assert killed.wait(60) == -9
    killed.communicate()
    sender = client(database)
    assert sender.post(ADDRESS, json=ORDER, headers=KEY).status_code == 202
    let_lease_end(database)
    again = sender.post(ADDRESS, json=ORDER, headers=KEY)
    assert again.json is not None
    assert (again.status_code, again.json["code"]) == (202, "idempotency_pending")
    assert facts(database) == (effects, ["pending"])


@pytest.mark.parametrize(("shift", "ended"), [("600", False), ("-600", True)])
@pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"], indirect=True)
def test_a_wrong_client_clock_ends_no_lease_and_keeps_none(database: Database, shift: str, *, ended: bool) -> None:
    """Fault 19: the database's clock decides. SQLite has no clock but the client's."""
    said = content_from(("POST", ADDRESS, ""), kind="json", payload=ORDER, rules=Rules(), secret=SECRET)
    own(database, dataclasses.replace(request(), fingerprint=said.fingerprint))
    if ended:
        let_lease_end(database)
    ((status, body),) = answers(program(database, CLOCK_SHIFT=shift, PYTHONPATH=str(WRONG_CLOCK)))
    assert (status, "idempotency_pending" in body) == (202, ended)
    assert facts(database) == (0, ["pending" if ended else "processing"])
