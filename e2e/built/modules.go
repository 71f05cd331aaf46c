package built

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Modules puts packages of npm ("zod@4.1.8") with all that they depend on into dir/node_modules, as npm installs them
// without their scripts. npm is asked once for a list of packages: what it installed is kept in bin/built/.npm of the
// module, whose dot keeps ./... of go out of it. A test may add files and replace them, and writes into none, as they
// are links to those that are kept.
func Modules(t testing.TB, dir string, packages ...string) error {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		return err
	}
	root, err := findModule()
	if err != nil {
		return err
	}
	list := strings.Join(slices.Sorted(slices.Values(packages)), "\n")
	sum := sha256.Sum256([]byte(list))
	kept := filepath.Join(root, "bin", "built", ".npm", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(kept + ".lock").Lock() // tests of several packages run at once
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(kept); errors.Is(err, fs.ErrNotExist) {
		if err := install(t, npm, kept, packages); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return linkTree(kept, filepath.Join(dir, "node_modules"))
}

// linkTree makes a directory whose files are links to those of another: a copy of a Node is 120 MB. It copies where
// the two are on different file systems.
func linkTree(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.Join(to, strings.TrimPrefix(path, from))
		switch {
		case e.IsDir():
			return os.Mkdir(name, 0o755)
		case os.Link(path, name) == nil:
			return nil
		}
		os.RemoveAll(to)
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return err
		}
		return fs.SkipAll
	})
}

// install leaves nothing at path if it does not install all. npm may wait for ever while it unpacks a large tarball of
// its cache, and is then asked once more, with an empty cache.
func install(t testing.TB, npm, path string, packages []string) error {
	err := installOnce(t, npm, path, packages)
	if errors.Is(err, context.DeadlineExceeded) {
		return installOnce(t, npm, path, append([]string{"--cache", filepath.Join(t.TempDir(), "cache")}, packages...))
	}
	return err
}

func installOnce(t testing.TB, npm, path string, packages []string) error {
	work, err := os.MkdirTemp(filepath.Dir(path), "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, slices.Concat([]string{"install", "--prefix", work, "--no-save",
		"--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"}, packages)...)
	cmd.Dir, cmd.WaitDelay = work, 10*time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w\n%s", strings.Join(packages, " "), errors.Join(err, ctx.Err()), out)
	}
	return os.Rename(filepath.Join(work, "node_modules"), path)
}
