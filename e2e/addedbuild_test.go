package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
)

// addedFiles are what a kind of server and a source of facets more are made of, by where each stands in the module.
var addedFiles = map[string]string{
	"project/kinddemo.go":            "addedkind/entry.go.txt",
	"internal/kind/demo.go":          "addedkind/flow.go.txt",
	"project/sourcekindarchive.go":   "addedsource/entry.go.txt",
	"internal/obtain/archivefile.go": "addedsource/flow.go.txt",
}

// addedLines are the lines that the tables have more.
var addedLines = []struct{ file, after, text string }{
	{"project/kinds.go", "var serverKinds = []serverKind{\n", "\tkindDemo,\n"},
	{"internal/kind/table.go", "var kinds = map[project.ServerKind]Kind{\n", "\t\"demo\": demo{},\n"},
	{"project/sourcekinds.go", "var sourceKinds = []sourceKind{\n", "\tsourceArchive,\n"},
	{"internal/obtain/table.go", "var facetSources = map[project.SourceKind]facetSource{\n",
		"\t\"archive\": archiveSource{},\n"},
}

// withMore is hallmark with a kind of server and a source of facets more.
var withMore = sync.OnceValues(linkWithMore)

// buildWithMore gives hallmark as it is, with a kind of server and a source of facets more.
func buildWithMore(t *testing.T) string {
	t.Helper()
	program, err := withMore()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "hallmark")
	if err := built.WriteProgram(bin, program); err != nil {
		t.Fatal(err)
	}
	return bin
}

// linkWithMore compiles hallmark with [addedFiles] and [addedLines]. Nothing else differs.
func linkWithMore() ([]byte, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "added")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	replace := map[string]string{}
	for to, from := range addedFiles {
		replace[filepath.Join(root, filepath.FromSlash(to))] =
			filepath.Join(root, "e2e", "testdata", filepath.FromSlash(from))
	}
	for _, line := range addedLines {
		file := filepath.Join(root, filepath.FromSlash(line.file))
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), line.after) != 1 {
			return nil, fmt.Errorf("%s has no table any more: %v", line.file, err)
		}
		replace[file] = filepath.Join(dir, strings.ReplaceAll(line.file, "/", "-"))
		changed := strings.Replace(string(text), line.after, line.after+line.text, 1)
		if err := os.WriteFile(replace[file], []byte(changed), 0o600); err != nil {
			return nil, err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "hallmark")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return nil, err
	}
	c := exec.Command("go", "build", "-overlay", file, "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w", "-o", bin, "./cmd/hallmark")
	c.Dir, c.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build -overlay: %w\n%s", err, out)
	}
	return os.ReadFile(bin)
}
