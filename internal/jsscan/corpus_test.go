package jsscan

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/tree"
)

// scripts returns the scripts below testdata/DIR, by name.
func scripts(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS("testdata"), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[strings.TrimPrefix(name, dir+"/")], err = os.ReadFile(path.Join("testdata", name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// importEvidence is what a check of a plugin that is one script says about what it imports, without what is
// as it should be. The first line of the script may declare permissions.
func importEvidence(t *testing.T, name string, code []byte) (found []string) {
	t.Helper()
	var permissions []string
	line, _, _ := bytes.Cut(code, []byte("\n"))
	if words, ok := strings.CutPrefix(string(line), "// permissions: "); ok {
		for p := range strings.FieldsSeq(words) {
			permissions = append(permissions, `"`+p+`":true`)
		}
	}
	file := path.Base(name)
	all := map[string][]byte{"dist/" + file: code, plugin.ManifestFile: []byte(`{"manifestVersion":"2","name":"p",` +
		`"version":"1.0.0","entry":"dist/` + file + `","dist":{"hash":"` + strings.Repeat("0", 64) +
		`"},"permissions":{` + strings.Join(permissions, ",") + `}}`)}
	read := func() (*plugin.Bundle, *plugin.Manifest) {
		var files []tree.File
		for _, p := range slices.Sorted(maps.Keys(all)) {
			files = append(files, tree.File{Path: p, Size: int64(len(all[p]))})
		}
		b, err := plugin.ReadBundle(t.Context(), files, nil, func(p string) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(all[p])), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := plugin.Parse(b.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		return b, m
	}
	b, m := read()
	data, err := b.WriteHash(t.Context(), m, tree.Guide)
	if err != nil {
		t.Fatal(err)
	}
	all[plugin.ManifestFile] = data
	b, m = read()
	r, err := plugin.Check(t.Context(), b, m, plugin.Host{Scan: File})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Verdict.Findings {
		if e := f.Evidence; f.Warning || f.Class != evidence.OK {
			found = append(found, string(e.Scheme)+" "+e.Observed.Text+" "+e.Reason)
		}
	}
	return found
}

// Each evasion is found without --strict: by a warning, or because it is refused.
func TestEvasionCorpus(t *testing.T) {
	all := scripts(t, "evasions")
	families := map[string]bool{}
	for name, code := range all {
		families[path.Dir(name)] = true
		if found := importEvidence(t, name, code); len(found) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
	if len(all) < 100 || len(families) < 10 {
		t.Errorf("%d evasions of %d families", len(all), len(families))
	}
}

// What ordinary scripts do by a way that is not followed is a warning, once a file.
func TestComputedCorpus(t *testing.T) {
	for name, code := range scripts(t, "computed") {
		if found := importEvidence(t, name, code); len(found) != 1 || !strings.Contains(found[0], "is known only when it runs") {
			t.Errorf("%s: %s", name, strings.Join(found, "; "))
		}
	}
}

// In an ordinary script nothing is found but ordinary imports.
func TestBenignCorpus(t *testing.T) {
	all := scripts(t, "benign")
	for name, code := range all {
		if found := importEvidence(t, name, code); len(found) > 0 {
			t.Errorf("%s: %s", name, strings.Join(found, "; "))
		}
	}
	if len(all) < 40 {
		t.Errorf("%d scripts", len(all))
	}
}
