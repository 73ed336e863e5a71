"""Expected errors of commands: one line each on standard error, and the exit status they end with."""

import click
from pydantic import ValidationError
from sqlalchemy.exc import ArgumentError, DatabaseError, InterfaceError, OperationalError

from dashboard.cli.words import in_words, lines_of
from dashboard.config import problems_in_words
from dashboard.domain.errors import OperationsError

FINDINGS = 1
WRONG_INPUT = 2
NO_DATABASE = 3
INTERRUPTED = 130
TERMINATED = 143


class DatabaseNotReadyError(OperationsError):
    """The database lacks the tables this release needs, or has those of another release."""

    default_code = "database_not_ready"


EXPECTED = (
    click.ClickException,
    OperationsError,
    ValidationError,
    OperationalError,
    InterfaceError,
    DatabaseError,
    ArgumentError,
    OSError,
)


def tell(error: BaseException) -> int:
    """Say on standard error what is wrong and how to mend it; return the exit status."""
    match error:
        case click.ClickException():
            error.show()
            return error.exit_code
        case ValidationError():
            return _say(*problems_in_words(error), status=WRONG_INPUT)
        case DatabaseNotReadyError():
            return _say(in_words(error.code, error.details), status=NO_DATABASE)
        case OperationsError():
            return _say(*lines_of(error), status=WRONG_INPUT)
        case ArgumentError():
            return _say("DASHBOARD_DATABASE_URL: it is not the URL of a database", status=WRONG_INPUT)
        case DatabaseError() | InterfaceError():
            return _say(f"The database cannot be used: {_first_line(error.orig)}", status=NO_DATABASE)
    return _say(_words_of(error), status=WRONG_INPUT)


def _say(*lines: str, status: int) -> int:
    for line in lines:
        click.echo(f"Error: {line}", err=True)
    return status


def _words_of(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _first_line(error: BaseException | None) -> str:
    # Drivers may add hints and the statement; PyMySQL gives a number and the words.
    words = str(error.args[-1]) if error and error.args else type(error).__name__
    return words.strip().splitlines()[0]
