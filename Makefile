# What one does with a checkout. `make` lists it. Each target sets up what it needs first.
.DEFAULT_GOAL := help
SHELL := bash
BIN := .venv/bin

# PYTHON=python3.12 makes .venv with that one; without it setup looks for one that fits.
PYTHON ?=
export PYTHON

CASES ?= 2000
SEED ?=
REFRESH ?=
ARGS ?=

.PHONY: help
help: ## list the targets
	@echo "make TARGET [NAME=value ...]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' Makefile

.PHONY: setup
setup: ## make .venv with `reprise` and all its tests need; at once when done (PYTHON=python3.12)
	@tools/setup.sh

.PHONY: demo
demo: setup ## run the main job on simulated nodes (ARGS='--nodes 50 --pods 500')
	@$(BIN)/reprise demo $(ARGS)

.PHONY: test
test: lint layers types ## lint, layers, types and all tests that need no cluster (ARGS='-k words' for pytest)
	@echo "== test: unit, story, edge, contract, conformance and docs rings"
	@$(BIN)/pytest -n auto --dist worksteal -m "not long and not cluster and not prometheus and not chart" $(ARGS)

.PHONY: test-long
test-long: setup ## run the tests without a cluster that take seconds each: long stories, input of ten thousand parts, benchmarks
	@$(BIN)/pytest -n auto --dist worksteal -m "long and not cluster" $(ARGS)

.PHONY: lint
lint: setup ## check rules and format with ruff
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: format
format: setup ## format, and mend what ruff can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: layers
layers: setup ## check that imports point down (import-linter)
	@echo "== layers"
	@$(BIN)/lint-imports --no-logo

.PHONY: types
types: setup ## check types (mypy --strict)
	@echo "== types"
	@$(BIN)/mypy

.PHONY: story-long
story-long: setup ## tell long stories of the batch cache, each decision compared with a new evaluation (ARGS='--steps 30000 --seed 7')
	@$(BIN)/python -m tests.support.batch_story $(ARGS)

.PHONY: mutations
mutations: setup ## put faults into a copy, one at a time: a test must notice each (ARGS='--count 10 --seed 7')
	@$(BIN)/python -m tests.mutations $(ARGS)

.PHONY: test-oracle
test-oracle: setup ## compare random cases with the real plugins (CASES=2000 SEED=7 ARGS='--sequences 2000 --steps 20'; REFRESH=1 records the kept cases again)
	@$(BIN)/python -m tests.oracle --cases $(CASES) $(if $(SEED),--seed $(SEED)) $(if $(REFRESH),--refresh) $(ARGS)
	@$(if $(REFRESH),true,$(BIN)/python -m tests.oracle.hints --cases $$(($(CASES) / 10)) $(if $(SEED),--seed $(SEED)))

.PHONY: control-plane
control-plane: ## build the real etcd, kube-apiserver, ... for tests: about 15 minutes once, then at once
	@tools/control-plane/build.sh

.PHONY: test-cluster
test-cluster: setup ## run the tests that need a real kube-apiserver (ARGS='-k burst' for pytest)
	@KUBEBUILDER_ASSETS="$$(tools/control-plane/build.sh)" && export KUBEBUILDER_ASSETS && \
		$(BIN)/pytest -m cluster $(ARGS)

.PHONY: chart-files
chart-files: setup ## write what the chart and deploy/manifests have from elsewhere: rights, tables, dashboards, alerts
	@folder="$$(tools/chart/build.sh)" && $(BIN)/python -m tools.chart.files "$$folder/helm"

.PHONY: test-chart
test-chart: setup ## lint the Helm chart, render it with the real helm and give it to a real API server (ARGS='-k rights' for pytest)
	@REPRISE_HELM="$$(tools/chart/build.sh)" && KUBEBUILDER_ASSETS="$$(tools/control-plane/build.sh)" && \
		export REPRISE_HELM KUBEBUILDER_ASSETS && $(BIN)/pytest tests/chart $(ARGS)

.PHONY: dashboards
dashboards: setup ## write deploy/dashboards/ from the code in tools/dashboards/
	@$(BIN)/python -m tools.dashboards

.PHONY: test-prometheus
test-prometheus: setup ## ask a real Prometheus, beside the real kube-scheduler, what boards and alerts ask (ARGS='-k alerts' for pytest)
	@[ -z "$$CI" ] || tools/prometheus/install.sh
	@KUBEBUILDER_ASSETS="$$(tools/control-plane/build.sh)" && export KUBEBUILDER_ASSETS && \
		$(BIN)/pytest -n 2 --dist loadfile -m prometheus $(ARGS)

.PHONY: test-parity
test-parity: setup ## tell scripts to kube-scheduler, twice, and to Reprise, on a real API server (ARGS='--only gates', ARGS=--help)
	@KUBEBUILDER_ASSETS="$$(tools/control-plane/build.sh)" && export KUBEBUILDER_ASSETS && \
		$(BIN)/python -m tests.parity $(ARGS)

.PHONY: image
image: ## build the image reprise:VERSION, with docker or with buildah (ARGS='--local-base --archive FILE')
	@tools/image/build.sh $(ARGS)

.PHONY: test-node
test-node: setup ## install image and chart into a real one-node cluster on this machine, without Docker, and check them (needs root)
	@tools/e2e/node.sh $(ARGS)

.PHONY: test-kind
test-kind: setup ## the same checks in a cluster of kind, which is deleted again (needs Docker and kind)
	@tools/e2e/kind.sh checks

.PHONY: kind-up
kind-up: setup ## a cluster of kind with three workers, Reprise, and an example in it (needs Docker and kind)
	@tools/e2e/kind.sh up

.PHONY: kind-down
kind-down: ## delete that cluster
	@tools/e2e/kind.sh down

.PHONY: release-artifacts
release-artifacts: setup ## write wheel, image, chart, SBOM and checksums of this version into dist/ (ARGS=--local-base)
	@tools/image/release.sh $(ARGS)

.PHONY: bench-compare
bench-compare: setup ## measure beside kube-scheduler on a real API server (ARGS='--quick --output json'; ARGS=--help)
	@$(BIN)/python -m bench compare --build $(ARGS)

.PHONY: soak
soak: setup ## let pods and nodes come and go for 15 minutes on a real API server: nothing may be left behind (ARGS='--minutes 2')
	@$(BIN)/python -m bench soak --build $(ARGS)

.PHONY: lock
lock: ## lock the dependencies again from pyproject.toml (ARGS=--upgrade for newer versions)
	@tools/lock.sh $(ARGS)

.PHONY: clean
clean: ## remove .venv and all caches of this checkout (not the control plane)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find bench scheduler tests tools -name __pycache__ -prune -exec rm -rf {} +
