# Two commands matter: `make up` runs the product, `make test` runs every test.
# Each does its own set-up, says what it is doing, and is quick the second time.

PY := .venv/bin/python

.PHONY: help setup dev up down test check fast e2e explore faults bench format lock docs clean

help:
	@echo "make up       a real Slurm with Clusterra in front of it, on this machine"
	@echo "make test     every test (make check: the fast ones, with format, lint, types; five minutes)"
	@echo "make explore  the property tests with examples that nobody has tried, up to two thousand each"
	@echo "make faults   the ledger and deliveries killed six hundred times each, at every moment that has a name"
	@echo "make bench    the figures, each beside its raw part   [ONLY=name]"
	@echo "make setup    just the Python environment, in .venv"
	@echo "make docs     write the generated reference pages and openapi.json again"
	@echo "make lock     choose newer versions of what we depend on"

setup:
	@tools/setup server

dev:
	@tools/setup dev

up: setup
	@.venv/bin/clusterra up $(ARGS)

down: setup
	@.venv/bin/clusterra down $(ARGS)

format: dev
	@$(PY) -m ruff format -q src tests bench tools
	@$(PY) -m ruff check -q --fix src tests bench tools

check: dev
	@tools/step "format"           $(PY) -m ruff format -q --check src tests bench tools
	@tools/step "lint"             $(PY) -m ruff check -q src tests bench tools
	@tools/step "types"            $(PY) -m mypy --no-error-summary
	@tools/step "import contracts" .venv/bin/lint-imports --no-logo
	@$(MAKE) -s fast

fast: dev
	@$(PY) -m pytest -q -n 2 -m "not e2e" $(ARGS)

e2e: dev
	@tools/e2e $(ARGS)

test: check e2e

explore: dev
	@$(PY) -m pytest -q -n 2 -m hypothesis --hypothesis-profile explore $(ARGS)

faults: dev
	@CLUSTERRA_KILLS=600 $(PY) -m pytest -q tests/faults $(ARGS)

bench: dev
	@$(PY) -m bench $(ONLY)

docs: dev
	@$(PY) tools/make_reference.py

lock: dev
	@tools/lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
