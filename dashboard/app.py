"""The web application: wiring only."""

import gc
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Blueprint, Flask

from dashboard.api.application import create_api
from dashboard.api.document import document
from dashboard.config import Settings
from dashboard.db import Database
from dashboard.edge.context import refuse_unmarked
from dashboard.resources import resource_dir
from dashboard.services.policies import load_policies
from dashboard.web import (
    account,
    actions,
    admin_changes,
    admin_tokens,
    admin_users,
    alert_silences,
    alerts,
    api_docs,
    approvals,
    audit,
    audit_exports,
    bulk,
    bulk_page,
    checks,
    claims,
    errors,
    evidence,
    facts,
    formatting,
    frame,
    health,
    idempotency,
    login,
    metrics,
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
    reports,
    reveals,
    search,
    security,
    sign_on,
    trends,
    types,
    windows,
    wording,
)
from dashboard.web.addresses import AddressedFlask

BLUEPRINTS: tuple[Blueprint, ...] = (
    account.blueprint,
    actions.blueprint,
    admin_changes.blueprint,
    admin_tokens.blueprint,
    admin_users.blueprint,
    alert_silences.blueprint,
    alerts.blueprint,
    api_docs.blueprint,
    approvals.blueprint,
    audit.blueprint,
    audit_exports.blueprint,
    bulk.blueprint,
    bulk_page.blueprint,
    checks.blueprint,
    claims.blueprint,
    evidence.blueprint,
    facts.blueprint,
    health.blueprint,
    idempotency.blueprint,
    login.blueprint,
    metrics.blueprint,
    operation_actions.blueprint,
    operation_lists.blueprint,
    operations.blueprint,
    outbox.blueprint,
    outbox_decisions.blueprint,
    overview.blueprint,
    policies.blueprint,
    receipts.blueprint,
    reconciliation.blueprint,
    reports.blueprint,
    reveals.blueprint,
    search.blueprint,
    sign_on.blueprint,
    trends.blueprint,
    types.blueprint,
    windows.blueprint,
)


def create_app(settings: Settings, *, database: Database | None = None) -> Flask:
    """Make the application; raises InvalidInputError without a secret key or with a bad policy file."""
    app = AddressedFlask(
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
    _mount_api(app)
    return app


def settle() -> None:
    """Let the garbage collector leave alone what is there before the first request: it lives as long as the process.

    Looking through it again and again took a tenth of the time of a list.
    """
    gc.collect()
    gc.freeze()


def _mount_api(app: Flask) -> None:
    """Let the API answer under /api/, beside the screens and without their sessions; its readable page is a screen."""
    api = create_api(
        database=app.extensions["dashboard.database"],
        policies=app.extensions["dashboard.policies"],
        secret=str(app.secret_key),
        words=wording.in_words,
    )
    app.extensions["dashboard.api"] = api
    app.extensions["dashboard.api_document"] = lambda: document(api)
    screens, programs = app.wsgi_app, api.wsgi_app

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        chosen = programs if path.startswith("/api/") and path != api_docs.PATH else screens
        return chosen(environ, start_response)

    app.wsgi_app = answer  # type: ignore[method-assign]  # as Flask documents it for middleware
