package project

import (
	"errors"
	"slices"
)

// SourceKind is where a facet comes from.
type SourceKind string

// The kinds of sources.
const (
	FromRegistry SourceKind = "registry"
	FromGit      SourceKind = "git"
	FromLocal    SourceKind = "local"
)

// sourceKinds is the table of all kinds of sources: what is declared, locked and owed of one asks it. The first of
// which a declaration is counts.
var sourceKinds = []sourceKind{
	sourceGit,
	sourceLocal,
	sourceRegistry, // last: any declaration is of it
}

// sourceKind says how a facet of one kind of source is declared and locked, and what a facet has there.
type sourceKind struct {
	name     SourceKind
	declared func(Facet) bool                 // whether a facet is declared to be of this kind
	lock     func(Facet, Registry) SourceLock // the declaration in the form of a lock entry; the kind is set
	title    func(SourceLock) string          // as evidence shows it
	check    func(SourceLock) error           // refuses what no declaration of this kind is locked as
	covers   func(Facet, FacetLock) bool      // nil: one source has one facet, whatever its version
	url      func(Facet) string               // that a declaration itself names; nil: none does
	revision func(FacetLock) string           // that is locked of the source; nil: the version
	versions bool                             // a requirement chooses among the versions of a facet
	records  bool                             // a facet has a record there, which a log may prove
}

// sourceRegistry is a registry, which has a facet in versions.
var sourceRegistry = sourceKind{
	name:     FromRegistry,
	declared: func(Facet) bool { return true }, // which is what names no other source
	lock:     func(_ Facet, r Registry) SourceLock { return SourceLock{Registry: r.Name()} },
	title:    func(s SourceLock) string { return "registry " + s.Registry },
	check: func(s SourceLock) error {
		if s.Registry == "" || s != (SourceLock{Kind: s.Kind, Registry: s.Registry}) {
			return errors.New("its source is no registry")
		}
		return nil
	},
	covers:   func(f Facet, l FacetLock) bool { return f.Requirement.Matches(l.Version) },
	versions: true,
	records:  true,
}

// sourceGit is a commit of a repository, which a tag or a branch may name.
var sourceGit = sourceKind{
	name:     FromGit,
	declared: func(f Facet) bool { return f.Git != "" },
	lock: func(f Facet, _ Registry) SourceLock {
		return SourceLock{URL: f.Git, Tag: f.Tag, Branch: f.Branch, Commit: f.Commit, Sub: f.Sub}
	},
	title: func(s SourceLock) string {
		text := "git+" + s.URL
		switch {
		case s.Tag != "":
			text += " tag " + s.Tag
		case s.Branch != "":
			text += " branch " + s.Branch
		}
		if s.Sub != "" {
			text += " directory " + s.Sub
		}
		return text
	},
	check: func(s SourceLock) error {
		if s.Registry != "" || s.Path != "" || !commitRE().MatchString(s.Commit) {
			return errors.New("its source is no commit of a repository")
		}
		return Facet{Git: s.URL, Tag: s.Tag, Branch: s.Branch, Sub: s.Sub}.checkSource()
	},
	url:      func(f Facet) string { return f.Git },
	revision: func(l FacetLock) string { return l.Source.Commit },
}

// sourceLocal is a directory of this machine.
var sourceLocal = sourceKind{
	name:     FromLocal,
	declared: func(f Facet) bool { return f.Path != "" },
	lock:     func(f Facet, _ Registry) SourceLock { return SourceLock{Path: f.Path} },
	title:    func(s SourceLock) string { return "directory " + s.Path },
	check: func(s SourceLock) error {
		if s.Path == "" || s != (SourceLock{Kind: s.Kind, Path: s.Path, Wrapped: s.Wrapped}) {
			return errors.New("its source is no directory")
		}
		return nil
	},
}

// kind is the value of k in the table; that of a registry, and false, if k is not known.
func (k SourceKind) kind() (sourceKind, bool) {
	i := slices.IndexFunc(sourceKinds, func(known sourceKind) bool { return known.name == k })
	if i < 0 {
		return sourceRegistry, false
	}
	return sourceKinds[i], true
}

// SourceKinds are all kinds of sources.
func SourceKinds() []SourceKind {
	var names []SourceKind
	for _, k := range sourceKinds {
		names = append(names, k.name)
	}
	return names
}

// HasVersions reports whether a source of the kind has a facet in versions, among which a requirement chooses.
func (k SourceKind) HasVersions() bool {
	kind, known := k.kind()
	return known && kind.versions
}

// HasRecords reports whether a source of the kind has a record of a facet, which its log may prove.
func (k SourceKind) HasRecords() bool {
	kind, known := k.kind()
	return known && kind.records
}

// RegistrySource is the source of what is locked of a registry, called as [Registry.Name] does.
func RegistrySource(registry string) SourceLock {
	return SourceLock{Kind: FromRegistry, Registry: registry}
}

// Kind is where f comes from.
func (f Facet) Kind() SourceKind {
	i := slices.IndexFunc(sourceKinds, func(k sourceKind) bool { return k.declared(f) })
	return sourceKinds[i].name // the last of which any facet is
}

// String is f as hallmark.toml declares it: a requirement, or the source.
func (f Facet) String() string {
	if f.Kind().HasVersions() {
		return f.Requirement.String()
	}
	text := f.Source(Registry{}).String()
	if f.Commit != "" {
		text += " commit " + f.Commit
	}
	return text
}

// Source is how f is declared, in the form of its lock entry; registry is the project's.
// The commit is the declaration's, if it names one.
func (f Facet) Source(registry Registry) SourceLock {
	kind, _ := f.Kind().kind()
	s := kind.lock(f, registry)
	s.Kind = kind.name
	return s
}

// URL is the one that f itself names as its source; "" if it names none.
func (f Facet) URL() string {
	kind, _ := f.Kind().kind()
	if kind.url == nil {
		return ""
	}
	return kind.url(f)
}

// Revision is what is locked of the source: a version or, of a repository, a commit.
func (l FacetLock) Revision() string {
	kind, _ := l.Source.Kind.kind()
	if kind.revision == nil {
		return l.Version
	}
	return kind.revision(l)
}

// Covers reports whether the entry is of what f asks for.
func (l FacetLock) Covers(f Facet, registry Registry) bool {
	want, have := f.Source(registry), l.Source
	have.Wrapped = 0 // which is found in the directory, and not declared
	if f.Commit == "" {
		have.Commit = ""
	}
	kind, _ := f.Kind().kind()
	return want == have && (kind.covers == nil || kind.covers(f, l))
}

// Places reports whether the entry is of an installation of the parts of f that are wanted, called as f calls them.
func (l FacetLock) Places(f Facet) bool {
	return l.Prefix == f.Prefix && slices.Equal(l.Parts, f.Parts)
}

// String is the source as evidence shows it.
func (s SourceLock) String() string {
	kind, _ := s.Kind.kind()
	return kind.title(s)
}

// Check says what is wrong with the source of f, as for one of hallmark.toml.
func (f Facet) Check() error {
	if err := f.checkParts(); err != nil {
		return err
	}
	if f.Kind().HasVersions() && f.Tag+f.Branch+f.Commit+f.Sub == "" && !f.Private {
		return nil
	}
	return f.checkSource()
}
