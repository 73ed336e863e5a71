"""Signing on at a provider in a real browser: there, back, and out again, under the page's own policy."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from pydantic import SecretStr

from dashboard.cli.demo_shop import POLICIES
from dashboard.config import Settings
from tests import provider
from tests.browser.axe import page_faults
from tests.provider import Provider

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

GROUPS = '[[groups]]\ngroup = "ops-support"\nrole = "support"\n'


@pytest.fixture(scope="module")
def id_provider() -> Iterator[Provider]:
    with provider.running() as found:
        found.knows("marta", email="marta@shop.example", email_verified=True, groups=["ops-support"])
        yield found


@pytest.fixture
def settings(id_provider: Provider, tmp_path: Path) -> Settings:
    (tmp_path / "groups.toml").write_text(GROUPS, encoding="utf-8")
    return Settings(
        demo=True,
        cookie_secure=False,
        policies=POLICIES,
        local_sign_in=False,
        oidc_issuer=id_provider.url,
        oidc_client_id="dashboard",
        oidc_client_secret=SecretStr("a secret of the client"),
        oidc_grants=tmp_path / "groups.toml",
        oidc_name="Shop ID",
    )


def test_a_person_signs_on_works_and_leaves_both_here_and_there(chromium: Browser, site: str) -> None:
    page = chromium.new_context(base_url=site).new_page()
    page.goto("/exceptions?type=charge_order")
    assert page_faults(page) == []
    page.get_by_role("link", name="Sign in with Shop ID").click()
    page.get_by_placeholder("sub").fill("marta")
    page.get_by_role("button", name="Authorize").click()

    expect(page).to_have_url(f"{site}/exceptions?type=charge_order")
    expect(page.get_by_role("heading", level=1)).to_have_text("Exceptions")
    page.goto("/account")
    expect(page.get_by_text("Chrome on")).to_be_visible()
    assert page.get_by_label("Current password").count() == 0

    page.locator("summary", has_text="marta@shop.example").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    assert page_faults(page) == []
    page.get_by_role("link", name="Sign out at the identity provider too").click()
    expect(page).to_have_url(re.compile("/oauth2/end_session"))
    page.goto("/exceptions")
    expect(page).to_have_url(re.compile("/login"))
    page.context.close()
