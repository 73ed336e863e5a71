"""The shape of a refusal."""

from pydantic import BaseModel, ConfigDict, Field


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
