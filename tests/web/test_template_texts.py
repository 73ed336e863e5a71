"""Texts of templates are looked up, and read as if they had been called for."""

import pytest
from flask import Flask, render_template_string

from dashboard.web.language import gettext


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


def test_each_request_speaks_its_own_language(app: Flask) -> None:
    for asked, shown in (("es", "Edad"), ("pt-BR", "Idade"), ("en", "Age"), ("es", "Edad")):
        with app.test_request_context(headers={"Accept-Language": asked}):
            assert gettext("Age") == shown
    assert gettext("Age") == "Age"
