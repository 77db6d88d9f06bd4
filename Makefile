# cellbench: what there is to do. `make help` prints the targets.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOLANGCI = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOFUMPT  = go run mvdan.cc/gofumpt@v0.12.0
FUZZTIME ?= 10s
# More for go test, e.g. TESTFLAGS=-v
TESTFLAGS ?=
PACKAGES = $(shell go list ./... | grep -v /integration)

.PHONY: help build test unit integration lint fmt fuzz demo images bench bench-load generate clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the binary, as bin/task
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/task ./task

test: unit integration ## all tests

unit: ## tests that need no container
	go test -race -shuffle=on -timeout 10m $(TESTFLAGS) $(PACKAGES)

integration: ## tests on real servers in containers; what is missing is skipped, unless CI is set
	go test -race -timeout 20m $(TESTFLAGS) ./integration/...

lint: ## formatting, vet and the linters
	@unformatted=$$($(GOFUMPT) -l .); test -z "$$unformatted" || { echo "not formatted (make fmt): $$unformatted"; exit 1; }
	go vet ./...
	$(GOLANGCI) run ./...

fmt: ## format the source
	$(GOFUMPT) -w .

fuzz: ## each fuzz target for FUZZTIME (10s)
	scripts/fuzz.sh $(FUZZTIME)

demo: ## a small real study on a server of its own, and its report
	scripts/demo.sh

images: ## stand-ins for the container images, where no registry is in reach
	infra/images/build.sh

bench: ## compare the engines with sysbench on this machine
	scripts/bench-engines.sh

bench-load: ## compare the loading of a dataset with sysbench
	scripts/bench-load.sh

generate: ## what is generated from the source: the table of variables in the README
	go generate ./...

clean: ## what building leaves behind
	rm -rf bin
