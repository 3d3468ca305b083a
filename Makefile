# PYTHON makes the virtual environment; it must be Python 3.11.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# More words for pytest: files, or options such as ARGS="-k session -x".
TESTS ?=
ARGS ?=

# Tests by their marks, more words, and the folders that hold them (tests/conftest.py sees to it), since to look through
# all takes half a minute. A selection may leave a part without tests, which pytest ends with 5; without a selection that
# is a failure.
pytest = $(BIN)/pytest -m "$(1)" $(2) $(ARGS) $(or $(TESTS),$(3))$(if $(strip $(ARGS) $(TESTS)), || test $$? -eq 5)

# Where it is set, each of the thousand processes of the tests compiles all that it imports, a second of its time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test long proofs mutants lint docs bench gpu-check soak audit clean dist

help: ## Shows the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Creates .venv with everything that server, games and development need.

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
		echo "make: '$(PYTHON)' is no Python 3.11; install it, or name one: make setup PYTHON=/path/to/python3.11" >&2; \
		exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --no-compile -c constraints.txt -e '.[server,games,dev,docs,deepspeed,video]'
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || test $$? -eq 1 # pip would use one core. Some files are templates.
	@touch $@

demo: $(STAMP) ## Trains CartPole until it is solved, then serves the champion; prints JSON last.
	@$(BIN)/sparring launch --config configs/rl.yaml

test: $(STAMP) ## Runs the unit tests, the C++ client, what starts Ray, then the commands end to end.
	$(call pytest,not ray and not cluster and not e2e and not cpp and not export and not mlflow and not slow and not proof and not mutant and not browser and not soak,-n 3 --dist worksteal)
	$(call pytest,(cpp or export or mlflow or slow) and not long,-n 2 --dist loadfile)
	$(call pytest,browser and not ray,,tests/deployments/console tests/docs tests/render)
	$(call pytest,fast_proof,-n 2 --dist worksteal,tests/proofs)
	$(call pytest,ray and not long,,tests/ring)
	$(call pytest,e2e and not long,,tests/e2e tests/docs tests/capacity)
	$(call pytest,soak,,tests/soak)
	$(call pytest,cluster and not long,,tests/cluster)

proofs: $(STAMP) ## Learns each game that a proof names until it is solved, then lets each mutant fail.
	$(call pytest,proof and not alone,-n 2 --dist worksteal)
	$(call pytest,proof and alone)
	$(call pytest,mutant,-n 2 --dist worksteal)

long: $(STAMP) ## Runs the tests that take too long for each change: floods, other strategies, what the docs measure and learn.
	$(call pytest,long)

mutants: $(STAMP) ## Learns with one fault put in at a time; each must be noticed.
	$(call pytest,mutant,-n 2 --dist worksteal)

lint: $(STAMP) ## Checks style, types and layers.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP) ## Builds the site into build/docs; a link that leads nowhere, or a page without a place, fails.
	$(BIN)/python -m tests.docs.site build/docs

bench: $(STAMP) ## Measures launch to solved, next to the same algorithm in one process.
	$(BIN)/sparring bench solve

gpu-check: $(STAMP) ## Checks what a GPU is asked for, in under ten minutes; without one it says so and ends.
	@$(BIN)/sparring gpu-check

# Length of the soak's load; RESUME=--resume goes on with the one before.
MINUTES ?= 60
SEED ?= 1
RESUME ?=
# Its state and reports; what is there already is removed, but with RESUME.
SOAK_FOLDER ?= build/soak

soak: $(STAMP) ## Plays for an hour (MINUTES=) while faults are made; the report is in build/soak (SOAK_FOLDER=).
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --seed $(SEED) --folder $(SOAK_FOLDER) $(RESUME)

audit: $(STAMP) ## Checks the files of requirements.lock by their hashes, and asks for known vulnerabilities.
	$(BIN)/python -m pip install --dry-run --ignore-installed --no-deps --quiet --require-hashes -r requirements.lock
	test -x build/audit/bin/pip-audit || { $(PYTHON) -m venv build/audit && \
		build/audit/bin/pip install --quiet pip-audit==2.10.1; }
	build/audit/bin/pip-audit --strict --disable-pip --require-hashes -r requirements.lock

dist: $(STAMP) ## Builds the wheel and the source archive into build/dist, and checks what they hold.
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist
	$(BIN)/python -m tests.release.check build/dist

clean: ## Removes the virtual environment, caches and builds.
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find app deployments train tests -name __pycache__ -type d -prune -exec rm -rf {} +
