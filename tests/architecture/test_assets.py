import hashlib
import json

from tests.architecture.tree import ROOT, files, lines_matching

VENDOR = ROOT / "static" / "vendor"
MANIFEST: dict[str, str] = json.loads((VENDOR / "manifest.json").read_text(encoding="utf-8"))


def test_the_name_of_each_asset_carries_the_hash_of_its_content() -> None:
    for name in MANIFEST.values():
        digest = hashlib.sha256((VENDOR / name).read_bytes()).hexdigest()
        assert name.split(".")[-2] == digest[:12]


def test_every_built_file_is_in_the_manifest_or_is_a_licence() -> None:
    others = {path.name for path in VENDOR.iterdir()} - set(MANIFEST.values()) - {"manifest.json"}
    assert others == {"LICENSE-htmx.org.txt", "LICENSE-inter.txt"}


def test_style_sheets_load_nothing_from_outside() -> None:
    assert lines_matching(files("static/**/*.css"), r"url\(\s*[\"']?(https?:)?//|@import") == []
