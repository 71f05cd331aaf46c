package jsscan

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// The scripts of packages that many use: whatever esbuild lists is found, in one parse for nearly all of them. It tries
// some scripts of each of the packages, and 'make bundles' all, with those of typescript, which are the largest.
func TestAccountOfPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	dir := t.TempDir()
	packages := []string{"zod@4.1.12", "lodash@4.17.21", "rxjs@7.8.2", "undici@7.16.0", "acorn@8.15.0", "ws@8.18.3",
		"express@5.1.0"}
	if sample.Whole() {
		packages = append(packages, "typescript@5.9.3")
	}
	if err := built.Modules(t, dir, packages...); err != nil {
		world.Lack(t, err, nil)
	}
	scripts := packageScripts(t, filepath.Join(dir, "node_modules"))
	for _, path := range scripts {
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found, err := File(path, code)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, imp := range listLiterals(path, code) {
			if !slices.ContainsFunc(found, func(f plugin.Import) bool {
				return f.Specifier == imp.Specifier && !f.Computed
			}) {
				t.Errorf("%s: esbuild finds %s of %q", path, imp.Kind, imp.Specifier)
			}
		}
	}
	if len(scripts) < 500 || sample.Whole() && len(scripts) < 2000 {
		t.Errorf("%d scripts", len(scripts))
	}
}

// packageScripts are the scripts of the packages in dir: of the large ones some, which are of one kind mostly, so that
// the many small ones are not lost among them.
func packageScripts(t *testing.T, dir string) []string {
	t.Helper()
	packages, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range packages {
		var scripts []string
		err := filepath.WalkDir(filepath.Join(dir, p.Name()), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() &&
				slices.Contains([]string{".js", ".mjs", ".cjs"}, filepath.Ext(path)) {
				scripts = append(scripts, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sample.Of(t, scripts, 100)...)
	}
	return all
}
