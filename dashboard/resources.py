"""Where templates, static files, migrations and translations are.

In a checkout they lie beside the package, at the top; a wheel carries them inside it. Assets made from npm have the
hash of their content in their name, so a browser may keep them for ever; the manifest tells which name is current.
"""

import json
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: str) -> Path:
    """Give the folder of a kind of resource: inside the package of a wheel, else at the top of the checkout.

    Raises FileNotFoundError if neither is there.
    """
    for parent in (PACKAGE, PACKAGE.parent):
        folder = parent / name
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the folder {name!r} is neither inside the package nor beside it")


def vendor_asset(name: str) -> str:
    """Give the path below static/ of a third-party asset, as `vendor/htmx.<hash>.js` for `htmx.js`.

    Raises FileNotFoundError if the assets were not built, KeyError if there is none of that name.
    """
    return f"vendor/{_manifest()[name]}"


@cache
def _manifest() -> dict[str, str]:
    path = resource_dir("static") / "vendor" / "manifest.json"
    if not path.is_file():
        raise FileNotFoundError("the third-party assets have not been built: run `make assets`")
    names: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return names
