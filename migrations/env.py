"""Run migrations on the connection that `dashboard.services.schema` hands over."""

from alembic import context

from dashboard.models import Record

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Record.metadata,
    version_table="schema_version",
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
