"""The OpenAPI 3.1 document, made from the marks and descriptions of the views and the models they name."""

import re
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Flask, Response, current_app, json
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from werkzeug.routing import IntegerConverter, Rule

from dashboard import __version__
from dashboard.api.answering import JSON
from dashboard.api.describing import Described, Parameter, describes, description_of
from dashboard.api.key_header import KEY_HEADER
from dashboard.api.key_models import KEY_PATTERN, OPERATION_PATTERN
from dashboard.api.operation_models import ID_PATTERN
from dashboard.api.problem_models import Problem
from dashboard.api.problems import MEDIA_TYPE
from dashboard.domain.actions import ActionName
from dashboard.domain.key_syntax import LONGEST_KEY
from dashboard.domain.permissions import Permission
from dashboard.edge.context import PUBLIC, access_of, public

blueprint = Blueprint("document", __name__, url_prefix="/api/v1")
METHODS = ("GET", "POST")
_VARIABLE = re.compile(r"<(?:\w+(?:\([^)]*\))?:)?(\w+)>")
REF = "#/components/schemas/{model}"
# What may come of any call; of a change there is more.
ALWAYS = (400, 401, 403, 404, 405, 413, 422, 429, 500, 503)
OF_CHANGES = (409, 410, 415)

Models = Mapping[Any, Mapping[str, Any]]


@blueprint.get("/openapi.json")
@public
@describes("This document", {200: JSON})
def show() -> Response:
    """The document itself; it needs no token."""
    return Response(json.dumps(document(current_app)), content_type=JSON)


def refuse_undescribed(app: Flask) -> None:
    """Stop the start if a view is not described."""
    missing = sorted(name for name, view in app.view_functions.items() if description_of(view) is None)
    if missing:
        raise RuntimeError(f"describe these views: {', '.join(missing)}")


def document(app: Flask) -> dict[str, Any]:
    """Make the document of an application."""
    models = sorted(_models(app), key=lambda each: (each[0].__name__, each[1]))
    refs, schemas = models_json_schema(models, ref_template=REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Operations exceptions", "version": __version__, "description": _ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": _paths(app, refs),
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas.get("$defs", {}),
        },
    }


def operations(app: Flask) -> Iterator[tuple[Rule, str, Callable[..., Any], Described]]:
    """Each rule with its method, view and description, in the order of their addresses."""
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        view = app.view_functions[rule.endpoint]
        described = description_of(view)
        for method in METHODS:
            if described and method in (rule.methods or ()):
                yield rule, method, view, described


def _models(app: Flask) -> set[tuple[type[BaseModel], JsonSchemaMode]]:
    found: set[tuple[type[BaseModel], JsonSchemaMode]] = {(Problem, "serialization")}
    for _, _, _, described in operations(app):
        found.update((model, "serialization") for model in described.answers.values() if not isinstance(model, str))
        if described.body:
            found.add((described.body, "validation"))
    return found


def _paths(app: Flask, refs: Models) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for rule, method, view, described in operations(app):
        written = _VARIABLE.sub(r"{\1}", rule.rule)
        paths.setdefault(written, {})[method.lower()] = _operation(rule, view, described, refs)
    return paths


def _operation(rule: Rule, view: Callable[..., Any], described: Described, refs: Models) -> dict[str, Any]:
    access = access_of(view)
    needed = f"\n\nNeeds the permission `{access.value}`." if isinstance(access, Permission) else ""
    said: dict[str, Any] = {
        "operationId": rule.endpoint.replace(".", "_"),
        "tags": [rule.endpoint.partition(".")[0]],
        "summary": described.summary,
        "description": f"{(view.__doc__ or '').strip()}{needed}",
        "parameters": [*_in_path(rule), *map(_in_query, described.query), *([KEY_HEADER] if described.once else [])],
        "responses": _responses(described, refs),
    }
    if access == PUBLIC:
        said["security"] = []
    if described.body:
        schema = refs[described.body, "validation"]
        said["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return said


def _in_path(rule: Rule) -> Iterator[dict[str, Any]]:
    for name in sorted(rule.arguments):
        converter = rule._converters[name]  # noqa: SLF001 - werkzeug has no other way to ask
        schema: dict[str, Any] = {"type": "string", "pattern": ID_PATTERN}
        if isinstance(converter, IntegerConverter):
            schema = {"type": "integer", "minimum": 0, "maximum": converter.max}
        elif name in _PATHS:
            schema = _PATHS[name]
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(parameter: Parameter) -> dict[str, Any]:
    schema = {"type": "array", "items": dict(parameter.schema)} if parameter.repeated else dict(parameter.schema)
    said = {"name": parameter.name, "in": "query", "schema": schema}
    return (
        said
        | ({"description": parameter.about} if parameter.about else {})
        | ({"required": True} if parameter.required else {})
    )


def _responses(described: Described, refs: Models) -> dict[str, Any]:
    said = {str(status): _response(status, model, refs) for status, model in described.answers.items()}
    problems = (*ALWAYS, *OF_CHANGES) if described.once else ALWAYS
    schema = refs[Problem, "serialization"]
    for status in sorted(set(problems) - set(described.answers)):
        content = {MEDIA_TYPE: {"schema": schema}}
        said[str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
    return said


def _response(status: int, model: type[BaseModel] | str, refs: Models) -> dict[str, Any]:
    if isinstance(model, str):
        return {"description": HTTPStatus(status).phrase, "content": {model: {}}}
    content = {JSON: {"schema": refs[model, "serialization"]}}
    return {"description": (model.__doc__ or "").strip(), "content": content}


_PATHS: dict[str, dict[str, Any]] = {
    "action": {"type": "string", "enum": [name.value for name in ActionName]},
    "key": {"type": "string", "pattern": KEY_PATTERN, "maxLength": LONGEST_KEY},
    "operation": {"type": "string", "pattern": OPERATION_PATTERN},
}
_ABOUT = (
    "Programs register operations, work on them, reserve idempotency keys, and read what became of it. Every call "
    "names a bearer token; every change an `Idempotency-Key`: the same key with the same content gives the same answer "
    "again, marked `Idempotent-Replayed: true`. Refusals are problems (RFC 9457) with a stable `code`. 400: the "
    "request does not fit the schema. 422: it fits, and breaks a rule."
)
