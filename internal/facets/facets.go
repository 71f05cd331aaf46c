// Package facets installs facets (skills, agents, commands and servers) into a project, removes and
// upgrades them, and says which are outdated. An installation gathers all facets of hallmark.toml
// and those that they bring along, plans the files for each target, and writes everything in one
// step or nothing. A file that a user edited is kept unless forced. A project has at most 5000
// facets, 16 deep.
package facets

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/git"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options say how facets are installed.
type Options struct {
	Frozen  bool // hallmark.lock is the only authority, and is not written
	Offline bool // make no requests
	Force   bool // overwrite and delete files that a user edited
	Keep    bool // delete no files: what is of no facet any more stays where it lies
	Dry     bool // find out what would be done, and write nothing
	// Registry is the URL of a registry that a person named. Add declares it in a project that has
	// none, with the key of its log if Log has one, and refuses a project that has another.
	Registry string
	Limits   archive.Limits
	Log      trail.Options
	Servers  Servers
	// AcceptTag lets [Upgrade] follow the tags of the facets that it names, if they were moved since they
	// were locked. [Add] does so in any case. What changes by it needs the consent of Confirm.
	AcceptTag bool
	// Confirm is shown what an upgrade, or the declaration of a facet that is locked already, would
	// change, with its text, and what runs of what is locked for the first time and was no facet, and
	// asked for consent. Nil is no consent. With Dry the answer does not count.
	Confirm func([]Change) (host.Consent, error)
	// Prefixed puts the name of each facet that is added before those of its skills, agents and commands.
	Prefixed bool
	// Named is a URL that a person named in the command, whose host may be asked without a further question. [Add] sets
	// it.
	Named string
	// Repositories are those that the caller keeps open for its next calls, with what was fetched of them; it closes
	// them. Nil is none.
	Repositories *git.Shared
	// Progress is told of downloads; total is negative if it is unknown. May be nil.
	Progress func(what string, done, total int64)
}

// Anew says which facets are resolved anew, whatever the lock has. The zero value is none.
type Anew struct {
	All      bool
	Names    []string // of facets, with the servers that they declare
	Servers  []string // that facets declare
	Declared []string // by this very command
	Others   bool     // none of those that are declared: the command removes others
}

// includes reports whether a facet is resolved anew.
func (n Anew) includes(name string) bool {
	return n.All || slices.Contains(n.Names, name) || slices.Contains(n.Declared, name)
}

// Servers say what becomes of the servers that facets declare.
type Servers struct {
	Skip bool // they are neither pinned nor written into clients' files
	// Begin is asked before anything is fetched of a server that is not locked so, and started to
	// see what it shows: that runs code that the facet's author chose. Nil leaves the question to
	// Pin.Start; it is no if that is nil too.
	Begin func(facet string, s project.Server) (bool, error)
	Pin   pin.Options // Confirm is asked for consent to what was found
}
