# tandem. `make help` lists what there is to make.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN     := $(CURDIR)/bin
IMAGES  := $(BIN)/images/sidecars.tar $(BIN)/images/stub-trainer.tar
LOCAL   := $(BIN)/tandem-local
NAME    ?= default
GPUS    ?= 8
NODES   ?= 0
MODULES := . cluster/local cluster/local/kwok hack/tools

# Static and without paths of this machine: the same source gives the same bytes.
GOBUILD := CGO_ENABLED=0 go build -trimpath -ldflags "-s -w"

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use it

.PHONY: demo
demo: ## Run disaggregated training on a real local cluster: two backends, each with a success and a failure
ifeq ($(origin KUBECONFIG),command line)
	@$(MAKE) --no-print-directory build
	@$(BIN)/demo --bin=$(BIN) --examples=examples --kubeconfig=$(KUBECONFIG)
else
	@hack/can-run-local.sh
	@$(MAKE) --no-print-directory deps build images
	@$(BIN)/demo --bin=$(BIN) --examples=examples
endif

.PHONY: local-up
local-up: ## Start a local cluster (NAME, GPUS, NODES), load the images, print what to export
	@hack/can-run-local.sh
	@$(MAKE) --no-print-directory deps build images
	@$(LOCAL) up --name $(NAME) --gpus $(GPUS) --nodes $(NODES) $(addprefix --load ,$(IMAGES))

.PHONY: local-down
local-down: $(LOCAL) ## Remove the local cluster (NAME) and all that it made
	@$(LOCAL) down --name $(NAME)

##@ Build it

.PHONY: deps
deps: ## Install the Debian packages that the local cluster and the tests need
	@hack/deps.sh

.PHONY: build
build: $(LOCAL) ## Build all programs into bin/
	@echo "building tandem, its sidecars, the stub trainer and the demo"
	@$(GOBUILD) -o $(BIN)/ ./cmd/... ./test/demo ./test/stub

.PHONY: $(LOCAL)
$(LOCAL):
	@echo "building tandem-local"
	@cd cluster/local && CGO_ENABLED=0 go build -o $@ ./cmd/tandem-local

.PHONY: images
images: build ## Build the images of the sidecars and of the stub trainer, without Docker
	@echo "writing the images of the sidecars and of the stub trainer"
	@mkdir -p $(BIN)/images
	@$(LOCAL) image --tag tandem.dev/sidecars:dev --out $(BIN)/images/sidecars.tar --user 65532:65532 \
		/registry=$(BIN)/registry /peerwatch=$(BIN)/peerwatch
	@$(LOCAL) image --tag tandem.dev/stub-trainer:dev --out $(BIN)/images/stub-trainer.tar --dir /tmp \
		$(addprefix --link /usr/local/bin/,$(addsuffix =stub,ray vllm-server gym-server grpo)) \
		$(addprefix --link /bin/,$(addsuffix =busybox,sh cat env ps kill pidof pgrep wget ls sleep)) \
		/usr/local/bin/stub=$(BIN)/stub /bin/bash=/bin/bash-static /bin/busybox=/bin/busybox

##@ Check it

.PHONY: test
test: deps build images ## Run every test: units, a real API server, the local cluster, whole runs
	hack/test.sh

.PHONY: bench-registry
bench-registry: deps build images ## Measure the endpoint registry on a local cluster: many writers, waiters, an idle sidecar
	go run ./bench/registry --bin=$(BIN) --out=bench/registry.json

.PHONY: bench-render
bench-render: ## Measure what it costs to render a run of 10,000 pods
	@mkdir -p $(BIN)
	$(GOBUILD) -o $(BIN)/bench-render ./bench/render
	$(BIN)/bench-render --out=bench/render.json

.PHONY: bench-peerwatch
bench-peerwatch: deps build ## Measure how soon a run is taken down, and whether by mistake, beside a polling watcher
	go run ./bench/peerwatch --bin=$(BIN) --out=bench/peerwatch.json

.PHONY: verify
verify: ## Vet, staticcheck, gofumpt, go mod tidy, generated files
	hack/verify.sh $(MODULES)

.PHONY: update
update: ## Write the generated files again: the reference of the command line, golden files
	go generate ./...
	go test ./manifests -update
	go test ./peerwatch -run TestThePage -update

.PHONY: vulncheck
vulncheck: ## Look the dependencies up in Go's vulnerability database (needs the internet)
	cd hack/tools && go build -o $(BIN)/tools/ golang.org/x/vuln/cmd/govulncheck
	$(BIN)/tools/govulncheck ./...

.PHONY: clean
clean: ## Remove what was built here; the cluster's binaries stay in their cache
	rm -rf $(BIN)
