package hosttest

import (
	"bytes"
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
	"github.com/hallmark-mcp/hallmark/project"
)

// FacetProject is a project with a user's home of its own.
type FacetProject struct {
	T    *testing.T
	Dir  string
	Host *host.Host
}

// NewFacetProject makes a project, with this text in its hallmark.toml unless it is empty.
func NewFacetProject(t *testing.T, config string) *FacetProject {
	t.Helper()
	base := t.TempDir()
	t.Cleanup(func() { RemoveTree(base) })
	p := &FacetProject{T: t, Dir: filepath.Join(base, "project"), Host: &host.Host{
		Sending: AnyHost(), // hosts_test.go of facets has hosts that nobody agreed to
		Places:  host.Places{Cache: filepath.Join(base, "cache"), State: filepath.Join(base, "state")},
		Environ: os.Environ(), Getenv: os.Getenv, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now,
	}}
	if err := os.Mkdir(p.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if config != "" {
		p.Write(project.ConfigFile, "manifest_version = 1\n"+config)
	}
	return p
}

// Path is where a file of the project lies.
func (p *FacetProject) Path(name string) string {
	return filepath.Join(p.Dir, filepath.FromSlash(name))
}

// Write writes a file of the project.
func (p *FacetProject) Write(name, content string) {
	p.T.Helper()
	if err := os.MkdirAll(filepath.Dir(p.Path(name)), 0o755); err != nil {
		p.T.Fatal(err)
	}
	if err := os.WriteFile(p.Path(name), []byte(content), 0o644); err != nil {
		p.T.Fatal(err)
	}
}

// Read is the content of a file, "" if there is none.
func (p *FacetProject) Read(name string) string {
	p.T.Helper()
	data, err := os.ReadFile(p.Path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.T.Fatal(err)
	}
	return string(data)
}

// Kit is a facet's directory with one skill of two files, an agent and a command.
func (p *FacetProject) Kit(dir, version, text string) {
	p.Write(dir+"/facet.json",
		`{"name":"kit","version":"`+version+
			`","skills":{"greet":{"description":"Greets: \"all\".","files":["names.txt"]}},
		"agents":{"helper":{"description":"Helps."}},"commands":{"wave":{"description":"Waves."}}}`)
	p.Write(dir+"/skills/greet/SKILL.md", "# Greet\n"+text)
	p.Write(dir+"/skills/greet/names.txt", "Ada\n")
	p.Write(dir+"/agents/helper.md", "---\nname: helper\n---\nHelp.\n")
	p.Write(dir+"/commands/wave.md", "Wave.\n")
}

// Install installs the facets of the project.
func (p *FacetProject) Install(o facets.Options) (*facets.Installation, error) {
	return facets.Install(context.Background(), p.Host, p.Dir, o)
}

// Must demands that there is no error.
func (p *FacetProject) Must(out *facets.Installation, err error) *facets.Installation {
	p.T.Helper()
	if err != nil {
		p.T.Fatal(err)
	}
	return out
}

// Refused demands an error of a class that names each text.
func (p *FacetProject) Refused(class evidence.Class, err error, texts ...string) {
	p.T.Helper()
	if err == nil || evidence.ClassOf(err) != class {
		p.T.Fatalf("got %v (%v), want class %v", err, evidence.ClassOf(err), class)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			p.T.Errorf("%q is not in\n%v", text, err)
		}
	}
}

// All is every file of the project and of the state, with its content.
func (p *FacetProject) All() string {
	var b strings.Builder
	for _, root := range []string{p.Dir, p.Host.Places.State} {
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

// EmptyStore makes the store cold.
func (p *FacetProject) EmptyStore() {
	p.T.Helper()
	root := filepath.Join(p.Host.Places.Cache, "store")
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(root); err != nil {
		p.T.Fatal(err)
	}
}

// SlotFile is the path of a file in the only slot.
func (p *FacetProject) SlotFile(name string) string {
	p.T.Helper()
	found, err := filepath.Glob(filepath.Join(p.Host.Places.Cache, "store", "sha256", "*", "*", name))
	if err != nil || len(found) != 1 {
		p.T.Fatalf("%d slots have %s: %v", len(found), name, err)
	}
	return found[0]
}

// Overwrite changes a read-only file of the store.
func (p *FacetProject) Overwrite(path string, change func([]byte) []byte) {
	p.T.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		p.T.Fatal(err)
	}
	os.Chmod(path, 0o600)
	if err := os.WriteFile(path, change(bytes.Clone(data)), 0o600); err != nil {
		p.T.Fatal(err)
	}
}

// Entry is what hallmark.lock has of a facet.
func (p *FacetProject) Entry(name string) project.FacetLock {
	p.T.Helper()
	lock, err := project.ParseLock([]byte(p.Read(project.LockFile)))
	if err != nil {
		p.T.Fatal(err)
	}
	entry, ok := lock.Facet(name)
	if !ok {
		p.T.Fatalf("%s is not locked", name)
	}
	return entry
}

// Observed is one digest that was observed.
func Observed(d digest.Digest) evidence.Observed {
	return evidence.Observed{Digests: []digest.Digest{d}}
}

// ConsentToChanges consents to whatever changes of facets.
func ConsentToChanges([]facets.Change) (host.Consent, error) { return host.StandingConsent, nil }

// RemoveTree removes a directory, even one that is read only.
func RemoveTree(dir string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}
