"""What a person may ask for follows from the table of transitions."""

import pytest

from dashboard.domain.actions import ActionName, available_actions
from dashboard.domain.states import State, Trigger, targets

EXPECTED = {
    "pending": ["close"],
    "processing": [],
    "retry_scheduled": ["close", "escalate"],
    "awaiting_confirmation": ["escalate"],
    "manual_review": ["requeue", "compensate", "close", "confirm"],
    "confirmed": ["reopen"],
    "compensated": ["reopen"],
    "not_applicable": ["reopen"],
}


@pytest.mark.parametrize("state", State)
def test_each_state_offers_its_actions(state: State) -> None:
    assert list(available_actions(state)) == EXPECTED[state]


@pytest.mark.parametrize("state", State)
def test_every_offered_action_leads_somewhere(state: State) -> None:
    for action in available_actions(state):
        assert targets(state, trigger=Trigger(action)) is not state


def test_every_action_is_a_trigger() -> None:
    assert [Trigger(action).value for action in ActionName] == list(ActionName)
