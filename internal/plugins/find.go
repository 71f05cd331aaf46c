package plugins

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
// names begin with a dot, are not searched, nor is what lies in a plugin. A directory without any
// plugin is an error, so that it never passes for checked.
func findPlugins(ctx context.Context, path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || isPlugin(path) {
		return []string{path}, nil // reading it reports what is wrong
	}
	s := search{ctx: ctx}
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
	err     error // that ends it
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
		case e.Type().IsRegular() && strings.EqualFold(filepath.Ext(e.Name()), ".zip"):
			s.found = append(s.found, path)
		case isPlugin(path): // behind a link too, as a host follows it
			s.found = append(s.found, path)
		case e.IsDir() && e.Name() != "node_modules" && depth < maxDepth:
			s.walk(path, depth+1)
		}
	}
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
