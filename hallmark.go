// Package hallmark verifies MCP servers, plugins, skills and edits: a claim is recomputed from
// bytes, compared, judged by policy, and only then acted upon. It is what the command hallmark
// does, for programs in Go:
//
//	checked, err := hallmark.Check(ctx, ".", hallmark.CheckOptions{})
//
// # Authors
//
// A server.json names packages. [HashGen] fetches all their files and hashes them, [Verify]
// recomputes every hash that the document claims, and [Publish] sends it, with its hashes, to a
// registry.
//
// # Users
//
// A project declares servers and facets in hallmark.toml. [Pin] resolves servers to exact bytes,
// shows what they are, and with consent writes that into hallmark.lock. [Run] starts a locked
// server from verified bytes and relays between it and a client, withholding what was not
// approved. [Check] verifies the whole lock without starting anything. [Review] shows what
// changed since a server was approved, and approves it. [Install] brings the facets of the
// project to where clients look for them. [Scan] reads the configuration files of MCP clients
// and names what they start unpinned. [VerifyPlugin] checks a plugin of a Node host.
//
// # Auditors
//
// [Monitor] reads all entries of a registry's transparency log and compares everything that the
// registry serves with them.
//
// # Errors
//
// What is refused is an error, so that a program cannot go on by forgetting to look at a verdict.
// The result beside the error says what was found, as far as there was something. Three questions
// tell what an error means:
//
//	evidence.ClassOf(err)                // Integrity, Refused, Validation, Operation, ...
//	errors.As(err, new(*policy.Refusal)) // policy refused something; Verdict has each finding
//	errors.As(err, new(*evidence.Error)) // a single problem, with a hint for people
//
// An error of class Operation decides nothing: a host did not answer, or a disk was full. All
// others say that something is wrong with what was looked at. Text in errors and results may come
// from strangers: escape it with [surface.Escape] before it is printed to a terminal.
//
// # Consent
//
// Nothing is started and nothing is locked unless somebody agreed, and the zero value of every
// options type agrees to nothing. A program agrees by a function that is shown what is at hand,
// such as PinOptions.Confirm, or beforehand, by PinOptions.Yes. Publish alone starts a server that
// nobody was asked about: one that its author publishes, packed from source, unless NoSurface is set.
//
// # For whom
//
// A [Machine], part of every options type, says for which user a function works. Its zero value
// is the user of this process. Functions share the user's store, approvals and known logs with
// the command: what one has verified the other starts. Several may run at once, in this process
// and in others; files that they change are locked.
//
// # Deeper
//
// The packages below this one are the library's deeper part, and do no I/O of their own: digest,
// surface, evidence and policy for values and judgement; serverjson, facet, plugin and project
// for formats; ledger and sign for logs and signatures.
package hallmark

import (
	"io"
	"log/slog"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// A Machine says for which user a function works. The zero value is the user of this process,
// who agrees to nothing that a project's files name.
type Machine struct {
	// Environ is the environment, as "NAME=value"; nil is this process's. HALLMARK_HOME
	// in it names a directory for all files that are kept; the variables that package managers
	// read are obeyed too.
	Environ []string

	AllowEnv   []string // variables that files of a project may have sent: "NAME=HOST"
	AllowHosts []string // hosts that files of a project may have asked: "HOST", "HOST:PORT", "HOST:*"

	Logger *slog.Logger // is told of warnings; nil drops them
	Stderr io.Writer    // what servers print while they are looked at; nil is os.Stderr
	// Progress is called during downloads; total is negative if it is unknown. May be nil.
	Progress func(what string, done, total int64)
}

// open makes the host of flows for the project in dir.
func (m Machine) open(dir string, limits fetch.Limits) (*host.Host, error) {
	logger := m.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return host.Open(host.Setup{
		Dir: dir, Environ: m.Environ, Limits: limits, Logger: logger, Stderr: m.Stderr, Progress: m.Progress,
		AllowEnv: m.AllowEnv, AllowHosts: m.AllowHosts,
	})
}

// home returns the user's home directory, "" if there is none.
func (m Machine) home() string {
	return host.FindHome(m.Environ)
}

func (m Machine) stderr() io.Writer {
	if m.Stderr == nil {
		return os.Stderr
	}
	return m.Stderr
}

// eof is an empty input.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
