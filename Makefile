# Everything that people and CI run. `make help` lists the targets.
SHELL := /usr/bin/env bash
.DEFAULT_GOAL := help
export CGO_ENABLED ?= 0
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
COMMIT_TIME = $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
RELEASE = $(shell sed -n 's/^\tRelease = "\(.*\)"/\1/p' pkg/version/version.go)
KUBE_VERSION = $(shell go list -m -f '{{.Version}}' k8s.io/apiserver 2>/dev/null | sed 's/^v0/v1/')
KUBE_MINOR = $(word 2,$(subst ., ,$(KUBE_VERSION)))
# Unstamped, /version says v0.0.0-master+$Format:%H$, which clients cannot parse.
LDFLAGS = -s -w \
  -X github.com/binnacle-dev/binnacle/pkg/version.Commit=$(COMMIT) \
  -X k8s.io/component-base/version.gitVersion=$(KUBE_VERSION) \
  -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(KUBE_MINOR)

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/binnacle-apiserver, bin/binnacle-agent, and the kubectl plugin bin/kubectl-binnacle with its helper for completion.
	go build -buildvcs=false -ldflags "$(LDFLAGS)" -o bin/binnacle-apiserver ./cmd/apiserver
	go build -buildvcs=false -ldflags "$(LDFLAGS)" -o bin/binnacle-agent ./cmd/agent
	go build -buildvcs=false -ldflags "$(LDFLAGS)" -o bin/kubectl-binnacle ./cmd/kubectl-binnacle
	install -m 0755 cmd/kubectl-binnacle/kubectl_complete-binnacle bin/

IMAGE_ARGS = -release $(RELEASE) -commit $(COMMIT) -created $(COMMIT_TIME) -ldflags "$(LDFLAGS)" $(IMAGE_FLAGS)
.PHONY: image
image: ## Build container images of the server and the agent for amd64 and arm64 into _output/image, without a container runtime. IMAGE_FLAGS="-arch amd64" builds one.
	cd hack/image && GOWORK=off go run . -out ../../_output/image $(IMAGE_ARGS)
	cd hack/image && GOWORK=off go run . -component agent -out ../../_output/image/agent $(IMAGE_ARGS)

.PHONY: run
run: build ## Run a standalone server with the sample fleet until Ctrl-C; its data is in _output/run. RUN_FLAGS="-port 8443" passes flags.
	@go build -o _output/tools/run ./hack/run && exec _output/tools/run $(RUN_FLAGS)

.PHONY: hub
hub: build ## Start a hub on this machine with Binnacle and the sample fleet on it; the first time builds Kubernetes, which takes minutes.
	go run ./hack/hub up $(HUB_FLAGS)

.PHONY: hub-down
hub-down: ## Stop what make hub started; its data stays in .hub. HUB_FLAGS=-wipe removes it.
	go run ./hack/hub down $(HUB_FLAGS)

.PHONY: test
test: ## Run all tests and checks: vet, lint, unit, integration, docs, codegen.
	@hack/test.sh

.PHONY: test-unit
test-unit: ## Run the tests that start no process.
	@hack/test.sh unit

.PHONY: test-integration
test-integration: ## Run the tests that start servers and hubs.
	@hack/test.sh integration

.PHONY: race
race: ## Run the tests of pkg and cmd under the race detector; needs a C compiler.
	CGO_ENABLED=1 go test -race -timeout 20m ./pkg/... ./cmd/...

.PHONY: benchmark
benchmark: build ## Put Binnacle beside custom resources of the same schema; a table of ratios, and _output/benchmark.json. Takes minutes.
	go run ./test/benchmark $(BENCHMARK_FLAGS)

.PHONY: benchmark-heartbeats
benchmark-heartbeats: build ## Measure a heartbeat as a report against one as a status patch of a custom resource, with 10,000 clusters; takes about 12 minutes.
	go run ./test/benchmark -heartbeats -output _output/heartbeats.json $(BENCHMARK_FLAGS)

.PHONY: generate
generate: ## Write all generated code and docs.
	hack/update-codegen.sh
	go run ./hack/docs

.PHONY: verify
verify: ## Check that generated code and docs are up to date.
	@hack/test.sh docs codegen

.PHONY: lint
lint: ## Run go vet, gofmt, staticcheck, and shellcheck where it is installed.
	@hack/test.sh vet lint

.PHONY: clean
clean: ## Remove what was built here, and the data of make run; stops nothing, and leaves the hub and the cache of its binaries alone.
	rm -rf bin _output
