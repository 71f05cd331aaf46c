package check

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// server adds the component of a server with all that its entry pins.
func (b *sbomBuilder) server(name string, e project.ServerLock, closure *project.Closure) (*sbomComponent, error) {
	s := b.add(sbomComponent{id: "server:" + name, kind: "application", name: name, known: true})
	if e.Source.Remote() {
		s.kind, s.endpoint, s.known = "service", e.Ref, false
	}
	if ref, err := artifact.Parse(e.Ref); err == nil {
		s.version = ref.Version()
	}
	s.note("source", string(e.Source))
	s.note("entry", e.Entry)
	s.note("runtime", e.Runtime)
	s.note("facet", e.Launch.Facet)
	s.note("image", e.Image)
	s.note("launch", e.Launch.Digest().String())
	s.note("surface", e.Surface.String())
	s.note("api-surface", e.APISurface.String())
	if r := e.Record; r != nil {
		s.version = cmp.Or(s.version, r.Version)
		s.note("record", r.Subject())
		s.note("record-registry", r.Registry)
		s.note("record-document", r.Document.String())
		s.note("record-log", r.Log)
	}
	if e.Launch.Verify != nil {
		for path, d := range e.Launch.Verify.Files {
			s.note("verify", strings.TrimSpace(path+" "+d.String()))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Artifacts)) {
		s.need(b.artifact(key, e.Artifacts[key], e.Platforms))
	}
	if f := b.all["facet:"+e.Launch.Facet]; f != nil {
		f.need(s)
	}
	if e.Closure == nil {
		return s, nil
	}
	if closure == nil {
		return nil, errors.New("its closure is not here")
	}
	return s, b.closure(s, e.Closure, closure)
}

// artifact adds the component of one of the artifacts of an entry.
func (b *sbomBuilder) artifact(key string, d digest.Digest, platforms map[string]digest.Digest) *sbomComponent {
	if dir, ok := strings.CutPrefix(key, "tree:"); ok {
		c := b.add(sbomComponent{id: key + "@" + d.String(), kind: "file", name: dir})
		c.note("tree", d.String())
		return c
	}
	for prefix, kind := range map[string]string{"command:": "application", "file:": "file"} {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return b.add(sbomComponent{id: key + "@" + d.String(), kind: kind, name: name, purl: filePURL(name, d),
				hashes: []digest.Digest{d}})
		}
	}
	ref, err := artifact.Parse(key)
	if err != nil { // NAME@VERSION of an archive, whose digest is of its contents
		at := max(0, strings.LastIndexByte(key, '@'))
		name, version := key[:at], key[at:]
		version = strings.TrimPrefix(version, "@")
		c := b.add(sbomComponent{id: "archive:" + key, kind: "application", name: name, version: version,
			purl: makePURL("generic", name, version)})
		c.note("content-integrity", d.String())
		return c
	}
	switch ref.Kind() {
	case artifact.NPM:
		return b.ofPackage(ref, d)
	case artifact.PyPI:
		return b.ofRelease(ref, map[artifact.Ref]digest.Digest{ref: d})
	case artifact.Go:
		c := b.ofPackage(ref)
		c.note("h1", goH1(d))
		return c
	case artifact.OCI:
		return b.image(ref, d, platforms)
	}
	c := b.add(sbomComponent{id: key, kind: "application", name: key})
	c.note("digest", d.String()) // of what is not known here
	return c
}

// image adds the component of an image with those of its platforms.
func (b *sbomBuilder) image(ref artifact.Ref, d digest.Digest, platforms map[string]digest.Digest) *sbomComponent {
	c := b.ofPackage(ref)
	c.note("manifest", d.String())
	for platform, d := range platforms {
		one, err := artifact.NewOCI(ref.Name() + "@" + d.String())
		if err != nil || evidence.Same(d, ref.Digest()) {
			c.note("platform", platform+" "+d.String())
			continue
		}
		part := b.ofPackage(one)
		part.parent = c.id
		part.note("platform", platform)
		part.note("manifest", d.String())
	}
	return c
}

// goH1 is a digest as go.sum has it.
func goH1(d digest.Digest) string {
	_, sum, _ := strings.Cut(d.SRI(), "-")
	return "h1:" + sum
}

// closure adds the packages of the closure of a server, of which the lock says entry.
func (b *sbomBuilder) closure(s *sbomComponent, entry *project.ClosureLock, closure *project.Closure) error {
	s.note("closure", entry.Lock.String())
	s.note("closure-engine", entry.Engine)
	s.note("closure-platform", closure.Platform)
	for platform, d := range entry.Trees {
		s.note("tree", platform+" "+d.String())
	}
	for _, ref := range entry.Scripts {
		s.note("install-script-is-run", ref)
	}
	needs, err := closure.Needs()
	if err != nil {
		return err
	}
	all := make([]*sbomComponent, len(closure.Packages))
	for i, p := range closure.Packages {
		all[i] = b.closurePackage(closure, p)
		all[i].required = all[i].required || !p.Optional
		all[i].optional = all[i].optional || p.Optional
		if needs == nil {
			s.need(all[i])
		}
	}
	for i, of := range needs {
		all[i].known = true
		for _, j := range of {
			all[i].need(all[j])
		}
	}
	if needs == nil {
		s.note("dependencies", "the closure does not say which of its packages needs which")
	}
	if n := strings.Count(string(closure.GoSum), "/go.mod h1:") - len(closure.Packages); n > 0 {
		s.note("modules-without-code",
			strconv.Itoa(n)+" more go.mod files choose versions; no code of their modules is built")
	}
	return nil
}

// closurePackage adds one package of a closure.
func (b *sbomBuilder) closurePackage(closure *project.Closure, p project.ClosurePackage) *sbomComponent {
	var c *sbomComponent
	switch {
	case p.Ref.IsZero(): // inside the tarball of another one, of which the hash is
		name, version, in := closure.Bundled(p)
		id := fmt.Sprintf("bundled:%s in %s of %s", name, in, closure.Root)
		c = b.add(sbomComponent{id: id, kind: "library", name: name, version: version})
		if ref, err := artifact.NewNPM(name, version); err == nil {
			c.purl = purlOf(ref)
		}
		c.note("bundled-in", in)
		return c
	case len(p.Wheels) > 0:
		c = b.ofRelease(p.Ref, p.Wheels)
	case p.Ref.Kind() == artifact.Go:
		c = b.ofPackage(p.Ref)
		for _, d := range p.Integrity {
			c.note("h1", goH1(d))
		}
	case len(p.Integrity) > 1: // any of which the tarball may have
		c = b.ofPackage(p.Ref)
		for _, d := range p.Integrity {
			c.note("integrity-one-of", d.String())
		}
	default:
		c = b.ofPackage(p.Ref, p.Integrity...)
	}
	c.note("marker", p.Marker)
	c.note("os", strings.Join(p.OS, " "))
	c.note("cpu", strings.Join(p.CPU, " "))
	if p.Scripts {
		c.note("has-install-scripts", "true")
	}
	return c
}

// facet adds the component of a facet with its files.
func (b *sbomBuilder) facet(lock *project.Lock, name string, f project.FacetLock) *sbomComponent {
	vcs := ""
	if strings.Contains(f.Source.URL, "://") {
		vcs = "git+" + f.Source.URL + "@" + f.Source.Commit
	}
	c := b.add(sbomComponent{id: "facet:" + name, kind: "application", name: name, version: f.Version, known: true,
		purl: makePURL("generic", name, f.Version, "vcs_url", vcs)})
	c.note("source", string(f.Source.Kind))
	c.note("registry", f.Source.Registry)
	c.note("git-url", f.Source.URL)
	c.note("git-tag", f.Source.Tag)
	c.note("git-branch", f.Source.Branch)
	c.note("git-commit", f.Source.Commit)
	c.note("directory", cmp.Or(f.Source.Path, f.Source.Sub))
	if f.Source.Wrapped > 0 {
		c.note("wrapped", strconv.Itoa(f.Source.Wrapped))
	}
	c.note("content-integrity", f.Integrity.String())
	c.note("log", f.Log)
	c.note("prefix", f.Prefix)
	c.note("parts", strings.Join(f.Parts, " "))
	for path, d := range f.Assets {
		b.add(sbomComponent{id: c.id + "/" + path, kind: "file", name: path, hashes: []digest.Digest{d}, parent: c.id})
	}
	for other, version := range f.Composes {
		if _, ok := lock.Facet(other); ok {
			c.needs["facet:"+other] = true
		} else {
			c.note("not-locked", project.FacetSubject(other, version))
		}
	}
	return c
}
