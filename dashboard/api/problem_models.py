"""The shape of a refusal."""

from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dashboard.api.problems import TOLD, in_words
from dashboard.domain.errors import OperationsError
from dashboard.edge.context import request_id


class BadField(BaseModel):
    """A field that is wrong, and how: `code` is stable, `detail` says how to mend it."""

    field: str
    code: str
    detail: str


class Problem(BaseModel):
    """A refusal (RFC 9457): `code` is stable, `detail` is for people; quote `request_id` when you ask about it."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: str
    detail: str = Field(default="")
    request_id: str | None = Field(default=None)
    errors: list[BadField] = Field(default_factory=list)


def problem_of(error: OperationsError, *, status: int) -> Problem:
    """Make the problem of a refusal that is an answer of its own."""
    more: dict[str, Any] = {name: told for name, told in error.details.items() if name in TOLD}
    return Problem(
        type="about:blank",
        title=HTTPStatus(status).phrase,
        status=status,
        code=error.code,
        detail=in_words(error),
        request_id=request_id(),
        **more,
    )
