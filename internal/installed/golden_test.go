package installed

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

var write = flag.Bool("write", false, "write what is generated: the files in testdata/targets, and the table in docs/facets.md")

// sample reads the facet of testdata, and what its members hold.
func sample(t *testing.T) (*facet.Manifest, func(member string) []byte) {
	t.Helper()
	read := func(member string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", "facet", filepath.FromSlash(member)))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	m, err := facet.ParseManifest(read(facet.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	return m, read
}

// renderAll is what a target gets of a facet: files by path, and notes.
func renderAll(t *testing.T, target Target, m *facet.Manifest, read func(string) []byte) (map[string][]byte, []string) {
	t.Helper()
	files := map[string][]byte{}
	var notes []string
	for _, d := range m.Deliverables() {
		if why := target.Refusal(m, d); why != "" {
			notes = append(notes, fmt.Sprintf("%s %s %s", d.Kind, d.Name, why))
		}
		for _, p := range target.Places(m, d) {
			r, err := target.Render(p, m, d, read(p.Member))
			if err != nil {
				t.Fatal(err)
			}
			if !p.IsRendered() && !bytes.Equal(r.Data, read(p.Member)) {
				t.Errorf("%s: %s changed", target.Name, p.Path)
			}
			if _, twice := files[p.Path]; twice {
				t.Errorf("%s: %s is there twice", target.Name, p.Path)
			}
			files[p.Path] = r.Data
			for _, note := range r.Notes {
				notes = append(notes, fmt.Sprintf("%s %s: %s", d.Kind, d.Name, note))
			}
		}
	}
	return files, notes
}

// Every file that a target gets of one facet with everything is a file in testdata/targets, beside the
// pages that document it and the notes that people see.
func TestTargetsGolden(t *testing.T) {
	m, read := sample(t)
	for _, target := range All() {
		files, notes := renderAll(t, target, m, read)
		files["NOTES"] = []byte(fmt.Sprintf("skills   %s\nagents   %s\ncommands %s\nservers  %s\n\n%s\n", target.skills.page,
			target.agents.page, target.commands.page, target.serversPage, strings.Join(notes, "\n")))
		dir := filepath.Join("testdata", "targets", target.Name)
		if *write {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			for name, data := range files {
				at := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		golden := map[string]bool{}
		err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				rel, _ := filepath.Rel(dir, name)
				golden[filepath.ToSlash(rel)] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			want, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if !bytes.Equal(files[name], want) {
				t.Errorf("%s: %s:\n%s\nwant\n%s", target.Name, name, files[name], want)
			}
			delete(golden, name)
		}
		if len(golden) > 0 {
			t.Errorf("%s: nothing writes %v", target.Name, golden)
		}
	}
}

// What is written is what a client's reader of YAML or TOML reads: the members with their values, and the
// body byte for byte.
func TestTargetsRead(t *testing.T) {
	m, read := sample(t)
	for _, target := range All() {
		for _, d := range m.Deliverables() {
			p := slices.IndexFunc(target.Places(m, d), func(p Place) bool { return p.primary })
			if p < 0 {
				continue
			}
			place := target.Places(m, d)[p]
			r, err := target.Render(place, m, d, read(place.Member))
			if err != nil {
				t.Fatal(err)
			}
			_, body := splitHead(read(place.Member))
			members := map[string]any{}
			switch f := target.noun(d.Kind).form; f {
			case agentTOML, promptTOML:
				if err := toml.Unmarshal(r.Data, &members); err != nil {
					t.Fatalf("%s %s: %v", target.Name, d.Name, err)
				}
				name := map[form]string{agentTOML: instructions, promptTOML: prompt}[f]
				if members[name] != string(trimLines(body)) {
					t.Errorf("%s %s: the body is %q", target.Name, d.Name, members[name])
				}
			default:
				if !bytes.HasSuffix(r.Data, trimLines(body)) {
					t.Errorf("%s %s: the body changed: %q", target.Name, d.Name, r.Data)
				}
				text, _ := splitHead(r.Data)
				if err := yaml.Unmarshal(text, &members); err != nil {
					t.Errorf("%s %s: %v", target.Name, d.Name, err)
				}
			}
			for _, need := range target.noun(d.Kind).needs {
				if text, ok := members[need].(string); !ok || text == "" || need == "name" && text != d.Name {
					t.Errorf("%s %s: %s is %v", target.Name, d.Name, need, members[need])
				}
			}
			if target.Name != claudeCode.Name {
				for _, name := range []string{"allowed-tools", "color", "hooks", "model"} {
					if _, has := members[name]; has && !strings.Contains(string(describe(m, d).Adapters[target.Name]), name) {
						t.Errorf("%s %s: %s was copied", target.Name, d.Name, name)
					}
				}
			}
		}
	}
}

// Clients that read one directory get the same files there, so that any of them can be a target beside
// the others.
func TestSharedPlaces(t *testing.T) {
	m, read := sample(t)
	all := map[string][]byte{}
	shared := 0
	for _, target := range All() {
		files, _ := renderAll(t, target, m, read)
		for at, data := range files {
			if other, ok := all[at]; ok {
				if shared++; !bytes.Equal(other, data) {
					t.Errorf("%s differs:\n%s\n%s", at, other, data)
				}
			}
			all[at] = data
		}
	}
	if shared == 0 {
		t.Error("no clients share a place")
	}
}

// A file whose front matter a client reads as it is stays as it is, and so does everything in a directory.
func TestVerbatim(t *testing.T) {
	m := &facet.Manifest{Skills: map[string]facet.Skill{"a": {Description: "d"}}}
	d := m.Deliverables()[0]
	for _, text := range []string{
		"---\nname: a\ndescription: |\n  x: y\n# c\nlicense: MIT\n---\n\nBody\r\n",
		"---\r\nname: \"a\"\r\ndescription: é\r\n---\r\n",
		"---\n{name: a, description: x}\n---\nBody",
	} {
		for _, target := range All() {
			place := target.Places(m, d)[0]
			if r, err := target.Render(place, m, d, []byte(text)); err != nil || string(r.Data) != text || len(r.Notes) > 0 {
				t.Errorf("%s: %q, %q, %v", target.Name, r.Data, r.Notes, err)
			}
		}
	}
	dir, _ := Find("dir:x")
	for _, text := range []string{"", "x", "---\n: {\n---\n"} {
		if r, err := dir.Render(dir.Places(m, d)[0], m, d, []byte(text)); err != nil || string(r.Data) != text {
			t.Errorf("%q, %v", r.Data, err)
		}
	}
}

// A front matter that cannot be read is left out and said, but for the client in whose words it is; so is
// one that is made to be large.
func TestUnreadable(t *testing.T) {
	m := &facet.Manifest{Agents: map[string]facet.Prompt{"a": {Description: "d"}}}
	d := m.Deliverables()[0]
	bomb := "a: &a [x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'm'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for _, text := range []string{"a: b: c\n", "- a\n", "a: 1\na: 2\n", "? [a]\n: b\n", bomb,
		"x: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", "d: " + strings.Repeat("x", maxHead) + "\n"} {
		data := "---\n" + text + "---\nBody\n"
		for _, target := range All() {
			places := target.Places(m, d)
			if len(places) == 0 {
				continue
			}
			r, err := target.Render(places[0], m, d, []byte(data))
			switch {
			case err != nil:
				t.Errorf("%s: %v", target.Name, err)
			case target.Name == claudeCode.Name:
				if string(r.Data) != data {
					t.Errorf("%s: %.200q", target.Name, r.Data)
				}
			case len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "is without its front matter") || !strings.Contains(string(r.Data), "Body\n"):
				t.Errorf("%s: %.200q %q", target.Name, r.Data, r.Notes)
			case len(r.Data) > 200:
				t.Errorf("%s: %d bytes", target.Name, len(r.Data))
			}
		}
	}
}

// Members of adapters keep their order and their values, whatever they are.
func TestAdapterValues(t *testing.T) {
	raw := `{"z":{"*":"deny","b\"":[1,-0.5,true,null,{"on":"\u2028"}]},"on":"yes","a":"x: #\n"}`
	m := &facet.Manifest{Agents: map[string]facet.Prompt{"a": {Description: "d",
		Adapters: map[string]json.RawMessage{"opencode": json.RawMessage(raw)}}}}
	d := m.Deliverables()[0]
	r, err := opencode.Render(opencode.Places(m, d)[0], m, d, []byte("B\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := "---\ndescription: \"d\"\nz: {\"*\": \"deny\", \"b\\\"\": [1, -0.5, true, null, {\"on\": \"\\u2028\"}]}\n" +
		"\"on\": \"yes\"\na: \"x: #\\u000a\"\n---\n\nB\n"
	if string(r.Data) != want {
		t.Errorf("%q\nwant\n%q", r.Data, want)
	}
	text, _ := splitHead(r.Data)
	var got, given any
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(raw), &given); err != nil {
		t.Fatal(err)
	}
	delete(got.(map[string]any), "description")
	if a, b := fmt.Sprint(got), fmt.Sprint(given); a != b {
		t.Errorf("%s\nwant\n%s", a, b)
	}
}

// Lines keep their ends, and what is added has those of the file.
func TestLineEnds(t *testing.T) {
	m := &facet.Manifest{Agents: map[string]facet.Prompt{"a": {Description: "d"}}}
	d := m.Deliverables()[0]
	for text, want := range map[string]string{
		"---\r\nname: a\r\ncolor: red\r\n---\r\nB\n":  "---\r\ndescription: \"d\"\r\nname: a\r\n---\r\nB\n",
		"---\r\n---\r\n\r\nB":                         "---\nname: a\ndescription: \"d\"\n---\n\r\nB",
		"---\nname: a\ndescription: |\n  x\n\n---\nB": "---\nname: a\ndescription: |\n  x\n\n---\nB",
		"---\nname: a":                                "---\nname: a\ndescription: \"d\"\n---\n\n---\nname: a",
		"":                                            "---\nname: a\ndescription: \"d\"\n---\n\n",
	} {
		r, err := cursor.Render(cursor.Places(m, d)[0], m, d, []byte(text))
		if err != nil || string(r.Data) != want {
			t.Errorf("%q became\n%q\nand not\n%q, %v", text, r.Data, want, err)
		}
	}
}

// A mode follows from the first bytes.
func TestIsExecutable(t *testing.T) {
	for head, want := range map[string]bool{
		"#!/bin/sh": true, "#!": true, "\x7fELF\x02\x01\x01\x00": true, "\xcf\xfa\xed\xfe\x07\x00\x00\x01": true,
		"\xca\xfe\xba\xbe\x00\x00\x00\x02": true, "\xca\xfe\xba\xbe\x00\x00\x00\x3d": false, // a class of Java 17
		"": false, "#": false, " #!/bin/sh": false, "\xef\xbb\xbf#!/bin/sh": false, "MZ\x90\x00\x03\x00\x00\x00": false,
		"\xcf\xfa\xed": false,
	} {
		if got := IsExecutable([]byte(head)); got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
}
