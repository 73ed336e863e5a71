import pytest

from dashboard.resources import resource_dir, vendor_asset


@pytest.mark.parametrize("name", ["migrations", "static", "templates", "translations"])
def test_every_kind_of_resource_is_found(name: str) -> None:
    assert resource_dir(name).is_dir()


def test_an_unknown_kind_of_resource_is_refused() -> None:
    with pytest.raises(FileNotFoundError, match="recipes"):
        resource_dir("recipes")


@pytest.mark.parametrize("name", ["htmx.js", "inter.css", "inter-latin.woff2"])
def test_an_asset_is_found_under_its_plain_name(name: str) -> None:
    assert (resource_dir("static") / vendor_asset(name)).is_file()


def test_an_unknown_asset_is_refused() -> None:
    with pytest.raises(KeyError):
        vendor_asset("jquery.js")
