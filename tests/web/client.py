"""A client that looks at every page it gets: whatever else a test is about, the page must be sound."""

from collections import Counter
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
UNLABELLED = {"hidden", "submit", "button"}
REFERENCES = ("for", "aria-describedby", "aria-labelledby", "aria-controls")


class PageClient(FlaskClient):
    """Flask's client, with a check of each answer and forms sent with their token."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **{"buffered": True, **kwargs})
        check_headers(response)
        if response.mimetype == "text/html" and response.text and response.status_code not in range(300, 400):
            check_page(response.text)
        return response

    def page(self, path: str, **kwargs: Any) -> Element:
        """Get a page that must be there, as a tree."""
        response = self.get(path, **kwargs)
        assert response.status_code == 200, response.status
        return parse(response.text)

    def is_signed_in(self) -> bool:
        """Tell whether the sign-in page sends this browser on."""
        return self.get("/login").status_code == 302

    def token(self) -> str:
        """Give the token of this session's forms."""
        # The smallest page with a form: the sign-in page, or for who is signed in the frame of any page.
        answer = self.get("/login")
        page = answer if answer.status_code == 200 else self.get("/no-such-page")
        return fields(parse(page.text))["csrf_token"]

    def send(self, path: str, /, **fields: Any) -> TestResponse:
        """Post a form with the token of its session."""
        return self.post(path, data={"csrf_token": self.token(), **fields})


def parse(text: str) -> Element:
    """Give a page as a tree of elements without namespaces."""
    tree: Element = html5lib.parse(text, namespaceHTMLElements=False)
    return tree


def text_of(element: Element) -> str:
    """Give what a person reads in an element, with single blanks."""
    return " ".join("".join(element.itertext()).split())


def heading(response: TestResponse) -> str:
    """Give the text of the page's h1."""
    return text_of(next(parse(response.text).iter("h1")))


def fields(page: Element) -> dict[str, str]:
    """Give name and value of every input and textarea."""
    found = {field.get("name", ""): field.get("value", "") for field in page.iter("input")}
    return found | {field.get("name", ""): field.text or "" for field in page.iter("textarea")}


def check_headers(response: TestResponse) -> None:
    assert response.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert response.headers["X-Request-ID"]
    if response.status_code not in {200, 304} or not response.request.path.startswith("/static/"):
        assert response.headers["Cache-Control"] == "no-store"


def check_page(text: str) -> None:
    """Refuse a page, or a part of one, that breaks one of the rules all pages keep."""
    whole = text.lstrip().lower().startswith("<!doctype html>")
    page = parse_strictly(text, whole=whole)
    assert list(problems(page)) == []
    if whole:
        assert page.get("lang"), "no language"
        assert text_of(next(page.iter("title"))), "no title"
        assert len(list(page.iter("h1"))) == 1, "not exactly one h1"


def parse_strictly(text: str, *, whole: bool) -> Element:
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    page: Element = parser.parse(text) if whole else parser.parseFragment(text)
    assert [f"{position}: {code} {details}" for position, code, details in parser.errors] == []
    return page


def problems(page: Element) -> Iterator[str]:
    ids = Counter(element.get("id") for element in page.iter() if element.get("id"))
    yield from (f"the id {name} occurs {count} times" for name, count in ids.items() if count > 1)
    yield from (f"{tag(element)} refers to no {name}" for element, name in references(page) if name not in ids)
    yield from (f"{tag(element)} has {name}" for element, name in inline_code(page))
    yield from (f"{tag(field)} has no label" for field in unlabelled(page))
    yield from (f"{tag(element)} has no text" for element in nameless(page))
    yield from (f"{tag(form)} has no token" for form in page.iter("form") if lacks_token(form))


def references(page: Element) -> Iterator[tuple[Element, str]]:
    for element in page.iter():
        for attribute in REFERENCES:
            yield from ((element, name) for name in element.get(attribute, "").split())


def inline_code(page: Element) -> Iterator[tuple[Element, str]]:
    for element in page.iter():
        yield from ((element, name) for name in element.attrib if name == "style" or name.startswith(("on", "hx-on")))
        if element.tag == "style" or (element.tag == "script" and not element.get("src")):
            yield element, "code of its own"


def unlabelled(page: Element) -> Iterator[Element]:
    named = {label.get("for") for label in page.iter("label")}
    inside = {field for label in page.iter("label") for field in label.iter()}
    for field in page.iter():
        if field.tag not in {"input", "select", "textarea"} or field in inside:
            continue
        if field.get("type") in UNLABELLED or "hidden" in field.attrib:
            continue
        if field.get("id") not in named and not field.get("aria-label") and not field.get("aria-labelledby"):
            yield field


def nameless(page: Element) -> Iterator[Element]:
    for element in page.iter():
        if element.tag in {"a", "button", "h1", "h2", "h3", "legend", "option", "th"}:
            named = text_of(element) or element.get("aria-label") or element.get("label")
            if not named and not (element.tag == "option" and element.get("value") == ""):
                yield element


def lacks_token(form: Element) -> bool:
    posts = form.get("method", "").lower() == "post"
    return posts and not any(field.get("name") == "csrf_token" for field in form.iter("input"))


def tag(element: Element) -> str:
    attributes = "".join(f' {name}="{value}"' for name, value in element.items())
    return f"<{element.tag}{attributes}>"
