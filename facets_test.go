package hallmark

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// facetProject is a project with a user's home of its own.
type facetProject struct {
	t    *testing.T
	dir  string
	host *host.Host
}

func newFacetProject(t *testing.T, config string) *facetProject {
	t.Helper()
	base := t.TempDir()
	t.Cleanup(func() { removeTree(base) })
	p := &facetProject{t: t, dir: filepath.Join(base, "project"), host: &host.Host{
		Sending: hosttest.AnyHost(), // hosts_test.go has hosts that nobody agreed to
		Places:  host.Places{Cache: filepath.Join(base, "cache"), State: filepath.Join(base, "state")},
		Environ: os.Environ(), Getenv: os.Getenv, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now,
	}}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if config != "" {
		p.write(project.ConfigFile, "manifest_version = 1\n"+config)
	}
	return p
}

func (p *facetProject) path(name string) string {
	return filepath.Join(p.dir, filepath.FromSlash(name))
}

func (p *facetProject) write(name, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// read is the content of a file, "" if there is none.
func (p *facetProject) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(data)
}

// kit is a facet's directory with one skill of two files, an agent and a command.
func (p *facetProject) kit(dir, version, text string) {
	p.write(dir+"/facet.json",
		`{"name":"kit","version":"`+version+
			`","skills":{"greet":{"description":"Greets: \"all\".","files":["names.txt"]}},
		"agents":{"helper":{"description":"Helps."}},"commands":{"wave":{"description":"Waves."}}}`)
	p.write(dir+"/skills/greet/SKILL.md", "# Greet\n"+text)
	p.write(dir+"/skills/greet/names.txt", "Ada\n")
	p.write(dir+"/agents/helper.md", "---\nname: helper\n---\nHelp.\n")
	p.write(dir+"/commands/wave.md", "Wave.\n")
}

func (p *facetProject) install(o facets.Options) (*facets.Installation, error) {
	return facets.Install(context.Background(), p.host, p.dir, o)
}

func (p *facetProject) must(out *facets.Installation, err error) *facets.Installation {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// refused demands an error of a class that names each text.
func (p *facetProject) refused(class evidence.Class, err error, texts ...string) {
	p.t.Helper()
	if err == nil || evidence.ClassOf(err) != class {
		p.t.Fatalf("got %v (%v), want class %v", err, evidence.ClassOf(err), class)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			p.t.Errorf("%q is not in\n%v", text, err)
		}
	}
}

// all is every file of the project and of the state, with its content.
func (p *facetProject) all() string {
	var b strings.Builder
	for _, root := range []string{p.dir, p.host.Places.State} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, "writer") &&
				!strings.HasSuffix(path, "files") {
				data, _ := os.ReadFile(path)
				b.WriteString(path + "\n" + string(data) + "\n")
			}
			return nil
		})
	}
	return b.String()
}

const localKit = "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"claude-code\", \"dir:tools\"]\n"

func TestInstallLocal(t *testing.T) {
	p := newFacetProject(t, localKit)
	p.kit("kit", "1.0.0", "Say hello.\n")
	out := p.must(p.install(facets.Options{}))
	if len(out.Files) != 8 || !out.Written || out.Facets[0].Outcome != "installed" {
		t.Fatalf("%+v", out)
	}
	for name, want := range map[string]string{
		".claude/skills/greet/SKILL.md": "---\nname: greet\ndescription: \"Greets: \\\"all\\\".\"\n---\n\n# Greet\n" +
			"Say hello.\n",
		".claude/skills/greet/names.txt": "Ada\n",
		".claude/agents/helper.md":       "---\ndescription: \"Helps.\"\nname: helper\n---\nHelp.\n",
		".claude/commands/wave.md":       "---\nname: wave\ndescription: \"Waves.\"\n---\n\nWave.\n",
		"tools/skills/greet/SKILL.md":    "# Greet\nSay hello.\n",
		"tools/commands/wave.md":         "Wave.\n",
	} {
		if got := p.read(name); got != want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, want)
		}
	}
	before := p.all()
	if out = p.must(p.install(facets.Options{Frozen: true, Offline: true})); out.Written ||
		out.Facets[0].Outcome != "unchanged" || p.all() != before {
		t.Errorf("a second install: %+v", out)
	}

	// The lock follows the directory, save under --frozen.
	p.kit("kit", "1.1.0", "Say hello, twice.\n")
	lock := p.read(project.LockFile)
	_, err := p.install(facets.Options{Frozen: true})
	p.refused(evidence.Integrity, err)
	if p.read(project.LockFile) != lock || strings.Contains(p.read("tools/skills/greet/SKILL.md"), "twice") {
		t.Error("a refused install changed something")
	}
	if out = p.must(p.install(facets.Options{})); out.Facets[0].Outcome != "updated" || len(out.Facets[0].Assets) != 2 {
		t.Errorf("%+v", out.Facets[0])
	}
	if !strings.Contains(p.read("tools/skills/greet/SKILL.md"), "twice") || p.read(project.LockFile) == lock {
		t.Error("not updated")
	}

	// Removal takes away what was installed, and directories with it.
	out, err = facets.Remove(t.Context(), p.host, p.dir, []string{"kit"}, facets.Options{})
	p.must(out, err)
	if len(out.Deleted) != 8 || out.Facets[0].Outcome != "removed" {
		t.Errorf("%+v", out)
	}
	for _, name := range []string{".claude", "tools"} {
		if _, err := os.Stat(p.path(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if strings.Contains(p.read(project.ConfigFile), "kit =") || strings.Contains(p.read(project.LockFile), "kit") {
		t.Error("still declared or locked")
	}
}

func observed(d digest.Digest) evidence.Observed {
	return evidence.Observed{Digests: []digest.Digest{d}}
}

func admitAll(report evidence.Report) policy.Admitted {
	return policy.Judge(policy.Install, policy.Settings{}, report).Admitted()
}
