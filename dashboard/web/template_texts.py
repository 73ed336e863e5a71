"""Texts of templates that have nothing to fill in, looked up instead of called for.

Jinja asks of each call whether it wants the context, so that `_("Age")` takes four times as long as `texts["Age"]`, and
pages have hundreds. Templates are written with the first, which translators' tools know, and compiled as the second.
"""

from collections import deque
from collections.abc import Iterator

from flask import Flask
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup

from dashboard.web.language import language

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


def install(app: Flask) -> None:
    """Compile templates so; before the first is."""
    app.jinja_env.add_extension(LookedUpTexts)
    app.jinja_env.globals["texts"] = Texts()


def _looked_up(name: Token, opened: Token, words: Token, closed: Token) -> Iterator[Token]:
    yield Token(name.lineno, "name", "texts")
    yield Token(opened.lineno, "lbracket", "[")
    yield words
    yield Token(closed.lineno, "rbracket", "]")
