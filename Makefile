# make build   bin/hallmark and its companions, without cgo
# make man     the manual pages of every command, in bin/man/man1
# make demo    publish, verify, pin, run and tamper, on this machine only
# make test    everything, with the race detector; installs what it needs and says what
# make lint    gofmt, go vet, staticcheck, the limits of the house, govulncheck
# make fuzz    each fuzz target for FUZZTIME (10s)
# make soak    two replicas under load for SOAK (10m)
# make bench   ratios against references of the same run
# make tokens  what the editing server and its peers cost a model, in tokens
# make flip    FLIPS (10,000) changes of one byte in all that is stored or sent
# make forge   FORGED (2,000) archives that programs may read differently, seven of which read them
# make remove  every removal from every file, row and answer that is read, and every command
# make kill    KILLS (1,000) kills of each of publish, install, upgrade, pin and edit
# make hosts   all tests of the package for hosts of plugins, in each Node
# make processes  PROCESSES (200) moments at which pin, check and run are ended
#
# Nothing is left outside this directory and the caches of Go, save the system
# packages that make test names when it installs them (e2e/prerequisites.sh).

GO        ?= go
FUZZTIME  ?= 10s
SOAK      ?= 10m
FLIPS     ?= 10000
KILLS     ?= 1000
BATCHES   ?= 100000
FORGED    ?= 2000
PROCESSES ?= 200
TESTFLAGS ?=
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# A checkout owned by another user, as in containers, cannot be asked for its
# revision: VERSION carries it instead. Everything is compiled in one way, that of a
# release, and so once: go's cache knows packages by their flags, and all of them take
# minutes. The race detector alone needs cgo, and results gives it that.
export GOFLAGS := $(strip $(filter-out -buildvcs=% -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath -buildvcs=false)
export CGO_ENABLED := 0

LDFLAGS    = -s -w -X github.com/hallmark-mcp/hallmark/cmd/internal/program.Version=$(VERSION)
COMMANDS   = $(notdir $(patsubst %/main.go,%,$(wildcard cmd/*/main.go)))
PLATFORMS  = windows/amd64 darwin/amd64 darwin/arm64

.PHONY: build man demo test vet cross lint fuzz bench tokens soak flip forge batches remove kill hosts processes clean
build:
	@mkdir -p bin
	@for c in $(COMMANDS); do \
		echo "build bin/$$c $(VERSION)"; \
		$(GO) build -ldflags '$(LDFLAGS)' -o bin/$$c ./cmd/$$c || exit 1; \
	done

man:
	$(GO) run ./cmd/internal/man bin/man/man1

demo: build
	@$(GO) build -o bin/drifter ./e2e/drifter
	$(GO) run ./e2e/demo

# go test comes last, so that its lines close the output.
test:
	@mkdir -p bin
	@race=$$(sh e2e/prerequisites.sh) && \
	$(MAKE) --no-print-directory vet && \
	$(MAKE) --no-print-directory cross && \
	echo "go test $$race -count=1 -timeout 45m $(TESTFLAGS) ./..." && \
	$(GO) run ./e2e/results -json bin/test.json -- $$race -count=1 -timeout 45m $(TESTFLAGS) ./...

vet:
	$(GO) vet ./...

# The platforms with files of their own: the commands link for each, and vet reads
# everything, tests included, for each system. The two of darwin have the same files.
cross:
	@for p in $(PLATFORMS); do \
		export GOOS=$${p%/*} GOARCH=$${p#*/}; \
		echo "build $$p"; \
		$(GO) build -ldflags '-s -w' ./cmd/... || exit 1; \
		[ $$p != darwin/amd64 ] || continue; \
		echo "vet $$p"; \
		$(GO) vet ./... || exit 1; \
	done

lint: vet
	@echo "gofmt -l ."; unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	$(GO) tool -modfile=tools/go.mod staticcheck ./...
	$(GO) run -C tools ./house -check
	sh e2e/vulnerabilities.sh

fuzz:
	FUZZTIME=$(FUZZTIME) sh e2e/fuzz.sh

soak:
	@sh e2e/prerequisites.sh >/dev/null && SOAK=$(SOAK) CI=true $(GO) test -count=1 -timeout 24h -run '^TestSoak$$' -v ./e2e/registry

bench:
	$(GO) run ./bench

tokens:
	@sh tools/tokens/run.sh

flip:
	HALLMARK_FLIPS=$(FLIPS) $(GO) test -count=1 -timeout 2h -v -run 'Flips$$' ./internal/facets ./facet ./internal/store ./project

forge:
	@sh e2e/prerequisites.sh >/dev/null && HALLMARK_FORGED=$(FORGED) CI=true $(GO) test -count=1 -timeout 1h -v -run '^TestOneReading$$' ./e2e

# Edits by anchors, against a model that applies them line by line.
batches:
	HALLMARK_BATCHES=$(BATCHES) $(GO) test -count=1 -timeout 2h -v ./hashline

remove:
	HALLMARK_REMOVALS=all $(GO) test -count=1 -timeout 6h -v -run '^TestRemovals$$' ./e2e/removal

# Each test reads how often it kills; see R1 of the targets.
kill:
	HALLMARK_KILLS=$(KILLS) $(GO) test -count=1 -timeout 6h -v -run '^(TestInstallKilled|TestUpgradeKilled|TestFaults|TestKilled|TestKilledElsewhere|TestKilledRegistry)$$/^(killed|sqlite|postgres)?$$' \
		./e2e ./e2e/registry ./internal/hashfile

# Servers that fork, daemonise and ignore signals; see R13 of the targets.
processes:
	HALLMARK_PROCESSES=$(PROCESSES) $(GO) test -count=1 -timeout 2h -v -run '^TestProcesses$$' ./e2e

# The tests of every day have the second Node repeat what may differ, and a quarter of the evasions.
hosts:
	@sh e2e/prerequisites.sh >/dev/null && HALLMARK_HOSTS=all CI=true $(GO) test -count=1 -timeout 1h -v -run '^TestPluginHost$$' ./e2e

clean:
	rm -rf bin
