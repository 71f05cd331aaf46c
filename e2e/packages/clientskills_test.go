//go:build linux

package packages

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// skillListers are clients that say which skills they found.
var skillListers = []struct {
	name    string
	program func(t *testing.T) []string
	once    string // with which each skill that is found is listed
}{
	{"gemini", func(t *testing.T) []string {
		return []string{"node", filepath.Join(unpackNPM(t, "@google/gemini-cli@latest"), "bundle", "gemini.js"), "skills", "list"}
	}, `(?m)^(pdf) \[Enabled\]`},
	{"opencode", func(t *testing.T) []string {
		return []string{filepath.Join(unpackNPM(t, "opencode-linux-x64@latest"), "bin", "opencode"), "debug", "skill"}
	}, `"name": "(pdf)"`},
	{"codex", func(t *testing.T) []string {
		manifest, err := os.ReadFile(filepath.Join(unpackNPM(t, "@openai/codex@latest"), "package.json"))
		if err != nil {
			t.Fatal(err)
		}
		of := regexp.MustCompile(`"npm:(@openai/codex@[^"]*-linux-x64)"`).FindSubmatch(manifest)
		if of == nil {
			t.Fatalf("names no package for this system: %s", manifest)
		}
		found, err := filepath.Glob(filepath.Join(unpackNPM(t, string(of[1])), "vendor", "*", "bin", "codex"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%q, %v", found, err)
		}
		return []string{found[0], "debug", "prompt-input", "hello"}
	}, `(?:^|\\n)- (pdf): `},
}

// TestClientSkills needs the network: clients of today list what is installed for several of them once, and without a
// warning; of two copies they say so, or list one.
func TestClientSkills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("uses the network")
	}
	bin, dir, home := filepath.Join(world.Tools(t), "hallmark"), t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
		defer cancel()
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Dir = filepath.Join(dir, "project")
		c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "CODEX_HOME=", "HALLMARK_HOME=", "NO_COLOR=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	const skill = "---\nname: pdf\ndescription: Reads PDF.\n---\nRead.\n"
	write(filepath.Join(dir, "kit", ".claude-plugin", "plugin.json"), `{"name": "kit"}`)
	write(filepath.Join(dir, "kit", "skills", "pdf", "SKILL.md"), skill)
	write(filepath.Join(dir, "project", "hallmark.toml"),
		"manifest_version = 1\n[adapters]\ntargets = [\"claude-code\", \"codex\", \"cursor\", \"gemini\", \"opencode\"]\n")
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "project"))
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(home, ".gemini", "trustedFolders.json"), `{"`+real+`": "TRUST_FOLDER"}`)
	write(filepath.Join(home, ".codex", "config.toml"), "[projects.\""+real+"\"]\ntrust_level = \"trusted\"\n")
	run(bin, "add", "--path", "../kit", "--yes")
	clients := skillListers[:1]
	if sample.Whole() {
		clients = skillListers
	}
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			program := c.program(t)
			out := run(program...)
			if n := len(regexp.MustCompile(c.once).FindAllString(out, -1)); n != 1 || strings.Contains(out, "Skill conflict") {
				t.Errorf("lists the skill %d times\n%s", n, out)
			}
			if c.name != "gemini" {
				return
			}
			write(filepath.Join(dir, "project", ".gemini", "skills", "pdf", "SKILL.md"), skill)
			if out := run(program...); !strings.Contains(out, "Skill conflict") {
				t.Errorf("says nothing of two copies: this test would find nothing\n%s", out)
			}
			if err := os.RemoveAll(filepath.Join(dir, "project", ".gemini", "skills")); err != nil {
				t.Fatal(err)
			}
		})
	}
}
