# One command a goal; `make help` lists them. Only Python 3.11+ and make are needed beforehand.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check assets messages lock wheel clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MANIFEST := static/vendor/manifest.json
CATALOGUES := $(patsubst %.po,%.mo,$(wildcard translations/*/LC_MESSAGES/*.po))
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock"

help: ## list these goals
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/installed $(MANIFEST) $(CATALOGUES) ## make .venv with everything in it and build the assets

demo: setup ## start the application with a believable shop and print where it is
	$(BIN)/dashboard demo

test: setup ## run the tests; those of browser and servers need chromium, postgresql and mariadb
	$(BIN)/pytest

check: setup ## lint, types, layers, templates and the rules of the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/djlint --quiet --lint templates
	$(BIN)/pytest -n 0 tests/architecture

assets: $(VENV)/npm ## build static/vendor from npm again
	$(BIN)/python tools/build_assets.py

messages: $(VENV)/installed ## collect the texts that people read into the catalogues, for translators
	$(BIN)/pybabel -q extract -F translations/babel.cfg -k lazy_gettext --add-location=file --sort-by-file \
		--project=operations-dashboard -o translations/messages.pot .
	$(BIN)/pybabel -q update -i translations/messages.pot -d translations \
		--no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date

lock: $(VENV)/npm ## pin the dependencies anew (newer releases: make lock UPGRADE=--upgrade)
	$(COMPILE) $(UPGRADE) pyproject.toml --output-file requirements/runtime.txt
	$(COMPILE) $(UPGRADE) pyproject.toml --group dev --constraint requirements/runtime.txt --output-file requirements/dev.txt
	$(COMPILE) $(UPGRADE) --group node --output-file requirements/node.txt
	$(COMPILE) $(UPGRADE) --group bench-peers --output-file requirements/bench-peers.txt
	$(BIN)/python tools/build_assets.py --lock

wheel: setup ## build dist/*.whl, which carries templates, assets and migrations
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	@ls dist

clean: ## remove everything that was built or installed
	rm -rf $(VENV) node_modules static/vendor dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# The stamp is written last, so an interrupted install is taken up again.
$(VENV)/installed: requirements/dev.txt pyproject.toml hatch_build.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with make PYTHON=..." >&2; exit 1; }
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@

translations/%.mo: translations/%.po | $(VENV)/installed
	$(BIN)/pybabel -q compile -i $< -o $@

# Where the machine has no npm, one comes as a Python package.
$(VENV)/npm: requirements/node.txt | $(VENV)/installed
	command -v npm >/dev/null \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/node.txt
	touch $@

$(MANIFEST): package.json package-lock.json tools/build_assets.py | $(VENV)/npm
	$(BIN)/python tools/build_assets.py
