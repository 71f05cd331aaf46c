package plugin

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// A package that the code does without is a warning while it is not declared, if that is so wherever the
// code asks for it.
func TestOptionalImport(t *testing.T) {
	for name, optional := range map[string][]bool{"one": {true}, "both": {true, true}, "one of two": {true, false},
		"none": {false}} {
		scan := func(string, []byte) (found []Import, err error) {
			for _, o := range optional {
				found = append(found, Import{Kind: Require, Specifier: "bufferutil", Optional: o})
			}
			return found, nil
		}
		b, m := bundle(t, "", nil)
		r, err := Check(t.Context(), b, m, Host{Scan: scan})
		if err != nil {
			t.Fatal(err)
		}
		warned := false
		for _, f := range r.Verdict.Findings {
			if f.Evidence.Scheme == evidence.Import && f.Warning {
				warned = f.Evidence.Observed.Text == "bufferutil" &&
					strings.Contains(f.Evidence.Reason, `"optional": true`)
			}
		}
		want := name == "one" || name == "both"
		if warned != want || r.Verdict.Allowed() != want {
			t.Errorf("%s: warned %v, allowed %v: %v", name, warned, r.Verdict.Allowed(), r.Verdict.Err())
		}
		if strict, err := Check(t.Context(), b, m, Host{Scan: scan, Strict: true}); err != nil || strict.Verdict.Allowed() {
			t.Errorf("%s: allowed under --strict: %v", name, err)
		}
	}
}

// A package that lies beside the plugin is loaded, wherever the code does without it: it must be declared.
func TestOptionalImportInstalled(t *testing.T) {
	scan := func(string, []byte) ([]Import, error) {
		return []Import{{Kind: Require, Specifier: "bufferutil/x", Optional: true},
			{Kind: Require, Specifier: "@s/p", Optional: true}}, nil
	}
	b, m := bundle(t, "", nil)
	for path, installed := range map[string]bool{
		"node_modules/other/index.js": false, "node_modules/bufferutil2/a.js": false, "node_modules/@s/q/a.js": false,
		"node_modules/other/node_modules/bufferutil/a.js": false, "lib/bufferutil/a.js": false,
		"node_modules/bufferutil/a.js": true, "node_modules/@s/p/a/b.js": true, "Node_Modules/BufferUtil/a.js": true,
		"node_modules/bufferutil.js": true, "node_modules/bufferutil.json": true,
		"-> node_modules": true, "-> node_modules/bufferutil": true, "-> node_modules/@s": true, "-> node_modules/@s/p": true,
		"-> node_modules/other": false, "-> node_modules/@t": false,
	} {
		files := append(slices.Clone(b.Files), tree.File{Path: ManifestFile, Size: int64(len(b.Manifest))})
		for i := range b.Files {
			files[i].Path = DistDir + "/" + files[i].Path
		}
		var refused []*tree.EntryError
		if link, ok := strings.CutPrefix(path, "-> "); ok {
			refused = append(refused, &tree.EntryError{Path: link, Kind: "a link"})
		} else {
			files = append(files, tree.File{Path: path})
		}
		beside, err := ReadBundle(t.Context(), files, refused, func(path string) (io.ReadCloser, error) {
			if path == ManifestFile {
				return io.NopCloser(bytes.NewReader(b.Manifest)), nil
			}
			return b.OpenDist(strings.TrimPrefix(path, DistDir+"/"))
		})
		if err != nil {
			t.Fatal(path, err)
		}
		r, err := Check(t.Context(), beside, m, Host{Scan: scan})
		if err != nil {
			t.Fatal(path, err)
		}
		if refused := r.Verdict.Class() == evidence.Refused; refused != installed || refused == r.Verdict.Allowed() {
			t.Errorf("%s: refused %v, want %v: %v", path, refused, installed, r.Verdict.Err())
		}
	}
}
