# Targets of this project. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help setup opengl chromium run test tests times quick faults check format type lint bench docs pictures wheel clean

VENV   := .venv
BIN    := $(VENV)/bin
BASE   := $(VENV)/.base
STAMP  := $(VENV)/.installed
PYTHON ?= python3
OPENGL := libegl1 libosmesa6 libgl1-mesa-dri
PYRIGHT := $(BIN)/pyright
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## create .venv with every extra
# What `make run` needs. The extras for learning, viewing, rehearsal and development are twenty times as large.
$(BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; try make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -qy python3-venv; \
	  else echo "The venv module is missing. Run: sudo apt-get install python3-venv"; exit 1; fi; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[video]'
	@$(MAKE) --no-print-directory opengl
	@touch $(BASE)

$(STAMP): $(BASE)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,video,fast,view,ingest,learn,rl,curate,ray,s3,sign,usd,warp]'
	@# Without their dependencies: rehearsal cells need NumPy and transforms3d only. Mosek (of Drake) is not free software,
	@# and OpenCV (of SAPIEN) is large.
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps drake sapien transforms3d
	@touch $(STAMP)

# For images only, so the setup goes on if this fails.
opengl:
	@$(BIN)/python -c 'from twinloop.observe.gl import context; context()' 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ]; then \
	    { apt-get update -q && apt-get install -qy $(OPENGL); } >/dev/null 2>&1 \
	    || echo "OpenGL could not be installed; pictures need: apt-get install -y $(OPENGL)"; \
	  else echo "For pictures (twinloop gallery) run: sudo apt-get install -y $(OPENGL)"; fi; }

# For the tests of pages only, so a failure here is no failure of the setup.
chromium:
	@command -v chromium >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ]; then \
	    { apt-get update -q && apt-get install -qy chromium; } >/dev/null 2>&1 \
	    || echo "Chromium could not be installed; the tests of pages need: apt-get install -y chromium"; \
	  else echo "For the tests of pages in a browser run: sudo apt-get install -y chromium"; fi; }

run: $(BASE) ## generate 500 episodes of the embedded pick-and-place cell
	$(BIN)/twinloop generate --episodes 500

# Types are checked beside the tests. Pyright has a lower priority, so it uses the moments in which tests wait.
test: lint chromium ## lint, then types and all tests side by side
	@$(MAKE) --no-print-directory --jobs=2 PYRIGHT='nice -n 4 $(BIN)/pyright' type tests

tests: setup ## all tests, without lint and types
	$(PYTEST)

times: setup ## run all tests and write their CPU times into tests/module_times.json
	$(PYTEST) --record-times

quick: lint ## lint and the tests that are fast and start no process
	$(PYTEST) --quick

faults: setup ## inject every fault as often as docs/promises.md says (about half an hour; as root also a full disk)
	TWINLOOP_FAULTS=full $(BIN)/python -m pytest tests/faults tests/laws/test_one_digest.py tests/laws/test_ray_laws.py tests/laws/test_store_laws.py -s -o faulthandler_timeout=7200

check: setup ## lint and types, side by side
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint type

lint: setup ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: setup ## pyright
	$(PYRIGHT)

format: setup ## format and fix with ruff
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup ## write the generated pages of docs/
	$(BIN)/python docs/build.py

pictures: setup ## draw the effect of every parameter (about a minute), then write the docs
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/build.py

bench: setup ## every benchmark (about an hour and a half); results go to benchmarks/results/
	@mkdir -p benchmarks/results
	for name in throughput scaling writer memory cameras learning inference rehearsal cells engines sequential prediction_powered monitoring timestep curation; do $(BIN)/python benchmarks/$$name.py --json | tail -n 1 > benchmarks/results/$$name.json; done

wheel: setup ## build a wheel in dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean: ## remove the environment and caches; datasets stay
	rm -rf $(VENV) .pytest_cache .ruff_cache build dist *.egg-info
