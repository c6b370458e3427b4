# Every target creates the environment it needs in .venv.
#   make demo    mask a synthetic table, with a report   make lint    ruff, mypy, import-linter
#   make test    every check and every test              make docs    the documentation, into site/
#   make check   lint, types and the fast unit tests, while you work
#   make bench   the benchmarks                          make clean   remove what the targets created
#   make fuzz    20,000 damaged files and plans, and a table of the outcomes
#   make kill    1,000 kills and stops at random moments, or $ANONTO_KILLS of them
#   make reproduce   the experiments of the papers, on the files of $ANONTO_DATA if it is set
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto
FUZZ ?= 31

# Containers often forbid Python to keep compiled modules: every process that a test starts would compile them again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check fuzz kill lint format docs bench reproduce clean system
.DELETE_ON_ERROR:

demo: $(VENV)/.icd $(VENV)/.warm
	$(BIN)/anonto demo --force

# Lint runs beside the compilation, which keeps one processor busy for minutes the first time. Among the tests is a
# strict build of the documentation, so `make docs` is not run as well; the tests need what it needs.
test: system $(VENV)/.dev $(VENV)/.docs
	$(MAKE) --no-print-directory -j2 lint $(VENV)/.compiled
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

# mypy runs beside the tests and is shown after them; either of them fails the target.
check: $(VENV)/.compiled
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	@$(BIN)/mypy >$(VENV)/mypy.txt 2>&1 & types=$$!; \
	$(BIN)/pytest tests/unit -q -m "not slow" -n $(WORKERS) --dist loadfile; tests=$$?; \
	wait $$types; types=$$?; \
	cat $(VENV)/mypy.txt; \
	exit $$((tests || types))

# The same fuzzers as in the suite, with FUZZ times as many cases; what is killed has a target of its own.
fuzz: $(VENV)/.compiled
	ANONTO_FUZZ=$(FUZZ) $(BIN)/pytest tests/fuzz --ignore tests/fuzz/test_kills.py -n $(WORKERS)
	ANONTO_PROFILE=thorough $(BIN)/pytest tests/unit -m hypothesis -n $(WORKERS)

# A browser for the web tests and a Java runtime for the Spark tests: from Debian packages, if run as root.
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

# A kill takes about two seconds. Each has a number that repeats it: see tests/fuzz/test_kills.py.
kill: $(VENV)/.compiled
	ANONTO_KILLS=$(or $(ANONTO_KILLS),1000) $(BIN)/pytest tests/fuzz/test_kills.py -q

# The tools we compare with pin versions that conflict with ours, so they get their own environment; energy is an R package.
.venv-peers/.made:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check anjana anonypy dcor microagg1d pycanon
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends r-cran-energy >/dev/null; \
	else command -v Rscript >/dev/null || echo "Left out until you install it: r-cran-energy"; fi
	@touch $@

# The documentation shows the summary of such a run; see CONTRIBUTING.md.
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

# Part of the installation: compiled code is cached next to the sources.
$(VENV)/.warm: $(VENV)/.icd
	$(BIN)/anonto warm-up --demo-only
	@touch $@

# Compile once for all tests; otherwise they wait for each other.
$(VENV)/.compiled: $(VENV)/.dev
	$(BIN)/anonto warm-up
	@touch $@
