# `make demo` and `make test` need a Rust toolchain, CPython >= 3.11 with pip, and make; everything else is set up in .venv.
# A stamp file in .venv marks each finished step, so a second run does only what changed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# The interpreter that .venv is made from, found without .venv itself.
OUTSIDE := PATH="$(PATH)" $(PYTHON)

export PATH        := $(CURDIR)/$(BIN):$(PATH)
# One interpreter for every build of the bindings, so that cargo never rebuilds them for another.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

.DEFAULT_GOAL := help
.PHONY: help demo test test-gpu bench bench-twice bench-gpu bench-gt4py sanitize build clean
.PHONY: builds rust-build python-build lint format clippy types rust-test python-test

help:
	@echo "make demo      run the main job on real data; results in fieldstone-demo/"
	@echo "make test      format, lint and type checks, then all tests"
	@echo "make bench     benchmark stencils beside C, Numba, JAX and NumPy, some ten minutes; ARGS=--quick: the most important part;"
	@echo "               ARGS=calls, functions, memory, compile, storages or limits: what is around them"
	@echo "make bench-twice  benchmark stencils in two runs, one beside the other, and say what holds in both"
	@echo "make bench-gt4py  the same beside GT4Py, which it installs apart and which compiles for minutes the first time"
	@echo "make test-gpu  the tests that need an NVIDIA GPU, with CuPy and compute-sanitizer; make bench-gpu: stencils there beside CUDA C"
	@echo "make sanitize  the crates with unsafe code under AddressSanitizer, ThreadSanitizer and valgrind"
	@echo "make build     the package with its extension module in $(VENV)"
	@echo "make clean     remove everything these made"

demo: $(VENV)/.demo
	@fieldstone demo $(ARGS)

# What takes seconds to find is said before anything is built.
test: format builds rust-test python-test

# What the tests need, and what is wrong with types and with Rust: the build for release, that for debugging and what pip loads have
# different things to wait for. Not by `--jobs`, whose number cargo would keep to.
builds: $(VENV)/.pip
	@$(MAKE) --no-print-directory rust-build & rust=$$!; \
	$(MAKE) --no-print-directory python-build || { kill $$rust; exit 1; }; \
	wait $$rust

rust-build: clippy
	@cargo test --quiet --locked --workspace --no-run

python-build: types $(VENV)/gt4py/.installed

bench: $(VENV)/.bench
	@python -m benches $(ARGS)

bench-twice: $(VENV)/.bench
	@python -m benches --output benches/results/before.json $(ARGS)
	@python -m benches --output benches/results/stencils.json $(ARGS)
	@python -m benches repeated --beside benches/results/before.json --output benches/results/stencils.json

test-gpu: $(VENV)/.test $(VENV)/.gpu
	@tests/on_gpu.sh $(ARGS)

bench-gpu: $(VENV)/.bench $(VENV)/.gpu
	@python -m benches gpu $(ARGS)

bench-gt4py: $(VENV)/.bench $(VENV)/gt4py/.installed
	@python -m benches --gt4py-python $(CURDIR)/$(VENV)/gt4py/bin/python $(ARGS)

sanitize:
	@tests/sanitize.sh $(ARGS)

build: $(VENV)/.core

lint: format clippy types

format: $(VENV)/.ruff
	@cargo fmt --all --check
	@ruff check --quiet .
	@ruff format --quiet --check . || { ruff format --check .; exit 1; }

clippy: $(VENV)/.pip
	@cargo clippy --quiet --locked --workspace --all-targets -- -D warnings

types: $(VENV)/.test
	@mypy

rust-test: $(VENV)/.test
	@cargo test --quiet --locked --workspace

# What stencils mean is compared with GT4Py's own answers, which come from an environment of its own. A process for each core takes
# tests from the others when it has none left; many processes would each compile much the same.
python-test: $(VENV)/.test $(VENV)/gt4py/.installed
	@FIELDSTONE_GT4PY_PYTHON=$(CURDIR)/$(VENV)/gt4py/bin/python pytest --numprocesses auto --maxprocesses 8 --dist worksteal

$(VENV)/gt4py/.installed: $(VENV)/.pip
	@echo "installing GT4Py beside fieldstone, to compare with"
	@$(OUTSIDE) -m venv --without-pip $(VENV)/gt4py
	@# It builds its extensions with a part of setuptools that later ones do not have.
	@$(BIN)/python -m pip --disable-pip-version-check --python $(VENV)/gt4py/bin/python install --quiet 'gt4py>=1.1.12,<1.2' 'setuptools<83'
	@touch $@

$(VENV)/.pip:
	@echo "setting up $(VENV)"
	@$(OUTSIDE) -c 'import sys; sys.exit("fieldstone needs CPython 3.11 or newer, this is " + sys.version.split()[0] + "; choose another with make PYTHON=python3.x" if sys.version_info < (3, 11) else 0)'
	@$(OUTSIDE) -m venv --without-pip $(VENV)
	@# Debian puts the `ensurepip` of a full virtual environment into a package of its own.
	@$(OUTSIDE) -m pip --disable-pip-version-check --python $(BIN)/python install --quiet pip
	@touch $@

$(VENV)/.maturin: $(VENV)/.pip
	@$(PIP) 'maturin>=1.9,<2'
	@touch $@

# As the tests ask for it, but before they and the package are installed.
$(VENV)/.ruff: $(VENV)/.pip pyproject.toml
	@$(PIP) "$$(grep -o 'ruff>[^"]*' pyproject.toml)"
	@touch $@

# The extension module, a release build that cargo keeps up to date in target/, and with it what an extra of the package needs.
CORE := $(VENV)/.maturin pyproject.toml $(RUST)

$(VENV)/.core: $(CORE)
	@echo "building fieldstone"
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.bench $(VENV)/.gpu: $(VENV)/.%: $(CORE)
	@echo "building fieldstone and installing what its $* needs"
	@$(PIP) --no-build-isolation --editable '.[$*]'
	@touch $@

clean:
	@rm -rf $(VENV) target dist fieldstone-demo benches/results .pytest_cache .mypy_cache .ruff_cache .hypothesis python/fieldstone/_core*.so
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
