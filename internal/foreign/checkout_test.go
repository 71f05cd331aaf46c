package foreign

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// plant makes an executable, with the directories above it.
func plant(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, to, at string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return at
}

// A program of ours is none of the checkout, by whichever way PATH leads to it.
func TestCheckout(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have suffixes there")
	}
	root := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	project := at("repository", "project")
	for _, dir := range []string{at("repository", ".git"), at("home", "empty")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	plant(t, at("repository", "project", "node_modules", ".bin", "npm"))
	plant(t, at("repository", "bin", "npm")) // above the project, in its repository
	own := plant(t, at("home", "bin", "npm"))
	link(t, own, at("repository", "project", "out", "npm"))                // the checkout chose where it leads
	link(t, at("repository", "bin", "npm"), at("home", "started", "node")) // what npm would start leads in
	plant(t, at("home", "started", "npm"))
	link(t, project, at("home", "link"))                                               // a directory that leads in
	link(t, at("repository", "bin", "npm"), at("home", "programs", "npm"))             // a program that leads in
	link(t, at("repository", "project", "out"), at("home", "through"))                 // in, and out again
	link(t, "../../repository/project/node_modules/.bin", at("home", "relative", "x")) // a relative link
	t.Chdir(project)
	c := FindCheckout(project, at("home"))
	inside := []string{
		at("repository", "project", "node_modules", ".bin"), at("repository", "bin"),
		at("repository", "project", "out"), at("home", "link", "node_modules", ".bin"),
		at("home", "programs"), at("home", "through"), at("home", "relative", "x"),
		at("home", "..", "repository", "bin"), "node_modules/.bin", "",
	}
	for _, dir := range inside {
		path := dir + string(filepath.ListSeparator)
		found, err := c.Find(path, "npm")
		if dir == "" {
			path = string(filepath.ListSeparator) + at("home", "empty")
			if _, err := c.Find(path, "npm"); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v", path, err)
			}
			plant(t, filepath.Join(project, "npm"))
			found, err = c.Find(path, "npm")
		}
		if evidence.ClassOf(err) != evidence.Refused || !strings.Contains(err.Error(), "hint: put npm of the machine") {
			t.Errorf("%q: found %q, %v", dir, found, err)
		}
		if kept := c.FilterPath(path); dir != at("home", "programs") && strings.Contains(kept, at("repository")) {
			t.Errorf("%q: %q is left", dir, kept)
		}
		if found, err := c.Find(path+string(filepath.ListSeparator)+at("home", "bin"), "npm"); err != nil ||
			found != own {
			t.Errorf("%q and one of the machine: %q, %v", dir, found, err)
		}
	}
	if kept := c.FilterPath(
		strings.Join(append(inside, at("home", "started"), at("home", "bin")), string(filepath.ListSeparator))); kept !=
		at("home", "programs")+string(filepath.ListSeparator)+at("home", "bin") {
		t.Errorf("%q is left", kept)
	}
	if _, err := Run(t.Context(),
		Call{Path: at("repository", "bin", "npm"), Dir: root, Checkout: c}); evidence.ClassOf(err) != evidence.Refused {
		t.Errorf("one that somebody else found was started: %v", err)
	}

	// The user's home is no checkout, even where a repository is made of it.
	for _, dir := range []string{at("home"), "/"} {
		if c := FindCheckout(dir, at("home")); c.Holds(own) {
			t.Errorf("%s is taken for a checkout", dir)
		}
	}
	if err := os.Mkdir(at("home", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if c := FindCheckout(at("home", "empty"), at("home")); c.Holds(own) || !c.Holds(at("home", "empty", "npm")) {
		t.Error("a repository of the home is taken for a checkout, or the project is not")
	}
	if !(Checkout{}).Holds(own) {
		t.Error("nobody said where the checkout is, and something does not lie in it")
	}
}

// What tells a tool where to find programs tells it of none of the checkout.
func TestCheckoutEnvironment(t *testing.T) {
	dir := t.TempDir()
	c := FindCheckout(dir, "")
	for _, name := range programVariables {
		for tool := range allowedVariables {
			if got := Environment(tool, []string{name + "=" + filepath.Join(dir, "x")}, nil, c); len(got) > 0 {
				t.Errorf("%s gets %q", tool, got)
			}
		}
	}
	sep := string(filepath.ListSeparator)
	for _, got := range [][]string{
		Environment(NPM, []string{"PATH=" + filepath.Join(dir, "bin") + sep + "/usr/bin" + sep + sep + "bin"}, nil, c),
		Environment(NPM, nil, []string{"PATH=" + filepath.Join(dir, "bin") + sep + "/usr/bin" + sep + sep + "bin"}, c),
	} {
		if len(got) != 1 || got[0] != "PATH=/usr/bin" && runtime.GOOS != "windows" {
			t.Errorf("%q", got)
		}
	}
}
