// Package plugins checks, hashes, signs, packs, installs and revalidates plugins. Package plugin
// defines their format and judges them; this package reads and writes them, and keeps the records:
//
//   - NAME@VERSION/install.lock.json ([InstallLock]) in a directory of plugins, beside .hallmark.lock;
//   - plugins/HASH.json ([Installs]) in the state directory: what this machine installed in one directory;
//   - trusted-keys.json and revoked-keys.json in the state directory.
//
// A plugin is read once into memory, at most plugin.MaxBytes, so that what is checked is what is
// placed.
package plugins

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/surface"
)

// check checks a source for a host. A package-lock.json of the plugin adds claims about external
// packages.
func (s *Source) check(ctx context.Context, name string, target plugin.Host,
	claims ...evidence.Claim) (*plugin.Result, error) {
	m, err := s.Inspect(name)
	if err != nil {
		return nil, err
	}
	for _, lock := range []struct {
		path string
		data []byte
	}{{packageLock, s.Bundle.Documents[packageLock]}, {modulesLockFile, s.modulesLock}} {
		if lock.data == nil || len(m.Externals) == 0 {
			continue
		}
		claimed, err := plugin.ParsePackageLock(lock.data)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, filepath.Join(name, filepath.FromSlash(lock.path)), "",
				err)
		}
		for i := range claimed {
			claimed[i].From = lock.path
		}
		target.ExternalClaims = append(slices.Clone(target.ExternalClaims), claimed...)
	}
	return plugin.Check(ctx, s.Bundle, m, target, claims...)
}

// packageLock is the name of a plugin's lock of external packages.
const packageLock = "package-lock.json"

// Validate checks the manifest and the hashes of the plugin at path, and returns the computed
// dist.hash under the profile of the result, beside an error too if there is one. It does not scan the code, so
// that the result admits nothing.
func Validate(ctx context.Context, path string) (*plugin.Result, digest.Digest, error) {
	s, err := Read(ctx, path)
	if err != nil {
		return nil, digest.Digest{}, err
	}
	m, invalid := s.Inspect(path)
	if invalid != nil {
		computed, _ := s.hash(path, "", nil, s.hasher(ctx))
		return nil, computed.Hash, invalid
	}
	r, err := plugin.CheckFiles(ctx, s.Bundle, m)
	if err != nil {
		return nil, digest.Digest{}, nameSubject(path, err)
	}
	computed, err := s.hash(path, r.Profile, m, s.hasher(ctx))
	if refused := r.Verdict.Err(); refused != nil {
		err = refused // which says why there is no hash
	}
	return r, computed.Hash, err
}

// Order reads the manifests of plugins and returns the order to load them in. A directory that is no plugin means all
// plugins and zips below it, see findPlugins.
func Order(ctx context.Context, paths []string) ([]string, error) {
	var dirs []string
	for _, path := range paths {
		below, err := findPlugins(ctx, path)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, below...)
	}
	var all []*plugin.Manifest
	found := map[string][]string{} // by name
	for _, dir := range dirs {
		s, err := Read(ctx, dir)
		if err != nil {
			return nil, err
		}
		m, err := s.Parse(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
		found[m.Name] = append(found[m.Name], m.Subject()+" in "+filepath.ToSlash(dir))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if there := found[name]; len(there) > 1 {
			return nil, evidence.Errorf(evidence.Validation, name, "name the one that the host is to load",
				fmt.Errorf("no load order: it is there more than once: %s", surface.Escape(strings.Join(there, ", "))))
		}
	}
	return plugin.Order(all)
}

// CheckResult is the result of checking one of several plugins.
type CheckResult struct {
	Path   string
	Result *plugin.Result // nil with Err
	Err    error
}
