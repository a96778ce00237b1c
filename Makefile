# make demo   the main job, on a photograph
# make test   everything that must hold before a change is merged
# make draws  the tests again, with all random examples that they may draw
#
# Both create .venv when it is missing or older than pyproject.toml and constraints.txt.

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# The first interpreter that is 3.11 or newer and can make virtual environments.
FIND_PYTHON = for python in python3.11 python3.12 python3.13 python3 python3.14 python; do \
	if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$python; break; fi; done

.PHONY: demo test draws lint types imports unit clean

demo: $(STAMP)
	$(BIN)/python -m spaces.apps.demo

# Types are checked on what the tests leave of the processors while some of them wait.
test: lint imports
	$(MAKE) --no-print-directory --jobs 2 types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports --no-logo

# How many processes run tests at once: make test WORKERS=8 on a machine of eight cores.
WORKERS = 2

# With byte code on disk, even where the environment forbids it: tests start some 100 interpreters.
TESTS = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

unit: $(STAMP)
	$(TESTS)

draws: $(STAMP)
	$(TESTS) --hypothesis-profile thorough

$(STAMP): pyproject.toml constraints.txt
	@if [ ! -x $(BIN)/python ]; then \
		python=$$($(FIND_PYTHON)); \
		if [ -z "$$python" ]; then \
			echo "No Python 3.11 or newer with the venv module was found on PATH; please install one." >&2; \
			exit 1; \
		fi; \
		$$python -m venv $(VENV); \
	fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
