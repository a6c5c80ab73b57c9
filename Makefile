# Everything that people and CI run. `make help` lists the targets.
SHELL := /usr/bin/env bash
export CGO_ENABLED ?= 0
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
KUBE_VERSION := $(shell go list -m -f '{{.Version}}' k8s.io/apiserver 2>/dev/null | sed 's/^v0/v1/')
KUBE_MINOR := $(word 2,$(subst ., ,$(KUBE_VERSION)))
# Unstamped, /version says v0.0.0-master+$Format:%H$, which clients cannot parse.
LDFLAGS := -s -w \
  -X github.com/binnacle-dev/binnacle/pkg/version.Commit=$(COMMIT) \
  -X k8s.io/component-base/version.gitVersion=$(KUBE_VERSION) \
  -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(KUBE_MINOR)

.PHONY: build
build: ## Build bin/binnacle-apiserver.
	go build -ldflags "$(LDFLAGS)" -o bin/binnacle-apiserver ./cmd/apiserver
