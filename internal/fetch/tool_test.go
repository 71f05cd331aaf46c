package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestToolsStandAlone: each tool's files are read when its own registry is asked, and a broken file
// stops what comes from there and nothing else.
func TestToolsStandAlone(t *testing.T) {
	for kind, broken := range map[artifact.Kind]struct{ file, ref string }{
		artifact.NPM:   {".npmrc", "npm:a@1.0.0"},
		artifact.PyPI:  {".config/uv/uv.toml", "pypi:a==1.0.0"},
		artifact.Cargo: {".cargo/config.toml", "cargo:a@1.0.0"},
	} {
		home := t.TempDir()
		text := "[[[broken\n" + strings.Repeat("#", 1<<20) // npm takes any text, but not so much of it
		write(t, filepath.Join(home, filepath.FromSlash(broken.file)), text)
		c := New(UserConfig(environment(nil), "", home))
		for other := range c.tools {
			_, err := c.withTool(other)
			if (err != nil) != (other == kind) {
				t.Errorf("%s broken, %s: %v", broken.file, other, err)
			}
		}
		_, err := get(t, c, broken.ref)
		var e *evidence.Error
		if !errors.As(err, &e) || e.Class() != evidence.Validation || e.Hint == "" ||
			!strings.Contains(e.Error(), filepath.FromSlash(broken.file)) {
			t.Errorf("%s: %v", broken.file, err)
		}
		if c.Hosts(kind, "a") != nil || c.CheckoutHosts(kind) != nil || c.IgnoredSettings(kind) != nil {
			t.Errorf("%s broken: hosts are known", broken.file)
		}
	}
}

// TestHostsOfOtherTools: a host that the user's configuration of one tool names needs no consent for
// another. That configuration is read for a host alone that nothing else names.
func TestHostsOfOtherTools(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	npmrc := write(t, filepath.Join(home, ".npmrc"), "registry=https://mirror.example.com/\n")
	write(t, filepath.Join(home, ".config", "uv", "uv.toml"), "[[[broken\n")
	write(t, filepath.Join(project, ".cargo", "config.toml"), "[source.crates-io]\nreplace-with = \"m\"\n"+
		"[source.m]\nregistry = \"sparse+https://mirror.example.com/crates/\"\n")
	c := New(UserConfig(environment(nil), project, home))
	if !c.Names("github.com") || len(c.CheckoutHosts(artifact.Cargo)) != 0 {
		t.Error("a host that the user names is asked about")
	}
	if err := os.Remove(npmrc); err != nil {
		t.Fatal(err)
	}
	if c = New(UserConfig(environment(nil), project, home)); len(c.CheckoutHosts(artifact.Cargo)) != 1 {
		t.Error("a host that the checkout alone names is not asked about")
	}
	c = c.ForRefs(mustRef(t, "https://files.example.com/f#sha256="+sha("")))
	write(t, npmrc, "registry=https://late.example.com/\n")
	if c.Names("late.example.com") {
		t.Error("the files are read again")
	}
}
