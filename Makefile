# browserfleet. `make` alone lists what there is.

GO      ?= go
# How many packages are built and tested at once: two browsers' worth of a
# two-core machine.
JOBS    ?= 2
# Of one package: real-browser packages take minutes under -race, more on a slow machine.
TIMEOUT ?= 25m
FUZZTIME ?= 15s

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TOOL    := $(GO) tool -modfile=tools/go.mod
BIN     := bin/browserfleet

# Property tests play the same cases at each check, which is no lottery; `make
# soak` and `make model` play new ones. A failure is told with its seed, and
# leaves no file in the tree.
CHECK_SEED := 771188223344
export RAPID_NOFAILFILE := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build demo test unit check format format-check vet staticcheck arch model mutations soak smoke bench-fleet bench-supervisor audit generate fuzz chaos chaos-tests failover realworld clean

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing: Chromium, a C compiler for -race
	@tools/setup.sh

build: ## build bin/browserfleet
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.release=$(VERSION)' -o $(BIN) ./cmd/browserfleet

demo: setup build ## start a fleet on this machine and run a real browser task through it
	$(BIN) demo

test: setup unit demo ## run all tests, with -race and real browsers, and the demo

unit: export RAPID_SEED := $(or $(SEED),$(CHECK_SEED))
unit:
	CGO_ENABLED=1 $(GO) test -race -p $(JOBS) -timeout $(TIMEOUT) ./...

check: SEED ?= $(CHECK_SEED)
check: format-check vet staticcheck arch build test model smoke ## all that CI runs

format: ## format the Go code
	$(TOOL) gofumpt -w .

format-check:
	@unformatted="$$($(TOOL) gofumpt -l .)" || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted (make format):"; echo "$$unformatted"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(TOOL) staticcheck ./...

arch: ## check who imports whom, and the habits of the tree
	$(GO) test ./internal/archtest

model: ## play SCHEDULES (2,000) of everything that may go wrong against the protocol; SEED=n plays those of a seed
	$(GO) test ./internal/fleetmodel -count=1 -v -timeout $(if $(SCHEDULES),24h,$(TIMEOUT)) -run 'TestPromises|TestACrash' -args -schedules $(or $(SCHEDULES),2000) $(if $(SEED),-rapid.seed $(SEED))

mutations: ## break every rule of the protocol in turn, and see the model notice (15 minutes; not part of check); MUTANTS=regexp
	nice $(GO) test ./internal/fleetmodel -count=1 -v -timeout 2h -run TestMutationsAreCaught -args -mutate -mutants '$(MUTANTS)' -schedules $(or $(SCHEDULES),10000)

soak: ## play every property test with new seeds, which are printed, and CHECKS (20,000) cases; SEED=n plays those of a seed
	@GO='$(GO)' SEED='$(SEED)' tools/soak.sh $(or $(CHECKS),20000)

smoke: build ## a short load run with simulated browsers; fails on a broken promise
	$(BIN) loadtest --owners 8 --duration 10s --browser simulated -o json

bench-fleet: build ## measure the fleet's figures, 10 minutes on a quiet machine (docs/benchmarks.md); BENCH='--figure lost'
	$(BIN) bench $(BENCH)

bench-supervisor: build ## measure what pages do to an agent: dialogs, loops, dead and wedged browsers, thirty frames (5 minutes)
	$(BIN) bench --figure dialog --figure late --figure died --figure wedged
	$(GO) test ./supervisor -run '^$$' -bench 'TreeOf30|CrashNoticed' -benchtime 10x -timeout $(TIMEOUT)

audit: ## look for unchecked errors and unused functions (not part of check)
	$(TOOL) errcheck ./...
	$(TOOL) deadcode -test ./...

generate: ## write protocol/schema, docs/errors.md and docs/config.md from the Go types
	$(GO) run ./internal/schemagen
	$(GO) test ./cmd/browserfleet/internal/service -run TestConfigPage -update

fuzz: ## run every fuzz target for FUZZTIME (15s)
	@GO='$(GO)' tools/fuzz.sh $(FUZZTIME)

chaos: build ## kill, pause and cut a fleet of real processes for DURATION (5m), and check its promises; SEEDS='1 2' plays seeds
	@GO='$(GO)' BROWSERFLEET=$(BIN) tools/chaos.sh --duration $(or $(DURATION),5m) $(CHAOS)

chaos-tests: ## the tests of chaos, many times: COUNT (10); one time is part of check
	CGO_ENABLED=1 $(GO) test -race -tags chaos -timeout 3h -count $(or $(COUNT),10) ./cmd/browserfleet ./cmd/browserfleet/internal/chaos ./coordinator -run 'Chaos|Zombies|Flood'

failover: ## OWNERS (20) signed in with real browsers while workers are killed in turn, KILLS (9) times
	$(GO) test -timeout 1h -v ./cmd/browserfleet/internal/demo -run LoginsSurvive -owners $(or $(OWNERS),20) -kills $(or $(KILLS),9)

realworld: ## the real browser over Git's and Python's documentation, not part of check
	@GO='$(GO)' tools/realworld.sh -v

clean: ## remove what was built
	rm -rf bin
