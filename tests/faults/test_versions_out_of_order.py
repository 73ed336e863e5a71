from dashboard.services import work
from tests.faults import host
from tests.faults.conftest import Shop


def test_an_older_version_that_comes_late_is_superseded(shop: Shop) -> None:
    """Fault 14: version 7 arrives before version 6."""
    shop.register("version-7", entity_id="452", expected_version=7)
    shop.send()
    shop.register("version-6", entity_id="452", expected_version=6)
    shop.send()
    assert shop.facts("version-7") == (1, "confirmed")
    assert shop.facts("version-6") == (0, "not_applicable")
    assert shop.row("version-6").closed_reason == "superseded"


def test_versions_of_one_entity_run_in_order(shop: Shop) -> None:
    for version in (3, 1, 2):
        shop.register(f"version-{version}", entity_id="452", expected_version=version)
    for _ in range(3):
        shop.send()
        shop.wait()
    assert host.effects() == ["version-1", "version-2", "version-3"]
    assert shop.row("version-3").attempts == 1, "waiting counts no attempt"


def test_a_version_in_flight_is_not_overtaken_from_behind(shop: Shop) -> None:
    shop.register("version-7", entity_id="452", expected_version=7)
    (newer,) = work.claim(shop.database, shop.context(), limit=1)
    shop.register("version-6", entity_id="452", expected_version=6)
    shop.send()
    assert shop.facts("version-6") == (0, "pending")
    work.perform(shop.database, shop.context(), newer)
    shop.wait()
    shop.send()
    assert host.effects() == ["version-7"]


def test_other_tenants_types_and_unversioned_operations_do_not_wait(shop: Shop) -> None:
    shop.register("version-1", entity_id="452", expected_version=1)
    work.claim(shop.database, shop.context(), limit=1)
    shop.register("no-version", entity_id="452")
    shop.register("other-entity", entity_type="invoice", entity_id="452", expected_version=2)
    shop.register("version-2", entity_id="452", expected_version=2)
    shop.send()
    assert sorted(host.effects()) == ["no-version", "other-entity"]
