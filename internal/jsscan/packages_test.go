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
// two of the packages, and 'make bundles' all.
func TestAccountOfPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	dir := t.TempDir()
	if err := built.Modules(t, dir, sample.Of(t, []string{"zod@4.1.12", "lodash@4.17.21", "rxjs@7.8.2", "typescript@5.9.3",
		"undici@7.16.0", "acorn@8.15.0", "ws@8.18.3", "express@5.1.0"}, 2)...); err != nil {
		world.Lack(t, err, nil)
	}
	scripts, again := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !slices.Contains([]string{".js", ".mjs", ".cjs"}, filepath.Ext(path)) {
			return err
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, err := File(path, code)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		scripts++
		if mayImport(code) && !accountsForAll(code, found) {
			again++
		}
		for _, imp := range listLiterals(path, code) {
			if !slices.ContainsFunc(found, func(f plugin.Import) bool {
				return f.Specifier == imp.Specifier && !f.Computed
			}) {
				t.Errorf("%s: esbuild finds %s of %q", path, imp.Kind, imp.Specifier)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d scripts are parsed twice", again, scripts)
	if scripts == 0 || sample.Whole() && scripts < 2000 || again > 2+scripts/50 {
		t.Errorf("%d of %d scripts are parsed twice", again, scripts)
	}
}
