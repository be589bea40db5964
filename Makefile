# One Makefile; `make help` lists the targets.  Everything happens in .venv, made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help demo test slow check lint types bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*## "} {printf "  make %-8s %s\n", $$1, $$2}'

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "bosket needs Python 3.11 or newer; set PYTHON=python3.x")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@touch $@

demo: $(VENV)/.dev ## generate baskets, randomize, mine, and write demo/report.html
	$(BIN)/bosket demo --output demo

test: $(VENV)/.dev ## the quick test suite, on all cores
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -q -m "not slow" -n auto --dist worksteal

slow: $(VENV)/.dev ## the heavier checks too
	$(BIN)/python -m pytest -q

lint: $(VENV)/.dev ## format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/mypy

check: lint types test ## what CI runs

bench: $(VENV)/.bench ## benchmarks against peers and the machine's limit; one JSON out
	$(BIN)/bosket bench --output out/bench.json

clean: ## remove the environment and everything built
	rm -rf $(VENV) demo out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
