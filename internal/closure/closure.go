// Package closure resolves, fetches and installs a package with all that it depends on. The
// ecosystem's own tool resolves (npm, uv or pip, go); Hallmark unpacks, and go builds. No code of the packages runs
// unless their install scripts were allowed. Between the two, every file is fetched by Hallmark
// or recomputed from what the tool fetched, and compared with the closure in the lock. The
// installation itself runs without a network and without the user's configuration.
//
// The stored form of a closure, and its limit in bytes, belong to package project.
//
// # Tools of the user
//
// The interpreters and package managers of the user (node, python, go, npm, uv,
// pip) are found, behind the shims of version managers too, and asked for their own path and version. One
// that lies in the checkout, or takes its library from there, is not started. Programs
// run through package foreign, in a directory of Hallmark's own and with a home of their own.
package closure

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// runTool runs a package manager, which messages call name. Its output becomes the error.
func runTool(ctx context.Context, h *host.Host, name, subject string, c foreign.Call) error {
	c.Checkout, c.Environ, c.Merged = Checkout(h), h.Environ, true
	result, err := foreign.Run(ctx, c)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if from := foreignSource(result.Messages); from != "" {
		return &evidence.Error{Subject: subject, Kind: evidence.Refused, Err: foreignSourceError(from),
			Detail: OutputDetail(name, result.Messages)}
	}
	if need := pythonNeed(result.Messages); need != "" {
		return &evidence.Error{Subject: subject, Kind: evidence.Refused, Err: &NeedsPythonError{Requires: need}}
	}
	if missing := findMissing(subject, result.Messages); missing != nil {
		return evidence.Errorf(evidence.Operation, subject, "correct the name or the version in the command line; "+
			"'hallmark upgrade' takes another version of what is locked", missing)
	}
	verb := name
	if at := slices.IndexFunc(c.Args, func(a string) bool {
		return a == "install" || a == "compile" || a == "rebuild"
	}); at >= 0 {
		verb += " " + c.Args[at]
	}
	return &evidence.Error{Subject: subject, Kind: evidence.Operation, Err: fmt.Errorf("%s: %w", verb, err),
		Detail: OutputDetail(name, result.Messages), Hint: unreachableHint(result.Messages)}
}

// foreignSourceError says from where a dependency comes that no resolver may fetch.
type foreignSourceError string

func (from foreignSourceError) Error() string {
	return "its dependencies cannot be pinned: one comes from " + string(from) + ", and not from a registry"
}

// foreignSourceWords are the words of npm, of our own npm without git, and of pip without URLs,
// about a dependency that does not come from a registry.
var foreignSourceWords = [...][2]string{
	{"EALLOWGIT", "git"}, {"no-git ENOENT", "git"}, {"EALLOWREMOTE", fromURL}, {"EALLOWFILE", "a file"},
	{"EALLOWDIRECTORY", "a directory"},
	{"which is not an index", "a URL"},
}

// fromURL is the source of a dependency that is a URL.
const fromURL = "https"

// foreignSource returns which source of a dependency a resolver refused; "" if it failed for
// another reason.
func foreignSource(output []byte) string {
	for _, e := range foreignSourceWords {
		if bytes.Contains(output, []byte(e[0])) {
			return e[1]
		}
	}
	return ""
}

// offlineWords are the words of npm, uv and pip about a registry that cannot be reached.
var offlineWords = []string{"ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ENETUNREACH", "tcp connect error",
	"dns error", "NewConnectionError"}

// unreachableHint returns the hint for a resolver that could not reach its registry, else "".
func unreachableHint(output []byte) string {
	if slices.ContainsFunc(offlineWords, func(word string) bool { return strings.Contains(string(output), word) }) {
		return "nothing was decided; try again when the registry can be reached"
	}
	return ""
}

// An Installer fetches and installs the closures of one ecosystem: [NPM], [Python] or [Go].
type Installer interface {
	// PlatformKey returns the key of a tree that is installed with rt. It holds what decides the
	// tree: the system, and node's major version, the tag of the wheels that fit python best, or
	// Go's version.
	PlatformKey(rt *project.Runtime) string
	// Fetch fetches the packages of a closure that this platform needs into dir, and compares each with its integrity.
	Fetch(ctx context.Context, h *host.Host, o Order, dir string) (*Packages, error)
	// Install unpacks the fetched packages into st, or has them built.
	Install(ctx context.Context, h *host.Host, o Order, t *Packages, st *store.Staging) error
}

// platformKey returns the key of a tree for this system and a runtime.
func platformKey(runtimeName string) string {
	return runtime.GOOS + "/" + runtime.GOARCH + "+" + runtimeName
}

// Order is a closure that is to be fetched and installed on this machine.
type Order struct {
	Closure *project.Closure
	Runtime *project.Runtime // the interpreter that it is for, or the compiler
	Where   string           // who gives the integrities of its packages, for evidence

	Claims map[artifact.Ref][]evidence.Claim // npm: of others about files of packages, compared with them too
}

// Packages are the packages of a closure that this platform needs, fetched and hashed.
type Packages struct {
	dir    string
	Files  map[artifact.Ref]string // relative to dir
	Report evidence.Report

	Ref      artifact.Ref                   // of the root's own file
	Observed evidence.Observed              // of that file
	NPM      *fetch.NPMVersion              // the root; nil if it is none of npm, or could not be fetched
	Wheel    *fetch.Wheel                   // the root; nil if it is none of PyPI, or could not be fetched
	read     []*fetch.Wheel                 // what each of them says, once all were fetched
	sums     map[artifact.Ref]digest.Digest // npm: of the files, by which they are compared again
	Scripts  []string                       // npm: Refs of packages whose install scripts are run
}

// OwnFile is the path of the root's own file; "" if it could not be fetched.
func (t *Packages) OwnFile() string {
	name, ok := t.Files[t.Ref]
	if !ok {
		return ""
	}
	return filepath.Join(t.dir, name)
}
