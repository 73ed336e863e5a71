"""DDL that each engine wants said differently; only migrations use it.

Every index, check and trigger of ours goes through here, so that a migration reads the same for all engines.
"""

from collections.abc import Mapping, Sequence

from alembic import op
from sqlalchemy import text

DECIMAL_PATTERN = r"^-?[0-9]+([.][0-9]+)?$"
ID_CHARACTERS = "A-Za-z0-9._:~-"


def dialect() -> str:
    """The engine the migration runs on: `sqlite`, `postgresql` or `mysql`."""
    return op.get_bind().dialect.name


def stored() -> bool:
    """Whether a generated column is stored: SQLite can only add virtual ones and indexes them as well."""
    return dialect() != "sqlite"


def create_marked_index(
    name: str, table: str, keys: Sequence[str], *, mark: str = "is_open", covered: Sequence[str] = ()
) -> None:
    """Create an index over the rows whose generated column `mark` is 1.

    PostgreSQL and SQLite index only those rows; MariaDB has no partial index, so there the mark leads.
    `covered` columns let a count be answered from the index alone (performance rule 2).
    """
    engine = dialect()
    if engine == "mysql":
        op.create_index(name, table, [mark, *keys])
        return
    where = text(f"{mark} = 1")
    if engine == "postgresql":
        op.create_index(name, table, list(keys), postgresql_where=where, postgresql_include=list(covered))
        return
    extra = [column for column in covered if column not in keys]
    op.create_index(name, table, [*keys, *extra], sqlite_where=where)


def create_covering_index(name: str, table: str, keys: Sequence[str], *, covered: Sequence[str]) -> None:
    """Create an index that also holds the `covered` columns, so that a figure is counted without touching the rows."""
    if dialect() == "postgresql":
        op.create_index(name, table, list(keys), postgresql_include=list(covered))
        return
    op.create_index(name, table, [*keys, *covered])


def decimal_check(column: str) -> str:
    """An SQL condition that holds for plain decimal text, so that a cast of it can never fail.

    What is no digit is asked for apart: on MariaDB `$` also fits before a line feed.
    """
    engine = dialect()
    if engine != "sqlite":
        fits, fits_not = ("~", "!~") if engine == "postgresql" else ("REGEXP", "NOT REGEXP")
        return f"{column} {fits} '{DECIMAL_PATTERN}' AND {column} {fits_not} '[^0-9.-]'"
    odd = ("*[^0-9.-]*", "?*-*", "*.*.*", ".*", "-.*")
    refused = " AND ".join(f"{column} NOT GLOB '{pattern}'" for pattern in odd)
    return f"{column} GLOB '*[0-9]' AND {refused} AND {_whole(column)}"


def operation_id_check(column: str) -> str:
    """An SQL condition that holds for public ids as `domain.text.OPERATION_ID` has them.

    No pattern ends in `$`: on MariaDB that also fits before a line feed.
    """
    engine = dialect()
    if engine == "sqlite":
        within = f"{_whole(column)} AND length({column}) <= 128"
        return f"{column} GLOB '[A-Za-z0-9]*' AND {column} NOT GLOB '*[^{ID_CHARACTERS}]*' AND {within}"
    fits, fits_not = ("~", "!~") if engine == "postgresql" else ("REGEXP", "NOT REGEXP")
    return f"{column} {fits} '^[A-Za-z0-9]' AND {column} {fits_not} '[^{ID_CHARACTERS}]'"


def _whole(column: str) -> str:
    """On SQLite GLOB and length() stop at a NUL, which a BLOB goes past; it keeps no lengths either."""
    return f"length(CAST({column} AS BLOB)) = length({column})"


def refuse_changes(table: str, key: str) -> None:
    """Make a table append-only by triggers: UPDATE and DELETE fail, REPLACE too, and TRUNCATE on PostgreSQL.

    MariaDB has no trigger on TRUNCATE; a foreign key that points at the table refuses it there.
    """
    message = f"{table} is append-only"
    if dialect() == "postgresql":
        op.execute(
            f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$"
        )
        op.execute(
            f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION {table}_refuse()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse()"
        )
        return
    for verb in ("UPDATE", "DELETE"):
        op.execute(_refusing_trigger(table, verb, message))
    if dialect() == "sqlite":
        # REPLACE deletes without firing the trigger above, so a second row of the same key is stopped first.
        exists = f"EXISTS (SELECT 1 FROM {table} WHERE {key} = NEW.{key})"  # noqa: S608 - names of our own
        op.execute(
            f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {exists} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )


def allow_changes(table: str) -> None:
    """Undo `refuse_changes`."""
    if dialect() == "postgresql":
        op.execute(f"DROP TRIGGER {table}_no_change ON {table}")
        op.execute(f"DROP TRIGGER {table}_no_truncate ON {table}")
        op.execute(f"DROP FUNCTION {table}_refuse()")
        return
    for verb in ("update", "delete", "replace"):
        op.execute(f"DROP TRIGGER IF EXISTS {table}_no_{verb}")


def _refusing_trigger(table: str, verb: str, message: str) -> str:
    head = f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} FOR EACH ROW"
    if dialect() == "mysql":
        return f"{head} SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{message}'"
    return f"{head} BEGIN SELECT RAISE(ABORT, '{message}'); END"


def differs(column: str) -> str:
    """A condition of a trigger on UPDATE: the column's value is another one now, NULL being a value like any other."""
    same = {"postgresql": "IS NOT DISTINCT FROM", "sqlite": "IS", "mysql": "<=>"}[dialect()]
    return f"NOT (OLD.{column} {same} NEW.{column})"


def utc_day(moment: str) -> str:
    """The UTC day of a stored moment."""
    return {
        "postgresql": f"CAST({moment} AT TIME ZONE 'UTC' AS date)",
        "sqlite": f"date({moment})",
        "mysql": f"DATE({moment})",
    }[dialect()]


def has_day(moment: str) -> str:
    """A condition that holds where a stored moment has a day.

    SQLite stores what a host writes: what it cannot read, or no calendar has, is counted nowhere and fails no change.
    """
    return f"date({moment}) BETWEEN '0001-01-01' AND '9999-12-31'" if dialect() == "sqlite" else "1 = 1"


def milliseconds(earlier: str, later: str) -> str:
    """Whole milliseconds between two stored moments; none where a clock was wrong and it would be negative."""
    return {
        "postgresql": f"CAST(greatest(floor(extract(epoch FROM {later} - {earlier}) * 1000), 0) AS bigint)",
        "sqlite": f"CAST(max(round((julianday({later}) - julianday({earlier})) * 86400000), 0) AS integer)",
        "mysql": f"GREATEST(TIMESTAMPDIFF(MICROSECOND, {earlier}, {later}) DIV 1000, 0)",
    }[dialect()]


def json_text(column: str, name: str) -> str:
    """A member of a JSON object as text; NULL where there is none, or no JSON."""
    return {
        "postgresql": f"{column} ->> '{name}'",
        "sqlite": f"CASE WHEN json_valid({column}) THEN json_extract({column}, '$.{name}') END",
        "mysql": f"JSON_VALUE({column}, '$.{name}')",
    }[dialect()]


def insert_where(table: str, values: Mapping[str, str], condition: str) -> str:
    """A statement of a trigger that inserts one row where a condition holds.

    Not as an INSERT from a SELECT where there is another way: on MariaDB that keeps others from inserting meanwhile.
    """
    head = f"INSERT INTO {table} ({', '.join(values)})"
    row = ", ".join(values.values())
    if dialect() == "sqlite":
        return f"{head} SELECT {row} WHERE {condition}"
    return f"IF {condition} THEN {head} VALUES ({row}); END IF"


def follow_changes(
    name: str, table: str, verb: str, *, when: str, statements: Sequence[str], columns: Sequence[str] = ()
) -> None:
    """Run statements after each row that is inserted, updated (in one of `columns`) or deleted and fits `when`.

    On PostgreSQL they run as the owner of the tables, as they do on MariaDB: a host needs no right beyond its own.
    """
    body = " ".join(f"{statement};" for statement in statements)
    of = f" OF {', '.join(columns)}" if columns and dialect() != "mysql" else ""
    head = f"CREATE TRIGGER {name} AFTER {verb}{of} ON {table} FOR EACH ROW"
    if dialect() == "mysql":
        op.execute(f"{head} BEGIN IF {when} THEN {body} END IF; END")
    elif dialect() == "sqlite":
        op.execute(f"{head} WHEN {when} BEGIN {body} END")
    else:
        op.execute(
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER {_own_schema()} "
            f"AS $$ BEGIN {body} RETURN NULL; END $$"
        )
        op.execute(f"{head} WHEN ({when}) EXECUTE FUNCTION {name}()")


def _own_schema() -> str:
    """Where an owner's function looks for tables: never first in a host's temporary ones, with triggers of its own.

    Source: the section on writing SECURITY DEFINER functions safely of PostgreSQL's CREATE FUNCTION.
    """
    schema = op.get_bind().scalar(text("SELECT quote_ident(current_schema())"))
    return f"SET search_path = {schema}, pg_temp"


def follow_no_more(name: str, table: str) -> None:
    """Undo `follow_changes`."""
    if dialect() == "postgresql":
        op.execute(f"DROP TRIGGER {name} ON {table}")
        op.execute(f"DROP FUNCTION {name}()")
        return
    op.execute(f"DROP TRIGGER {name}")
