# Every target makes the environment it needs in .venv and installs into it.
#   make demo    mask a made-up table, with a report     make lint    ruff, mypy, import-linter
#   make test    every check and every test              make docs    the documentation, into site/
#   make bench   the benchmarks                          make clean   remove what the targets made
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto

.PHONY: demo test lint format docs bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.icd
	$(BIN)/anonto demo --force

test: lint docs
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) site dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "anonto needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

$(VENV)/.%: pyproject.toml $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
