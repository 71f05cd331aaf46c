package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/spec"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxIssues bounds what is reported of one manifest.
const maxIssues = 200

// Issue is one problem of a manifest.
type Issue struct {
	Path    string `json:"path"` // JSON pointer; "" for the whole
	Message string `json:"message"`
}

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

type problems struct{ issues []Issue }

func (p *problems) add(at, format string, args ...any) {
	if len(p.issues) < maxIssues {
		p.issues = append(p.issues, Issue{at, fmt.Sprintf(format, args...)})
	}
}

// manifestSchema compiles the schema once. It is our own: an error is a fault of the
// program.
var manifestSchema = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.PluginSchema))
	if err != nil {
		panic(err)
	}
	return compile(doc, func(err error) { panic(err) })
})

// compile compiles a schema that refers to nothing outside of itself.
func compile(doc any, failed func(error)) *jsonschema.Schema {
	const location = "hallmark:schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(location, doc); err != nil {
		failed(err)
		return nil
	}
	s, err := c.Compile(location)
	if err != nil {
		failed(err)
		return nil
	}
	return s
}

// Parse reads a manifest strictly. Its error is an [*Invalid] with all problems, save a
// missing or malformed dist.hash alone.
func Parse(data []byte) (*Manifest, error) {
	var p problems
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxManifest, Depth: MaxDepth}); err != nil {
		p.add("", "%v", err)
		return nil, &Invalid{Issues: p.issues}
	}
	if err := generation(data); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		p.add("", "%v", err)
		return nil, &Invalid{Issues: p.issues}
	}
	if err, ok := manifestSchema().Validate(doc).(*jsonschema.ValidationError); ok {
		p.schema(err)
	}
	for name := range doc.(map[string]any) {
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

// generation refuses manifests of version 1, which had no manifestVersion or "1".
func generation(data []byte) error {
	var top map[string]json.RawMessage
	if json.Unmarshal(data, &top) != nil || top == nil {
		return &Invalid{Issues: []Issue{{"", "must be an object"}}}
	}
	version, ok := top["manifestVersion"]
	if ok && string(version) != `"1"` && string(version) != "1" {
		return nil // the schema has the word
	}
	return &Invalid{Issues: []Issue{{"/manifestVersion", `this is a manifest of version 1, or says of none; write version "2" with dist.hash (docs/plugin-host.md, "From version 1")`}}}
}

// schema turns the leaves of a schema's error into issues.
func (p *problems) schema(e *jsonschema.ValidationError) {
	at := ""
	for _, part := range e.InstanceLocation {
		at += "/" + strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1")
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			switch {
			case at == "" && name == "dist", at == "/dist" && name == "hash":
				p.add(hashPath, "is missing")
			default:
				p.add(at+"/"+name, "is missing")
			}
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			p.add(at, "unknown member %+q", clip(name))
		}
	case *kind.Type:
		if at == "/dist" {
			at = hashPath
		}
		p.add(at, "is %s, and must be %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Pattern:
		p.add(at, "%+q %s", clip(k.Got), pattern(at))
	case *kind.Not:
		p.add(at, "must be a clean relative path without \"..\"")
	default:
		if len(e.Causes) == 0 {
			p.add(at, "%s", e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
		}
	}
	if _, ok := e.ErrorKind.(*kind.Not); ok {
		return
	}
	for _, cause := range e.Causes {
		p.schema(cause)
	}
}

// pattern says in words what the pattern of a member asks for.
func pattern(at string) string {
	switch {
	case at == "/version":
		return "is no semantic version"
	case strings.HasPrefix(at, "/externalDependencies/") && strings.HasSuffix(at, "/version"):
		return "is no exact version; ranges are refused"
	case at == "/name", strings.HasPrefix(at, "/dependencies/"):
		return "is no name of a plugin: [a-z0-9-_]"
	case at == "/entry":
		return "is not a .js or .mjs file below dist/"
	case at == hashPath:
		return "is not sha256: and 64 hex digits"
	case strings.HasSuffix(at, "/sha256"):
		return "is not 64 hex digits"
	case strings.HasSuffix(at, "/name"):
		return "is no name of an npm package"
	}
	return "has not the right form"
}

// decode fills m from a manifest that satisfies the schema, but for dist.hash, and
// checks what the schema cannot say.
func (p *problems) decode(m *Manifest) {
	var w wire
	if err := json.Unmarshal(m.Raw, m); err != nil {
		p.add("", "%v", err)
		return
	}
	m.Dist = Dist{FileCount: -1, Bytes: -1, Checksums: map[string]string{}}
	if m.Policy == "" {
		m.Policy = BundledOnly
	}
	var d distWire
	if json.Unmarshal(m.Raw, &w) == nil && len(w.Dist) > 0 {
		if json.Unmarshal(w.Dist, &d) != nil {
			d = distWire{} // not an object, which is an issue of dist.hash
		}
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
