package hallmark

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/launch"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// PinOptions say how servers are pinned, and who agrees to it.
type PinOptions struct {
	Machine Machine

	// Start is asked before a server that this machine has not approved is started, or gets a
	// request at its URL, to capture its surface; Surface is nil then. If Start is nil, Yes
	// decides.
	Start func(*Pinned) (bool, error)
	// Confirm gets everything that would be locked, and consents to exactly that. If it is nil, Yes
	// decides.
	Confirm func(*Pinned) (bool, error)
	// Yes consents in advance to start and lock servers. It does not cover approved bytes that show
	// another surface now.
	Yes bool

	AllowScripts  []string       // npm packages whose install scripts are run
	MissingHashes policy.Missing // what a record without hashes does; "" warns
	LogKey        string         // verifier key of the registry's log; "" is the one that this machine knows
	Capture       time.Duration  // how long a server may take to show all; 0 is a minute
}

// Pinned is what is known about a server that is to be pinned.
type Pinned struct {
	Name    string
	Entry   project.ServerLock  // for the lock
	Before  *project.ServerLock // the entry that it replaces, or nil
	Consent digest.Digest       // of all that is agreed to; zero before the surface was seen
	Verdict policy.Verdict

	Surface *surface.Surface // what the server shows
	Changes []surface.Change // since Before
	Alarm   bool             // the same bytes as Before show another surface

	Environment []string // names of the variables that it gets
	Hosts       []string // where its packages come from, or where it is itself
	Sends       []string // "NAME to HOST": variables in its headers
	Written     bool     // it is locked
}

// Pin locks servers of hallmark.toml in dir, or all if none is named: it resolves each to exact
// artifacts, fetches and hashes them, compares them with the registry's record, starts the server
// to capture its surface, and after consent writes hallmark.lock and the files beside it.
func Pin(ctx context.Context, dir string, servers []string, o PinOptions) ([]*Pinned, error) {
	h, err := o.Machine.open(dir, fetch.Limits{})
	if err != nil {
		return nil, err
	}
	found, err := pin.Pin(ctx, h, dir, servers, o.flow(h))
	return describePinned(found), err
}

// flow returns the options for package pin.
func (o PinOptions) flow(h *host.Host) pin.Options {
	start := o.Start
	if start == nil {
		start = func(*Pinned) (bool, error) { return o.Yes, nil }
	}
	return pin.Options{
		Settings:     policy.Settings{MissingHashes: o.MissingHashes},
		Log:          trail.Options{Key: o.LogKey},
		AllowScripts: o.AllowScripts,
		Capture:      o.Capture,
		Begin: func(s project.Server) (bool, error) {
			return start(describeRemote(h, s))
		},
		Start: func(p *pin.Pinned) (bool, error) { return start(describe(p)) },
		Confirm: func(p *pin.Pinned) (host.Consent, error) {
			if o.Confirm == nil && o.Yes {
				return host.StandingConsent, nil
			}
			if o.Confirm == nil {
				return host.NoConsent, nil
			}
			return consentOf(o.Confirm(describe(p)))
		},
	}
}

// consentOf returns the consent of a person who was shown everything and answered yes or no.
func consentOf(yes bool, err error) (host.Consent, error) {
	if yes && err == nil {
		return host.InformedConsent, nil
	}
	return host.NoConsent, err
}

// describeRemote returns what is known about a remote server before any request to it.
func describeRemote(h *host.Host, s project.Server) *Pinned {
	preview := kind.PreviewOf(h, s)
	return &Pinned{
		Name: s.Name, Entry: project.ServerLock{Launch: s.Launch()},
		Environment: preview.Environment, Hosts: preview.Hosts, Sends: preview.Sends,
	}
}

func describe(p *pin.Pinned) *Pinned {
	out := &Pinned{
		Name: p.Name, Entry: p.Entry, Before: p.Before, Verdict: p.Verdict, Surface: p.Surface, Changes: p.Changes,
		Alarm:       p.Same,
		Environment: p.Preview.Environment, Hosts: p.Preview.Hosts, Sends: p.Preview.Sends, Written: p.Written,
	}
	if p.Surface != nil {
		out.Consent = p.Consent()
	}
	return out
}

func describePinned(all []*pin.Pinned) (out []*Pinned) {
	for _, p := range all {
		out = append(out, describe(p))
	}
	return out
}

// RunOptions say how a server is run.
type RunOptions struct {
	Machine     Machine   // its Stderr is what the server prints there
	Arguments   []string  // for the server, after those that are locked
	TrustLock   bool      // take the lock's word for what this machine has not approved
	RequireLock bool      // refuse a server without an entry, whatever hallmark.toml says
	Stdin       io.Reader // messages of the client; nil is none, which ends the server
	Stdout      io.Writer // messages for the client; nil drops them
	Log         io.Writer // gets a JSON line for each call; may be nil
	LogKey      string    // verifier key of the registry's log; "" is the one that this machine knows
}

// Run verifies everything that the lock in dir claims about a server, starts it from the verified
// bytes, and relays between it and the client until one of them ends. It compares what the server
// shows with the approved surface before it passes on any call, and withholds what differs. It
// refuses what this machine has not approved: see [Review].
func Run(ctx context.Context, dir, server string, o RunOptions) (exitCode int, err error) {
	h, err := o.Machine.open(dir, fetch.Limits{})
	if err != nil {
		return 0, err
	}
	options := launch.RunOptions{
		Settings:  policy.Settings{RequireLock: o.RequireLock},
		TrustLock: o.TrustLock, Arguments: o.Arguments, LogKey: o.LogKey,
		Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Machine.stderr(), Log: o.Log,
	}
	if options.Stdin == nil {
		options.Stdin = eof{}
	}
	if options.Stdout == nil {
		options.Stdout = io.Discard
	}
	return launch.Run(ctx, h, dir, server, options)
}

// CheckOptions say how a lock is checked.
type CheckOptions struct {
	Machine   Machine
	Offline   bool          // do not ask the registry
	LogKey    string        // verifier key of the registry's log; "" is the one that this machine knows
	Surface   bool          // start the servers too, and compare what they show with the lock
	TrustLock bool          // start those too that this machine has not approved
	Strict    bool          // refuse what hallmark.toml opts out of
	Capture   time.Duration // how long a server may take to show all; 0 is a minute
}

// Checked is the state of a project.
type Checked struct {
	Verdict policy.Verdict
	Entries int      // servers and facets that are declared or locked
	Sound   int      // those of which everything was verified
	Waived  []string // opt-outs of hallmark.toml
	Unseen  []string // what was not looked at, and why
}

// Check verifies that everything in the lock of dir is still as it was locked: declarations, files,
// trees in the store, records in the registry and their proofs in its log.
func Check(ctx context.Context, dir string, o CheckOptions) (Checked, error) {
	h, err := o.Machine.open(dir, fetch.Limits{})
	if err != nil {
		return Checked{}, err
	}
	r, err := check.Check(ctx, h, dir, check.Options{
		Offline: o.Offline, Log: trail.Options{Key: o.LogKey}, Surface: o.Surface, TrustLock: o.TrustLock,
		Strict: o.Strict, Capture: o.Capture,
	})
	out := Checked{r.Verdict, r.Entries, r.Sound, r.Waived, r.Unseen}
	if err != nil {
		return out, err
	}
	return out, r.Verdict.Err()
}

// ReviewOptions say what is approved. The zero value approves nothing, and only shows.
type ReviewOptions struct {
	Machine   Machine
	Approve   digest.Digest                 // approves exactly what has this digest: [Reviewed].Consent
	Confirm   func(*Reviewed) (bool, error) // is shown what would be approved; may be nil
	Items     []string                      // only these items of a drift, such as "tool:add_note"; nil is all
	Dismiss   bool                          // approve nothing, and forget the drift
	Arguments []string                      // for [Run], approved with the rest
	Unlocked  bool                          // approve the launch line of a server that is not locked
}

// Reviewed is what a person may approve about a server.
type Reviewed struct {
	Name    string
	Consent digest.Digest      // of all that would be approved; zero if there is nothing
	Entry   project.ServerLock // as it would be approved; zero for a server that is not locked
	Verdict policy.Verdict

	Surface *surface.Surface // what would be approved
	Changes []surface.Change // since the locked surface
	Items   []string         // keys of what drifted, in the order of Changes
	Refused []string         // those of Items that were not approved
	Clean   bool             // nothing to approve
}

// Review shows what a guard saw that differs from the approved surface of a server, or the whole
// entry on a machine that has not approved the lock. It approves this with consent; without consent
// the error is of class Refused.
func Review(ctx context.Context, dir, server string, o ReviewOptions) (*Reviewed, error) {
	h, err := o.Machine.open(dir, fetch.Limits{})
	if err != nil {
		return nil, err
	}
	r, err := launch.Review(ctx, h, dir, server, launch.ReviewOptions{
		Approve: o.Approve, Dismiss: o.Dismiss, Arguments: o.Arguments, Unlocked: o.Unlocked, Items: o.Items,
		Confirm: func(r *launch.Reviewed) (host.Consent, error) {
			if o.Confirm == nil {
				return host.NoConsent, nil
			}
			return consentOf(o.Confirm(describeReview(r)))
		},
	})
	if r == nil {
		return nil, err
	}
	return describeReview(r), err
}

func describeReview(r *launch.Reviewed) *Reviewed {
	out := &Reviewed{
		Name: r.Name, Entry: r.Entry, Verdict: r.Verdict, Surface: r.Surface, Changes: r.Changes, Items: r.Items,
		Refused: r.Refused, Clean: r.Clean,
	}
	if r.Surface != nil || r.Unlocked != nil {
		out.Consent = r.Consent()
	}
	return out
}

// ScanOptions say what is scanned. The zero value means the user's files of all clients that are
// known, and those of the project in the working directory.
type ScanOptions struct {
	Machine Machine
	Dir     string   // the project; "" is the working directory
	Paths   []string // files and projects' directories, in place of the user's files
	Clients []string // only files of these clients, such as "claude-code"
	Project bool     // only files of the project in Dir, and below it
	Strict  bool     // refuse what a hallmark.toml opts out of
	Program string   // path of this machine's hallmark; "" takes no entry for guarded
}

// Scanned is the result of a scan.
type Scanned struct {
	Files   []string
	Servers []ScannedServer
	Verdict policy.Verdict
}

// A ScannedServer is one server of a client's file. Its text is the file's, but what looks like a
// secret is replaced.
type ScannedServer struct {
	Client    string // "" if the file is of no client that is known
	File      string
	Line      int
	Name      string
	Command   string
	Arguments []string
	URL       string
	Packages  []ScannedPackage // that it runs
	Guarded   bool             // hallmark verifies it and starts it
	Findings  []policy.Finding
}

// A ScannedPackage is a package that a launcher is told to run.
type ScannedPackage struct {
	Ecosystem launcher.Ecosystem
	Name      string
	Spec      string // what stands behind the name; "" if nothing does
	Pinned    bool   // one version or content; its bytes were not looked at
	Locked    bool   // hallmark.lock has its digest
}

// Scan reads the configuration files of MCP clients, and reports servers that are not pinned,
// hidden in a shell line, reached by plain http and so on, each with what to write instead.
// Nothing is started, fetched or changed.
func Scan(ctx context.Context, o ScanOptions) (*Scanned, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	h, err := o.Machine.open(o.Dir, fetch.Limits{})
	if err != nil {
		return nil, err
	}
	found, err := scan.Scan(ctx, h, scan.Options{
		Clients: o.Clients, Paths: o.Paths, Dir: o.Dir, Home: o.Machine.home(), Project: o.Project, Strict: o.Strict,
		Program: o.Program,
	})
	if err != nil {
		return nil, err
	}
	out := &Scanned{Files: found.Files, Verdict: found.Verdict}
	for _, s := range found.Servers {
		server := ScannedServer{
			Client: s.Client, File: s.File, Line: s.Line, Name: s.Name, Command: s.Command, Arguments: s.Arguments,
			URL:     s.URL,
			Guarded: s.Guarded, Findings: s.Findings,
		}
		for _, p := range s.Packages {
			server.Packages = append(server.Packages, ScannedPackage{p.Ecosystem, p.Name, p.Spec, p.Pinned, p.Locked})
		}
		out.Servers = append(out.Servers, server)
	}
	return out, found.Verdict.Err()
}
