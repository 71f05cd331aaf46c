// Package kind says what the flows do with each kind of server that a lock can hold: how what is declared is resolved
// into an entry, how an entry becomes something that can be started, what of it can be compared without starting it,
// what its source has now, and what a person is told of it. What an entry looks like and owes, package project says in
// its own table of kinds. A kind is one file here and a line in the table of [Of]; no flow names a kind.
package kind

import (
	"context"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// Kind is what the flows ask of a kind of server.
type Kind interface {
	// Resolve finds what a declaration names now, compares it with all that is claimed of it, and makes it startable.
	// Beside an error it returns what was found before.
	Resolve(ctx context.Context, d Declaration) (Resolved, error)
	// Open makes a locked server startable from bytes that were compared with its entry. Beside an error it returns
	// what was found before.
	Open(ctx context.Context, l Locked) (Opened, error)
	// OpenRuntime opens what would start a locked server on this machine: an interpreter, a compiler or an engine.
	// It returns nil if nothing of this machine would.
	OpenRuntime(ctx context.Context, l Locked) (*program.Program, error)
	// Check compares with an entry what can be compared without starting the server, or fetching it.
	Check(ctx context.Context, l Locked) (evidence.Report, error)
	// Latest asks the source of a server what it has now.
	Latest(ctx context.Context, q Query) (Latest, error)
	// Version is the version of what an entry runs.
	Version(entry project.ServerLock) Version
	// Preview is what a person is told of a server by its declaration alone: nobody is asked.
	Preview(h *host.Host, s project.Server) Preview
	// Hosts are those that what an entry names comes from.
	Hosts(h *host.Host, entry project.ServerLock) []string
	// Slots are the trees of the store that an entry is started from.
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
	// Begin is asked before a server that is reached by its URL is sent anything, unless this machine approved it as
	// it is declared. Nil is yes: the caller has asked.
	Begin func(project.Server) (bool, error)
	// Judge judges what is known of the server already, with the evidence that it gets.
	Judge program.JudgeFunc
}

// RecordPackage is the package that a registry's record of a server says is to be started.
type RecordPackage struct {
	Record    *record.Record
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
	Moved    []string                 // refs that the replaced entry had not, or had with other bytes
	Scripts  []string                 // packages whose install scripts were not run
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
	// Judge judges what is known of the server already, with the evidence that it gets.
	Judge program.JudgeFunc
}

// Opened is a locked server that can be started.
type Opened struct {
	Program *program.Program         // which the caller closes, beside an error too; may be nil then
	Report  evidence.Report          // the program's included
	Made    map[string]digest.Digest // trees that were installed now, by platform
}

// Query is a question for the source of a server.
type Query struct {
	Workspace *workspace.Workspace
	Server    project.Server // as it is declared
	Version   string         // to take; "" is the newest that the declaration allows
}

// Latest is what the source of a server has now. Beside an error it is what was found before.
type Latest struct {
	Wanted string         // that an upgrade takes; "" if the source has no versions
	Newest string         // of all
	Next   project.Server // how the server is declared then: an exact version is moved, a range or a tag stays
}

// Version is the version of what an entry runs.
type Version struct {
	Name    string        // of a record, an archive or a package; "" of an image
	Version string        // "" if there is none; of an image its digest
	Order   artifact.Kind // whose order the versions have; "" is that of records and archives
}
