# What needs more than Python: the reference harness, which runs the real device manager. Nothing else needs it.
VERSION ?= 1.36.2
SEEDS ?= 0-199
JOBS ?= 2
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)

.PHONY: reference differential

reference:
	$(PYTHON) tests/reference/build.py $(VERSION)

differential: reference
	$(PYTHON) tests/differential/run.py --version $(VERSION) --seeds $(SEEDS) --jobs $(JOBS)
