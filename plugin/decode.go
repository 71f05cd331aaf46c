package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/surface"
)

// decode fills m from a manifest, without what p has a problem with, and checks what the schema
// cannot say.
func (p *problems) decode(m *Manifest, doc map[string]any) {
	bad := map[string]bool{}
	for _, i := range p.issues {
		bad[i.Path] = true
	}
	good := withoutIssues(doc, bad)
	m.Dist = Dist{Hash: textOf(doc, "dist", "hash")}
	decodeFields(good, m)
	if _, there := doc["dependenciesPolicy"]; !there {
		m.Policy = BundledOnly
	}
	p.decodeCapabilities(m, good["capabilities"])
	p.decodeDist(m, good["dist"])
	p.decodeChecksums(m, doc, bad)
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if !slices.Contains(memberNames(), name) && !strings.HasPrefix(name, "x-") {
			m.addFurther("/"+surface.PointerToken(name), doc[name])
		}
	}
	if m.Entry != "" {
		if err := archive.CheckPath(m.Entry); err != nil {
			p.add("/entry", "%v", err)
			m.Entry = ""
		}
	}
	if i := slices.Index(m.Dependencies, m.Name); i >= 0 && m.Name != "" {
		p.add(fmt.Sprintf("/dependencies/%d", i), "the plugin depends on itself")
	}
	m.Dependencies = slices.DeleteFunc(m.Dependencies, func(name string) bool { return name == "" })
	named := map[string]bool{}
	for i, e := range m.Externals {
		if named[e.Name] && e.Name != "" {
			p.add(fmt.Sprintf("/externalDependencies/%d/name", i), "%+q is there twice", e.Name)
		}
		named[e.Name] = true
	}
	m.Externals = slices.DeleteFunc(m.Externals, func(e External) bool { return e.Name == "" })
	m.Signatures = slices.DeleteFunc(m.Signatures, Signature.isIncomplete)
	m.Statements = slices.DeleteFunc(m.Statements, Signature.isIncomplete)
}

// isIncomplete reports whether a member of a signature that must be there is not, or was left out for
// a problem.
func (s Signature) isIncomplete() bool { return s.Alg == "" || s.Signature == "" }

// distWire is the part of a manifest that is not read as it stands. Numbers are read as the schema counts: 2.0
// and 2 are one integer.
type distWire struct {
	Hash      json.RawMessage `json:"hash"` // read as it stands, whatever is wrong with it
	Hashes    []Hash          `json:"hashes"`
	FileCount float64         `json:"fileCount"`
	Bytes     float64         `json:"totalBytes"`
	Coverage  string          `json:"coverage"`
	Checksums struct {
		Files []checksumWire `json:"files"` // see decodeChecksums
	} `json:"checksums"`
}

// checksumWire is an element of dist.checksums.files.
type checksumWire struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// decodeFields reads the members of an object into the fields of a struct that have their names as tags. A
// field stays as it is if its member has another type: that is a problem of its form, and known.
func decodeFields(doc map[string]any, to any) {
	fields := reflect.ValueOf(to).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Tag.Get("json")
		v := doc[name]
		if name == "" || name == "-" || v == nil { // members may be called so
			continue
		}
		raw, err := json.Marshal(v)
		read := reflect.New(fields.Field(i).Type())
		if err == nil && surface.DecodeKnown(raw, read.Interface()) == nil {
			fields.Field(i).Set(read.Elem())
		}
	}
}

// decodeCapabilities reads the names of capabilities, which must be different ones.
func (p *problems) decodeCapabilities(m *Manifest, v any) {
	kinds, _ := v.(map[string]any)
	m.Capabilities = Capabilities{} // those that are names alone were read
	for _, k := range []struct {
		kind string
		to   *[]string
	}{{"tools", &m.Capabilities.Tools}, {"resources", &m.Capabilities.Resources},
		{"prompts", &m.Capabilities.Prompts}} {
		all, _ := kinds[k.kind].([]any)
		for i, e := range all {
			at := "/capabilities/" + k.kind
			name, _ := e.(string)
			if o, ok := e.(map[string]any); ok {
				name, _ = o["name"].(string)
				for _, member := range slices.Sorted(maps.Keys(o)) {
					if member != "name" {
						m.addFurther(at+"/"+strconv.Itoa(i)+"/"+surface.PointerToken(member), o[member])
					}
				}
			}
			if name == "" {
				continue // a problem that is known
			}
			if slices.Contains(*k.to, name) {
				if !slices.ContainsFunc(p.issues, func(i Issue) bool { return i.Path == at }) {
					p.add(at, "%+q is there twice", clip(name))
				}
				continue
			}
			*k.to = append(*k.to, name)
		}
	}
}

// addFurther keeps a member that the guide does not name.
func (m *Manifest) addFurther(at string, v any) {
	raw, err := encodeJSON(v)
	if err == nil {
		m.Further = append(m.Further, Member{at, raw})
	}
}

// decodeDist reads what dist claims but for its hash and checksums.
func (p *problems) decodeDist(m *Manifest, v any) {
	dist, _ := v.(map[string]any)
	d := distWire{FileCount: -1, Bytes: -1}
	decodeFields(dist, &d)
	m.Dist.Hashes, m.Dist.All = d.Hashes, d.Coverage == "all"
	m.Dist.FileCount, m.Dist.Bytes = int64(d.FileCount), int64(d.Bytes)
	m.Dist.Hashes = slices.DeleteFunc(m.Dist.Hashes, func(h Hash) bool { return h.Alg == "" || h.Value == "" })
	seen := map[string]bool{}
	for i, h := range m.Dist.Hashes {
		if seen[h.Alg] {
			p.add(fmt.Sprintf("/dist/hashes/%d/alg", i), "%+q is there twice", clip(h.Alg))
		}
		seen[h.Alg] = true
	}
}

// checksumsPath is the place of the list of checksums in a manifest.
const checksumsPath = "/dist/checksums/files"

// decodeChecksums reads the checksums of files, up to 2,000, where they stand: copying, encoding and decoding
// them takes longer than hashing the files. One with a problem is left out.
func (p *problems) decodeChecksums(m *Manifest, doc map[string]any, bad map[string]bool) {
	dist, _ := doc["dist"].(map[string]any)
	checksums, _ := dist["checksums"].(map[string]any)
	files, _ := checksums["files"].([]any)
	m.Dist.Checksums = make(map[string]string, len(files))
	for i, f := range files {
		at := checksumsPath + "/" + strconv.Itoa(i)
		named, sum := textOf(f, "path"), textOf(f, "sha256")
		if named == "" || sum == "" || bad[at+"/path"] || bad[at+"/sha256"] {
			continue // a problem that is known
		}
		path := distPath(named)
		if err := archive.CheckPath(path); err != nil {
			p.add(at+"/path", "%v", err)
			continue
		}
		if _, twice := m.Dist.Checksums[path]; twice {
			p.add(at+"/path", "%+q is there twice, as dist/%s", clip(named), clip(path))
		}
		m.Dist.Checksums[path] = strings.ToLower(sum)
	}
}

// textOf is the string at the end of a path of names; "" if there is none.
func textOf(v any, names ...string) string {
	for _, name := range names {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	s, _ := v.(string)
	return s
}

// withoutIssues is a copy of a document without its checksums and the values that have a problem themselves,
// whose places are bad. What holds them stays: of an object with an unknown member the others are read.
func withoutIssues(doc map[string]any, bad map[string]bool) map[string]any {
	var walk func(at string, v any) any
	walk = func(at string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := make(map[string]any, len(v))
			for name, e := range v {
				if kept := walk(at+"/"+surface.PointerToken(name), e); kept != nil {
					out[name] = kept
				}
			}
			return out
		case []any:
			if at == checksumsPath {
				return nil
			}
			out := make([]any, len(v)) // each at its place, which issues name
			for i, e := range v {
				out[i] = walk(at+"/"+strconv.Itoa(i), e)
			}
			return out
		}
		if bad[at] {
			return nil
		}
		return v
	}
	good, _ := walk("", doc).(map[string]any)
	return good
}
