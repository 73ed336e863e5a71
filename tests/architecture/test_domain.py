import sys

from tests.architecture.tree import files, imported_modules

CLOCKS_AND_CHANCE = {"random", "secrets", "time", "uuid", "os", "socket", "subprocess", "urllib"}
# Splits and quotes text, and reaches nothing.
PURE = {"urllib.parse"}


def test_the_domain_imports_only_the_standard_library_and_itself() -> None:
    strangers = {
        f"{path.name}: {module}"
        for path in files("dashboard/domain/**/*.py")
        for module in imported_modules(path)
        if not module.startswith("dashboard.domain") and module.partition(".")[0] not in sys.stdlib_module_names
    }
    assert strangers == set()


def test_the_domain_has_no_clock_no_chance_and_no_outside() -> None:
    impure = {
        f"{path.name}: {module}"
        for path in files("dashboard/domain/**/*.py")
        for module in imported_modules(path)
        if module.partition(".")[0] in CLOCKS_AND_CHANCE and module not in PURE
    }
    assert impure == set()
