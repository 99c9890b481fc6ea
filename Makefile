# Runs and checks robot_dynamics_ros on a machine without ROS: everything comes from PyPI into .venv.
# `make help` lists what there is to make.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

VENV ?= .venv
DEMO_ARGS ?=
PYTEST_ARGS ?=
# One more than there are cores, as many tests wait for other processes.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
BENCH_ARGS ?=
CHAOS_ARGS ?=
SOAK_ARGS ?=
MUTATION_ARGS ?=
COVERAGE_ARGS ?=
UV ?= uv

# What a sourced ROS installation or an activated environment leaves behind would mix its libraries with .venv's.
unexport PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH CYCLONEDDS_URI _ROS_WHEELS_BOOTSTRAP_COMPLETE
unexport $(filter ROS_% RMW_% RCL_% RCUTILS_% FASTRTPS_% FASTDDS_% COLCON_%,$(.VARIABLES))
# These would send pip elsewhere, or turn the compiler off.
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV NUMBA_DISABLE_JIT NUMBA_BOUNDSCHECK

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
PARALLEL = --numprocesses $(WORKERS) --dist worksteal
LOCKED := --require-hashes --no-deps --no-build-isolation

# python.stamp, package.stamp and so on exist only where the step that they stand for has finished.
# A .venv of another place or Python is of no use, so that their names hold both.
ifneq ($(filter-out help clean lock,$(or $(MAKECMDGOALS),help)),)
SUITS := import sys, ensurepip, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.10 python3; do \
	$$p -I -c '$(SUITS)' 2>/dev/null && echo $$p && break; done)
override PYTHON := $(PYTHON)
PYTHON_VERSION := $(if $(PYTHON),$(shell $(PYTHON) -I -c '$(SUITS)' 2>/dev/null && $(PYTHON) -I -V))
ifeq ($(PYTHON_VERSION),)
$(error $(if $(PYTHON),$(PYTHON) is no Python,No Python) from 3.10 to 3.13 with pip and venv. Install one \
	(Debian, Ubuntu: apt install python3-venv) or name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3)
endif
KEY := $(shell printf '%s' '$(CURDIR) $(PYTHON_VERSION)' | cksum | cut -d' ' -f1)
endif
MADE := $(VENV)/python-$(KEY).stamp
BUILD := $(VENV)/build-$(KEY).stamp
RUN := $(VENV)/run-$(KEY).stamp
TEST := $(VENV)/test-$(KEY).stamp

.PHONY: help
help: ## this list
	@echo "make demo runs the demonstration, make test the tests; both make $(VENV) first, from PyPI."
	@echo
	@grep -hE '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 27
	@echo
	@echo "PYTHON=python3.12 takes another Python, DEMO_ARGS='--robot puma560' and PYTEST_ARGS='-k friction' pass options on."

.PHONY: demo
demo: $(RUN) ## drive a simulated arm with each control law: in one process, then as two over DDS
	@$(BIN)/robot_dynamics demo $(DEMO_ARGS)
	@$(BIN)/robot_dynamics demo --live $(DEMO_ARGS)

.PHONY: test
test: $(TEST) ## the tests that take a few minutes
	@$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

# What neither starts processes nor compiles much: for the loop of edit and test.
QUICK := $(addprefix test/,bags control messages model nodes offline oracles parameters report)
.PHONY: test-quick
test-quick: $(TEST) ## most tests of the library, in a minute: no processes, few kernels to compile
	@$(BIN)/python -m pytest $(PARALLEL) $(QUICK) $(PYTEST_ARGS)

.PHONY: test-all
test-all: $(TEST) ## every test, the slow ones and many more random cases included
	@HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest $(PARALLEL) --timeout 1800 -m "slow or not slow" $(PYTEST_ARGS)

# These put their tables into docs/benchmarks.md by BENCH_ARGS='--write docs/benchmarks.md'.
.PHONY: bench
bench: $(TEST) ## measure against Pinocchio and MuJoCo, called from Python (a few minutes on a quiet machine)
	@$(BIN)/python -m benchmarks.dynamics $(BENCH_ARGS)

.PHONY: counts
counts: $(TEST) ## count multiplications and additions, beside those in the books
	@$(BIN)/python -m benchmarks.operation_counts $(BENCH_ARGS)

.PHONY: bench-ros
bench-ros: $(TEST) ## measure the controller node beside a bare echo node, over DDS (a minute on a quiet machine)
	@$(BIN)/python -m benchmarks.ros_loop $(BENCH_ARGS)

.PHONY: bench-sim
bench-sim: $(TEST) ## measure simulated robots with friction beside MuJoCo and Pinocchio (a few minutes on a quiet machine)
	@$(BIN)/python -m benchmarks.simulation $(BENCH_ARGS)

.PHONY: bench-bags
bench-bags: $(TEST) ## measure replaying and comparing bags beside rosbags, and the memory of a million messages (3 minutes)
	@$(BIN)/python -m benchmarks.bags $(BENCH_ARGS)

.PHONY: bench-trajectories
bench-trajectories: $(TEST) ## measure what it costs to take in a trajectory
	@$(BIN)/python -m benchmarks.trajectories $(BENCH_ARGS)

.PHONY: laws
laws: $(RUN) ## compare how well the control laws track, and what spoils it (half a minute)
	@$(BIN)/python -m benchmarks.control_laws $(BENCH_ARGS)

# By BENCH_ARGS='--write docs/formulations.md' into that file, with its picture.
.PHONY: formulations
formulations: $(TEST) ## count and time the formulations of the dynamics for 1 to 8 joints (a minute)
	@$(BIN)/python -m benchmarks.formulations $(BENCH_ARGS)

# What follows checks the tests, or the package for longer than a test may (tools/).

# By BENCH_ARGS='--write docs/numerics.md' into that file.
.PHONY: numerics
numerics: $(TEST) ## measure rounding errors against 50 digits, and whether results have the same bits (several minutes)
	@$(BIN)/python -m tools.numerics $(BENCH_ARGS)

# These two by CHAOS_ARGS='--write docs/reliability.md' and SOAK_ARGS, likewise.
.PHONY: chaos
chaos: $(TEST) ## break plant, controller, recorder and their network, and measure what the arm does (8 minutes)
	@$(BIN)/python -m tools.chaos $(CHAOS_ARGS)

.PHONY: soak
soak: $(TEST) ## an hour of 1 kHz in lockstep, ten minutes by the clock: what drifts (half an hour on a quiet machine)
	@$(BIN)/python -m tools.soak $(SOAK_ARGS)

# By SAFETY_ARGS='--write docs/reliability.md' into that file; SAFETY_ARGS=--hour is an hour without a false alarm.
SAFETY_ARGS ?=
.PHONY: safety-times
safety-times: $(TEST) ## count the cycles from each cause of a fault to the first safe command
	@$(BIN)/python -m tools.safety_times $(SAFETY_ARGS)

SESSION_ARGS ?= --jobs 2
.PHONY: fuzz-session
fuzz-session: $(TEST) ## run the controller with random robots, messages and clocks 10,000 times, and check each command
	@$(BIN)/python -m tools.session_fuzz $(SESSION_ARGS)

# By FUZZ_ARGS='--full --write docs/reliability.md' at full length, into that file.
FUZZ_ARGS ?= --seconds 100
.PHONY: fuzz
fuzz: $(TEST) ## try broken URDFs, dynamics files, messages, parameters and bags for ten minutes
	@$(BIN)/python -m tools.fuzz $(FUZZ_ARGS)

# Goes on where it was stopped. By MUTATION_ARGS='--write docs/reliability.md' into that file.
.PHONY: mutation
mutation: $(TEST) ## change kernels, control and the friction step, one thing at a time: does a test fail? (an hour or more)
	@$(BIN)/python -m tools.mutation $(MUTATION_ARGS)

.PHONY: input-costs
input-costs: $(TEST) ## measure what one message or file can cost at most (half a minute)
	@$(BIN)/python -m tools.input_costs

INTERPRETED := test/kernels test/model test/codegen test/oracles test/test_textbook.py
.PHONY: test-interpreted
test-interpreted: $(TEST) ## the tests of the dynamics with the kernels as plain Python, fewer random cases
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(INTERPRETED) $(PYTEST_ARGS)

# Each in a .venv of its own. A Python is looked for on the PATH, then among pyenv's.
python = $(or $(shell for p in python$(1) $(HOME)/.pyenv/versions/$(1).*/bin/python$(1); do \
	$$p -I -c 'import ensurepip, venv' 2>/dev/null && echo $$p && break; done),python$(1))
PYTHON_HUMBLE ?= $(call python,3.10)
PYTHON_JAZZY ?= $(call python,3.12)
.PHONY: test-humble test-jazzy test-distribution
test-humble: ## dynamics, control, bags and identification with Ubuntu 22.04's Python, NumPy, SciPy and numba
	@$(MAKE) test-distribution DISTRIBUTION=humble VENV=.venv-humble PYTHON='$(PYTHON_HUMBLE)'

test-jazzy: ## the same with Ubuntu 24.04's
	@$(MAKE) test-distribution DISTRIBUTION=jazzy VENV=.venv-jazzy PYTHON='$(PYTHON_JAZZY)'

# Without ROS, so without what imports its messages.
DISTRIBUTION_TESTS := $(addprefix test/,bags codegen control formulations identification kernels model offline oracles \
	simulation test_public_robots.py test_robots.py test_textbook.py)
test-distribution: $(VENV)/$(DISTRIBUTION)-$(KEY).stamp
	@$(BIN)/python -m pytest $(PARALLEL) --timeout 1800 $(DISTRIBUTION_TESTS) $(PYTEST_ARGS)

# What machine code runs is not seen: so the kernels run once more as plain Python. Of the simulation's tests, those
# that do not simulate for long.
LONG := coupled unconstrained_motion peers plant simulate sticking
SIMULATED := $(filter-out $(LONG:%=test/simulation/test_%.py),$(wildcard test/simulation/test_*.py))
# `$(BIN)/python -m coverage report --skip-covered --show-missing` then lists what did not run.
COVER := $(BIN)/python -m coverage
COVERED := .coverage_data
.PHONY: coverage
coverage: $(TEST) ## the lines and branches that the tests run, and whether they are enough (a quarter of an hour)
	@rm -rf $(COVERED)
	@mkdir $(COVERED)
	@$(COVER) run -m pytest $(PARALLEL) --timeout 1800
	@NUMBA_DISABLE_JIT=1 $(COVER) run -m pytest $(PARALLEL) --timeout 1800 $(INTERPRETED) $(SIMULATED)
	@$(COVER) combine --quiet
	@$(COVER) json --quiet -o $(COVERED)/report.json
	@$(BIN)/python -m tools.coverage_table $(COVERED)/report.json $(COVERAGE_ARGS)

.PHONY: lint
lint: $(TEST) ## style, types and package.xml
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict robot_dynamics_ros
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/python -m pytest -q test/test_package.py test/test_style.py

.PHONY: pictures
pictures: $(TEST) ## make the animation of README, and photograph the browser view (needs chromium; a few minutes)
	@$(BIN)/python docs/two_laws.py
	@$(BIN)/python docs/pictures.py

# `python docs/write_parameters.py` updates docs/parameters.md, `python docs/write_cli.py` docs/cli.md; a test checks both.
.PHONY: docs
docs: $(TEST) ## the pages of docs/ as HTML, in docs/_build/html
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --fresh-env --quiet docs docs/_build/html
	@echo "docs/_build/html/index.html"

.PHONY: clean
clean: ## remove everything that make, pip and colcon made here, .venv included
	rm -rf $(VENV) .venv-humble .venv-jazzy demo_output docs/_build build install log dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage_data
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Later locks take over the versions of earlier ones, so that the tests run with what the demo runs with.
COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --python-version 3.10
# The versions override what pin asks of NumPy.
COMPILE_FOR := $(UV) pip compile --quiet --generate-hashes --upgrade requirements/distribution.in \
	-c requirements/build.txt --python-version
.PHONY: lock
lock: ## choose the newest versions again and write the locks in requirements/ (needs uv)
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: pip install uv, or make lock UV=/path/to/uv" >&2; exit 1; }
	$(COMPILE) --upgrade requirements/build.in -o requirements/build.txt
	$(COMPILE) --upgrade requirements/run.in -c requirements/build.txt -o requirements/run.txt
	$(COMPILE) --upgrade requirements/test.in -c requirements/run.txt -o requirements/test.txt
	$(COMPILE_FOR) 3.10 requirements/humble.in --override requirements/humble.in -o requirements/humble.txt
	$(COMPILE_FOR) 3.12 requirements/jazzy.in --override requirements/jazzy.in -o requirements/jazzy.txt

$(MADE):
	@echo "Making $(VENV) with $(PYTHON) ($(PYTHON_VERSION))"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@touch $(VENV)/COLCON_IGNORE $@

# The build tools first: a few dependencies come as source. The package itself stays where it is (editable).
$(BUILD): $(MADE) requirements/build.txt setup.py setup.cfg pyproject.toml
	@$(PIP) $(LOCKED) -r requirements/build.txt
	@$(PIP) --no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(RUN): $(BUILD) requirements/run.txt
	@echo "Installing what the demo needs into $(VENV) (at first 250 MB to fetch, 1.1 GB on disk, a minute or more)"
	@$(PIP) $(LOCKED) -r requirements/run.txt
	@touch $@

$(TEST): $(BUILD) requirements/test.txt
	@echo "Installing what the tests need into $(VENV) (at first 530 MB to fetch, 2.1 GB on disk, one minute or more)"
	@$(PIP) $(LOCKED) -r requirements/test.txt
	@touch $@ $(RUN)

$(VENV)/$(DISTRIBUTION)-$(KEY).stamp: $(BUILD) requirements/$(DISTRIBUTION).txt
	@echo "Installing what the tests need, in Ubuntu's versions, into $(VENV) (1.4 GB on disk, a minute or more)"
	@$(PIP) $(LOCKED) -r requirements/$(DISTRIBUTION).txt
	@touch $@
