"""The probes that ask nobody: they read the evidence that a destination sent by itself."""

from collections.abc import Mapping

from dashboard.adapters.probes import Probe
from dashboard.adapters.probes.received import answer_from
from dashboard.db import Database, reading
from dashboard.domain.answers import Answer, Question
from dashboard.domain.policy import Destination, ProbeRule
from dashboard.domain.received import Source
from dashboard.queries import evidence


def received_probes(database: Database) -> Mapping[str, Probe]:
    """The probes `file` and `receipt`, on this database."""

    def probe(rule: ProbeRule, destination: Destination, question: Question) -> Answer:
        with reading(database) as session:
            items = evidence.received_about(session, question.operation_id)
            covered = evidence.covered_until(session, destination.name)
        return answer_from(items, rule, destination, question, covered_until=covered)

    return {source.value: probe for source in Source}
