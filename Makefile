# `make demo` and `make test` set up everything they need in .venv/ first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup demo test test-all bounds fuzz lint format coverage lowest newest package dist version release \
  dry-release portable bench pages figures docs clean

help:
	@echo "make demo    set up and compare rankers on built-in queries"
	@echo "make test    set up and run the tests, but for the slow ones"
	@echo "make test-all   run all tests"
	@echo "make bounds  run the tests of kernels with checked bounds of arrays"
	@echo "make fuzz    read made-up and damaged files for a minute"
	@echo "make campaign-models   an attack, one of those in docs/how-we-test.md"
	@echo "make lint    ruff, mypy, import-linter"
	@echo "make format  let ruff reformat the code"
	@echo "make coverage   run the tests and say which lines they miss"
	@echo "make lowest     run the tests with the lowest versions of what localrank depends on"
	@echo "make newest     run the tests of borrowed internals with the newest versions of everything"
	@echo "make package    build the wheel and the sdist, and try them in a clean environment"
	@echo "make portable   run the tests that need no other programs, as on macOS and Windows"
	@echo "make dry-release   do all steps of a release with a copy of the last commit"
	@echo "make release    check this commit, build and try it, and print how to upload it"
	@echo "make bench   measure the claims of docs/speed.md and write it, on a quiet machine"
	@echo "make pages DATA=DIR   make the pages of docs/reproduction whose code changed"
	@echo "make figures DATA=DIR   both of these, and what the README and the first page quote of them"
	@echo "make docs    build the documentation into site/"
	@echo "make setup   create .venv/ with everything for the above"

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "localrank needs Python 3.11 or newer; point at one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "Creating .venv/ ..."
	@$(PYTHON) -m venv .venv

# The demo trains boosted trees; tests, benchmarks and docs need the rest.
.venv/.package: pyproject.toml | .venv/pyvenv.cfg
	@echo "Installing localrank into .venv/ (once, about a minute) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[train]"
	@touch $@

.venv/.everything: pyproject.toml | .venv/pyvenv.cfg
	@echo "Installing localrank with its development tools into .venv/ (once, about two minutes) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,docs]"
	@touch .venv/.package $@

setup: .venv/.everything

demo: .venv/.package
	@$(BIN)/localrank demo

# Kernels are compiled once: two workers would do it at the same time. All are compiled anew, in one
# order: what the demo compiled before, in another order, may differ in the last bit of a score.
KERNELS = $(shell grep -rl --include='*.py' '^ *@kernel' src/localrank)
.venv/.kernels: .venv/.everything $(KERNELS)
	@echo "Compiling kernels (once, about a minute) ..."
	@find src -name '*.nb[ci]' -delete
	@$(BIN)/python tests/compile_kernels.py
	@touch $@

test: setup .venv/.kernels
	@$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-all: setup .venv/.kernels
	@$(BIN)/python -m pytest -q -n 2

# A kernel's tests have its name; where they have not, they are listed. The plugin tells of kernels
# that no test compiled, so all are compiled anew, and apart.
KERNEL_TESTS = tests/_kernels tests/data/test_letor.py tests/data/test_letor_limits.py \
  tests/data/test_trec.py tests/data/test_pooling.py tests/data/test_vectors.py \
  tests/data/test_id_table.py \
  tests/aggregation/test_aggregators.py tests/representations/test_principal_components.py \
  tests/representations/test_top_values.py tests/text/test_retrieval.py tests/text/test_stream.py \
  tests/trees/test_sets.py tests/evaluation/test_hole_bounds.py \
  tests/rankers/rank_svm/test_rank_svm.py tests/rankers/feature_nets/test_pair_loss.py \
  tests/rankers/lgmml/test_warp.py tests/rankers/lgmml/test_lgmml.py \
  $(foreach module,$(KERNELS),$(wildcard \
    $(dir $(module:src/localrank/%=tests/%))test_$(patsubst _%,%,$(notdir $(module)))))

bounds: setup
	@rm -rf .cache/bounds
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.cache/bounds \
	  $(BIN)/python -m pytest -q -p kernels_compiled $(sort $(KERNEL_TESTS))

fuzz: setup
	@$(BIN)/python tests/fuzz_letor.py --count 30000
	@$(BIN)/python tests/fuzz_tables.py --count 10000

# The commands are in tests/campaign.py, which also writes down how they ended.
campaign-%: setup .venv/.kernels
	@$(BIN)/python tests/campaign.py $*

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini --cache-dir .mypy_cache/tests tests
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: setup .venv/.kernels
	@rm -f .coverage .coverage.*
	@$(BIN)/python -m pytest -q -n 2 --cov --cov-report=term-missing:skip-covered

# Old versions beside new ones of what they need warn of what will change: only errors count here.
# What is pinned is what pyproject.toml names; what those need in turn is as new as they allow.
lowest:
	@$(PYTHON) -m venv --clear .cache/lowest
	@.cache/lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	@.cache/lowest/bin/uv pip install --quiet --python .cache/lowest/bin/python --resolution lowest-direct -e ".[dev]"
	@.cache/lowest/bin/python -m pytest -q -n 2 -W ignore::DeprecationWarning -W ignore::FutureWarning

# Do the private parts of other libraries still work that localrank uses? These tests touch them.
DOOR_TESTS = tests/test_borrowed_internals.py tests/_kernels tests/trees tests/persistence \
  tests/test_persistence.py tests/test_golden.py tests/_base/test_estimator.py \
  tests/_base/test_parallel.py tests/data/test_letor.py tests/rankers/test_scikit_learn.py \
  tests/rankers/boosted_trees tests/serving/test_uvicorn.py

# Versions before their release too, unless they do not go together.
newest:
	@$(PYTHON) -m venv --clear .cache/newest
	@.cache/newest/bin/python -m pip install --quiet --disable-pip-version-check uv
	@.cache/newest/bin/uv pip install --quiet --python .cache/newest/bin/python --upgrade \
	  --prerelease=allow -e ".[dev]" || \
	  .cache/newest/bin/uv pip install --quiet --python .cache/newest/bin/python --upgrade -e ".[dev]"
	@.cache/newest/bin/uv pip list --quiet --python .cache/newest/bin/python | \
	  grep -iE "^(numba|llvmlite|lightgbm|scikit-learn|threadpoolctl|numpy|uvicorn) "
	@.cache/newest/bin/python -m pytest -q -n 2 -W ignore::DeprecationWarning \
	  -W ignore::FutureWarning $(wildcard $(DOOR_TESTS))

package: setup
	@$(MAKE) --no-print-directory dist

dist:
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist
	@$(BIN)/twine check --strict dist/*
	@$(BIN)/check-wheel-contents dist/*.whl
	@$(BIN)/python tests/try_package.py dist

# What must be the same in the package, the changelog and the citation: make version VERSION=0.1.0
version: setup
	@$(BIN)/python tests/release.py version $(VERSION)

release: setup
	@$(BIN)/python tests/release.py check
	@$(MAKE) --no-print-directory package
	@$(BIN)/python tests/release.py upload

dry-release: setup
	@rm -rf .cache/release && mkdir -p .cache/release
	@$(BIN)/python tests/release.py copy .cache/release
	@$(MAKE) --no-print-directory -C .cache/release dist BIN=$(CURDIR)/$(BIN)
	@$(BIN)/python .cache/release/tests/release.py upload
	@echo "This was a dry run in .cache/release. In earnest: make version VERSION=..., make release"

portable: setup .venv/.kernels
	@$(BIN)/python tests/portable.py

# On a quiet machine, about twenty minutes; what was measured at this commit is not measured again.
bench: setup .venv/.kernels
	@$(BIN)/python benchmarks/speed_table.py

pages: setup .venv/.kernels
	@$(BIN)/localrank reproduce all --data $(DATA) -o docs/reproduction

# Hours on a quiet machine, all of one commit of the code. Interrupted, it goes on where it stopped.
figures: bench
	@$(BIN)/localrank reproduce all --data $(DATA) -o docs/reproduction --this-commit
	@$(BIN)/python docs/quoted_numbers.py $(DATA)

docs: setup
	$(BIN)/python -m localrank.evaluation.plots docs/reproduction/figures/*.json
	$(BIN)/python docs/pictures/draw.py
	$(BIN)/zensical build --strict --config-file mkdocs.yml

clean:
	rm -rf .venv site build dist .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src -name '*.nb[ci]' -delete
