"""Settings of the sign-on that would let the wrong people in, or nobody, stop the start with one clear line."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from dashboard.config import Settings, problems_in_words
from dashboard.domain.errors import InvalidInputError
from dashboard.domain.permissions import Grant, Role
from dashboard.services.group_grants import grants_for, load_group_grants

GOOD = '[[groups]]\ngroup = "ops"\nrole = "manager"\n[[groups]]\ngroup = "ops"\nrole = "support"\ntenant = "acme"\n'


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"local_sign_in": False}, "DASHBOARD_*: nobody could sign in"),
        ({"oidc_issuer": "https://id.shop.example"}, "DASHBOARD_*: DASHBOARD_OIDC_ISSUER needs"),
        ({"oidc_issuer": "http://id.shop.example"}, "DASHBOARD_OIDC_ISSUER: must begin with https://"),
        ({"oidc_scopes": "email profile"}, "DASHBOARD_OIDC_SCOPES: must have openid among them"),
        ({"oidc_grants": "/nowhere/groups.toml"}, "DASHBOARD_OIDC_GRANTS: no such file"),
    ],
)
def test_a_bad_setting_names_its_variable(given: dict[str, object], line: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate(given)
    (told,) = problems_in_words(refused.value)
    assert told.startswith(line)


def test_each_group_gives_the_roles_of_all_its_lines(tmp_path: Path) -> None:
    mapping = load_group_grants(written(tmp_path, GOOD))
    assert grants_for(["ops", "lunch"], mapping) == (Grant(Role.MANAGER), Grant(Role.SUPPORT, "acme"))
    assert grants_for(["Ops", "lunch"], mapping) == ()


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("groups = []", "DASHBOARD_OIDC_GRANTS groups"),
        (GOOD.replace("manager", "root"), "DASHBOARD_OIDC_GRANTS groups.0.role"),
        (GOOD.replace("tenant", "tenants"), "DASHBOARD_OIDC_GRANTS groups.1.tenants"),
        (GOOD.replace('"acme"', '""'), "DASHBOARD_OIDC_GRANTS groups.1.tenant"),
        ("not toml", "DASHBOARD_OIDC_GRANTS"),
    ],
)
def test_a_bad_mapping_names_its_key(tmp_path: Path, content: str, field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        load_group_grants(written(tmp_path, content))
    assert [problem.field for problem in refused.value.problems] == [field]


def written(folder: Path, content: str) -> Path:
    file = folder / "groups.toml"
    file.write_text(content, encoding="utf-8")
    return file
