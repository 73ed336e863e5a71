"""What a view of the API takes and gives, written beside it: the OpenAPI document is made from nothing else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True)
class Parameter:
    """A parameter of a query string; a repeated one may come several times."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    about: str = ""
    repeated: bool = False
    required: bool = False


@dataclass(frozen=True)
class Described:
    """The summary of a view, its body and query, and its answers by status; `once` asks for an idempotency key."""

    summary: str
    answers: Mapping[int, type[BaseModel] | str]
    body: type[BaseModel] | None = None
    query: Sequence[Parameter] = ()
    once: bool = False


def describes(
    summary: str,
    answers: Mapping[int, type[BaseModel] | str],
    *,
    body: type[BaseModel] | None = None,
    query: Sequence[Parameter] = (),
    once: bool = False,
) -> Callable[[View], View]:
    """Describe a view; an answer is a model, or a media type where it is none."""

    def described(view: View) -> View:
        view.described = Described(summary, answers, body, query, once)  # type: ignore[attr-defined]  # a mark on a function
        return view

    return described


def description_of(view: Callable[..., Any]) -> Described | None:
    """Give the description of a view, or None where it was forgotten."""
    found: Described | None = getattr(view, "described", None)
    return found
