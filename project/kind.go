package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// serverKind says what the lock entries of one kind look like, and what they owe. A function that is nil has nothing
// to refuse or to fill in.
type serverKind struct {
	name    ServerKind
	title   string   // in messages: "a package of PyPI"
	remote  bool     // it is reached by its URL, and no bytes of it are locked
	engines []string // one of which has resolved the closure that an entry owes; nil: it has none
	scripts bool     // its closure may name packages whose install scripts are run
	pulled  bool     // a container engine pulls it, by its digest
	local   bool     // its files are on this disk, and may be hashed with their directory
	built   bool     // its program is built on this machine: what an approval names as runtime is the compiler

	// declared reports whether a declaration, whose command line was read as the target, is of
	// this kind; nil is the kind of every declaration that no other kind takes.
	declared func(Server, launcher.Target) bool
	// whyOther says why an entry of the kind is not of what a declaration of the kind names, or ""; nil is never.
	whyOther func(Server, launcher.Target, ServerLock) string

	checkRef    func(ServerLock) error // refuses a ref that is not of this kind
	checkEntry  func(ServerLock) error // refuses an entry that does not lead into what ref names; never nil
	checkLaunch func(ServerLock) error // refuses a launch that is not the declared one
	complete    func(*ServerLock)      // fills in what the entry implies and its text leaves out
	own         *ownMembers            // nil: it has no member that other kinds do not have
}

// ownMembers are members of a lock entry that only one kind has.
type ownMembers struct {
	in        func(ServerLock) bool // whether an entry has one of them
	misplaced string                // what is wrong with an entry of another kind that has
}

// downloads reports whether t is one of the launchers, and does nothing but download packages and run one of them.
func downloads(t launcher.Target, launchers ...string) bool {
	return t.Opaque == "" && t.Alone() && t.File == "" && len(t.Packages) > 0 &&
		slices.Contains(launchers, t.Launcher)
}

// checkRefOf refuses an entry whose ref is not of a kind of artifacts, which messages call title.
func checkRefOf(s ServerLock, kind artifact.Kind, title string) error {
	if ref, err := artifact.Parse(s.Ref); err != nil || ref.Kind() != kind {
		return fmt.Errorf("ref %+q is no %s", s.Ref, title)
	}
	return nil
}

// whyUnnamed says that an entry is not of what a declaration names, unless fits.
func whyUnnamed(fits bool, named launcher.Package, s ServerLock) string {
	if fits {
		return ""
	}
	return fmt.Sprintf("it names %+q, and the entry %+q", named.Text, s.Ref)
}

// whyOtherPackage is for kinds whose packages have versions: of a range or a tag any version will do.
func whyOtherPackage(_ Server, t launcher.Target, s ServerLock) string {
	named := t.Packages[0]
	ref, err := artifact.Parse(s.Ref)
	if err != nil {
		return whyUnnamed(false, named, s)
	}
	own, pinned := ref.Normal(), named.Ref.Normal()
	if named.Pinned() && !named.Ref.IsZero() {
		want, _, _ := strings.Cut(pinned.Version(), "+")
		got, _, _ := strings.Cut(own.Version(), "+")
		return whyUnnamed(pinned.Name() == own.Name() && got == want, named, s)
	}
	name := named.Name
	if named.Ecosystem == launcher.PyPI { // where a name has more than one spelling
		if plain, err := artifact.NewPyPI(name, "0", ""); err == nil {
			name = plain.Normal().Name()
		}
	}
	return whyUnnamed(own.Name() == name, named, s)
}

// ServerKind is what a locked server is started from. Its value is the source of a lock entry.
type ServerKind string

// The kinds.
const (
	KindCommand  ServerKind = "command"  // a program of this machine
	KindHTTP     ServerKind = "http"     // a server that is reached by its URL
	KindNPM      ServerKind = "npm"      // a package of npm
	KindPyPI     ServerKind = "pypi"     // a package of PyPI
	KindGo       ServerKind = "go"       // a program of a module of Go
	KindImage    ServerKind = "image"    // an OCI image
	KindArtifact ServerKind = "artifact" // an archive that an MCP registry has, packed from source
)
