# Every target makes the environment it needs in .venv and installs into it.
#   make demo    mask a made-up table, with a report     make lint    ruff, mypy, import-linter
#   make test    every check and every test              make docs    the documentation, into site/
#   make bench   the benchmarks                          make clean   remove what the targets made
#   make fuzz    20,000 damaged files and plans, and the table of how they ended
#   make kill    1,000 kills and stops at random moments, or as many as $ANONTO_KILLS says
#   make reproduce   the experiments of the papers, on the files of $ANONTO_DATA if it is set
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto
FUZZ ?= 31

.PHONY: demo test fuzz kill lint format docs bench reproduce clean system
.DELETE_ON_ERROR:

demo: $(VENV)/.icd $(VENV)/.warm
	$(BIN)/anonto demo --force

test: system lint docs $(VENV)/.compiled
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

# The same fuzzers as in the suite, with FUZZ times as many cases; what is killed has a target of its own.
fuzz: $(VENV)/.compiled
	ANONTO_FUZZ=$(FUZZ) $(BIN)/pytest tests/fuzz --ignore tests/fuzz/test_kills.py -n $(WORKERS)

# A browser for the tests of pages, a Java runtime for those on a cluster: from Debian's packages when we may.
system:
	@missing=""; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	command -v java >/dev/null || missing="$$missing openjdk-17-jre-headless"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else \
	  echo "Tests that need them are skipped until you install:$$missing"; \
	fi

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

bench: $(VENV)/.bench .venv-peers/.made
	$(BIN)/python -m benchmarks --page benchmarks/results.md

# A kill takes about two seconds. Each is told by its number: see tests/fuzz/test_kills.py.
kill: $(VENV)/.compiled
	ANONTO_KILLS=$(or $(ANONTO_KILLS),1000) $(BIN)/pytest tests/fuzz/test_kills.py -q

# What users would pick instead pins versions that ours cannot have, so it lives apart; energy is R's, from Debian.
.venv-peers/.made:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check anjana anonypy dcor microagg1d pycanon
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends r-cran-energy >/dev/null; \
	else command -v Rscript >/dev/null || echo "Left out until you install it: r-cran-energy"; fi
	@touch $@

# The documentation shows the summary of such a run: see CONTRIBUTING.md.
reproduce: $(VENV)/.icd
	$(BIN)/anonto reproduce $(if $(ANONTO_DATA),--data "$(ANONTO_DATA)") --out reproduction-out --force

clean:
	rm -rf $(VENV) .venv-peers site dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "anonto needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

$(VENV)/.%: pyproject.toml $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# Part of the installation: what is compiled once is kept beside the program.
$(VENV)/.warm: $(VENV)/.icd
	$(BIN)/anonto warm-up --demo-only
	@touch $@

# Once for all tests, which otherwise wait for each other's compilation.
$(VENV)/.compiled: $(VENV)/.dev
	$(BIN)/anonto warm-up
	@touch $@
