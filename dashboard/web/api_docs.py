"""The readable page of the API: what its OpenAPI document says, in the document's own words and without any script."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, current_app, render_template, request

from dashboard.web.context import signed_in

PATH = "/api/v1/docs"
blueprint = Blueprint("api_docs", __name__)

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """A parameter or a field of a body: its name, its shape in short, and what it means."""

    name: str
    shape: str
    required: bool
    about: str = ""


@dataclass(frozen=True)
class Call:
    """One call: what it needs, takes and answers; bodies are names of schemas."""

    ident: str
    method: str
    path: str
    summary: str
    about: tuple[str, ...]
    parameters: tuple[Field, ...]
    body: str
    answers: tuple[tuple[str, str], ...]


@blueprint.get(PATH)
@signed_in
def show() -> str:
    """Show every call, and every shape they name."""
    said: Schema = current_app.extensions["dashboard.api_document"]()
    schemas = said["components"]["schemas"]
    return render_template(
        "api_docs/show.html",
        document_url=f"{request.script_root}/api/v1/openapi.json",
        about=said["info"]["description"],
        calls=list(_calls(said)),
        shapes=[
            (name, schema.get("description", ""), list(_fields(schema))) for name, schema in sorted(schemas.items())
        ],
    )


def _calls(said: Schema) -> Iterator[Call]:
    for path, methods in said["paths"].items():
        for method, call in methods.items():
            yield Call(
                ident=call["operationId"],
                method=method.upper(),
                path=path,
                summary=call["summary"],
                about=tuple(part.strip() for part in call["description"].split("\n\n")),
                parameters=tuple(map(_parameter, call["parameters"])),
                body=_content(call.get("requestBody", {})),
                answers=tuple((status, _content(answer)) for status, answer in call["responses"].items()),
            )


def _parameter(parameter: Schema) -> Field:
    name = f"{parameter['name']} ({parameter['in']})"
    return Field(name, _shape(parameter["schema"]), parameter.get("required", False), parameter.get("description", ""))


def _fields(schema: Schema) -> Iterator[Field]:
    for name, field in schema.get("properties", {}).items():
        yield Field(name, _shape(field), name in schema.get("required", ()))


def _content(holder: Schema) -> str:
    """The name of the schema of a body, or its media type where it has none."""
    for media, body in holder.get("content", {}).items():
        return _shape(body["schema"]) if "schema" in body else str(media)
    return ""


def _shape(schema: Schema) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(_shape(option) for option in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"[{_shape(schema.get('items', {}))}]"
    return str(schema.get("format") or schema.get("type") or "any")
