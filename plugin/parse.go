package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxIssues bounds what is reported of one manifest.
const maxIssues = 200

// Issue is one problem of a manifest.
type Issue struct {
	Path    string `json:"path"` // JSON pointer; "" for the whole
	Message string `json:"message"`
}

// String is the path and the message, escaped.
func (i Issue) String() string {
	if i.Path == "" {
		return surface.Escape(i.Message)
	}
	return surface.Escape(i.Path) + ": " + surface.Escape(i.Message)
}

// Invalid is the error of a manifest with problems.
type Invalid struct {
	Issues []Issue
	// NoHash says that dist.hash is missing or malformed besides; it is one of Issues.
	NoHash bool
}

// Error lists the first ten issues, a line each.
func (e *Invalid) Error() string {
	var lines []string
	for _, i := range e.Issues[:min(len(e.Issues), 10)] {
		lines = append(lines, i.String())
	}
	if more := len(e.Issues) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return ManifestFile + " is not valid: " + strings.Join(lines, "; ")
}

// Class is validation, or integrity where dist.hash is at fault too: without it nothing
// can be compared, whatever else is wrong.
func (e *Invalid) Class() evidence.Class {
	if e.NoHash {
		return evidence.Integrity
	}
	return evidence.Validation
}

// hashPath is the place of dist.hash in a manifest.
const hashPath = "/dist/hash"

// Parse reads a manifest strictly. Its error is an [*Invalid] with all problems, save a
// missing or malformed dist.hash alone.
func Parse(data []byte) (*Manifest, error) {
	var p problems
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxManifest, Depth: MaxDepth}); err != nil {
		p.add("", "%v", err)
		return nil, &Invalid{Issues: p.issues}
	}
	var doc map[string]any // nil if it is something else
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil && doc != nil {
		p.add("", "%v", err)
		return nil, &Invalid{Issues: p.issues}
	}
	if err := checkGeneration(doc); err != nil {
		return nil, err
	}
	manifestForm()(&p, "", doc)
	for name := range doc {
		// Any x-* is permitted, but not one that encoding/json would take for ours.
		for _, ours := range []string{"x-hash-profile", "x-hallmark-signatures"} {
			if name != ours && strings.EqualFold(name, ours) {
				p.add("/"+name, "write %s", ours)
			}
		}
	}
	slices.SortStableFunc(p.issues, func(a, b Issue) int { return strings.Compare(a.Path, b.Path) })
	isHash := func(i Issue) bool { return i.Path == hashPath }
	noHash := slices.ContainsFunc(p.issues, isHash)
	if !noHash && len(p.issues) > 0 || slices.ContainsFunc(p.issues, func(i Issue) bool { return !isHash(i) }) {
		return nil, &Invalid{p.issues, noHash}
	}
	m := &Manifest{Raw: bytes.Clone(data)}
	p.decode(m)
	if slices.ContainsFunc(p.issues, func(i Issue) bool { return !isHash(i) }) {
		return nil, &Invalid{p.issues, noHash}
	}
	return m, nil
}

// checkGeneration refuses manifests of version 1, which had no manifestVersion or "1".
func checkGeneration(doc map[string]any) error {
	if doc == nil {
		return &Invalid{Issues: []Issue{{"", "must be an object"}}}
	}
	version, ok := doc["manifestVersion"]
	if ok && version != "1" && version != json.Number("1") {
		return nil // the form has the word
	}
	return &Invalid{Issues: []Issue{{"/manifestVersion",
		`this is a manifest of version 1, or says of none; write version "2" with dist.hash (docs/plugin-host.md, ` +
			`"From version 1")`}}}
}

// decode fills m from a manifest that has its form, but for dist.hash, and checks what
// the schema cannot say.
func (p *problems) decode(m *Manifest) {
	w := wire{Manifest: m}
	if err := json.Unmarshal(m.Raw, &w); err != nil {
		p.add("", "%v", err)
		return
	}
	m.Dist = Dist{FileCount: -1, Bytes: -1, Checksums: map[string]string{}}
	if m.Policy == "" {
		m.Policy = BundledOnly
	}
	var d distWire
	if len(w.Dist) > 0 && json.Unmarshal(w.Dist, &d) != nil {
		d = distWire{} // not an object, which is an issue of dist.hash
	}
	if json.Unmarshal(d.Hash, &m.Dist.Hash) != nil {
		m.Dist.Hash = ""
	}
	m.Dist.Hashes, m.Dist.All = d.Hashes, d.Coverage == "all"
	if d.FileCount != nil {
		m.Dist.FileCount = int64(*d.FileCount)
	}
	if d.Bytes != nil {
		m.Dist.Bytes = int64(*d.Bytes)
	}
	for i, f := range d.Checksums.Files {
		at := fmt.Sprintf("/dist/checksums/files/%d/path", i)
		path := distPath(f.Path)
		if err := archive.CheckPath(path); err != nil {
			p.add(at, "%v", err)
		} else if _, twice := m.Dist.Checksums[path]; twice {
			p.add(at, "%+q is there twice, as dist/%s", clip(f.Path), clip(path))
		}
		m.Dist.Checksums[path] = strings.ToLower(f.SHA256)
	}
	seen := map[string]bool{}
	for i, h := range m.Dist.Hashes {
		if seen[h.Alg] {
			p.add(fmt.Sprintf("/dist/hashes/%d/alg", i), "%+q is there twice", clip(h.Alg))
		}
		seen[h.Alg] = true
	}
	if err := archive.CheckPath(m.Entry); err != nil {
		p.add("/entry", "%v", err)
	}
	if i := slices.Index(m.Dependencies, m.Name); i >= 0 {
		p.add(fmt.Sprintf("/dependencies/%d", i), "the plugin depends on itself")
	}
	named := map[string]bool{}
	for i, e := range m.Externals {
		if named[e.Name] {
			p.add(fmt.Sprintf("/externalDependencies/%d/name", i), "%+q is there twice", e.Name)
		}
		named[e.Name] = true
	}
}

// distPath is a path relative to dist/ of one that may be relative to the plugin.
func distPath(path string) string {
	path = strings.TrimPrefix(path, "./")
	return strings.TrimPrefix(path, DistDir+"/")
}

// clip shortens text from outside for a message.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
