"""Answers as JSON: written from their models, so that they are what the OpenAPI document says."""

from datetime import UTC, datetime
from typing import Annotated, Any

from flask import Response
from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from dashboard.edge.filters import page_urls
from dashboard.queries.keyset import Page

JSON = "application/json"


def written_moment(at: datetime) -> str:
    """Write a time as RFC 3339 in UTC, always with microseconds."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


Moment = Annotated[datetime, PlainSerializer(written_moment), WithJsonSchema({"type": "string", "format": "date-time"})]


class Answer(BaseModel):
    """What all models of answers share: they are read from rows."""

    model_config = ConfigDict(from_attributes=True)


class Links(Answer):
    """The addresses of the pages around a list's page; null where there is none."""

    previous: str | None
    next: str | None


def links_of(page: Page) -> Links:
    """The addresses of the pages around this one, for the request at hand."""
    before, after = page_urls(page)
    return Links(previous=before, next=after)


def answer(model: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Answer with a model."""
    return Response(body_of(model), status, headers=headers, content_type=JSON)


def body_of(model: BaseModel) -> bytes:
    """Write a model as the bytes that are sent, and sent again."""
    return model.model_dump_json(by_alias=True).encode()


def parts_of(row: Any, *names: str) -> dict[str, Any]:
    """Pick columns of a row by name."""
    return {name: getattr(row, name) for name in names}
