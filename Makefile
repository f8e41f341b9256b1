# make test is all that a change has to pass. The other targets are parts of it, or take longer.

SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS     += --no-print-directory

GO       ?= go
FUZZTIME ?= 10s
BENCH    ?= .
CRASH    ?= .
TIMEOUT  ?= 20m

# The linter is built from source at this version, apart from go.mod, whose graph its two hundred modules would join.
LINT_VERSION := v2.15.0
LINT         := .tools/bin/golangci-lint-$(LINT_VERSION)

# Where a Python that has httpx is: the one in front, or the system's, which apt installs for. Tests read the variable.
PYTHON ?= $(shell for p in python3 /usr/bin/python3; do $$p -c 'import httpx' 2>/dev/null && echo $$p && break; done)

.PHONY: build
build: ## build ./sluice
	$(GO) build -o sluice ./cmd/sluice

.PHONY: test
test: needs lint ## everything a change has to pass; the tests' own summary comes last
	PYTHON=$(PYTHON) $(GO) test -race -shuffle=on -timeout $(TIMEOUT) ./...

.PHONY: lint
lint: $(LINT) ## formatting, go vet, golangci-lint
	@files=$$(git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 -r ls -d 2>/dev/null | xargs -r gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted (run gofmt -w):"; echo "$$files"; exit 1; fi
	$(GO) vet ./...
	$(LINT) run ./...

$(LINT):
	@echo "building golangci-lint $(LINT_VERSION), once: this takes some minutes"
	@mkdir -p .tools/bin && rm -f .tools/bin/golangci-lint*
	GOBIN=$(CURDIR)/.tools/bin GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv .tools/bin/golangci-lint $@

.PHONY: needs
needs: ## install what the tests run besides Go: the clients of the streams
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
crash: ## kill, damage and fill the disk of the real server many times, and print a table of what was lost; CRASH narrows
	$(GO) test -count=1 -v -timeout 90m -run '$(CRASH)' ./internal/tools/crash -args -kills 100 -damages 100 -fills 5

.PHONY: bench
bench: ## every benchmark; BENCH narrows
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: docs
docs: ## the pages, and the TypeScript client's types, that are made from the code
	$(GO) test ./internal/config -run Page -update
	cd clients/typescript && npm run --silent types

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10
