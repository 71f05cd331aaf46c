package project

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/launcher"
)

// serverKinds is the table of all kinds. A kind is a value of this package, in a file of its own, and a line here:
// reading, writing and checking a lock, and what its entries owe, ask the table.
var serverKinds = []serverKind{
	kindCommand,
	kindHTTP,
	kindArtifact, // before those that a command line names: what a declaration says in so many words goes first
	kindNPM,
	kindPyPI,
	kindGo,
	kindImage,
}

// ServerKinds are all kinds.
func ServerKinds() []ServerKind {
	var names []ServerKind
	for _, k := range serverKinds {
		names = append(names, k.name)
	}
	return names
}

// kind is the value of k in the table; zero if k is not known.
func (k ServerKind) kind() serverKind {
	if i := slices.IndexFunc(serverKinds, func(known serverKind) bool { return known.name == k }); i >= 0 {
		return serverKinds[i]
	}
	return serverKind{}
}

// Known reports whether this build knows the kind.
func (k ServerKind) Known() bool { return k.kind().name != "" }

// Remote reports whether servers of the kind are reached by a URL: no bytes of them are locked.
func (k ServerKind) Remote() bool { return k.kind().remote }

// Pulled reports whether servers of the kind are images, which a container engine pulls by their digest.
func (k ServerKind) Pulled() bool { return k.kind().pulled }

// Local reports whether servers of the kind are files of this disk.
func (k ServerKind) Local() bool { return k.kind().local }

// Built reports whether programs of the kind are built on the machine that starts them.
func (k ServerKind) Built() bool { return k.kind().built }

// Engines are the resolvers that can have made the closure of an entry; nil if the kind has no closure.
func (k ServerKind) Engines() []string { return slices.Clone(k.kind().engines) }

// HasClosure reports whether each entry of the kind has a closure.
func (k ServerKind) HasClosure() bool { return len(k.Engines()) > 0 }

// Kind is the kind of server that s declares; "" if it names a record, which says of which kind its package is.
func (s Server) Kind() ServerKind { return s.KindOf(launcher.Parse(s.Command, s.Arguments)) }

// KindOf is [Server.Kind], where the caller has read the command line of s already.
func (s Server) KindOf(t launcher.Target) ServerKind {
	if s.Record != "" && !s.Remote() {
		return ""
	}
	if t.Wrapper != "" {
		s.Command, s.Arguments = launcher.Unwrap(s.Command, s.Arguments)
		t = launcher.Parse(s.Command, s.Arguments)
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
	kind := s.Source.kind()
	if kind.whyOther == nil || declared.KindOf(t) != s.Source {
		return ""
	}
	return kind.whyOther(declared, t, s)
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
