//go:build unix

package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// TestWorkTree: what a repository's own configuration names is not started, and each version of a file in conflict is
// found.
func TestWorkTree(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	run := func(ok bool, args ...string) {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		if out, err := c.CombinedOutput(); (err == nil) != ok {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(true, "init", "-q", "-b", "main")
	write("base")
	run(true, "add", "f")
	run(true, "commit", "-q", "-m", "base")
	run(true, "switch", "-q", "-c", "other")
	write("theirs")
	run(true, "commit", "-q", "-a", "-m", "theirs")
	run(true, "switch", "-q", "main")
	write("ours")
	run(true, "commit", "-q", "-a", "-m", "ours")
	run(false, "merge", "-q", "other")

	started := filepath.Join(home, "started")
	script := filepath.Join(home, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+started+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "diff.external", "core.editor",
		"credential.helper", "filter.x.smudge", "core.alternateRefsCommand", "uploadpack.packObjectsHook"} {
		run(true, "config", key, script)
	}
	run(true, "config", "core.hooksPath", home)
	w := WorkTree{Dir: dir, Checkout: foreign.FindCheckout(dir, ""), Environ: append(os.Environ(), "HOME="+home)}
	versions, err := w.Versions(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	read := func(v Version) string {
		t.Helper()
		data, err := w.Read(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := map[int]string{1: "base", 2: "ours", 3: "theirs"}
	for _, v := range versions["f"] {
		if read(v) != want[v.Stage] {
			t.Errorf("stage %d is %q", v.Stage, read(v))
		}
		delete(want, v.Stage)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
	committed, err := w.Committed(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range committed["f"] {
		seen[read(v)] = true
	}
	if !seen["ours"] || !seen["theirs"] {
		t.Errorf("of the commits: %v", seen)
	}
	commit, err := w.Commit(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	at, err := w.At(t.Context(), commit, "f")
	if err != nil || len(at) != 1 || read(at["f"]) != "ours" {
		t.Errorf("at main: %v %v", at, err)
	}
	if data, err := w.ReadAtMost(t.Context(), at["f"], len("our")); err == nil {
		t.Errorf("more than was asked for: %q", data)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("git started what the repository's configuration names")
	}
	if _, err := (WorkTree{Dir: home, Checkout: w.Checkout, Environ: w.Environ}).Versions(t.Context(), "f"); err == nil {
		t.Error("a directory that is in no repository has versions")
	}
}

// TestWorkTreeLink: a link that a branch has in place of the file is refused, not taken for a branch without it.
func TestWorkTreeLink(t *testing.T) {
	dir, environ := t.TempDir(), append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
	for _, args := range [][]string{{"init", "-q"}, {"add", "f"}} {
		if err := os.Symlink("elsewhere", filepath.Join(dir, "f")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		c := exec.Command("git", args...)
		c.Dir, c.Env = dir, environ
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	w := WorkTree{Dir: dir, Checkout: foreign.FindCheckout(dir, ""), Environ: environ}
	if _, err := w.Versions(t.Context(), "f"); evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("%v", err)
	}
	c := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "link")
	c.Dir, c.Env = dir, environ
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := w.At(t.Context(), "HEAD", "f"); evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("in a commit: %v", err)
	}
}

// TestWorkTreeRevision: what names no commit is an error of the user's, and no option of git.
func TestWorkTreeRevision(t *testing.T) {
	dir, environ := t.TempDir(), append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
	w := WorkTree{Dir: dir, Checkout: foreign.FindCheckout(dir, ""), Environ: environ}
	if _, err := w.Commit(t.Context(), "HEAD"); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("in no checkout: %v", err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q",
		"--allow-empty", "-m", "first"}} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = dir, environ
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	if id, err := w.Commit(t.Context(), "HEAD"); err != nil || len(id) < 40 {
		t.Errorf("%q %v", id, err)
	}
	for _, revision := range []string{"", "-h", "--all", "nope", "HEAD HEAD", "HEAD..HEAD", "HEAD:f", "HEAD\n"} {
		if id, err := w.Commit(t.Context(), revision); evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%q: %q %v", revision, id, err)
		}
	}
}

// TestWorkTreeCommits: the commits of a merge and the newest stash are found wherever the repository lies, and no
// file in it is an option of git.
func TestWorkTreeCommits(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(t.TempDir(), "[a-c]*")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	run := func(args ...string) {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir, c.Env = dir, environ
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q", "-b", "main")
	write("f", "committed")
	run("add", "f")
	run("commit", "-q", "-m", "committed")
	write("f", "stashed")
	run("stash", "-q")
	write(".git/--name-only HEAD", "")
	write(".git/--helpHEAD", "")
	w := WorkTree{Dir: dir, Checkout: foreign.FindCheckout(dir, ""), Environ: environ}
	committed, err := w.Committed(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range committed["f"] {
		data, err := w.Read(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(data)] = true
	}
	if !seen["committed"] || !seen["stashed"] {
		t.Errorf("found %v", seen)
	}
}

// TestWorkTreeConnects: a repository that lacks a content fetches none, whatever its configuration allows.
func TestWorkTreeConnects(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	environ := append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1")
	started, script := filepath.Join(home, "started"), filepath.Join(home, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+started+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "core.repositoryFormatVersion", "1"}, {"config", "extensions.partialClone", "origin"},
		{"config", "remote.origin.promisor", "true"}, {"config", "remote.origin.url", "ext::" + script},
		{"config", "protocol.ext.allow", "always"}, {"config", "protocol.allow", "always"},
	} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = dir, environ
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	w := WorkTree{Dir: dir, Checkout: foreign.FindCheckout(dir, ""), Environ: environ}
	missing := Version{object: strings.Repeat("12", 20)}
	if _, err := w.Read(t.Context(), missing); err == nil {
		t.Error("a content that is not there is read")
	}
	// older releases of git do not know the variable that forbids to fetch what is missing
	out, err := w.run(t.Context(), "ls-remote", "ext::"+script)
	if err == nil {
		t.Errorf("git connected: %s", out)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("git started what the repository's configuration names")
	}
}
