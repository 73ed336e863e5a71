"""Templates show what Jinja shows, though they are compiled to something quicker."""

import pytest
from flask import Flask, render_template_string
from jinja2 import Environment, Undefined
from markupsafe import Markup

from dashboard.web.language import gettext, lazy_gettext


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ('{{ _("Age") }}', "Age"),
        ("{{ _('Age')|upper }}{{ _(\"Age\")[0] }}", "AGEA"),
        ('{{ _("%(time)s late", time="<3 h>") }}', "&lt;3 h&gt; late"),
        ('{{ _("100 %% <b>sure</b>") }}', "100 % <b>sure</b>"),
        ('{{ _("Age") ~ _("Amount") }} {{ [_("Age"), 1] }}', "AgeAmount [Markup(&#39;Age&#39;), 1]"),
        ('{% set _words = "Age" %}{{ _(_words) }}_("Age")', 'Age_("Age")'),
    ],
)
def test_a_text_reads_as_if_called_for(app: Flask, template: str, shown: str) -> None:
    with app.test_request_context():
        assert render_template_string(template) == shown


class Piece:
    def __html__(self) -> str:
        return "<i>"


class Words(str):
    __slots__ = ()


VALUES = (
    "plain", "", "<b>&\"'", "\N{SHIP} 'x'", Markup("<b>"), Markup("a"), 5, 1.5, None, True, ["<"], Undefined(),
    lazy_gettext("Age"), lazy_gettext("<%(x)s>", x="&"), Piece(),
    Words("<"),
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "template",
    [
        "{{ value }}",
        "{% macro show(it) %}<{{ it }}>{{ caller() }}{% endmacro %}{% call show(value) %}{{ value }}{% endcall %}",
        "{% set kept %}{{ value }}{% endset %}{{ kept }}{% filter upper %}{{ value }}{% endfilter %}",
        "{% autoescape false %}{{ value }}{% endautoescape %}{{ value|safe }}{{ value ~ '<' }}",
    ],
)
def test_values_are_escaped_as_by_jinja(app: Flask, value: object, template: str) -> None:
    plain = Environment(autoescape=True).from_string(template)
    with app.test_request_context():
        assert app.jinja_env.from_string(template).render(value=value) == plain.render(value=value)


@pytest.mark.parametrize(
    "template",
    [
        '{{ "divergent"|label("verdict") }}',
        '{% set word = "divergent"|label("verdict") %}{{ word }}',
        '{% if "divergent"|label("verdict") == "Divergente" %}Divergente{% else %}Divergent{% endif %}',
    ],
)
def test_what_a_filter_makes_of_a_constant_is_in_the_language_of_each_reader(app: Flask, template: str) -> None:
    compiled = app.jinja_env.from_string(template)
    for asked, shown in (("es", "Divergente"), ("en", "Divergent"), ("es", "Divergente")):
        with app.test_request_context(headers={"Accept-Language": asked}):
            assert compiled.render() == shown


def test_each_request_speaks_its_own_language(app: Flask) -> None:
    for asked, shown in (("es", "Edad"), ("pt-BR", "Idade"), ("en", "Age"), ("es", "Edad")):
        with app.test_request_context(headers={"Accept-Language": asked}):
            assert gettext("Age") == shown
    assert gettext("Age") == "Age"
