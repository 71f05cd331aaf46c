package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/launcher"
)

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

// serverKinds is the table of all kinds. A kind is a value of this package, in a file of its own, and a line here:
// reading, writing and checking a lock, and what its entries owe, ask the table.
var serverKinds = []serverKind{
	kindCommand,
	kindHTTP,
	kindNPM,
	kindPyPI,
	kindGo,
	kindArtifact,
	kindImage,
}

// serverKind says what the lock entries of one kind look like, and what they owe. A function that is nil has nothing
// to refuse or to fill in.
type serverKind struct {
	name    ServerKind
	title   string   // in messages: "a package of PyPI"
	remote  bool     // it is reached by its URL, and no bytes of it are locked
	engines []string // one of which has resolved the closure that an entry owes; nil: it has none
	scripts bool     // its closure may name packages whose install scripts are run
	pulled  bool     // a container engine pulls it, by its digest
	built   bool     // its program is built on this machine: what an approval names as runtime is the compiler

	// declared reports whether a declaration, whose command line was read as the target, is of this kind; nil is the
	// kind of what no other one takes.
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
	in    func(ServerLock) bool // whether an entry has one of them
	stray string                // what is wrong with an entry of another kind that has
}

// ServerKinds are all kinds.
func ServerKinds() []ServerKind {
	var names []ServerKind
	for _, k := range serverKinds {
		names = append(names, k.name)
	}
	return names
}

// kind is the value of k in the table.
func (k ServerKind) kind() (serverKind, bool) {
	i := slices.IndexFunc(serverKinds, func(known serverKind) bool { return known.name == k })
	if i < 0 {
		return serverKind{}, false
	}
	return serverKinds[i], true
}

// Known reports whether this build knows the kind.
func (k ServerKind) Known() bool {
	_, ok := k.kind()
	return ok
}

// Remote reports whether servers of the kind are reached by a URL: no bytes of them are locked.
func (k ServerKind) Remote() bool {
	kind, _ := k.kind()
	return kind.remote
}

// Pulled reports whether servers of the kind are images, which a container engine pulls by their digest.
func (k ServerKind) Pulled() bool {
	kind, _ := k.kind()
	return kind.pulled
}

// Built reports whether programs of the kind are built on the machine that starts them.
func (k ServerKind) Built() bool {
	kind, _ := k.kind()
	return kind.built
}

// Engines are the resolvers that can have made the closure of an entry; nil if the kind has no closure.
func (k ServerKind) Engines() []string {
	kind, _ := k.kind()
	return slices.Clone(kind.engines)
}

// HasClosure reports whether each entry of the kind has a closure.
func (k ServerKind) HasClosure() bool { return len(k.Engines()) > 0 }

// Kind is the kind of server that s declares; "" if it names a record, which says of which kind its package is.
func (s Server) Kind() ServerKind { return s.KindOf(launcher.Parse(s.Command, s.Arguments)) }

// KindOf is [Server.Kind], where the caller has read the command line of s already.
func (s Server) KindOf(t launcher.Target) ServerKind {
	if s.Record != "" && !s.Remote() {
		return ""
	}
	other := ServerKind("")
	for _, kind := range serverKinds {
		switch {
		case kind.declared == nil:
			other = kind.name
		case kind.declared(s, t):
			return kind.name
		}
	}
	return other
}

// WhyOther says why an entry is not of what a declaration of the entry's kind names, or "".
func (s ServerLock) WhyOther(declared Server) string {
	t := launcher.Parse(declared.Command, declared.Arguments)
	kind, _ := s.Source.kind()
	if kind.whyOther == nil || declared.KindOf(t) != s.Source {
		return ""
	}
	return kind.whyOther(declared, t, s)
}

// downloads reports whether t is one of the launchers, and does nothing but download packages and run one of them.
func downloads(t launcher.Target, launchers ...string) bool {
	return t.Opaque == "" && t.Wrapper == "" && t.File == "" && len(t.Packages) > 0 &&
		slices.Contains(launchers, t.Launcher)
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

// LockedFile is a file beside hallmark.lock of which an entry holds the digest.
type LockedFile struct {
	Name   string // relative to the project
	Member string // of the entry, with the digest: "surface" or "closure"
}

// Files are those beside the lock that the entry of a server owes.
func (k ServerKind) Files(server string) []LockedFile {
	files := []LockedFile{{SurfaceFile(server), "surface"}}
	if k.HasClosure() {
		files = append(files, LockedFile{ClosureSubject(server), "closure"})
	}
	return files
}
