package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/hallmark-mcp/hallmark/surface"
)

// compile compiles a schema that refers to nothing outside of itself.
func compile(doc any) (*jsonschema.Schema, error) {
	const location = "hallmark:schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

// readSchema reads the form of a manifest as it is published.
func readSchema() (any, error) {
	data, err := os.ReadFile("../spec/plugin.schema.json")
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(data))
}

var published = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := readSchema()
	if err != nil {
		panic(err)
	}
	s, err := compile(doc)
	if err != nil {
		panic(err)
	}
	return s
})

// leaves are the places of a schema's error, as issues name them.
func leaves(e *jsonschema.ValidationError, into map[string]bool) {
	at := ""
	for _, part := range e.InstanceLocation {
		at += "/" + surface.PointerToken(part)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			place := at + "/" + name
			if place == "/dist" {
				place = hashPath
			}
			into[place] = true
		}
	case *kind.Type:
		if at == "/dist" {
			at = hashPath
		}
		into[at] = true
	case *kind.Not:
		into[at] = true
		return
	default:
		if len(e.Causes) == 0 {
			into[at] = true
		}
	}
	for _, cause := range e.Causes {
		leaves(cause, into)
	}
}

// agree compares what a manifest is found to be, and where, with what the schema says.
func agree(t *testing.T, data []byte, places bool) {
	t.Helper()
	if surface.CheckJSON(data, surface.Limits{Size: MaxManifest, Depth: MaxDepth}) != nil {
		return
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if object, ok := doc.(map[string]any); err == nil && ok && checkGeneration(object) == nil {
		agreeOn(t, doc, places)
	}
}

func agreeOn(t *testing.T, doc any, places bool) {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	if err, ok := published().Validate(doc).(*jsonschema.ValidationError); ok {
		leaves(err, want)
	}
	var p problems
	manifestForm()(&p, "", doc)
	for _, i := range p.issues {
		got[i.Path] = true
	}
	if (len(got) == 0) != (len(want) == 0) || places && len(p.issues) < maxIssues && !maps.Equal(got, want) {
		t.Errorf("%.300v\n  the schema objects to %q, the form to %q", doc, slices.Sorted(maps.Keys(want)), p.issues)
	}
}

// full is a manifest with every member.
const full = `{"manifestVersion":"2","name":"net-utils","version":"1.1.0","entry":"dist/index.js","description":"d","author":"a","license":"l",
"homepage":"h","repository":"r","keywords":["k","l"],"capabilities":{"tools":["t",{"name":"u"}],"resources":["r",{"name":"s","title":"t","uriTemplate":"u"}],"prompts":["p"]},"dependencies":["other"],
"dist":{"hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000","hashes":[{"alg":"a","value":"12345678"}],"fileCount":1,"totalBytes":0,"coverage":"all",
"checksums":{"files":[{"path":"dist/index.js","sha256":"0000000000000000000000000000000000000000000000000000000000000000"}]}},
"permissions":{"network":true,"fsRead":false,"fsWrite":true,"exec":false},"externalDependencies":[{"name":"@a/b","version":"1.0.0","integrity":"i",
"integrities":[{"alg":"a","value":"12345678"}],"optional":true,"source":"npm","registry":"r"}],"dependenciesPolicy":"bundled-only",
"signatures":[{"alg":"Ed25519","signature":"aaaaaaaaaaaaaaaa","keyId":"k","ts":"t"}],"sbom":{"path":"sbom.json","format":"spdx-2.3"},"engines":{"node":">=20"},
"hostRequirements":{"os":["linux"],"cpuArch":["x64"],"features":["f"]},"x-hash-profile":"guide","x-other":{"a":[1]},
"x-hallmark-signatures":[{"alg":"Ed25519","signature":"aaaaaaaaaaaaaaaa","keyId":"k","ts":"t"}]}`

// vocabulary is what a schema says of values: how long strings and arrays may be, words,
// and names of members.
func vocabulary(schema any, lengths, counts map[int]bool, words, names map[string]bool) {
	switch v := schema.(type) {
	case map[string]any:
		for key, e := range v {
			if properties, ok := e.(map[string]any); ok && key == "properties" {
				for name := range properties {
					names[name] = true
				}
			}
			if n, ok := e.(json.Number); ok {
				around := lengths
				if strings.HasSuffix(key, "Items") {
					around = counts
				}
				if n, err := n.Int64(); err == nil && n < MaxManifest {
					around[max(int(n)-1, 0)], around[int(n)], around[int(n)+1] = true, true, true
				}
			}
			vocabulary(e, lengths, counts, words, names)
		}
	case []any:
		for _, e := range v {
			vocabulary(e, lengths, counts, words, names)
		}
	case string:
		if !strings.ContainsAny(v, "^ ") {
			words[v] = true
		}
	}
}

// Every change of every member of a full manifest is taken as the schema takes it, and
// named at the same place.
func TestFormIsSchema(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	schema, err := readSchema()
	if err != nil {
		t.Fatal(err)
	}
	lengths, counts, words, names := map[int]bool{}, map[int]bool{}, map[string]bool{}, map[string]bool{}
	vocabulary(schema, lengths, counts, words, names)
	for name := range names {
		if !strings.Contains(full, fmt.Sprintf("%q:", name)) {
			t.Errorf("the full manifest lacks %s", name)
		}
	}
	texts := []any{"..", "a/../b", "/a", `a\b`, "a//b", "a/", "a/..", "A", "dist/a.js", "dist/.js", "dist/a.mjs\n",
		"dist/../a.js", "dist/a/.b.js", "dist/é.js", "1.0.0-01", "1.0.0+b", "1.0", "v1.0.0", "^1.0.0",
		"@a/b/c", "@/b", "a b", "sha256:" + strings.Repeat("Aa", 32), "sha256:" + strings.Repeat("g", 64),
		strings.Repeat("F", 64), strings.Repeat("0", 64) + "\n"}
	for word := range words {
		texts = append(texts, word, strings.ToUpper(word))
	}
	for n := range lengths {
		for _, around := range [][2]string{{"", ""}, {"é", ""}, {"1.0.0-", ""}, {"@a/", ""}, {"dist/", ".js"},
			{"sha256:", ""}} {
			if rest := n - len(around[0]) - len(around[1]); rest >= 0 {
				texts = append(texts, around[0]+strings.Repeat("a", rest)+around[1])
			}
		}
		texts = append(texts, strings.Repeat("é", n))
	}
	others := []any{nil, true, "", "x", []any{}, []any{"x"}, []any{7}, []any{"x", "x"}, []any{map[string]any{}},
		map[string]any{}, map[string]any{"x": 1}}
	for _, n := range []string{"7", "-1", "0", "1.0", "1e0", "1.5", "9007199254740991", "9007199254740992",
		"9007199254740991.5", "1e15", "1e400", "1e-5", "0e0", "-0"} {
		others = append(others, json.Number(n))
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(full))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	// try compares the whole manifest while a part of it is changed.
	try := func() {
		count++
		if _, ok := doc.(map[string]any); ok {
			agreeOn(t, doc, true)
		}
	}
	var mutate func(v any, set func(any))
	mutate = func(v any, set func(any)) {
		for _, other := range others {
			set(other)
			try()
		}
		switch v := v.(type) {
		case string:
			for _, other := range texts {
				set(other)
				try()
			}
		case []any:
			for n := range counts {
				s, isText := v[0].(string)
				if n > 600 && isText { // compared with each other, which takes long
					continue
				}
				long := slices.Repeat(v[:1], n)
				for i := range long {
					if isText {
						long[i] = fmt.Sprint(s, i)
					}
				}
				set(long)
				try()
			}
			set(append(slices.Clone(v), v[0]))
			try()
			set(v)
			for i := range v {
				mutate(v[i], func(e any) { v[i] = e })
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				was := v[name]
				delete(v, name)
				try()
				for _, other := range []string{strings.ToUpper(name), name + " ", "x-" + name, "a/b~c", ""} {
					v[other] = was
					try()
					delete(v, other)
				}
				v[name] = was
				for _, other := range []string{"x-a", "X-a", "a/b~c", ""} {
					v[other] = was
					try()
					delete(v, other)
				}
			}
			for n := range 22 {
				grown := maps.Clone(v)
				for i := range n {
					grown[fmt.Sprint("n", i)] = "x"
				}
				set(grown)
				try()
			}
			set(v)
			for _, name := range slices.Sorted(maps.Keys(v)) {
				mutate(v[name], func(e any) { v[name] = e })
			}
		}
		set(v)
	}
	try()
	all := doc.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) { // each beside those that must be there
		top := map[string]any{}
		for _, must := range []string{"manifestVersion", "name", "version", "entry", "dist"} {
			top[must] = all[must]
		}
		top[name] = all[name]
		if name != "dist" {
			top["dist"] = map[string]any{"hash": "sha256:" + strings.Repeat("0", 64)}
		}
		doc = top
		mutate(top[name], func(e any) { top[name] = e })
	}
	doc = all
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was := all[name]
		delete(all, name)
		try()
		for _, other := range []string{strings.ToUpper(name), name + " ", "x-" + name, "a/b~c", ""} {
			all[other] = was
			try()
			delete(all, other)
		}
		all[name] = was
	}
	t.Logf("%d manifests", count)
}

func FuzzForm(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(manifest("")))
	f.Add([]byte(manifest(`"dist":7,"keywords":["a","a"],"engines":{"node":1}`)))
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data, false) })
}

// toolSchemas are schemas of tools, and whether they are valid.
var toolSchemas = []struct {
	text  string
	valid bool
}{
	{`{"type":"object"}`, true},
	{`{"type":"object","properties":{"a":{"type":"string","minLength":1,"pattern":"^a"},"b":{"type":["integer",` +
		`"null"]},"c":true}}`, true},
	{`{"type":"object","properties":{"a":{"type":"objekt"}}}`, false},
	{`{"type":"object","properties":{"a":{"type":["string","string"]}}}`, false},
	{`{"type":"object","properties":{"a":{"type":[]}}}`, false},
	{`{"type":"object","properties":{"a":{"type":7}}}`, false}, {`{"type":"object","properties":[]}`, false},
	{`{"type":"object","properties":{"a":7}}`, false}, {`{"type":"object","required":["a","a"]}`, false},
	{`{"type":"object","required":"a"}`, false}, {`{"type":"object","required":[]}`, true},
	{`{"type":"object","minProperties":-1}`, false}, {`{"type":"object","minProperties":1.5}`, false},
	{`{"type":"object","minProperties":1.0}`, true},
	{`{"type":"object","properties":{"a":{"pattern":"("}}}`, false},
	{`{"type":"object","patternProperties":{"(":{}}}`, false},
	{`{"type":"object","patternProperties":{"^a":{"type":"x"}}}`, false},
	{`{"type":"object","properties":{"a":{"multipleOf":0}}}`, false},
	{`{"type":"object","properties":{"a":{"multipleOf":0.5}}}`, true},
	{`{"type":"object","properties":{"a":{"minimum":"1"}}}`, false},
	{`{"type":"object","properties":{"a":{"maximum":9007199254740991}}}`, true},
	{`{"type":"object","anyOf":[]}`, false}, {`{"type":"object","anyOf":{}}`, false},
	{`{"type":"object","anyOf":[{"required":["a"]},false]}`, true},
	{`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`, true},
	{`{"type":"object","properties":{"a":{"$ref":"#/$defs/c"}},"$defs":{"b":{}}}`, false},
	{`{"type":"object","properties":{"a":{"$ref":"#"}}}`, true},
	{`{"type":"object","properties":{"a":{"$ref":"#b"}},"$defs":{"b":{"$anchor":"b"}}}`, true},
	{`{"type":"object","properties":{"a":{"$ref":"https://example.com/schema"}}}`, false},
	{`{"type":"object","properties":{"a":{"$ref":"file:///schema"}}}`, false},
	{`{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema"}`, true},
	{`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}`, true},
	{`{"type":"object","$schema":"https://example.com/draft"}`, false}, {`{"type":"object","$schema":7}`, false},
	{`{"type":"object","properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, true},
	{`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","definitions":{"b":{}},` +
		`"properties":{"a":{"$ref":"#/definitions/b"},"c":{"items":[{"type":"string"}],"additionalItems":false}}}`,
		true},
	{`{"type":"object","properties":{"a":{"enum":["a",1,null]},"b":{"const":null},"c":{"enum":"a"}}}`, false},
	{`{"type":"object","properties":{"a":{"enum":["a",1,null]},"b":{"const":null}}}`, true},
	{`{"type":"object","additionalProperties":"no"}`, false},
	{`{"type":"object","additionalProperties":{"type":"string"}}`, true},
	{`{"type":"object","properties":{"a":{"uniqueItems":"yes"}}}`, false},
	{`{"type":"object","dependentRequired":{"a":["b"]},"if":{"required":["a"]},"then":{"minProperties":2},"else":true}`,
		true}, {`{"type":"object","dependentRequired":{"a":"b"}}`, false},
	{`{"type":"object","title":7}`, false},
	{`{"type":"object","description":"d","x-other":{"type":7},"default":{},"examples":[{}]}`, true},
	{`{"type":"object","examples":{}}`, false},
	{`{"type":"object","properties":{"a":{"items":{"type":"string"},"prefixItems":[],"contains":{}}}}`, false},
	{`{"type":"object","not":{"not":{"type":"str"}}}`, false},
	{`{"type":"object","Type":7,"minLength":1e0,"$defs":{"a":{}},"definitions":{"b":{}}}`, true},
	{`{"type":"object","properties":{"a":{"\u0024ref":"#/nothing"}}}`, false},
	{`{"type":"string"}`, false}, {`{}`, false}, {`[]`, false}, {`true`, false}, {`null`, false}, {``, false},
}

// A schema of a tool is valid where it is one of an object, and the draft's own schema
// says so.
func TestToolSchema(t *testing.T) {
	for _, c := range toolSchemas {
		if err := checkToolSchema([]byte(c.text)); (err == nil) != c.valid {
			t.Errorf("%s: %v", c.text, err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
		if err != nil {
			continue
		}
		if object, ok := doc.(map[string]any); !ok || object["type"] != "object" {
			continue
		}
		if _, err := compile(doc); (err == nil) != c.valid {
			t.Errorf("%s: by the draft's schema %v", c.text, err)
		}
	}
}

// No schema of a tool stops the program.
func FuzzToolSchema(f *testing.F) {
	for _, c := range toolSchemas {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if surface.CheckJSON(data, surface.Limits{Size: MaxRegistered, Depth: 100}) == nil {
			checkToolSchema(data)
		}
	})
}
