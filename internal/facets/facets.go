// Package facets installs facets (skills, agents, commands and servers) into a project, removes and
// upgrades them, and says which are outdated. An installation gathers all facets of hallmark.toml
// and those that they bring along, plans the files for each target, and writes everything in one
// step or nothing. A file that a user edited is kept unless forced. A project has at most 5000
// facets, 16 deep.
package facets

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options say how facets are installed.
type Options struct {
	Frozen  bool // hallmark.lock is the only authority, and is not written
	Offline bool // make no requests
	Force   bool // overwrite and delete files that a user edited
	Dry     bool // find out what would be done, and write nothing
	Limits  archive.Limits
	Log     trail.Options
	Servers Servers
	// AcceptTag is shown facets whose tags were moved since they were locked, as they would change, and says whether
	// to follow the tags. It is asked by [Add] and [Upgrade] of what they name. Nil is no: a moved tag is drift.
	AcceptTag func([]Change) (bool, error)
	// Progress is told of downloads; total is negative if it is unknown. May be nil.
	Progress func(what string, done, total int64)
}

// Anew says which facets are resolved anew, whatever the lock has. The zero value is none.
type Anew struct {
	All      bool
	Names    []string
	Declared string // by this very command
}

// names reports whether a command is about a facet by its name.
func (n Anew) names(name string) bool {
	return slices.Contains(n.Names, name) || n.Declared != "" && n.Declared == name
}

// includes reports whether a facet is resolved anew.
func (n Anew) includes(name string) bool {
	return n.All || n.names(name)
}

// Servers say what becomes of the servers that facets declare.
type Servers struct {
	Skip bool // they are neither pinned nor written into clients' files
	// Begin is asked before a server is started for the first time, to see what it shows:
	// that runs code that the facet's author chose. Nil is no.
	Begin func(facet string, s project.Server) (bool, error)
	Pin   pin.Options // Confirm is asked for consent to what was found
}
