"""How templates are compiled: for pages of thousands of pieces, each of which Jinja handles with ceremony.

Jinja asks of each call whether it wants the context, so that `_("Age")` takes four times as long as `texts["Age"]`, and
it puts a `Markup` around each value that it escapes, to join all of them a moment later. Templates are written as
Jinja's documents and translators' tools know them; only what they are compiled to differs.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from flask import Flask
from jinja2.compiler import CodeGenerator
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.nodes import Expr, Impossible, TemplateData
from markupsafe import Markup, escape

from dashboard.web.language import language

SPECIAL = re.compile("[&<>'\"]")
CALL = ("name", "lparen", "string", "rparen")


class Texts:
    """Every text in the language of this request."""

    def __getitem__(self, words: str) -> Markup:
        return language().text(words)


class LookedUpTexts(Extension):
    """Reads `_("text")` as `texts["text"]`."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Hand on each token, and the four of such a call as those of a look-up."""
        ahead: deque[Token] = deque()
        for token in stream:
            ahead.append(token)
            if len(ahead) < len(CALL):
                continue
            if tuple(each.type for each in ahead) == CALL and ahead[0].value == "_":
                yield from _looked_up(*ahead)
                ahead.clear()
            else:
                yield ahead.popleft()
        yield from ahead


class QuickEscapes(CodeGenerator):
    """Writes `environment.escaped(value)` where Jinja writes `escape(value)`; works nothing out while it compiles.

    What a filter makes of a constant depends on who reads it: the first reader's language would be that of all.
    """

    def _output_child_to_const(self, node: Expr, frame: Any, finalize: Any) -> Any:
        if not isinstance(node, TemplateData):
            raise Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def _output_child_pre(self, node: Expr, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or not frame.eval_ctx.autoescape or finalize.src is not None:
            super()._output_child_pre(node, frame, finalize)
        else:
            self.write("environment.escaped(")


def escaped(value: Any) -> str:
    """Give what `escape` gives, as any text: nobody asks it for more than to be joined."""
    kind = type(value)
    if kind is Markup or (kind is str and not SPECIAL.search(value)):
        return value  # type: ignore[no-any-return]
    return escape(value)


def install(app: Flask) -> None:
    """Compile templates so; before the first is."""
    app.jinja_env.code_generator_class = QuickEscapes
    app.jinja_env.optimized = False
    app.jinja_env.escaped = escaped  # type: ignore[attr-defined]  # compiled templates know it by this name
    app.jinja_env.add_extension(LookedUpTexts)
    app.jinja_env.globals["texts"] = Texts()


def _looked_up(name: Token, opened: Token, words: Token, closed: Token) -> Iterator[Token]:
    yield Token(name.lineno, "name", "texts")
    yield Token(opened.lineno, "lbracket", "[")
    yield words
    yield Token(closed.lineno, "rbracket", "]")
