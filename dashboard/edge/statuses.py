"""The HTTP status of each kind of refusal, for pages and problems alike."""

from dashboard.domain.errors import (
    ConflictError,
    InvalidInputError,
    LostRaceError,
    NotAllowedError,
    NotFoundError,
    OperationsError,
    TransitionError,
)

STATUS: dict[type[OperationsError], int] = {
    NotFoundError: 404,
    NotAllowedError: 403,
    ConflictError: 409,
    LostRaceError: 409,
    TransitionError: 409,
    InvalidInputError: 422,
}


def status_of(error: OperationsError) -> int:
    """Give the HTTP status of a refusal: 404, 403, 409, 422, or 400 where none fits better."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)
