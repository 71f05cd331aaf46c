// Package kind does what depends on the kind of a server (npm, PyPI, Go, image, packed from source,
// command, remote): it resolves a declaration into a lock entry, makes an entry startable, compares
// an entry without starting the server, asks a source for newer versions, and previews a
// declaration for a person. The form of an entry, and what it owes, are in package project's own
// table of kinds.
//
// A kind is one file here and a line in the table of [Of]; no flow names a kind.
package kind

import (
	"context"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// Kind is what the flows need of one kind of server.
type Kind interface {
	// Resolve finds what a declaration names now, compares it with all claims about it, and makes
	// it startable. With an error it returns what was found before.
	Resolve(ctx context.Context, d Declaration) (Resolved, error)
	// Open makes a locked server startable from bytes that were compared with its entry. With an
	// error it returns what was found before.
	Open(ctx context.Context, l Locked) (Opened, error)
	// OpenRuntime looks at what would start a locked server on this machine: an interpreter, a
	// compiler or an engine. It returns nil if no program of this machine would. Nothing can be
	// started from what it returns.
	OpenRuntime(ctx context.Context, l Locked) (*program.Program, error)
	// Check compares an entry as far as possible without starting the server or fetching it.
	Check(ctx context.Context, l Locked) (evidence.Report, error)
	// Latest asks the source of a server for its newest version.
	Latest(ctx context.Context, q Query) (Latest, error)
	// Version returns the version of what an entry runs.
	Version(entry project.ServerLock) Version
	// Preview returns what a person is told about a server, from its declaration alone and without
	// requests.
	Preview(h *host.Host, s project.Server) Preview
	// Hosts returns the hosts that the artifacts of an entry come from.
	Hosts(h *host.Host, entry project.ServerLock) []string
	// Slots returns the trees of the store that an entry is started from.
	Slots(entry project.ServerLock) []digest.Digest
}

// Declaration is a declared server that is to be locked.
type Declaration struct {
	Workspace    *workspace.Workspace
	Logs         *trail.Logs
	Server       project.Server
	Path         string              // PATH, through which programs are found
	Before       *project.ServerLock // the entry that is replaced, or nil
	Record       *RecordPackage      // what the record that it names says of it; nil: it names none
	AllowScripts []string            // names of npm packages whose install scripts are run, besides those of Before
	// Begin is called before anything is sent to a server that is reached by its URL, unless this
	// machine approved its present declaration. Nil means yes: the caller has asked.
	Begin func(project.Server) (bool, error)
	// Given are values of variables that the user's client gives the server, so that consent to send it them was given
	// there.
	Given map[string]string
	// Judge judges what is known about the server so far, together with its argument.
	Judge program.JudgeFunc
}

// RecordPackage is the package of a server's registry record that is to be started.
type RecordPackage struct {
	Record    *obtain.Record
	Ref       artifact.Ref
	Arguments []string // that the server gets, those of its declaration among them
}

// Resolved is what a declaration was resolved to.
type Resolved struct {
	Program  *program.Program         // which the caller closes, beside an error too; may be nil then
	Entry    project.ServerLock       // without launch, surface and approval
	Report   evidence.Report          // besides the program's
	Closure  []byte                   // the file of its closure; nil if the kind has none
	Trees    map[string]digest.Digest // that were installed on this machine, by platform
	Packages []string                 // of the closure, "npm:name@version"
	Verified int                      // files of those that this platform needs, all of which were verified
	Moved    []MovedPackage           // what the replaced entry had not, or had with other bytes
	Scripts  []string                 // packages whose install scripts were not run
	Release  *fetch.Release           // what the package registry says of the version; nil: it has nothing to say
	Replaced *fetch.Release           // and of another version of the replaced entry; nil: there is none
	Files    *ChangedFiles            // what differs from the package of the replaced entry; nil: nothing to compare
	Later    []closure.LaterMajor     // dependencies that the package may not have been written for
	Claimed  *digest.Digest           // api_surface in the record of its publisher, or zero; nil: no record can say
}

// Locked is a locked server.
type Locked struct {
	Workspace *workspace.Workspace
	Logs      *trail.Logs
	Server    project.Server // as it is declared
	Entry     project.ServerLock
	Approval  project.Approval // of this machine: the PATH that is searched, and the approved runtime and trees
	Closure   *project.Closure // that lies beside the lock; nil if there is none
	TrustLock bool             // take the lock's word for what this machine has not approved
	Offline   bool             // ask nobody
	// Judge judges what is known about the server so far, together with its argument.
	Judge program.JudgeFunc
}

// Opened is a locked server that can be started.
type Opened struct {
	Program *program.Program         // which the caller closes, beside an error too; may be nil then
	Report  evidence.Report          // the program's included
	Made    map[string]digest.Digest // trees that were installed now, by platform
}

// noteMade adds a tree that was installed now.
func (o *Opened) noteMade(platform string, tree digest.Digest) {
	if o.Made == nil {
		o.Made = map[string]digest.Digest{}
	}
	o.Made[platform] = tree
}

// Query is a question for the source of a server.
type Query struct {
	Workspace *workspace.Workspace
	Server    project.Server // as it is declared
	Version   string         // to take; "" is the newest that the declaration allows
}

// Latest is the answer of a server's source. With an error it holds what was found before.
type Latest struct {
	Wanted string         // that an upgrade takes; "" if the source has no versions
	Newest string         // of all
	Next   project.Server // how the server is declared then: an exact version is moved, a range or a tag stays
}

// Version is the version of what an entry runs.
type Version struct {
	Name    string        // of a record, an archive or a package; "" of an image
	Version string        // "" if there is none; of an image its digest
	Order   artifact.Kind // whose order the versions have; "" is the order of records and archives
}
