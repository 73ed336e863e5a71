"""The web application: wiring only."""

from flask import Blueprint, Flask

from dashboard.config import Settings
from dashboard.db import Database
from dashboard.edge.context import refuse_unmarked
from dashboard.resources import resource_dir
from dashboard.services.policies import load_policies
from dashboard.web import (
    account,
    actions,
    approvals,
    audit,
    checks,
    claims,
    errors,
    evidence,
    formatting,
    frame,
    health,
    idempotency,
    login,
    navigation,
    operation_actions,
    operation_lists,
    operations,
    outbox,
    outbox_decisions,
    overview,
    policies,
    provider,
    receipts,
    reconciliation,
    reveals,
    search,
    security,
    sign_on,
    windows,
)

BLUEPRINTS: tuple[Blueprint, ...] = (
    account.blueprint,
    actions.blueprint,
    approvals.blueprint,
    audit.blueprint,
    checks.blueprint,
    claims.blueprint,
    evidence.blueprint,
    health.blueprint,
    idempotency.blueprint,
    login.blueprint,
    operation_actions.blueprint,
    operation_lists.blueprint,
    operations.blueprint,
    outbox.blueprint,
    outbox_decisions.blueprint,
    overview.blueprint,
    policies.blueprint,
    receipts.blueprint,
    reconciliation.blueprint,
    reveals.blueprint,
    search.blueprint,
    sign_on.blueprint,
    windows.blueprint,
)


def create_app(settings: Settings, *, database: Database | None = None) -> Flask:
    """Make the application; raises InvalidInputError without a secret key or with a bad policy file."""
    app = Flask(
        __name__,
        static_folder=str(resource_dir("static")),
        template_folder=str(resource_dir("templates")),
    )
    app.secret_key = settings.signing_key()
    app.extensions["dashboard.settings"] = settings
    app.extensions["dashboard.policies"] = load_policies(settings.policies)
    app.extensions["dashboard.database"] = database or Database(
        settings.database_url, statement_timeout_seconds=settings.statement_timeout_seconds
    )
    security.install(app, settings)
    frame.install(app, settings)
    formatting.install(app)
    errors.install(app)
    provider.install(app, settings)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    navigation.install(app)
    refuse_unmarked(app)
    return app
