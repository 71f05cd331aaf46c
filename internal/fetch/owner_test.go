package fetch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
)

// tarOf is a .tar.gz of files: path, content, path, content.
func tarOf(files ...string) []byte {
	tar := forge.Tar{Gzip: true, End: make([]byte, 1024)}
	for i := 0; i < len(files); i += 2 {
		tar.Members = append(tar.Members, forge.NewMember(files[i], '0', []byte(files[i+1])))
	}
	return tar.Bytes()
}

// Each kind of package is read where its tools write what its publisher said.
func TestReadOwner(t *testing.T) {
	const metadata = "Metadata-Version: 2.1\nName: a\n\n# A\n<!-- mcp-name: io.github.o/a -->\n"
	for name, c := range map[string]struct {
		ref  string
		data []byte
		text string // "error" if it cannot be read
	}{
		"tarball":              {"npm:a@1.0.0", tarOf("package/package.json", `{"mcpName":"io.github.o/a"}`), "io.github.o/a"},
		"tarball, other top":   {"npm:a@1.0.0", tarOf("a-1/package.json", "\uFEFF{\"mcpName\":\"io.github.o/a\"}"), "io.github.o/a"},
		"tarball, deeper":      {"npm:a@1.0.0", tarOf("package/x/package.json", `{"mcpName":"io.github.o/a"}`), "error"},
		"tarball, two tops":    {"npm:a@1.0.0", tarOf("a/package.json", `{"mcpName":"io.github.o/a"}`, "b/package.json", `{}`), "error"},
		"tarball, other case":  {"npm:a@1.0.0", tarOf("package/package.json", `{"MCPName":"io.github.o/a"}`), ""},
		"tarball, no text":     {"npm:a@1.0.0", tarOf("package/package.json", `{"mcpName":["io.github.o/a"]}`), ""},
		"tarball, no object":   {"npm:a@1.0.0", tarOf("package/package.json", `[]`), "error"},
		"tarball, too large":   {"npm:a@1.0.0", tarOf("package/package.json", `{"mcpName":"`+string(make([]byte, 1000))+`"}`), "error"},
		"no tarball":           {"npm:a@1.0.0", []byte("w"), "error"},
		"wheel":                {"pypi:a==1.0", forge.Wheel("a-1.0", "a-1.0.dist-info/METADATA", metadata), metadata},
		"wheel, two":           {"pypi:a==1.0", forge.Wheel("a-1.0", "a-1.0.dist-info/METADATA", metadata, "b.dist-info/METADATA", ""), "error"},
		"source":               {"pypi:a==1.0/a-1.0.tar.gz", tarOf("a-1.0/PKG-INFO", metadata, "a-1.0/a.egg-info/PKG-INFO", "other"), metadata},
		"source without":       {"pypi:a==1.0/a-1.0.tar.gz", tarOf("a-1.0/setup.py", ""), "error"},
		"crate":                {"cargo:a@1.0.0", tarOf("a-1.0.0/Cargo.toml", "[package]\nreadme = \"README.md\"\n", "a-1.0.0/README.md", metadata), metadata},
		"crate without readme": {"cargo:a@1.0.0", tarOf("a-1.0.0/Cargo.toml", "[package]\nreadme = false\n"), ""},
		"image":                {"oci:example.com/a/b:1", []byte("{}"), "error"},
	} {
		ref, err := artifact.Parse(c.ref)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		owner, err := ReadOwner(path, ref, 500)
		if (err != nil) != (c.text == "error") || err == nil && (owner.Text != c.text || owner.Where == "") {
			t.Errorf("%s: %+v, %v", name, owner, err)
		}
	}
}

func TestCheckBundle(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		ok   bool
	}{
		"bundle":  {forge.Wheel("a-1.0", "manifest.json", "{}"), true},
		"deeper":  {forge.Wheel("a-1.0", "a/manifest.json", "{}"), false},
		"no zip":  {make([]byte, 20_000), false},
		"nothing": {nil, false},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := CheckBundle(path); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A package file says itself which package it is; what does not is no guess.
func TestIdentify(t *testing.T) {
	const metadata = "Metadata-Version: 2.1\nName: My_Notes\nVersion: 1.0\n\nName: other\nVersion: 2\n"
	for name, c := range map[string]struct {
		data []byte
		want string // "" if it cannot be told
	}{
		"notes.tgz":                   {tarOf("package/package.json", `{"name":"@a/notes","version":"1.0.0"}`), "npm:@a/notes@1.0.0"},
		"no-version.tgz":              {tarOf("package/package.json", `{"name":"@a/notes"}`), ""},
		"my_notes-1.0-py3-any.whl":    {forge.Pack("my_notes-1.0.dist-info/METADATA", metadata), "pypi:My_Notes==1.0/my_notes-1.0-py3-any.whl"},
		"my_notes-2.0-py3-any.whl":    {forge.Pack("my_notes-1.0.dist-info/METADATA", metadata), ""}, // the name is another version's
		"renamed.whl":                 {forge.Pack("my_notes-1.0.dist-info/METADATA", metadata), ""},
		"my_notes-1.0.tar.gz":         {tarOf("my_notes-1.0/PKG-INFO", metadata, "my_notes-1.0/package.json", `{"name":"x","version":"1.0.0"}`), "pypi:My_Notes==1.0/my_notes-1.0.tar.gz"},
		"my_notes-1.0.zip":            {forge.Pack("my_notes-1.0/PKG-INFO", metadata), "pypi:My_Notes==1.0/my_notes-1.0.zip"},
		"notes-1.0.0.crate":           {tarOf("notes-1.0.0/Cargo.toml", "[package]\nname = \"notes\"\nversion = \"1.0.0\"\n", "notes-1.0.0/package.json", "{}"), "cargo:notes@1.0.0"},
		"Notes.1.0.0.nupkg":           {forge.Pack("Notes.nuspec", "<package><metadata><id>Notes</id><version>1.0.0</version></metadata></package>"), "nuget:Notes@1.0.0"},
		"notes.mcpb":                  {forge.Pack("manifest.json", "{}", "a.dist-info/METADATA", metadata), ""},
		"nothing":                     {nil, ""},
		"a tar without a manifest.gz": {tarOf("a/b", "c"), ""},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		ref, err := Identify(path, 1000)
		if ref.String() != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, ref, err)
		}
	}
}
