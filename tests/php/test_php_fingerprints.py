"""The fingerprint of the PHP example is ours, for everything that it takes; the rest it refuses."""

import json
import subprocess
from typing import Any

import pytest

from dashboard.domain.fingerprint import canonical_bytes, field_digests, fingerprint, parse_payload
from tests.php.conftest import EXAMPLE
from tests.sql_door import statements

VECTORS = json.loads((EXAMPLE / "vectors.json").read_text(encoding="utf-8"))
PRINT = """
require $argv[1] . '/fingerprint.php';
$secret = $argv[2];
foreach (json_decode(stream_get_contents(STDIN)) as $body) {
    try {
        $content = read_json($body);
        $told[] = [canonical($content), fingerprint($content), (object) field_digests($content, $secret)];
    } catch (PayloadException $error) {
        $told[] = null;
    }
}
echo json_encode($told);
"""
COMPARE = "echo json_encode(require $argv[1] . '/statements.php');"


def ask(php: str, code: str, *arguments: str, given: object = None) -> Any:
    command = [php, "-r", code, "--", str(EXAMPLE), *arguments]
    return json.loads(subprocess.check_output(command, input=json.dumps(given), text=True))


@pytest.mark.parametrize("vector", VECTORS["fingerprints"], ids=lambda vector: vector["body"][:20])
def test_the_vectors_are_ours(vector: dict[str, Any]) -> None:
    payload = parse_payload(vector["body"])
    assert canonical_bytes(payload).decode() == vector["canonical"]
    assert fingerprint(payload) == vector["fingerprint"]
    assert field_digests(payload, secret=VECTORS["secret"].encode()) == vector["digests"]


def test_php_agrees_with_every_vector(php: str) -> None:
    bodies = [vector["body"] for vector in VECTORS["fingerprints"]]
    told = ask(php, PRINT, VECTORS["secret"], given=bodies)
    expected = [[vector["canonical"], vector["fingerprint"], vector["digests"]] for vector in VECTORS["fingerprints"]]
    assert told == expected


def test_php_refuses_what_it_cannot_read_exactly(php: str) -> None:
    assert ask(php, PRINT, "secret", given=VECTORS["refused"]) == [None] * len(VECTORS["refused"])


@pytest.mark.parametrize(("driver", "engine"), [("pgsql", "postgresql"), ("mysql", "mariadb")])
def test_the_statements_of_the_example_are_those_of_the_document(php: str, driver: str, engine: str) -> None:
    assert ask(php, COMPARE)[driver] == statements(engine)
