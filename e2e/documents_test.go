package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/coverage"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

var tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")

// TestServersDocument reads docs/servers.md as its readers do: each example is a valid
// hallmark.toml, the launchers that people use are shown pinned, every type of a verify
// block is there, and where identity belongs, what a launcher's cache is not, and how to
// migrate are said.
func TestServersDocument(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	text := read("../docs/servers.md")
	pinned := map[string]bool{}
	types := map[project.VerifyType]bool{}
	for _, block := range tomlBlock.FindAllStringSubmatch(text, -1) {
		c, err := project.ParseConfig([]byte(block[1]))
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
			continue
		}
		for _, s := range c.Servers {
			if target := launcher.Parse(s.Command, s.Arguments); target.Pinned() {
				pinned[target.Launcher] = true
			} else if len(target.Packages) > 0 || target.Opaque != "" {
				t.Errorf("%s is not pinned: %+v", s.Name, target)
			}
			if s.Verify != nil {
				types[s.Verify.Type] = true
			}
		}
	}
	for _, name := range []string{"uvx", "npx", "docker run"} {
		if !pinned[name] {
			t.Errorf("no example pins %s", name)
		}
	}
	for _, kind := range []project.VerifyType{project.VerifyCommand, project.VerifyFile, project.VerifyNone} {
		if !types[kind] {
			t.Errorf("no example of a verify block of type %q", kind)
		}
	}
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"Write the version into `arguments`, in the launcher's own syntax",
		"it protects that program, not the tool it starts",
		"the cache of a launcher is no contract and no stable place",
		"`hallmark config migrate` rewrites it",
		"`checksum` will be removed, after at least one release",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("docs/servers.md does not say %q", want)
		}
	}
	changes := strings.Join(strings.Fields(read("../CHANGELOG.md")), " ")
	if !strings.Contains(changes, "`[providers.mcp.*].checksum` in `hallmark.toml`, in favour of `.verify`") ||
		!strings.Contains(changes, "for at least one release after this one") {
		t.Error("CHANGELOG.md does not announce the end of checksum")
	}
}

// testName is a test as docs/attacks.md names it.
var testName = regexp.MustCompile("`([a-z0-9/]+\\.Test[^`]*)`")

// TestAttacksDocument requires that each attack of docs/attacks.md names tests, and that
// these exist.
func TestAttacksDocument(t *testing.T) {
	data, err := os.ReadFile("../docs/attacks.md")
	if err != nil {
		t.Fatal(err)
	}
	root, rows := os.DirFS(".."), 0
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| attack |") {
			continue
		}
		rows++
		names := testName.FindAllStringSubmatch(line, -1)
		if len(names) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, name := range names {
			test, err := coverage.ParseTest(name[1])
			if err == nil {
				err = coverage.Exists(root, test)
			}
			if err != nil {
				t.Errorf("%s: %v", name[1], err)
			}
		}
	}
	if rows < 30 {
		t.Errorf("%d attacks", rows)
	}
}
