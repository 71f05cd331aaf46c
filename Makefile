# make build   bin/hallmark and its companions, without cgo
# make man     the manual pages of every command, in bin/man/man1
# make snapshot  what a release consists of, in bin/release: archives, packages, images; installed and tried here
# make site    the documents as pages for a browser, in bin/site
# make demo    publish, verify, pin, run and tamper, on this machine only
# make test    go vet and all tests; installs what they need and says what
# make check   go vet, for Windows too, and the tests of what differs from BASE and of what imports it
# make race    the packages whose goroutines share state, with the race detector
# make cross   builds and vets for the systems with files of their own
# make lint    gofmt, go vet, staticcheck, actionlint, the limits of the house, govulncheck
# make fresh   make test as on a new machine: empty caches of Go and an empty HOME
# make fuzz    each fuzz target for FUZZTIME (10s)
# make soak    two replicas under load for SOAK (10m)
# make bench   ratios against references of the same run
# make tokens  what the editing server and its peers cost a model, in tokens
# make flip    FLIPS (10,000) changes of one byte in all that is stored or sent
# make forge   FORGED (2,000) archives and wheels that programs may read differently, nine of which read them
# make remove  every removal from every file, row and answer that is read, and every command
# make sequences  a hundred sequences of pulls and commands on machines that remember
# make kill    KILLS (1,000) kills of each of publish, install, upgrade, pin and edit
# make hosts   all tests of the package for hosts of plugins, in each Node
# make bundles all packages that are bundled, by each bundler
# make agree   more documents that our registry and the official one judge
# make clients what today's programs of clients run of a text, beside what we know of them, and protect tried on their own files
# make servers the hundred servers of docs/servers-tried.md, whose table it writes anew
# make searches  300 searches of ten packages, by search_files and by ripgrep
# make real    all real servers of the tests, pinned, run and upgraded
# make hints   the commands that the hints of all scripts name
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
# minutes. The race detector alone needs cgo.
export GOFLAGS := $(strip $(filter-out -buildvcs=% -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath -buildvcs=false)
export CGO_ENABLED := 0

LDFLAGS    = -s -w -X github.com/hallmark-mcp/hallmark/cmd/internal/program.Version=$(VERSION)
COMMANDS   = $(notdir $(patsubst %/main.go,%,$(wildcard cmd/*/main.go)))
PLATFORMS  = windows/amd64 darwin/arm64

.PHONY: build man snapshot site demo test prerequisites vet check race cross fresh lint fuzz bench tokens soak flip forge batches remove \
	sequences kill hosts bundles hints agree clients real servers searches processes clean
build:
	@mkdir -p bin
	@for c in $(COMMANDS); do \
		echo "build bin/$$c $(VERSION)"; \
		$(GO) build -ldflags '$(LDFLAGS)' -o bin/$$c ./cmd/$$c || exit 1; \
	done

man:
	$(GO) run ./cmd/internal/man bin/man/man1

snapshot:
	$(GO) run -C tools ./release $(if $(RELEASE),-version $(RELEASE))
	sh tools/release/try.sh bin/release

site:
	$(GO) run -C tools ./site

demo: build
	@$(GO) build -o bin/drifter ./e2e/drifter
	$(GO) run ./e2e/demo

# go test comes last, so that its lines close the output. Programs of tests are linked without what
# only a debugger reads, which takes half of the linker's time.
test: prerequisites vet
	$(RESULTS) -json bin/test.json -- -vet=off -ldflags=-w -count=1 -timeout 30m -p $(ONEMORE) $(TESTFLAGS) ./...

RESULTS = $(GO) run ./e2e/results

# One package more than processors runs at once: each waits now and then for a database, a server or the disk.
ONEMORE = $$(($$(getconf _NPROCESSORS_ONLN) + 1))

prerequisites:
	@mkdir -p bin
	@sh e2e/prerequisites.sh

vet:
	$(GO) vet ./...

# BASE is a revision; without it, the last commit before the work.
check:
	@packages=$$($(GO) run -C tools ./affected -base '$(BASE)') || exit 1; \
	echo check: $$packages; \
	if [ -n "$$packages" ]; then \
		windows=$$(GOOS=windows $(GO) list -e -f '{{if or .GoFiles .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $$packages) && \
		$(GO) vet $$packages && GOOS=windows $(GO) vet $$windows && \
		$(RESULTS) -- -vet=off -ldflags=-w -count=1 -timeout 30m -p $(ONEMORE) $(TESTFLAGS) $$packages; \
	fi

# What starts goroutines or has locks, which e2e.TestRaced compares with the source. The race
# detector does not look into SQLite, which is C translated to Go and takes eight times as
# long under it; its locks are seen all the same: they are those of Go. It needs a C compiler. Twice as many packages as
# processors run at once, since many wait for a database.
RACED = cmd/internal/app internal/closure internal/document internal/fetch \
	internal/fetch/transfer internal/fetch/userconfig internal/foreign internal/git \
	internal/guard internal/guard/jsonrpc internal/guard/process internal/hashfile/engine \
	internal/hashfile/place internal/hashfile/stdio internal/host internal/jsscan \
	internal/kind internal/monitor internal/obtain internal/operate internal/plugins internal/program \
	internal/registry internal/registry/api internal/registry/log internal/registry/pages \
	internal/registry/postgres internal/registry/registrytest internal/registry/servertest internal/store \
	internal/trail internal/workspace plugin project tree

race: prerequisites
	@sh e2e/prerequisites.sh race
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=10 $(GO) test -race -gcflags=modernc.org/...=-race=false -ldflags=-w -vet=off -short \
		-count=1 -timeout 30m -p $$(($$(getconf _NPROCESSORS_ONLN) * 2)) $(TESTFLAGS) $(addprefix ./,$(RACED))

# A clone in a new directory, with an empty HOME in it that holds all caches.
fresh:
	@dir=$$(mktemp -d) && mkdir $$dir/home && git clone -q . $$dir/hallmark && cd $$dir/hallmark && \
	echo "fresh: $$dir" && \
	env -u GOFLAGS -u GOPATH -u GOMODCACHE -u GOCACHE -u XDG_CACHE_HOME -u XDG_CONFIG_HOME HOME=$$dir/home \
		$(MAKE) --no-print-directory test; ended=$$?; \
	chmod -R u+w $$dir && rm -rf $$dir; exit $$ended

# The commands link for each system; no file is for one processor only, and a release links for
# all of them. Vet reads the packages of which some files are for some systems only, be it that one or this.
OWN = $(GO) list -f '{{if .IgnoredGoFiles}}{{.ImportPath}}{{end}}' ./...

cross:
	@for p in $(PLATFORMS); do \
		export GOOS=$${p%/*} GOARCH=$${p#*/}; \
		echo "build $$p"; \
		$(GO) build -ldflags '-s -w' ./cmd/... || exit 1; \
		own=$$($(OWN) && GOOS= GOARCH= $(OWN)) || exit 1; \
		echo "vet $$p"; \
		$(GO) vet $$(echo $$own | tr ' ' '\n' | sort -u) || exit 1; \
	done

lint: vet
	@echo "gofmt -l"; unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	$(GO) tool -modfile=tools/go.mod staticcheck ./...
	$(GO) tool -modfile=tools/go.mod actionlint -shellcheck= -pyflakes=
	$(GO) test -C tools ./...
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
	HALLMARK_FLIPS=$(FLIPS) $(GO) test -count=1 -timeout 2h -v -run 'Flips$$' ./internal/facets ./internal/facet ./internal/store ./project

forge:
	@sh e2e/prerequisites.sh >/dev/null && HALLMARK_FORGED=$(FORGED) CI=true $(GO) test -count=1 -timeout 1h -v -run '^(TestOneReading|TestOneWheel)$$' ./e2e

# Edits by anchors, against a model that applies them line by line.
batches:
	HALLMARK_BATCHES=$(BATCHES) $(GO) test -count=1 -timeout 2h -v ./hashline

remove:
	HALLMARK_CAMPAIGN=whole $(GO) test -count=1 -timeout 6h -v -run '^TestRemovals$$' ./e2e/removal

# Each test reads how often it kills; see R1 of the targets.
kill:
	HALLMARK_KILLS=$(KILLS) $(GO) test -count=1 -timeout 6h -v -run '^(TestInstallKilled|TestUpgradeKilled|TestFaults|TestKilled|TestKilledElsewhere|TestKilledRegistry)$$/^(killed|sqlite|postgres)?$$' \
		./e2e ./e2e/registry ./internal/hashfile

# Servers that fork, daemonise and ignore signals; see R13 of the targets.
processes:
	HALLMARK_PROCESSES=$(PROCESSES) $(GO) test -count=1 -timeout 2h -v -run '^TestProcesses$$' ./e2e/servers

# What make test samples, tried whole.
WHOLE = sh e2e/prerequisites.sh && HALLMARK_CAMPAIGN=whole CI=true $(GO) test -count=1 -timeout 2h -v -run

hosts:
	@$(WHOLE) '^(TestPluginHost|TestPluginHostPackage|TestCoreOfNodeVersions|TestSpecifiersAsNode)$$' ./e2e/plugins

sequences:
	@$(WHOLE) '^TestSequences$$' ./e2e/sequences

bundles:
	@$(WHOLE) '^(TestBundles|TestAccountOf.*)$$' ./e2e/plugins ./internal/jsscan

agree:
	@$(WHOLE) '^TestAgreement$$' ./e2e/official

clients:
	@$(WHOLE) '^Test(Client(Programs|Skills)|ProtectedClients)$$' ./e2e/packages

servers:
	@export SERVERS_TRIED=$(CURDIR)/docs/servers-tried.md; $(WHOLE) '^TestHundredServers$$' ./e2e/servers

searches:
	@$(WHOLE) '^TestSearches$$' ./e2e/editing

real:
	@$(WHOLE) '^(TestRealServers|TestPythonServers|TestPythonWithoutUV)$$' ./e2e/servers ./e2e/pypi

hints:
	@$(WHOLE) '^TestHintsLeadOn$$' ./cmd/hallmark

clean:
	rm -rf bin
