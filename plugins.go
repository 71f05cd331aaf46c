package hallmark

import (
	"context"

	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// InstallOptions say how facets are installed.
type InstallOptions struct {
	Machine Machine
	Frozen  bool   // hallmark.lock is the only authority, and is not written
	Offline bool   // ask nobody
	Force   bool   // overwrite and delete files that a user edited
	Dry     bool   // find out what would be done, and write nothing
	LogKey  string // verifier key of the registry's log; "" is the one that this machine knows

	// Servers says how the servers that facets declare are pinned; its Machine is ignored. If it is
	// nil no server is pinned.
	Servers *PinOptions
}

// Installed is the result of an installation. Files are relative to the project.
type Installed struct {
	Verdict policy.Verdict
	Facets  map[string]string // by name: "installed", "updated", "repaired", "unchanged" or "removed"
	Files   []string          // that were written
	Deleted []string
	Kept    []string  // that a user edited, and that stay as they are
	Skipped []string  // servers that facets declare and that were not pinned, as "FACET: SERVER"
	Pinned  []*Pinned // servers that facets declare and that were looked at
	Written bool      // something was changed
}

// Install brings the facets of a project, its skills, agents and commands, to what hallmark.toml
// and hallmark.lock in dir say: their contents are hashed again, wherever they come from, compared
// with the lock, the registry and the archive itself, and only then written where clients look.
func Install(ctx context.Context, dir string, o InstallOptions) (*Installed, error) {
	h, err := o.Machine.open(dir, fetch.Limits{})
	if err != nil {
		return nil, err
	}
	options := facets.Options{
		Frozen: o.Frozen, Offline: o.Offline, Force: o.Force, Dry: o.Dry,
		Log: trail.Options{Key: o.LogKey}, Progress: o.Machine.Progress,
	}
	options.Servers.Skip = o.Servers == nil
	if o.Servers != nil {
		options.Servers.Pin = o.Servers.flow(h)
		options.Servers.Begin = func(_ string, s project.Server) (bool, error) { return options.Servers.Pin.Begin(s) }
	}
	r, err := facets.Install(ctx, h, dir, options)
	if r == nil {
		return nil, err
	}
	out := &Installed{
		Verdict: r.Verdict, Facets: map[string]string{}, Files: r.Files, Deleted: r.Deleted, Kept: r.Kept,
		Skipped: r.Servers, Pinned: describePinned(r.Pinned), Written: r.Written,
	}
	for _, c := range r.Facets {
		out.Facets[c.Name] = c.Outcome
	}
	return out, err
}

// VerifyPluginOptions say what a host permits and demands of a plugin.
type VerifyPluginOptions struct {
	Machine    Machine
	Flags      plugin.Flags // [plugin.ReadFlags] reads those of an environment
	Strict     bool         // what would be a warning refuses
	Allowlist  string       // file; "" is plugin.AllowlistFile, which may be missing
	Registered string       // file with what the plugin registered with its host; "" for none
	CopyTo     string       // directory for a private copy of the bytes that were checked; "" for none
}

// VerifyPlugin checks the plugin of a Node host that is a directory or a zip: its files, its
// signatures by keys that this machine trusts, and what it declares.
func VerifyPlugin(ctx context.Context, path string, o VerifyPluginOptions) (*plugin.Result, error) {
	h, err := o.Machine.open(".", fetch.Limits{})
	if err != nil {
		return nil, err
	}
	r, err := plugins.Verify(ctx, h, path, plugins.Options{
		Flags: o.Flags, Strict: o.Strict, Allowlist: o.Allowlist, Registered: o.Registered, CopyTo: o.CopyTo,
	})
	if err != nil {
		return r, err
	}
	return r, r.Verdict.Err()
}
