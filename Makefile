# A change has to pass make test. The other targets are parts of it, or take longer.

SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS     += --no-print-directory

GO       ?= go
FUZZTIME ?= 10s
BENCH    ?= .
CRASH    ?= .
TIMEOUT  ?= 20m

# Tools are built from source at fixed versions. They are not in go.mod, to which the linter would add two hundred modules.
LINT_VERSION      := v2.15.0
LINT              := .tools/bin/golangci-lint-$(LINT_VERSION)
GOTESTSUM_VERSION := v1.13.0
GOTESTSUM         := .tools/bin/gotestsum-$(GOTESTSUM_VERSION)

# Packages with code for single systems. make lint checks them for the other systems; make dist builds the whole program.
PLATFORM_CODE := ./client ./eventlog/filelog ./fault ./files/fetch ./ingest/sandbox ./disk/reserve

# The version of a release is its tag.
VERSION ?= $(shell git describe --tags --always --dirty)

# A Python that has the package httpx: the first in PATH, or the one of the system, for which apt installs packages. Tests read
# this variable.
PYTHON ?= $(shell for p in python3 /usr/bin/python3; do $$p -c 'import httpx' 2>/dev/null && echo $$p && break; done)

.PHONY: build
build: ## build ./sluice
	$(GO) build -o sluice ./cmd/sluice

.PHONY: test
test: needs lint floors $(GOTESTSUM) ## everything a change has to pass; the summary of the tests, with what was skipped and why, comes last
	cd deploy/check && $(GO) test -count=1 ./...
	$(GO) tool -n nats-server >/dev/null # builds it once, before many tests need it at the same time
	PYTHON=$(PYTHON) $(GOTESTSUM) --format standard-quiet -- -race -shuffle=on -timeout $(TIMEOUT) ./...

# The race detector slows programs down and enlarges their memory. So tests of quality, memory and size, and those of hundreds of
# processes, skip with it and run here without it. They are named TestFloor…, TestSize… and TestExhaustive….
.PHONY: floors
floors: $(GOTESTSUM) ## tests of quality, memory and size, which need a build without the race detector
	$(GOTESTSUM) --format standard-quiet -- -timeout $(TIMEOUT) -run '^Test(Floor|Size|Exhaustive)' \
		$$(git grep -lE '^func Test(Floor|Size|Exhaustive)' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's,^,./,')

.PHONY: page
page: ## build the page from web/src into web/dist, which is committed; this needs Node
	cd web && npm ci --no-progress --loglevel=error && npm run --silent check && npm run --silent build && gzip -9nf dist/embed.js dist/assets/*

.PHONY: screenshots
screenshots: ## make the pictures of the page in docs/images; this needs Node and Chromium
	$(GO) test ./web -count=1 -run TestScreenshots -args -screenshots $(CURDIR)/docs/images

.PHONY: lint
lint: $(LINT) ## formatting, go.mod, go vet, golangci-lint, and code for other systems
	@files=$$(git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 -r ls -d 2>/dev/null | xargs -r gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted (run gofmt -w):"; echo "$$files"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(LINT) run ./...
	GOOS=windows CGO_ENABLED=0 $(GO) vet $(PLATFORM_CODE)
	GOOS=darwin CGO_ENABLED=0 $(GO) vet ./eventlog/filelog

$(LINT):
	@echo "building golangci-lint $(LINT_VERSION), once: this takes some minutes"
	@mkdir -p .tools/bin && rm -f .tools/bin/golangci-lint*
	GOBIN=$(CURDIR)/.tools/bin GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv .tools/bin/golangci-lint $@

$(GOTESTSUM):
	@mkdir -p .tools/bin && rm -f .tools/bin/gotestsum*
	GOBIN=$(CURDIR)/.tools/bin GOFLAGS= $(GO) install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	@mv .tools/bin/gotestsum $@

.PHONY: dist
dist: ## release archives for Linux, macOS and Windows, with checksums, in dist/
	@bash scripts/dist.sh $(VERSION)

# Weaviate is built in a module of its own, because it needs three hundred others. Tests run it if it is there.
.PHONY: engines
engines: ## build Weaviate for the tests of index/weaviate, in the cache folder of the user; this takes 3 to 15 minutes
	@bash scripts/engines.sh

.PHONY: needs
needs: ## install the programs that the tests run besides Go
	@bash scripts/needs.sh

.PHONY: fuzz
fuzz: ## every fuzzer for FUZZTIME
	@$(GO) list -f '{{.Dir}}' ./... | while read -r dir; do \
		for target in $$(cat "$$dir"/*_test.go 2>/dev/null | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
			echo "== $$dir $$target"; \
			(cd "$$dir" && $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) .) </dev/null || exit 1; \
		done; \
	done

.PHONY: crash
crash: ## kill the real server, damage its files and fill its disk many times, and print a table of what was lost; CRASH selects scenarios
	$(GO) test -count=1 -v -timeout 90m -run '$(CRASH)' ./internal/tools/crash -args -kills 100 -damages 100 -fills 5 -bombs 1

.PHONY: chaos
chaos: ## kill, stop and cut off servers of a group and their engines for ten minutes, and print what readers noticed
	$(GO) test -count=1 -v -timeout 30m ./internal/tools/chaos -args -length $(or $(LENGTH),10m) -users $(or $(USERS),50) -pace $(or $(PACE),60ms)

.PHONY: bench
bench: ## every benchmark; BENCH selects some
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: docs
docs: ## generate the pages and the TypeScript types that come from the code
	$(GO) test ./internal/config -run Page -update
	cd clients/typescript && npm run --silent types

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10
