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
# One more than the number of cores, because many tests wait for other processes.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
BENCH_ARGS ?=
CHAOS_ARGS ?=
SOAK_ARGS ?=
COVERAGE_ARGS ?=
UV ?= uv

# Variables of a sourced ROS installation or an activated environment would mix its libraries with those of .venv.
unexport PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH CYCLONEDDS_URI _ROS_WHEELS_BOOTSTRAP_COMPLETE
unexport $(filter ROS_% RMW_% RCL_% RCUTILS_% FASTRTPS_% FASTDDS_% COLCON_%,$(.VARIABLES))
# These would change the target of pip, or disable the compiler.
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV NUMBA_DISABLE_JIT NUMBA_BOUNDSCHECK

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
PARALLEL = --numprocesses $(WORKERS) --dist worksteal
LOCKED := --require-hashes --no-deps --no-build-isolation

# A stamp file exists only if its step has finished. Its name depends on the folder and the Python, because a .venv is
# valid for these only.
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
	@echo "make demo runs the demonstration, make test the tests; both create $(VENV) from PyPI first."
	@echo
	@grep -hE '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 27
	@echo
	@echo "PYTHON=python3.12 selects a Python; DEMO_ARGS='--robot puma560' and PYTEST_ARGS='-k friction' pass options."

.PHONY: demo
demo: $(RUN) ## drive a simulated arm with each control law: in one process, then as two over DDS
	@$(BIN)/robot_dynamics demo $(DEMO_ARGS)
	@$(BIN)/robot_dynamics demo --live $(DEMO_ARGS)

.PHONY: test
test: $(TEST) ## the tests, ten minutes on two processors
	@$(BIN)/robot_dynamics warm-up # else each worker compiles the kernels
	@$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

# Tests that neither start processes nor compile many kernels.
QUICK := $(addprefix test/,analysis/report base control dynamics/description dynamics/model oracles recordings ros/nodes runs)
.PHONY: test-quick
test-quick: $(TEST) ## most tests of the library, in a minute: no processes, few kernels to compile
	@$(BIN)/python -m pytest $(PARALLEL) $(QUICK) $(PYTEST_ARGS)

.PHONY: test-all
test-all: $(TEST) ## all tests, including slow ones and many more random cases
	@HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest $(PARALLEL) --timeout 1800 -m "slow or not slow" $(PYTEST_ARGS)

# OpenBLAS has kernels for each kind of processor, which differ in the last bits. These run on all processors with AVX2;
# those for AVX-512 would end in an illegal instruction on others.
KERNELS := Haswell Zen Sandybridge
NUMERIC := $(addprefix test/,analysis/identification dynamics/model oracles textbooks)
.PHONY: test-blas
test-blas: $(TEST) ## numeric tests and the pages' code blocks with the BLAS kernels of other processors (eight minutes)
	@for kernels in $(KERNELS); do OPENBLAS_CORETYPE=$$kernels $(BIN)/python -m pytest $(PARALLEL) \
		$(NUMERIC) test/docs/test_code_blocks.py -k "test_page_runs or not test_code_blocks" $(PYTEST_ARGS); done

# BENCH_ARGS='--write docs/benchmarks.md' writes the tables of these targets to docs/benchmarks.md.
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

.PHONY: bench-export
bench-export: $(TEST) ## measure exported C code beside Pinocchio, in one C++ program and from Python (15 minutes)
	@$(BIN)/pip install --quiet cmeel-eigen cmeel-urdfdom-headers
	@$(BIN)/python -m benchmarks.export $(BENCH_ARGS)

.PHONY: bench-bags
bench-bags: $(TEST) ## measure replaying and comparing bags beside rosbags, and the memory of a million messages (3 minutes)
	@$(BIN)/python -m benchmarks.bags $(BENCH_ARGS)

.PHONY: bench-trajectories
bench-trajectories: $(TEST) ## measure the time to accept a trajectory
	@$(BIN)/python -m benchmarks.trajectories $(BENCH_ARGS)

.PHONY: laws
laws: $(RUN) ## measure the tracking errors of the control laws (half a minute)
	@$(BIN)/python -m benchmarks.control_laws $(BENCH_ARGS)

# BENCH_ARGS='--write docs/formulations.md' updates that page and its picture.
.PHONY: formulations
formulations: $(TEST) ## count and time the formulations of the dynamics for 1 to 8 joints (a minute)
	@$(BIN)/python -m benchmarks.formulations $(BENCH_ARGS)

# Long checks of the package and of its tests (tools/).

# INDEX_ARGS='"Tsai (9.1)" "Spong"' selects rows by their titles.
INDEX_ARGS ?=
.PHONY: check-index
check-index: $(TEST) ## break each function that docs/theory.md names, and see a named test fail (most of an hour)
	@$(BIN)/python -m tools.check_index $(INDEX_ARGS)

# BENCH_ARGS='--write docs/numerics.md' updates that page.
.PHONY: numerics
numerics: $(TEST) ## measure rounding errors against 50 digits, and bitwise repeatability (several minutes)
	@$(BIN)/python -m tools.numerics $(BENCH_ARGS)

# CHAOS_ARGS='--write docs/reliability.md' and SOAK_ARGS update that page.
.PHONY: chaos
chaos: $(TEST) ## inject faults into plant, controller, recorder and network, and measure the reaction (8 minutes)
	@$(BIN)/python -m tools.chaos $(CHAOS_ARGS)

.PHONY: soak
soak: $(TEST) ## measure drift: an hour of 1 kHz in lockstep, ten minutes in real time (half an hour on a quiet machine)
	@$(BIN)/python -m tools.soak $(SOAK_ARGS)

# SAFETY_ARGS='--write docs/reliability.md' updates that page; SAFETY_ARGS=--hour checks for false alarms.
SAFETY_ARGS ?=
.PHONY: safety-times
safety-times: $(TEST) ## count the cycles from each cause of a fault to the first safe command
	@$(BIN)/python -m tools.safety_times $(SAFETY_ARGS)

SESSION_ARGS ?= --jobs 2
.PHONY: fuzz-session
fuzz-session: $(TEST) ## run the controller with random robots, messages and clocks 10,000 times, and check each command
	@$(BIN)/python -m tools.session_fuzz $(SESSION_ARGS)

# BATTERY_ARGS='--compare before.json' and other options: docs/fault_battery.md.
BATTERY_ARGS ?= --jobs 2
.PHONY: fault-battery
fault-battery: $(TEST) ## run the controller with 330 kinds of single faults, and grade the motion of its arms (over an hour)
	@$(BIN)/python -m tools.fault_battery $(BATTERY_ARGS)

# A fixed sample, with the limits for a change.
.PHONY: fault-sample
fault-sample: $(TEST) ## 100 of these runs, and those without faults (three minutes)
	@$(BIN)/python -m tools.fault_battery --jobs 2 --sample 100 --most-critical 6.5
	@$(BIN)/python -m tools.fault_battery --jobs 2 --healthy

# FUZZ_ARGS='--full --write docs/reliability.md' runs at full length and updates that page.
FUZZ_ARGS ?= --seconds 100
.PHONY: fuzz
fuzz: $(TEST) ## try broken URDFs, dynamics files, messages, parameters and bags for ten minutes
	@$(BIN)/python -m tools.fuzz $(FUZZ_ARGS)

.PHONY: input-costs
input-costs: $(TEST) ## measure the largest time and memory for one message or file (half a minute)
	@$(BIN)/python -m tools.input_costs

INTERPRETED := test/dynamics test/oracles test/test_textbook.py
.PHONY: test-interpreted
test-interpreted: $(TEST) ## the tests of the dynamics with the kernels as plain Python, fewer random cases
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(INTERPRETED) $(PYTEST_ARGS)

# Each has its own .venv. A Python is searched on the PATH, then among those of pyenv.
python = $(or $(shell for p in python$(1) $(HOME)/.pyenv/versions/$(1).*/bin/python$(1); do \
	$$p -I -c 'import ensurepip, venv' 2>/dev/null && echo $$p && break; done),python$(1))
PYTHON_HUMBLE ?= $(call python,3.10)
PYTHON_JAZZY ?= $(call python,3.12)
.PHONY: test-humble test-jazzy test-distribution
test-humble: ## dynamics, control, bags and identification with Ubuntu 22.04's Python, NumPy, SciPy and numba
	@$(MAKE) test-distribution DISTRIBUTION=humble VENV=.venv-humble PYTHON='$(PYTHON_HUMBLE)'

test-jazzy: ## the same with Ubuntu 24.04's
	@$(MAKE) test-distribution DISTRIBUTION=jazzy VENV=.venv-jazzy PYTHON='$(PYTHON_JAZZY)'

# Without ROS, and therefore without tests that import its messages.
DISTRIBUTION_TESTS := $(addprefix test/,analysis/diagnosis analysis/identification control dynamics oracles recordings/bags runs simulation \
	textbooks test_public_robots.py test_robots.py test_textbook.py)
test-distribution: $(VENV)/$(DISTRIBUTION)-$(KEY).stamp
	@$(BIN)/python -m pytest $(PARALLEL) --timeout 1800 $(DISTRIBUTION_TESTS) --ignore test/runs/test_inputs.py $(PYTEST_ARGS)

# Coverage cannot measure machine code: the kernels run once more as plain Python, with the short tests of the simulation.
LONG := coupled unconstrained_motion peers plant simulate sticking
SIMULATED := $(filter-out $(LONG:%=test/simulation/test_%.py),$(wildcard test/simulation/test_*.py))
# `$(BIN)/python -m coverage report --skip-covered --show-missing` then lists the lines that did not run.
COVER := $(BIN)/python -m coverage
COVERED := .coverage_data
.PHONY: coverage
coverage: $(TEST) ## measure the lines and branches that the tests run (a quarter of an hour)
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
	@$(BIN)/python -m pytest -q test/test_package.py
	@$(BIN)/python -m tools.words

.PHONY: pictures
pictures: $(TEST) ## make the animation of README, and photograph the browser view and a report (needs chromium; a few minutes)
	@$(BIN)/python docs/two_laws.py
	@$(BIN)/python docs/gear_friction.py
	@$(BIN)/python docs/pictures.py

# `python docs/generated.py` updates the pages and tables that are made from the code.
.PHONY: docs
docs: $(TEST) ## check the generated pages and tables, and make docs/ as HTML, in docs/_build/html
	@$(BIN)/python docs/generated.py --check
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --fresh-env --quiet docs docs/_build/html
	@echo "docs/_build/html/index.html"

# `python -m tools.inventory` updates docs/inventory.txt, in which a change shows each loss for users.
.PHONY: inventory
inventory: $(TEST) ## compare what users see of commands, nodes, files and the API with docs/inventory.txt (a minute)
	@$(BIN)/python -m tools.inventory --check

.PHONY: clean
clean: ## remove everything that make, pip and colcon made here, .venv included
	rm -rf $(VENV) .venv-humble .venv-jazzy demo_output docs/_build build install log dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage_data
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Later locks use the versions of earlier ones, so that demo and tests have the same versions.
COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --python-version 3.10
# The versions override the NumPy requirement of pin.
COMPILE_FOR := $(UV) pip compile --quiet --generate-hashes --upgrade requirements/distribution.in \
	-c requirements/build.txt --python-version
.PHONY: lock
lock: ## update the lock files in requirements/ to the newest versions (needs uv)
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

# Build tools first, because a few dependencies are source packages. The package itself is editable.
$(BUILD): $(MADE) requirements/build.txt setup.py setup.cfg pyproject.toml
	@$(PIP) $(LOCKED) -r requirements/build.txt
	@$(PIP) --no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(RUN): $(BUILD) requirements/run.txt
	@echo "Installing the packages for the demo into $(VENV) (at first 250 MB to fetch, 1.1 GB on disk, a minute or more)"
	@$(PIP) $(LOCKED) -r requirements/run.txt
	@touch $@

$(TEST): $(BUILD) requirements/test.txt
	@echo "Installing the packages for the tests into $(VENV) (at first 530 MB to fetch, 2.1 GB on disk, one minute or more)"
	@$(PIP) $(LOCKED) -r requirements/test.txt
	@touch $@ $(RUN)

$(VENV)/$(DISTRIBUTION)-$(KEY).stamp: $(BUILD) requirements/$(DISTRIBUTION).txt
	@echo "Installing the packages for the tests, in Ubuntu's versions, into $(VENV) (1.4 GB on disk, a minute or more)"
	@$(PIP) $(LOCKED) -r requirements/$(DISTRIBUTION).txt
	@touch $@
