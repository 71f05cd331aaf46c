package plugin

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// hashPath is the place of dist.hash in a manifest.
const hashPath = "/dist/hash"

// Parse reads a manifest strictly. Its error is an [*Invalid] with all problems, save a
// missing or malformed dist.hash alone.
func Parse(data []byte) (*Manifest, error) {
	m, err := Inspect(data)
	if err != nil {
		return nil, err
	}
	if err := m.CheckForm(); err != nil {
		return nil, err
	}
	return m, nil
}

// CheckForm returns an [*Invalid] with all problems of a manifest that [Inspect] read, as [Parse] does.
func (m *Manifest) CheckForm() error {
	if len(m.issues) > 0 {
		return m.invalid()
	}
	return nil
}

// Inspect reads of a manifest what can be read, so that a problem of its form hides nothing that
// can be computed: what has a problem is left out. [Check] refuses a manifest with problems, and
// so does everything that begins with [Parse]. Its error is an [*Invalid] for what is no object of
// JSON that all readers read alike, or a manifest of version 1 without a dist.hash.
func Inspect(data []byte) (*Manifest, error) {
	var p problems
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		p.add("", "begins with a byte order mark (ef bb bf); save the file as UTF-8 without one")
		return nil, &Invalid{Issues: p.issues}
	}
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
	manifestForm()(&p, "", doc)
	if err := checkGeneration(doc); err != nil {
		// Where there is a dist.hash somebody means version 2.
		if textOf(doc, "dist", "hash") == "" {
			return nil, err
		}
		p.issues = append(slices.DeleteFunc(p.issues, func(i Issue) bool { return i.Path == err.Issues[0].Path }),
			err.Issues...)
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if meant := findMisspelled(name, memberNames()); meant != "" {
			p.add("/"+surface.PointerToken(name), "is no member; write %s", meant)
		}
	}
	m := &Manifest{Raw: bytes.Clone(data)}
	p.decode(m, doc)
	slices.SortStableFunc(p.issues, func(a, b Issue) int { return strings.Compare(a.Path, b.Path) })
	m.noHash = slices.ContainsFunc(p.issues, isHashIssue)
	if m.issues = p.issues; len(m.issues) == 1 && m.noHash {
		m.issues = nil // which is evidence, so that it is judged as such
	}
	return m, nil
}

func isHashIssue(i Issue) bool { return i.Path == hashPath }

// checkGeneration refuses manifests of version 1, which had no manifestVersion or "1".
func checkGeneration(doc map[string]any) *Invalid {
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
