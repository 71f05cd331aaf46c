package project

import "slices"

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
var serverKinds = []serverKind{kindCommand, kindHTTP, kindNPM, kindPyPI, kindGo, kindArtifact, kindImage}

// serverKind says what the lock entries of one kind look like, and what they owe. A function that is nil has nothing
// to refuse or to fill in.
type serverKind struct {
	name    ServerKind
	title   string   // in messages: "a package of PyPI"
	remote  bool     // it is reached by its URL, and no bytes of it are locked
	engines []string // one of which has resolved the closure that an entry owes; nil: it has none
	scripts bool     // its closure may name packages whose install scripts are run

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

// Engines are the resolvers that can have made the closure of an entry; nil if the kind has no closure.
func (k ServerKind) Engines() []string {
	kind, _ := k.kind()
	return slices.Clone(kind.engines)
}

// HasClosure reports whether each entry of the kind has a closure.
func (k ServerKind) HasClosure() bool { return len(k.Engines()) > 0 }

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
