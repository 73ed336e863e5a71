"""The readable page of the API: what its OpenAPI document says, without any script."""

from collections.abc import Iterator, Mapping
from typing import Any

from flask import Blueprint, current_app, render_template

from dashboard.web.context import person, public

PATH = "/api/v1/docs"
blueprint = Blueprint("api_docs", __name__)


@blueprint.get(PATH)
@public
def show() -> str:
    """Show every call: what it needs, takes and answers."""
    said: Mapping[str, Any] = current_app.extensions["dashboard.api_document"]()
    return render_template(
        "api_docs/show.html",
        layout="layout/page.html" if person() else "layout/bare.html",
        about=said["info"]["description"],
        calls=list(_calls(said)),
        schemas=said["components"]["schemas"],
    )


def _calls(said: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, methods in said["paths"].items():
        for method, call in methods.items():
            yield {"method": method.upper(), "path": path, **call, "body": _body(call), "answers": list(_answers(call))}


def _body(call: Mapping[str, Any]) -> str | None:
    content = call.get("requestBody", {}).get("content", {})
    return next((_name(media["schema"]) for media in content.values()), None)


def _answers(call: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for status, response in call["responses"].items():
        for media, said in response["content"].items():
            yield status, media, _name(said.get("schema", {}))


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]
