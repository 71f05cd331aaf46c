//go:build unix

package packages

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
)

// clientPrograms are packages of clients, with the patterns by which each finds what it runs of a text when it loads it, as
// the text of its program has them. What package installed finds is wider than these: installed.TestLiveIsWider.
var clientPrograms = []struct {
	name     string
	files    string // that hold the program, below the package
	patterns []string
}{
	{"@google/gemini-cli", "bundle/*.js", []string{"!{", "@{"}},
	{"@qwen-code/qwen-code", "chunks/*.js", []string{"!{", "@{"}},
	{"opencode-linux-x64", "bin/opencode", []string{"!`([^`]+)`"}},
	{"@anthropic-ai/claude-code-linux-x64", "claude", []string{
		"!`", "!`[^`]*`", // which decide what is said of a text, and run nothing
		"(?<=^|\\s)!`([^`]+)`", "(?<=^|\\s)!`[^`]*`", "(?<=^|\\s)!`[^`]+`",
		"```!\\s*\\n?([\\s\\S]*?)\\n?```", "```!\\s*\\n?[\\s\\S]*?\\n?```",
	}},
}

var (
	// A literal of JavaScript that has an exclamation mark before a backtick, or behind three of them.
	liveLiteral = regexp.MustCompile("[=(,:]/((?:\\\\.|\\[[^\\]\\n]*\\]|[^/\\n\\\\\\[]){0,60}(?:!`|```!)" +
		"(?:\\\\.|\\[[^\\]\\n]*\\]|[^/\\n\\\\\\[]){0,60})/[dgimsuy]*")
	liveTrigger = regexp.MustCompile(`_INJECTION_TRIGGER = "([^"]*)"`)
	notFollowed = "(?!`" // which is about Markdown, and no exclamation mark
)

// TestClientPrograms needs the network: what the clients of today run of a text is what we know of them.
func TestClientPrograms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("uses the network")
	}
	programs := clientPrograms[:1]
	if sample.Whole() {
		programs = clientPrograms
	}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			dir := unpackNPM(t, p.name+"@latest")
			found := patternsOf(t, dir, p.files)
			if want := slices.Sorted(slices.Values(p.patterns)); !slices.Equal(found, want) {
				t.Errorf("has %q, and known are %q: see internal/installed/live.go", found, want)
			}
		})
	}
}

// unpackNPM is the directory of a package as it is in the registry.
func unpackNPM(t *testing.T, spec string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, "npm", "pack", spec, "--ignore-scripts", "--silent")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	if _, err := cmd.Output(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	tarballs, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(tarballs) != 1 {
		t.Fatalf("%q, %v", tarballs, err)
	}
	if out, err := exec.CommandContext(ctx, "tar", "-xzf", tarballs[0], "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(filepath.Base(tarballs[0]))
	return filepath.Join(dir, "package")
}

// patternsOf are the patterns in the files of a program that match, sorted.
func patternsOf(t *testing.T, dir, files string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if ok, err := filepath.Match(files, filepath.ToSlash(rel)); err != nil || !ok {
			return err
		}
		data, err := os.ReadFile(name)
		for _, re := range []*regexp.Regexp{liveLiteral, liveTrigger} {
			for _, m := range re.FindAllSubmatch(data, -1) {
				if s := string(m[1]); !strings.Contains(s, notFollowed) && !slices.Contains(found, s) {
					found = append(found, s)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}
