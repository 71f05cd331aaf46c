package plugins

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// Limits of a directory that is searched for plugins.
const (
	maxDepth   = 4       // directories below the one that was named: fixtures/GROUP/KIND/PLUGIN
	maxEntries = 100_000 // that are listed
)

// findPlugins returns the plugins that an argument means: a plugin or a file itself, and of a directory
// that is no plugin all plugins and zips below it. Directories called node_modules, and those whose
// names begin with a dot, are not searched, nor is what lies in a plugin. Links are followed, as a host
// follows them, but none into a directory that the search is in already. A directory without any plugin is an
// error, so that it never passes for checked.
func findPlugins(ctx context.Context, path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || isPlugin(path) {
		return []string{path}, nil // reading it reports what is wrong
	}
	s := search{ctx: ctx, in: []os.FileInfo{info}}
	s.walk(path, 1)
	if s.err == nil && len(s.found) == 0 {
		s.err = evidence.Errorf(evidence.Validation, path,
			"a plugin is a directory or zip with "+plugin.ManifestFile+" and "+plugin.DistDir+"/",
			fmt.Errorf("no %s in it, and no plugin below it", plugin.ManifestFile))
	}
	return s.found, s.err
}

// search looks for plugins below a directory.
type search struct {
	ctx     context.Context
	found   []string
	entries int
	in      []os.FileInfo // the directories from the one that was named to the present one
	err     error         // that ends it
}

func (s *search) walk(dir string, depth int) {
	entries, err := os.ReadDir(dir)
	if err == nil {
		err = context.Cause(s.ctx)
	}
	if s.entries += len(entries); err == nil && s.entries > maxEntries {
		err = fmt.Errorf("more than %d files and directories", maxEntries)
	}
	if err != nil {
		s.err = evidence.Errorf(evidence.Operation, dir, "name the directories of the plugins", err)
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case s.err != nil:
			return
		case strings.HasPrefix(e.Name(), "."):
		case !e.IsDir() && strings.EqualFold(filepath.Ext(e.Name()), ".zip"):
			s.found = append(s.found, path) // reading it says if it is no zip
		case isPlugin(path):
			s.found = append(s.found, path)
		case e.Name() != "node_modules" && depth < maxDepth:
			s.enter(path, depth+1)
		}
	}
}

// enter searches what is a directory, or a link to one.
func (s *search) enter(path string, depth int) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return // a link that leads nowhere is no plugin
	}
	if slices.ContainsFunc(s.in, func(above os.FileInfo) bool { return os.SameFile(above, info) }) {
		return // a loop
	}
	s.in = append(s.in, info)
	s.walk(path, depth)
	s.in = s.in[:len(s.in)-1]
}

// isPlugin reports whether path is a directory with a manifest, or one in which a plugin was installed: of
// that reading it says that the manifest is gone.
func isPlugin(path string) bool {
	for _, name := range []string{plugin.ManifestFile, plugin.LockFile} {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return false
}
