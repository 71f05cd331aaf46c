package kind

import (
	"context"
	"iter"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// ecosystem is the kind of the packages of one ecosystem, which are installed with all their
// dependencies. It holds what differs between ecosystems.
type ecosystem struct {
	common
	closure.Installer
	kind     project.ServerKind
	resolver string          // how messages call what resolves packages
	language string          // that its packages run, as package launcher calls its interpreter; "" if none is needed
	scheme   evidence.Scheme // what the digest of a package is of
	recorded bool            // registries have records of its packages

	resolve func(context.Context, *host.Host, request, *project.Runtime) (*project.Closure, error)
	// releases asks the package registry about versions of one package. It is nil if registries do not say more of
	// a version than its files.
	releases func(context.Context, *host.Host, ...artifact.Ref) ([]fetch.Release, error)
	// listFiles hashes the files of a package. It is nil if those of two versions are not compared.
	listFiles func(name string) (map[string]fetch.File, error)
	// newest returns the version that the ecosystem's own resolver finds for the package that a
	// command line names.
	newest func(ctx context.Context, q Query, t launcher.Target, of choice) (string, error)
	// findStart returns what starts a fetched package, and the server that the package says it is
	// for. ok is false if the package could not be fetched, which its evidence says.
	findStart func(request, *closure.Packages) (entry, mcpName string, ok bool, err error)
	// openRuntime opens the interpreter, or finds the compiler: the approved one, or the one in the
	// path.
	openRuntime func(ctx context.Context, w *workspace.Workspace, server string, approval project.Approval,
		open process.Opener) (*program.Program, error)
	// others yields the runtimes that may take the place of the first in path, for a package that
	// needs another version. It is nil if the ecosystem's packages run with any version.
	others func(ctx context.Context, w *workspace.Workspace, path, requires string) iter.Seq[*project.Runtime]
	// inspectRuntime compares a runtime that is only needed to install with the approved one. It is
	// nil if the runtime also starts the server, because it was compared when it was opened.
	inspectRuntime func(context.Context, *program.Program, *project.Runtime) error
	// compile puts what the runtime makes of a tree, so that it starts faster, into the store. It is nil if the
	// runtime makes nothing.
	compile func(ctx context.Context, w *workspace.Workspace, st *store.Store, server string, rt *project.Runtime,
		tree *store.Slot, judge program.JudgeFunc) (*program.Installed, error)
	// ignoreBytecode keeps the runtime from compiled code that lies beside code of the project. It is nil if the
	// runtime reads none.
	ignoreBytecode func(p *program.Program)
	// start makes a program start the package of an entry from a slot of the store, with what was compiled of it, or
	// nil.
	start func(p *program.Program, w *workspace.Workspace, slot, compiled *store.Slot, entry project.ServerLock) error
}

// choice says which versions of a package a resolver may choose from.
type choice int

const (
	asDeclared      choice = iota // what is declared
	declaredOrNewer               // what is declared exactly, or a newer version
	declaredAlone                 // what is declared exactly: nothing newer may be taken yet
	anyVersion                    // any version
)

// request is the package that a server is said to be.
type request struct {
	name, spec   string       // spec is npm's or Go's: a version, a range or a tag
	before       time.Time    // only what was published then; zero: at any time
	requirements []string     // PyPI: requirements of the package and of what comes along
	exact        artifact.Ref // the version that is named; zero if the resolver chooses one
	python       string       // PyPI: the version of Python that the command line chooses, such as "3.12"; "": none
	bin          string       // the executable to start, "" for the one that is meant
	args         []string
}
