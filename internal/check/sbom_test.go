package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/project"
)

type object = map[string]any

// sum is a digest of a word, as the lock has it.
func sum(word string) string { return digest.FromBytes([]byte(word)).String() }

func hexOf(word string) string { return strings.TrimPrefix(sum(word), "sha256:") }

// sri is a sha512 as npm has it, of which each byte is b.
func sri(b byte) string {
	d, _ := digest.New(digest.SHA512, bytes.Repeat([]byte{b}, 64))
	return d.SRI()
}

// entry is an entry of a server with more members.
func entry(source, ref string, artifacts object, more object) object {
	e := object{"source": source, "ref": ref, "artifacts": artifacts, "arguments": []string{}, "variables": []string{},
		"launch":      object{"command": "x", "arguments": []string{}, "variables": []string{}, "on_drift": "withhold"},
		"api_surface": sum("api"), "surface": sum("surface"), "surface_items": object{}}
	maps.Copy(e, more)
	return e
}

// world is a lock that has an entry of every kind, with its closures.
func world(t *testing.T) check.SBOMInput {
	t.Helper()
	closure := func(engine string) object {
		return object{"engine": engine, "lock": sum("closure " + engine), "trees": object{"linux/amd64": sum("tree")}}
	}
	const image = "oci:images.example.com/acme/notes@"
	lock := object{"lockfile_version": 3, "servers": object{
		"notes": entry("npm", "npm:@acme/notes@1.4.0", object{"npm:@acme/notes@1.4.0": sum("tarball")}, object{
			"entry": "node_modules/@acme/notes/x.js", "closure": closure("npm"), "record": object{
				"registry": "registry.example.com", "name": "io.github.acme/notes", "version": "1.4.0", "document": sum("document")},
		}),
		"table": entry("pypi", "pypi:Acme_Table==1.0/acme_table-1.0-py3-none-any.whl", object{
			"pypi:Acme_Table==1.0/acme_table-1.0-py3-none-any.whl": sum("wheel")}, object{
			"entry": "acme_table:main", "closure": closure("uv")}),
		"gopher": entry("go", "go:example.com/Acme/gopher@v1.0.0+incompatible", object{
			"go:example.com/Acme/gopher@v1.0.0+incompatible": sum("gopher")}, object{
			"entry": "example.com/Acme/gopher", "closure": closure("go")}),
		"box": entry("image", image+sum("index"), object{image + sum("index"): sum("index")}, object{
			"digest": sum("index"), "image": "images.example.com/acme/notes:1",
			"platforms": object{"linux/amd64": sum("amd64"), "linux/arm64/v8": sum("arm64")}}),
		"local": entry("command", "command:node", object{"command:node": sum("node"), "file:a/b.js": sum("b.js"),
			"tree:server": sum("server")}, nil),
		"far": entry("http", "https://mcp.example.com/mcp", object{}, nil),
		"packed": entry("artifact", "@acme/packed@1.2.0", object{"@acme/packed@1.2.0": sum("contents")}, object{
			"entry": "main.py", "runtime": "python", "record": object{"registry": "registry.example.com",
				"name": "@acme/packed", "version": "1.2.0", "document": sum("document")}}),
	}, "facets": object{
		"kit": object{"version": "1.0.0", "source": object{"kind": "git", "url": "https://git.example.com/kit.git",
			"commit": strings.Repeat("a", 40)}, "integrity": sum("kit"), "assets": object{"facet.json": sum("facet.json")},
			"composes": object{"other": "2.0.0"}},
		"other": object{"version": "2.0.0", "source": object{"kind": "registry", "registry": "registry.example.com"},
			"integrity": sum("other"), "assets": object{"facet.json": sum("other facet.json")}},
	}}
	of := lock["servers"].(object)
	of["far"].(object)["launch"] = object{"url": "https://mcp.example.com/mcp", "arguments": []string{}, "variables": []string{},
		"on_drift": "withhold"}
	of["packed"].(object)["launch"] = object{"source": "@acme/packed@1.0.0", "facet": "kit", "arguments": []string{},
		"variables": []string{}, "on_drift": "withhold"}
	return check.SBOMInput{Project: "work", Lock: sealed(t, lock), Unlocked: []string{"open"}, Release: "1.2.3",
		Closures: map[string]*project.Closure{
			"notes": parse(t, npmClosure()), "table": parse(t, pythonClosure()), "gopher": parse(t, goClosure())}}
}

func npmClosure() object {
	return object{"name": "hallmark-closure", "lockfileVersion": 3, "requires": true, "packages": object{
		"":                         object{"name": "hallmark-closure", "dependencies": object{"@acme/notes": "1.4.0"}},
		"node_modules/@acme/notes": object{"version": "1.4.0", "integrity": sri(1), "dependencies": object{"a": "*", "b": "*"}},
		"node_modules/a":           object{"version": "1.0.0", "integrity": sri(2), "dependencies": object{"b": "^2"}},
		"node_modules/a/node_modules/b": object{"version": "2.0.0", "integrity": sri(3), "hasInstallScript": true,
			"optionalDependencies": object{"gone": "1"}},
		"node_modules/b":                    object{"version": "1.0.0", "integrity": sri(4) + " " + sri(5), "optional": true, "os": []string{"linux"}},
		"node_modules/b/node_modules/inner": object{"version": "0.1.0", "inBundle": true},
	}}
}

func pythonClosure() object {
	return object{"engine": "uv", "root": "pypi:acme-table==1.0", "packages": []any{
		object{"name": "acme-table", "version": "1.0", "wheels": object{"acme_table-1.0-py3-none-any.whl": sum("wheel")}},
		object{"name": "Fast.core", "version": "2.0", "marker": "python_version > '3'", "wheels": object{
			"fast_core-2.0-cp311-cp311-linux_x86_64.whl": sum("linux"), "fast_core-2.0-cp311-cp311-win32.whl": sum("win")}},
	}}
}

func goClosure() object {
	h1 := strings.TrimPrefix(digest.FromBytes([]byte("gopher")).SRI(), "sha256-")
	return object{"engine": "go", "root": "go:example.com/Acme/gopher@v1.0.0+incompatible", "program": "example.com/Acme/gopher",
		"go_mod": []string{"module hallmark-closure", "", "go 1.26", "", "require example.com/Acme/gopher v1.0.0+incompatible"},
		"go_sum": []string{"example.com/Acme/gopher v1.0.0+incompatible h1:" + h1,
			"example.com/Acme/gopher v1.0.0+incompatible/go.mod h1:" + h1, "example.com/old v0.1.0/go.mod h1:" + h1}}
}

func sealed(t *testing.T, lock object) *project.Lock {
	t.Helper()
	var plain object // as JSON has it
	if err := json.Unmarshal(encode(t, lock), &plain); err != nil {
		t.Fatal(err)
	}
	if err := hosttest.Seal(plain); err != nil {
		t.Fatal(err)
	}
	l, err := project.ParseLock(encode(t, plain))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func parse(t *testing.T, closure object) *project.Closure {
	t.Helper()
	c, err := project.ParseClosure(encode(t, closure))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, format string, in check.SBOMInput) []byte {
	t.Helper()
	data, err := check.MakeSBOM(format, in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// line is a component on one line: its purl, hashes and properties.
func line(c object) string {
	text := fmt.Sprintf("%v %v %v %v", c["type"], c["name"], c["version"], c["purl"])
	for _, h := range list(c["hashes"]) {
		text += fmt.Sprintf(" %v=%.12v", h["alg"], h["content"])
	}
	for _, p := range list(c["properties"]) {
		text += fmt.Sprintf(" %s=%.40v", strings.TrimPrefix(p["name"].(string), "hallmark:"), p["value"])
	}
	if c["scope"] != nil {
		text += fmt.Sprintf(" scope=%v", c["scope"])
	}
	return text
}

func list(v any) (all []object) {
	items, _ := v.([]any)
	for _, item := range items {
		all = append(all, item.(object))
	}
	return all
}

// byRef are the lines of all components and services of a document, and what each needs.
func byRef(t *testing.T, data []byte) (lines map[string]string, needs map[string]string) {
	t.Helper()
	var doc object
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	lines, needs = map[string]string{}, map[string]string{}
	var walk func([]object)
	walk = func(all []object) {
		for _, c := range all {
			ref := c["bom-ref"].(string)
			if lines[ref] != "" {
				t.Errorf("%s is there twice", ref)
			}
			lines[ref] = line(c)
			walk(list(c["components"]))
		}
	}
	walk(list(doc["components"]))
	walk(list(doc["services"]))
	walk([]object{doc["metadata"].(object)["component"].(object)})
	for _, d := range list(doc["dependencies"]) {
		on, _ := d["dependsOn"].([]any)
		needs[d["ref"].(string)] = strings.TrimSuffix(fmt.Sprintln(on...), "\n")
		for _, ref := range append(on, d["ref"]) {
			if lines[ref.(string)] == "" {
				t.Errorf("%s is needed and is not there", ref)
			}
		}
	}
	return lines, needs
}

func TestComponents(t *testing.T) {
	lines, needs := byRef(t, write(t, "cyclonedx", world(t)))
	short := func(word string) string { return hexOf(word)[:12] }
	one := func(b string) string { return strings.Repeat(b, 6) }
	want := map[string]string{
		"npm:@acme/notes@1.4.0": "library @acme/notes 1.4.0 pkg:npm/%40acme/notes@1.4.0 SHA-256=" + short("tarball") + " SHA-512=" + one("01"),
		"npm:a@1.0.0":           "library a 1.0.0 pkg:npm/a@1.0.0 SHA-512=" + one("02"),
		"npm:b@2.0.0":           "library b 2.0.0 pkg:npm/b@2.0.0 SHA-512=" + one("03") + " has-install-scripts=true",
		"pypi:acme-table==1": "library Acme_Table 1.0 pkg:pypi/acme-table@1.0 SHA-256=" + short("wheel") +
			" file=acme_table-1.0-py3-none-any.whl",
		"pypi:fast-core==2": "library Fast.core 2.0 pkg:pypi/fast-core@2.0 marker=python_version > '3'",
		"pypi:fast-core==2/fast_core-2.0-cp311-cp311-win32.whl": "file fast_core-2.0-cp311-cp311-win32.whl 2.0 " +
			"pkg:pypi/fast-core@2.0?file_name=fast_core-2.0-cp311-cp311-win32.whl SHA-256=" + short("win"),
		"go:example.com/Acme/gopher@v1.0.0+incompatible": "library example.com/Acme/gopher v1.0.0+incompatible " +
			"pkg:golang/example.com/acme/gopher@v1.0.0%2Bincompatible h1=h1:",
		"command:node@" + sum("node"):  "application node <nil> pkg:generic/node?checksum=" + sum("node") + " SHA-256=" + short("node"),
		"file:a/b.js@" + sum("b.js"):   "file a/b.js <nil> pkg:generic/b.js?checksum=" + sum("b.js") + " SHA-256=" + short("b.js"),
		"tree:server@" + sum("server"): "file server <nil> <nil> tree=sha256:",
		"archive:@acme/packed@1.2.0":   "application @acme/packed 1.2.0 pkg:generic/%40acme/packed@1.2.0 content-integrity=sha256:",
		"facet:kit": "application kit 1.0.0 pkg:generic/kit@1.0.0?vcs_url=git%2Bhttps:%2F%2Fgit.example.com%2Fkit.git%40" +
			strings.Repeat("a", 40) + " content-integrity=sha256:",
		"facet:kit/facet.json": "file facet.json <nil> <nil> SHA-256=" + short("facet.json"),
		"server:open":          "application open <nil> <nil> not-locked=",
		"server:far":           "<nil> far <nil> <nil> api-surface=",
		"bundled:inner in node_modules/b of npm:@acme/notes@1.4.0": "library inner 0.1.0 pkg:npm/inner@0.1.0 bundled-in=node_modules/b",
	}
	for ref, text := range want {
		if !strings.HasPrefix(lines[ref], text) {
			t.Errorf("%s:\n got %s\nwant %s", ref, lines[ref], text)
		}
	}
	for ref, contained := range map[string]string{
		"npm:b@1.0.0": "integrity-one-of=sha512:", "server:notes": "record=io.github.acme/notes@1.4.0",
		"server:table": "dependencies=the closure does not say", "server:gopher": "modules-without-code=1 more",
		"oci:images.example.com/acme/notes@" + sum("arm64"): "platform=linux/arm64/v8",
		"oci:images.example.com/acme/notes@" + sum("index"): "pkg:oci/notes@" + sum("index") + "?repository_url=images.example.com%2Facme%2Fnotes ",
	} {
		if !strings.Contains(lines[ref], contained) {
			t.Errorf("%s: %q is not in %q", ref, contained, lines[ref])
		}
	}
	if c := lines["npm:b@1.0.0"]; strings.Contains(c, "SHA-512") || !strings.HasSuffix(c, "scope=optional") {
		t.Errorf("one of several hashes is given as the hash: %s", c)
	}
	for ref, text := range map[string]string{
		"npm:@acme/notes@1.4.0": "npm:a@1.0.0 npm:b@1.0.0", "npm:a@1.0.0": "npm:b@2.0.0", "npm:b@2.0.0": "",
		"server:notes": "npm:@acme/notes@1.4.0", "server:table": "pypi:acme-table==1 pypi:fast-core==2",
		"facet:kit": "facet:other server:packed", "server:packed": "archive:@acme/packed@1.2.0",
	} {
		if got, ok := needs[ref]; got != text || !ok {
			t.Errorf("%s needs %q, want %q", ref, got, text)
		}
	}
	if _, ok := needs["pypi:fast-core==2"]; ok {
		t.Error("what a Python package needs is not known, and the document says that it needs nothing")
	}
}

// One lock has one document, and another lock another number.
func TestSameBytes(t *testing.T) {
	for _, format := range check.SBOMFormats() {
		in := world(t)
		first := write(t, format, in)
		for range 5 {
			if !bytes.Equal(first, write(t, format, world(t))) {
				t.Fatalf("%s: other bytes of the same lock", format)
			}
		}
		in.Created = time.Unix(1700000000, 0)
		if dated := string(write(t, format, in)); !strings.Contains(dated, "2023-11-14T22:13:20Z") {
			t.Errorf("%s: the time is not in it", format)
		} else if number(dated) == number(string(first)) || number(dated) == "" {
			t.Errorf("%s: two documents have the number %s", format, number(dated))
		}
	}
}

func number(doc string) string {
	_, after, _ := strings.Cut(doc, `"urn:uuid:`)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

// Two entries may have one version of a package with other bytes.
func TestOtherBytes(t *testing.T) {
	lock := object{"lockfile_version": 3, "servers": object{}}
	in := check.SBOMInput{Project: "work", Closures: map[string]*project.Closure{}}
	for _, name := range []string{"one", "two", "three"} {
		c := pythonClosure()
		c["packages"].([]any)[1].(object)["wheels"].(object)["fast_core-2.0-cp311-cp311-win32.whl"] = sum(strings.Replace(name, "three", "two", 1))
		in.Closures[name] = parse(t, c)
		const ref = "pypi:acme-table==1.0/acme_table-1.0-py3-none-any.whl"
		lock["servers"].(object)[name] = entry("pypi", ref, object{ref: sum("wheel")}, object{"entry": "acme_table:main",
			"closure": object{"engine": "uv", "lock": sum(name), "trees": object{"linux/amd64": sum("tree")}}})
	}
	in.Lock = sealed(t, lock)
	lines, _ := byRef(t, write(t, "cyclonedx", in))
	const wheel = "pypi:fast-core==2/fast_core-2.0-cp311-cp311-win32.whl"
	var found []string
	for ref := range lines {
		if strings.HasPrefix(ref, wheel) {
			found = append(found, ref)
		}
	}
	slices.Sort(found)
	if len(found) != 2 || found[0] != wheel || found[1] != wheel+"#"+sum("two") {
		t.Errorf("got %q", found)
	}
}

func TestMissingClosure(t *testing.T) {
	in := world(t)
	delete(in.Closures, "table")
	for _, format := range check.SBOMFormats() {
		if _, err := check.MakeSBOM(format, in); err == nil || !strings.Contains(err.Error(), "table: its closure is not here") {
			t.Errorf("%s: %v", format, err)
		}
	}
	if _, err := check.MakeSBOM("other", in); err == nil {
		t.Error("an unknown format is written")
	}
}

// Every lock of spec/lock.json that has no closures has documents.
func TestSpecLocks(t *testing.T) {
	data, err := os.ReadFile("../../spec/lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Lock []struct{ Name, Text string }
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, v := range vectors.Lock {
		lock, err := project.ParseLock([]byte(v.Text))
		if err != nil {
			continue
		}
		for _, format := range check.SBOMFormats() {
			doc, err := check.MakeSBOM(format, check.SBOMInput{Project: "p", Lock: lock})
			if err != nil {
				if !strings.Contains(err.Error(), "its closure is not here") {
					t.Errorf("%s: %v", v.Name, err)
				}
				continue
			}
			made++
			for _, name := range slices.Concat(lock.Servers(), lock.Facets()) {
				if !bytes.Contains(doc, []byte(`"name": "`+name+`"`)) {
					t.Errorf("%s: no %s in %s", v.Name, name, format)
				}
			}
		}
	}
	if made < 10 {
		t.Errorf("only %d documents", made)
	}
}
