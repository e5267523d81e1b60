# Everything a target needs, it sets up itself. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The interpreter of the virtual environment: the first of these that runs, unless one is named (make setup PYTHON=…).
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)
# A version manager's shim may exist and not run, and a system Python may lack venv, so each candidate is tried.
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

VENV := .venv
PY := $(VENV)/bin/python
LINK := collections/ansible_collections/rendimiento/addons

# ansible-lint and the playbooks start ansible's programs by name. Nothing of the user's own Ansible set-up takes part.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
# Ansible refuses to start in a locale without UTF-8, and tools are to speak the language that the tests expect.
export LC_ALL := $(if $(filter Darwin,$(shell uname)),en_US.UTF-8,C.UTF-8)
unexport ANSIBLE_COLLECTIONS_PATH PYTHONPATH PYTHONHOME

.PHONY: help setup venv programs demo demo-down test test-unit test-long lint format build clean

help:
	@echo "setup      virtual environment and the local cluster's programs"
	@echo "demo       the story, on a private Kubernetes API in .local/demo"
	@echo "demo-down  ends the demo's cluster"
	@echo "test       unit and integration tests (test-unit: only the first)"
	@echo "test-long  only the long tests: full counts, kills and faults, large add-ons, the longer stories, molecule"
	@echo "lint       ruff, mypy, yamllint, ansible-lint, changelog fragments"
	@echo "format     lets ruff put the Python files in order"
	@echo "build      the collection's tarball, in .local/build"
	@echo "clean      removes what the other targets made; programs in the user's cache folder stay"

setup: venv programs
	@:

venv: $(VENV)/.requirements $(LINK)
	@:

# Without a usable interpreter, or with one that has gone since, the environment is made anew; packages are installed
# only when a requirement file changed.
$(VENV)/.requirements: requirements.txt requirements-dev.txt
	@if ! $(PY) -c '$(USABLE)' 2>/dev/null; then \
	  for candidate in $(CANDIDATES); do \
	    if "$$candidate" -c '$(USABLE)' >/dev/null 2>&1; then python="$$candidate"; break; fi; \
	  done; \
	  if [ -z "$${python:-}" ]; then \
	    echo "Python 3.11 or newer with its venv module is needed; tried: $(CANDIDATES)." >&2; \
	    echo "Install one (on Debian and Ubuntu: python3 and python3-venv), or name it: make setup PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	  fi; \
	  echo "Making $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@echo "Installing Python packages into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

# A collection is found by its place, ansible_collections/<namespace>/<name>; a link gives a checkout that place.
$(LINK):
	@mkdir -p $(@D)
	@ln -sfn ../../.. $@

programs: venv
	@$(PY) -m local_cluster build >/dev/null

demo: setup
	@$(PY) examples/demo.py

demo-down: venv
	@$(PY) examples/demo.py --down

# Two workers, each with a cluster of its own, whatever the machine: a file's tests share what they set up.
WORKERS := --numprocesses 2 --dist loadfile

test: setup
	@$(PY) -m pytest -q $(WORKERS) -m "not long" tests

test-unit: setup
	@$(PY) -m pytest -q $(WORKERS) -m "not long" tests/unit

test-long: setup
	@$(PY) -m pytest -q $(WORKERS) -m long tests

lint: venv
	@$(PY) -m ruff check --quiet --output-format concise .
	@$(PY) -m ruff format --quiet --check --output-format concise .
	@$(PY) -m mypy --no-error-summary $(LINK)/plugins $(wildcard tests local_cluster examples benchmarks)
	@$(PY) -m yamllint --strict examples changelogs galaxy.yml
	@ansible-lint --profile production --offline -q
	@antsibull-changelog lint
	@echo "lint: clean"

format: venv
	@$(PY) -m ruff check --quiet --fix .
	@$(PY) -m ruff format --quiet .

build: venv
	@mkdir -p .local/build
	@ansible-galaxy collection build --force --output-path .local/build

clean:
	@if [ -d .local/demo ]; then $(MAKE) demo-down; fi
	@rm -rf $(VENV) .local .ansible collections tests/output .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
