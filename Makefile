# One Makefile; `make help` lists the targets.  Everything happens in .venv, made on first use, from the ranges of
# pyproject.toml; `make locked` makes it from requirements/ci.lock instead, as CI does.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help
TOOLS := .tools
LOCK := requirements/ci.lock
BUILD := requirements/build.lock
# where bytecode may not be kept, every process of the tests compiles the package and rewrites the asserts anew
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help demo test slow check lint types compiled bench locked lock audit clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*## "} {printf "  make %-8s %s\n", $$1, $$2}'

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "bosket needs Python 3.11 or newer; set PYTHON=python3.x")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# hashes for every file, nothing built from source but PySpark, which has no wheels (hence what builds comes first), nothing
# asked for beyond the lock: `name[extra]` of a dependency would be looked for anew, in its newest version, and have no hash;
# `pip check` says whether anything is missing
locked: ## the environment that CI tests in: just what requirements/ci.lock names
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r $(BUILD)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --no-build-isolation \
	  --only-binary :all: --no-binary pyspark -r $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	$(BIN)/python -m pip check --disable-pip-version-check
	@touch $(VENV)/.dev

$(TOOLS)/bin/uv:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv

COMPILE := $(TOOLS)/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
  --no-emit-index-url --quiet
UPGRADE ?= --upgrade
lock: $(TOOLS)/bin/uv ## renew the locks: the newest versions that pyproject.toml allows, for Python 3.11 and later; UPGRADE= adds only
	$(COMPILE) $(UPGRADE) pyproject.toml requirements/build.in --extra dev --output-file $(LOCK)
	$(COMPILE) $(UPGRADE) requirements/build.in --constraint $(LOCK) --output-file $(BUILD)

audit: ## look up the locked packages in a database of known faults; skipped where none can be reached
	PYTHON='$(PYTHON)' .ci/audit $(LOCK) $(TOOLS)

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@touch $@

demo: $(VENV)/.dev ## generate baskets, randomize, mine, and write demo/report.html
	$(BIN)/bosket demo --output demo
	@echo 'a study in the browser, with made-up people: $(BIN)/bosket serve --demo (http://127.0.0.1:8080/t/groceries)'

# Tests of ledgers and stores wait for the disk a thousand times.  Where memory can be written like a disk, and has room,
# their files are there: a process that is killed leaves the same bytes behind.
ROOM_IN_MEMORY := $(shell df --output=avail --block-size=1G /dev/shm 2>/dev/null | tail -n 1 | tr -d ' ')

define tested
@if [ "$(ROOM_IN_MEMORY)" -ge 4 ] 2>/dev/null; then files=$$(mktemp -d /dev/shm/bosket-XXXXXX); fi; \
trap 'rm -rf "$$files"' EXIT; \
PYTHONHASHSEED=0 $(BIN)/python -m pytest -q $(1) -n auto --dist worksteal $${files:+--basetemp="$$files/tests"}
endef

test: $(VENV)/.dev ## the quick test suite, on all cores
	$(call tested,-m "not slow")

slow: $(VENV)/.dev ## the heavier half: statistics, files that fill memory, minutes of fuzzing, more examples of every property
	$(call tested,-m "slow or hypothesis" --hypothesis-profile thorough --durations=40)

lint: $(VENV)/.dev ## format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/mypy

# tests that come by most kernels between them: seeded results, readers and writers, both methods of the curator
KERNELS := tests/test_golden.py tests/data/formats/test_files.py tests/data/formats/test_table_reading.py::test_groups_gather_cells \
  tests/curator/sieve/test_curate.py::test_it_is_the_default_and_pure \
  tests/evidence/test_cut_records.py::test_answers_about_baskets_are_of_baskets_as_cut
compiled: $(VENV)/.dev ## compile most kernels, which are kept on disk: on the core that `make types` leaves free
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -q -m "not slow" $(KERNELS)

check: lint types test slow ## what CI runs

bench: $(VENV)/.bench ## benchmarks against peers and the machine's limit; one JSON out
	$(BIN)/bosket bench --output out/bench.json

clean: ## remove the environment and everything built
	rm -rf $(VENV) $(TOOLS) demo out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
