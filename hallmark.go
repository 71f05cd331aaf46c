// Package hallmark holds Hallmark's flows: what its commands do, without flags and
// printing. Each flow gathers claims, observes bytes through an edge, has package
// policy judge the evidence, and acts only on what was admitted.
//
//	document.go  hash-gen, verify: the files that a server.json names
//	pack.go      make the archive of a facet, or of a server from source
//	publish.go   publish, at the author's side; publisharchive.go for archives
//	init.go      begin a server.json
//	login.go     get a token of a registry; session.go keeps it
//	status.go    deprecate, delete, restore
//	serve.go     the registry's side; outside.go is what it asks others
//	tokens.go    API tokens of a registry
//	pin.go       lock a server of hallmark.toml; pinpackage.go those of npm and PyPI
//	clientconfig.go  take servers over from the files of MCP clients; unpin.go gives them back
//	capture.go   start a server to see its surface; messages.go is what it prints then
//	closure.go   resolve and install a package with its dependencies
//	remote.go    servers that are reached by a URL; sending.go is which variables go where
//	foreign.go   how npm, uv, pip, go, git and interpreters are started
//	python.go    the same for packages of PyPI; image.go pins and pulls container images
//	source.go    pin, run and check servers that are packed from source
//	facetservers.go  pin the servers of facets, and write them into clients' files
//	launch.go    run a locked server under guard
//	review.go    approve what changed
//	check.go     verify the lock without running anything; checkfacets.go its facets
//	scan.go      read how MCP clients start their servers: scanfiles.go finds the files,
//	             scanentry.go and scanrun.go tell which entries Hallmark guards
//	configure.go migrate hallmark.toml, fill in verify blocks
//	install.go   install facets: facets.go gathers them, obtain.go and obtaingit.go get them
//	             into the store, compose.go puts them side by side, materialize.go and
//	             targets.go write them into the project
//	outdated.go  list facets, and what their sources have now
//	upgrade.go   take the newest versions of facets and servers
//	keep.go      verify and prune the store
//	plugin.go    check plugins; pluginauthor.go hashes, signs and packs them, plugininstall.go
//	             and publishplugin.go install and publish them, trust.go keeps the keys
//	registrydata.go  back up and export a registry; import.go and reverify.go fill and check it
//	log.go       rely on a registry's log; logstate.go is what this machine saw of logs,
//	             loghistory.go what a log says of a record later, logproof.go the proofs
//	monitor.go   replay a log; monitorlog.go its tiles, monitorrecords.go the records
//	witness.go   cosign checkpoints
package hallmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/places"
	"github.com/hallmark-mcp/hallmark/internal/store"
)

// Host is the machine and user for whom flows act. Commands fill it; flows read no
// environment of their own.
type Host struct {
	Places  Places
	Dir     string // of the project that the flow is for; "" is the working directory
	Fetch   *fetch.Client
	Environ []string // "NAME=value", as os.Environ gives it
	Getenv  func(name string) string
	Logger  *slog.Logger
	Stderr  io.Writer // what servers print while they are captured; nil is os.Stderr
	Now     func() time.Time
	Sending *Sending // which variables that a checkout names may be sent; nil: none

	haste bool // in tests: what is asked for again is so at once

	// Doing is told, for a person who waits, what a flow does now that takes a while, and ""
	// when that is over. May be nil.
	Doing func(what string)
}

// doing tells a person what takes a while, until done is called.
func (h *Host) doing(format string, args ...any) (done func()) {
	if h.Doing == nil {
		return func() {}
	}
	h.Doing(fmt.Sprintf(format, args...))
	return func() { h.Doing("") }
}

// pause waits before something is asked for again.
func (h *Host) pause(ctx context.Context, d time.Duration) error {
	if h.haste {
		d = 0
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// Places are the directories that Hallmark keeps files in.
type Places = places.Places

// store opens the audited store.
func (h *Host) store() (*store.Store, error) {
	return store.Open(filepath.Join(h.Places.Cache, "store"), h.Logger)
}

// readFile reads a regular file of at most limit bytes, and waits for no other: see
// [beneath.Open]. A missing one gives nil.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := beneath.Open(path)
	if errors.Is(err, beneath.ErrIrregular) {
		return nil, evidence.Errorf(evidence.Refused, path, "", beneath.ErrIrregular)
	}
	return readOpened(f, err, path, limit)
}

// readNamed reads whatever a person named, a pipe included; a missing file gives nil.
func readNamed(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	return readOpened(f, err, path, limit)
}

func readOpened(f *os.File, err error, path string, limit int64) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	data, err := readAll(f, size, limit)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", err)
	}
	return data, nil
}
