"""The application behind `/api/v1`: wiring only."""

from collections.abc import Callable

from flask import Blueprint, Flask
from flask_babel import Babel

from dashboard.api import (
    actions,
    alerts,
    audit,
    document,
    figures,
    gate,
    keys,
    operations,
    plans,
    problems,
    reconciliation,
    work,
)
from dashboard.db import Database
from dashboard.domain.errors import OperationsError, Problem
from dashboard.domain.policy import Policies
from dashboard.edge.context import refuse_unmarked
from dashboard.idempotency import Idempotency, RuleBook, Rules

BLUEPRINTS: tuple[Blueprint, ...] = (
    actions.blueprint,
    alerts.blueprint,
    audit.blueprint,
    document.blueprint,
    figures.blueprint,
    keys.blueprint,
    operations.blueprint,
    plans.blueprint,
    reconciliation.blueprint,
    work.blueprint,
)


def create_api(
    *, database: Database, policies: Policies, secret: str, words: Callable[[OperationsError | Problem], str]
) -> Flask:
    """Make the application; `words` puts what the layers below refuse into a sentence."""
    api = Flask(__name__, static_folder=None)
    api.json.sort_keys = False  # type: ignore[attr-defined]  # of Flask's own provider, not of its interface
    api.extensions["dashboard.database"] = database
    api.extensions["dashboard.policies"] = policies
    api.extensions["dashboard.words"] = words
    api.extensions["dashboard.idempotency"] = Idempotency(database, secret.encode(), _rules(policies))
    Babel(api, default_locale="en", locale_selector=lambda: "en")
    gate.install(api)
    problems.install(api)
    api.url_map.converters["whole"] = keys.WholeConverter
    api.url_map.merge_slashes = False
    for blueprint in BLUEPRINTS:
        api.register_blueprint(blueprint)
    refuse_unmarked(api)
    document.refuse_undescribed(api)
    return api


def _rules(policies: Policies) -> RuleBook:
    """Keys named after a type of operation are kept as long as its policy keeps everything else."""
    return RuleBook({name: Rules(retention=policy.retention) for name, policy in policies.types.items()})
