// Package pin locks servers: packages of npm, PyPI and Go, container images, servers that are packed
// from source, local commands and URLs. It also takes servers over from the configuration files of
// MCP clients, rewrites these to start "hallmark run", and undoes both. What is replaced in a
// client's file is kept beside it in FILE.hallmark, so that it is restored byte by byte.
package pin

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Options say how to pin.
type Options struct {
	Settings policy.Settings
	// Confirm shows what would be locked and asks for consent.
	Confirm func(*Pinned) (host.Consent, error)
	// Begin is asked before a server that is reached by its URL is sent anything, unless this
	// machine approved it as it is declared. Nil is yes: the caller has asked.
	Begin func(project.Server) (bool, error)
	// Start is asked before the program of a server is started to see what it shows, with all
	// that is known of it by then: which program that is, a checkout says. It is not asked for
	// what this machine approved, as long as it is the same bytes. Nil is yes.
	Start func(*Pinned) (bool, error)
	// Capture is how long one start may take to show the whole surface; 0 is a minute.
	Capture time.Duration
	Dry     bool // ask, or rather show, and write nothing whatever the answer
	Log     trail.Options
	// AllowScripts are names of npm packages whose install scripts are run, besides those,
	// at exactly the same version, that were allowed when the lock was written.
	AllowScripts []string
	// From names files of clients, whose servers are pinned and declared in hallmark.toml;
	// zero: those that it declares already.
	From ClientFiles
	// WriteConfig makes the entries in those files start "hallmark run".
	WriteConfig bool
}

// Pinned is what [Pin] found out about one server.
type Pinned struct {
	Name     string
	Entry    project.ServerLock
	Before   *project.ServerLock // the entry that is replaced, or nil
	Verdict  policy.Verdict      // of all evidence; of all but the consent when it is asked for
	Surface  *surface.Surface
	Changes  []surface.Change    // since Before
	Weaker   []project.Weakening // what was accepted and is declared no more
	Runtime  *project.Runtime    // the interpreter of this machine, or nil
	Packages []string            // packages of the closure, "npm:name@version"
	Verified int                 // files of those that this platform needs, all of which were verified
	Moved    []string            // those that Before had not, or had with other bytes
	Scripts  []string            // packages whose install scripts were not run
	Wanted   []string            // variables that a record asks for and hallmark.toml does not declare
	Same     bool                // the same bytes as Before show another surface
	Claimed  digest.Digest       // api_surface that its publisher claims; zero if it claims none
	Preview  kind.Preview        // what it gets, and where it comes from
	Written  bool
	Clients  []string // the files of clients that start it by hallmark run now
}

// Consent is the digest that consent is bound to.
func (p *Pinned) Consent() digest.Digest { return project.Consent(p.Entry, p.Runtime) }

// Pin locks the named servers of the project in dir, or all that it declares. For each
// it resolves the exact artifacts, fetches and hashes them, compares them with all that
// is claimed of them, starts the server to see its surface, and asks for consent. Then
// lock, surfaces, closures, this machine's approval and, where servers are taken over from
// files of clients, hallmark.toml and those files are written together, or nothing.
func Pin(ctx context.Context, h *host.Host, dir string, names []string, o Options) ([]*Pinned, error) {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, true, !o.From.isZero())
	if err != nil {
		return nil, err
	}
	defer done()
	var from *adoption
	if !o.From.isZero() {
		if from, names, err = adopt(w, o.From, names, o.WriteConfig); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		for _, name := range slices.Sorted(maps.Keys(w.Config.Servers)) {
			if w.Config.Servers[name].Facet == "" { // those are pinned by install
				names = append(names, name)
			}
		}
	}
	var (
		all   []*Pinned
		files []durable.File
	)
	slices.Sort(names)
	names = slices.Compact(names)
	var uses []consent.HostUse
	for _, name := range names {
		if declared, err := w.Server(name); err == nil {
			uses = append(uses, w.ServerHosts(declared)...)
		}
	}
	if err := h.RequireHostConsent(uses...); err != nil {
		return nil, err
	}
	logs := w.Logs(o.Log)
	for _, name := range names {
		declared, err := w.Server(name)
		if err != nil {
			return all, err
		}
		p := &Pinning{Workspace: w, Logs: logs, Options: o, Declared: declared, Path: h.Getenv("PATH")}
		more, err := p.Pin(ctx)
		if p.Result.Name != "" {
			all = append(all, &p.Result)
		}
		if err != nil {
			return all, err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		return all, nil
	}
	accepted, err := lockFiles(w)
	if err != nil {
		return all, err
	}
	files = append(files, accepted...)
	if from != nil {
		more, err := adoptionFiles(w, from, all, o.WriteConfig)
		if err != nil {
			return all, err
		}
		files = append(files, more...)
	}
	if err := w.Replace(ctx, files); err != nil {
		return all, err
	}
	for _, p := range all {
		p.Written = true
	}
	return all, nil
}

// ConsentEvidence is evidence of a person's answer. It is bound to the digest of what
// was shown.
func ConsentEvidence(name string, answer host.Consent, shown digest.Digest) evidence.Evidence {
	c := evidence.Claim{Subject: name, Scheme: evidence.Approval, Authority: evidence.Machine}
	switch answer {
	case host.Standing:
		c.Want, c.Where = []digest.Digest{shown}, "--yes"
	case host.Given:
		c.Want, c.Where = []digest.Digest{shown}, "the person at this machine"
	}
	return evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{shown}, From: "what is to be approved"})
}

// SurfaceChanges are the differences between the locked surface of name and s. A stored
// surface that cannot be read shows none; 'check' reports it.
func SurfaceChanges(w *workspace.Workspace, name string, s *surface.Surface) []surface.Change {
	old := lockentry.LockedSurface(w, name)
	if old == nil {
		return nil
	}
	return surface.Diff(old, s)
}
