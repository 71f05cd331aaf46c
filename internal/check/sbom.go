package check

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// SBOMInput is what a software bill of materials is made of.
type SBOMInput struct {
	Project  string                      // what the project is called
	Lock     *project.Lock               // all of its entries are in the document
	Closures map[string]*project.Closure // by server; one that its entry has and that is not here is an error
	Unlocked []string                    // servers that hallmark.toml leaves without an entry
	Release  string                      // version of the program
	Created  time.Time                   // zero: not known
}

// sbomFormats are the makers of documents, by the names of their formats.
var sbomFormats = map[string]func(SBOMInput, []*sbomComponent) ([]byte, error){"cyclonedx": cycloneDX, "spdx": spdx}

// SBOMFormats are the names of the formats, sorted.
func SBOMFormats() []string { return slices.Sorted(maps.Keys(sbomFormats)) }

// MakeSBOM writes a software bill of materials of all that hallmark.lock pins, in a format of [SBOMFormats]: CycloneDX
// 1.6 or SPDX 2.3, in JSON. What the documents have:
//
//   - a component for each server and facet, for each package of the servers' closures, for images, executables and
//     files, and for the files of facets; each has the Ref or the name of the lock as its reference
//   - under hashes what is a hash of one file as it is distributed: tarballs, wheels, files. What is a digest of
//     something else (a tree, a surface, the contents of an archive, a manifest, Go's h1) is a property hallmark:…,
//     in SPDX a line of the comment
//   - which component needs which, as far as a closure says so. Those of Python and Go do not: there the server needs
//     all packages, and what these need is left out of CycloneDX's dependencies and is NOASSERTION in SPDX
//
// The same lock gives the same bytes: nothing is random, and no clock is read. The number of a document is a UUID of
// its content. Documents have no address of a package registry, as the lock has none.
func MakeSBOM(format string, in SBOMInput) ([]byte, error) {
	write, ok := sbomFormats[format]
	if !ok {
		return nil, fmt.Errorf("%+q is no format", format)
	}
	b := &sbomBuilder{all: map[string]*sbomComponent{}}
	root := b.add(sbomComponent{id: sbomRoot, kind: "application", name: in.Project, known: true})
	for _, name := range in.Lock.Facets() {
		entry, _ := in.Lock.Facet(name)
		root.need(b.facet(in.Lock, name, entry))
	}
	for _, name := range in.Lock.Servers() {
		entry, _ := in.Lock.Server(name)
		server, err := b.server(name, entry, in.Closures[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		root.need(server)
	}
	for _, name := range in.Unlocked {
		server := b.add(sbomComponent{id: "server:" + name, kind: "application", name: name})
		server.note("not-locked", "hallmark.toml lets it run without an entry of hallmark.lock")
		root.need(server)
	}
	return write(in, b.finish())
}

const sbomRoot = "project"

// sbomComponent is one thing that a lock pins.
type sbomComponent struct {
	id            string // unique in the document
	kind          string // CycloneDX's type, or "service"
	name, version string
	purl          string
	file          string          // name of the file of which hashes are, if that is not the name
	hashes        []digest.Digest // of one file, at most one under each algorithm
	endpoint      string          // of a service
	notes         map[string][]string
	parent        string // id of the component that it is a part of
	release       bool   // its parts are the files of a release
	needs         map[string]bool
	known         bool // nothing else than needs is needed
	required      bool // it is a package, and some server cannot do without it
	optional      bool // it is a package that some server can do without
}

func (c *sbomComponent) need(other *sbomComponent) { c.needs[other.id] = true }

// note adds a property, unless it is empty.
func (c *sbomComponent) note(name, value string) {
	if value != "" && !slices.Contains(c.notes[name], value) {
		c.notes[name] = append(c.notes[name], value)
	}
}

// properties are all notes in order: names, each followed by its value.
func (c *sbomComponent) properties() (all [][2]string) {
	for _, name := range slices.Sorted(maps.Keys(c.notes)) {
		for _, value := range slices.Sorted(slices.Values(c.notes[name])) {
			all = append(all, [2]string{"hallmark:" + name, value})
		}
	}
	return all
}

// hasOther reports whether c has another digest under the algorithm of d.
func (c *sbomComponent) hasOther(d digest.Digest) bool {
	return slices.ContainsFunc(c.hashes, func(h digest.Digest) bool {
		return h.Algorithm() == d.Algorithm() && !evidence.Same(h, d)
	})
}

// sbomBuilder collects components by their ids.
type sbomBuilder struct{ all map[string]*sbomComponent }

// add returns the component with the id and the hashes of c, which it joins to what is known of it. Where two entries
// of the lock have other bytes under one name, there are two components.
func (b *sbomBuilder) add(c sbomComponent) *sbomComponent {
	for _, d := range c.hashes {
		if was := b.all[c.id]; was != nil && was.hasOther(d) {
			c.id += "#" + d.String()
		}
	}
	was := b.all[c.id]
	if was == nil {
		c.notes, c.needs, c.hashes = map[string][]string{}, map[string]bool{}, slices.Clone(c.hashes)
		b.all[c.id] = &c
		return &c
	}
	for _, d := range c.hashes {
		if !slices.ContainsFunc(was.hashes, func(h digest.Digest) bool { return h.Algorithm() == d.Algorithm() }) {
			was.hashes = append(was.hashes, d)
		}
	}
	was.known = was.known || c.known
	return was
}

// finish returns all components, the project first. A release of one file is that file.
func (b *sbomBuilder) finish() []*sbomComponent {
	parts := map[string][]*sbomComponent{}
	for _, c := range b.all {
		if c.parent != "" {
			parts[c.parent] = append(parts[c.parent], c)
		}
	}
	for id, all := range parts {
		if c := b.all[id]; c.release && len(all) == 1 {
			c.hashes, c.file = all[0].hashes, all[0].name
			delete(b.all, all[0].id)
		}
	}
	list := slices.Collect(maps.Values(b.all))
	slices.SortFunc(list, func(x, y *sbomComponent) int {
		return cmp.Or(cmp.Compare(componentOrder(x), componentOrder(y)), strings.Compare(x.id, y.id))
	})
	for _, c := range list {
		c.note("file", c.file)
		slices.SortFunc(c.hashes, func(x, y digest.Digest) int { return strings.Compare(x.String(), y.String()) })
	}
	return list
}

func componentOrder(c *sbomComponent) int {
	if c.id == sbomRoot {
		return 0
	}
	return 1
}

// ofPackage is the component of a package of an ecosystem, or of an image.
func (b *sbomBuilder) ofPackage(ref artifact.Ref, hashes ...digest.Digest) *sbomComponent {
	kind := "library"
	if !ref.Digest().IsZero() {
		kind = "container"
	}
	return b.add(sbomComponent{id: ref.String(), kind: kind, name: ref.Name(), version: cmp.Or(ref.Version(),
		ref.Digest().String()), purl: purlOf(ref), hashes: hashes})
}

// ofRelease is the component of a release of PyPI, with some of its files.
func (b *sbomBuilder) ofRelease(ref artifact.Ref, files map[artifact.Ref]digest.Digest) *sbomComponent {
	whole, err := artifact.NewPyPI(ref.Name(), ref.Version(), "")
	if err != nil {
		whole = ref
	}
	release := b.add(sbomComponent{id: ref.Release().String(), kind: "library", name: ref.Name(),
		version: ref.Version(),
		purl:    purlOf(whole), release: true})
	for file, d := range files {
		b.add(sbomComponent{id: release.id + "/" + file.Filename(), kind: "file", name: file.Filename(),
			version: file.Version(), purl: purlOf(file), hashes: []digest.Digest{d}, parent: release.id})
	}
	return release
}

// contentUUID is the version 5 of a UUID, of the content of a document.
func contentUUID(content []byte) string {
	h := sha1.New()
	// The namespace of URLs, of RFC 9562.
	h.Write([]byte{0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8})
	h.Write([]byte("hallmark:sbom:"))
	h.Write(content)
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
