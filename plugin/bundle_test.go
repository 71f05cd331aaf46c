package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// listed are files of the given texts, in byte order, and what opens them.
func listed(texts map[string]string) ([]tree.File, tree.Open) {
	var files []tree.File
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		files = append(files, tree.File{Path: path, Size: int64(len(texts[path]))})
	}
	return files, func(path string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(texts[path])), nil }
}

// Each file of a plugin is what its place says.
func TestBundle(t *testing.T) {
	long := strings.Repeat(" ", MaxManifest+1)
	for _, c := range []struct {
		name      string
		files     map[string]string
		refused   string
		dist      string
		documents string
		beside    string
		links     string
		signature string
		err       string
	}{
		{name: "files of each kind", files: map[string]string{
			"mcp-plugin.json": "{}", "mcp-plugin.sig": "s", "dist/a.js": "1", "dist/LICENSE": "1", "README.md": "1",
			"LICENSE": "1", "LICENSE-MIT": "1", "NOTICE.html": "1",
			"install.lock.json": "1", "package-lock.json": "1", "package.json": "1", "notes.txt": "1", "docs/a.md": "1",
			"docs/b.md": "1", "README.js": "1", "LICENSE.cjs": "1", "distance.js": "1"},
			dist:      "LICENSE a.js",
			documents: "LICENSE NOTICE.html README.md install.lock.json notes.txt package-lock.json",
			beside:    "LICENSE-MIT LICENSE.cjs README.js distance.js docs/ package.json", signature: "s"},
		{name: "below one directory",
			files: map[string]string{"x/mcp-plugin.json": "{}", "x/dist/a.js": "1", "x/README.md": "1",
				"x/b.js": "1"},
			refused: "x/dist/l x/m x/n/o",
			dist:    "a.js", documents: "README.md", beside: "b.js m n/", links: "dist/l"},
		{name: "below one directory, and one file beside it",
			files: map[string]string{"x/mcp-plugin.json": "{}", "x/dist/a.js": "1", "y.js": "1"},
			err:   "no mcp-plugin.json"},
		{name: "below two directories",
			files: map[string]string{"x/mcp-plugin.json": "{}", "x/dist/a.js": "1", "xy/a.js": "1"},
			err:   "no mcp-plugin.json"},
		{name: "a plugin in a plugin",
			files: map[string]string{"mcp-plugin.json": "{}", "dist/a.js": "1", "x/mcp-plugin.json": "{}",
				"x/dist/a.js": "2"}, dist: "a.js", beside: "x/"},
		{name: "links", files: map[string]string{"mcp-plugin.json": "{}", "dist/a.js": "1", "node_modules/a.js": "1"},
			refused: "dist/b.js node_modules/c lib/d e",
			dist:    "a.js", beside: "e lib/ node_modules/", links: "dist/b.js"},
		{name: "dist is a link", files: map[string]string{"mcp-plugin.json": "{}"}, refused: "dist", links: "dist"},
		{name: "a link beside dist with such a name", files: map[string]string{"mcp-plugin.json": "{}"},
			refused: "dist2/a.js", beside: "dist2/"},
		{name: "no manifest", files: map[string]string{"dist/a.js": "1", "README.md": "1"}, err: "no mcp-plugin.json"},
		{name: "no files", err: "no mcp-plugin.json"},
		{name: "a manifest that is too long", files: map[string]string{"mcp-plugin.json": long}, err: "the limit is"},
		{name: "a manifest of the limit", files: map[string]string{"mcp-plugin.json": long[1:]}},
		{name: "a signature that is too long",
			files: map[string]string{"mcp-plugin.json": "{}", "mcp-plugin.sig": long}, beside: "mcp-plugin.sig"},
		{name: "a document that is too long", files: map[string]string{"mcp-plugin.json": "{}", "README.md": long},
			beside: "README.md"},
		{name: "names that are one on some disks",
			files: map[string]string{"mcp-plugin.json": "{}", "dist/a.js": "1", "dist/A.js": "1"}, err: "A.js"},
		{name: "a name that no disk of some holds",
			files: map[string]string{"mcp-plugin.json": "{}", "dist/nul.js": "1"}, err: "nul.js"},
	} {
		files, open := listed(c.files)
		var refused []*tree.EntryError
		for path := range strings.FieldsSeq(c.refused) {
			refused = append(refused, &tree.EntryError{Path: path, Kind: "a symbolic link"})
		}
		b, err := ReadBundle(t.Context(), files, refused, open)
		if c.err != "" || err != nil {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) ||
				evidence.ClassOf(err) != evidence.Validation && !strings.Contains(c.name, "name") {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		var dist, links []string
		for _, f := range b.Files {
			dist = append(dist, f.Path)
			if string(b.Contents[f.Path]) != c.files["dist/"+f.Path] &&
				string(b.Contents[f.Path]) != c.files["x/dist/"+f.Path] {
				t.Errorf("%s: %s is %q", c.name, f.Path, b.Contents[f.Path])
			}
		}
		for _, r := range b.Refused {
			links = append(links, r.Path)
		}
		for what, pair := range map[string][2]string{
			"dist":      {strings.Join(dist, " "), c.dist},
			"documents": {strings.Join(slices.Sorted(maps.Keys(b.Documents)), " "), c.documents},
			"beside":    {strings.Join(b.Beside, " "), c.beside}, "links": {strings.Join(links, " "), c.links},
			"signature": {string(b.Signature), c.signature},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %s are %q, want %q", c.name, what, pair[0], pair[1])
			}
		}
		// The same, without the contents.
		o, err := OpenBundle(t.Context(), files, open)
		if err != nil || string(o.Manifest) != string(b.Manifest) || string(o.Signature) != c.signature ||
			!slices.Equal(o.Files, b.Files) || len(o.Contents)+len(o.Documents) > 0 {
			t.Errorf("%s, opened: %+v, %v", c.name, o, err)
			continue
		}
		for _, f := range b.Files {
			r, err := o.OpenDist(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(r); err != nil || string(data) != string(b.Contents[f.Path]) {
				t.Errorf("%s: %s is opened as %q, %v", c.name, f.Path, data, err)
			}
		}
		for _, x := range []*Bundle{b, o} {
			if _, err := x.OpenDist("mcp-plugin.json"); err == nil {
				t.Errorf("%s: the manifest is opened as a file of dist", c.name)
			}
		}
	}
}

// All files together have a limit, which is known before any is read.
func TestBundleLimit(t *testing.T) {
	text := manifest("")
	opened := false
	open := func(path string) (io.ReadCloser, error) {
		opened = opened || path != ManifestFile
		return io.NopCloser(io.LimitReader(strings.NewReader(text), int64(len(text)))), nil
	}
	half := int64(MaxBytes / 2)
	for rest, ok := range map[int64]bool{MaxBytes - half - int64(len(text)): true,
		MaxBytes - half - int64(len(text)) + 1: false} {
		files := []tree.File{{Path: "dist/a.bin", Size: half}, {Path: "dist/b.bin", Size: rest},
			{Path: ManifestFile, Size: int64(len(text))}, {Path: "node_modules/x", Size: MaxBytes}}
		if _, err := OpenBundle(t.Context(), files, open); (err == nil) != ok ||
			!ok && !errors.Is(err, tree.ErrTooLarge) || opened {
			t.Errorf("%d bytes: %v, opened %v", half+rest, err, opened)
		}
	}
}

// A file that cannot be read, or has become another, ends the reading.
func TestBundleReads(t *testing.T) {
	text := manifest("")
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		open func() (io.ReadCloser, error)
		want error
	}{
		"as it was": {func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("12345")), nil }, nil},
		"shorter": {func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("1234")), nil },
			tree.ErrChanged},
		"longer": {func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("123456")), nil },
			tree.ErrChanged},
		"empty": {func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil },
			tree.ErrChanged},
		"not opened": {func() (io.ReadCloser, error) { return nil, broken }, broken},
		"not read": {func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("12345"), failing{broken})), nil
		}, broken},
	} {
		files := []tree.File{{Path: "dist/a.js", Size: 5}, {Path: ManifestFile, Size: int64(len(text))}}
		b, err := ReadBundle(t.Context(), files, nil, func(path string) (io.ReadCloser, error) {
			if path == ManifestFile {
				return io.NopCloser(strings.NewReader(text)), nil
			}
			return c.open()
		})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) ||
			err == nil && string(b.Contents["a.js"]) != "12345" {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files, open := listed(map[string]string{ManifestFile: text, "dist/a.js": "1"})
	if _, err := ReadBundle(ctx, files, nil, open); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// failing is a reader of which reading fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// More files than one goroutine reads at a time are all read, each as itself.
func TestBundleMany(t *testing.T) {
	texts := map[string]string{ManifestFile: manifest("")}
	for i := range 100 {
		texts[fmt.Sprintf("dist/%d.txt", i)] = fmt.Sprint("text ", i)
	}
	files, open := listed(texts)
	b, err := ReadBundle(t.Context(), files, nil, open)
	if err != nil || len(b.Contents) != 100 || b.Bytes() != 10*6+90*7 {
		t.Fatal(len(b.Contents), b.Bytes(), err)
	}
	for path, data := range b.Contents {
		if string(data) != texts["dist/"+path] {
			t.Errorf("%s is %q", path, data)
		}
	}
}

// Names that are seen as others, and those that can be packed and not be unpacked, are refused before anything is
// hashed.
func TestBundleNames(t *testing.T) {
	long := strings.Repeat("a", 252) + ".js" // 255 bytes
	for path, ok := range map[string]bool{
		"dist/" + long: true, "dist/a" + long: false, "dist/" + long + "/b.js": true, "dist/a" + long + "/b.js": false,
		"dist/" + strings.Repeat("é", 127) + "x": true, "dist/" + strings.Repeat("é", 128): false,
		"dist/a\u202ejs.exe": false, "dist/\u202e/a.js": false, "dist/a\u200b.js": false, "dist/a\u2066.js": false,
		"README\u202e.md": false, "LICENSE-" + strings.Repeat("a", 245) + ".md": false, "README.md": true,
	} {
		files, open := listed(map[string]string{ManifestFile: manifest(""), "dist/index.js": "1", path: "2"})
		_, err := ReadBundle(t.Context(), files, nil, open)
		if (err == nil) != ok || err != nil && evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%.40q, %d bytes: %v", path, len(path), err)
		}
		if err != nil && strings.Contains(err.Error(), "\u202e") {
			t.Errorf("%q is printed as it stands", path)
		}
	}
}
