"""Puts the resources of the checkout into a wheel, and refuses to build one that would lack assets or a language."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RESOURCES = ("migrations", "static", "templates", "translations")


class ResourcesHook(BuildHookInterface[Any]):
    """Adds the resource folders to the package, where dashboard/resources.py looks for them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # an editable install reads them from the checkout
            return
        if not Path(self.root, "static", "vendor", "manifest.json").is_file():
            raise SystemExit("static/vendor has not been built, so the wheel would lack its assets: run `make assets`")
        for catalogue in Path(self.root, "translations").glob("*/LC_MESSAGES/*.po"):
            if not catalogue.with_suffix(".mo").is_file():
                raise SystemExit(f"{catalogue} is not compiled, so the wheel would lack a language: run `make setup`")
        for name in RESOURCES:
            build_data["force_include"][str(Path(self.root, name))] = f"dashboard/{name}"
