package hallmark_test

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	registrylog "github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

// exampleWorld is what examples work in: a user's machine in a temporary directory, an npm
// registry with one package, and a registry of servers with a log, on loopback.
type exampleWorld struct {
	dir     string
	machine hallmark.Machine
	npm     *npmtest.Server

	registry string // base URL
	logKey   string // of its log

	close []func()
}

// newExampleWorld panics where it cannot be made, as examples have nobody to tell.
func newExampleWorld() *exampleWorld {
	dir, err := os.MkdirTemp("", "hallmark-example")
	check(err)
	w := &exampleWorld{dir: dir}
	w.later(func() {
		makeWritable(dir)
		os.RemoveAll(dir)
	})
	w.npm, err = npmtest.New()
	check(err)
	w.later(w.npm.Close)
	check(w.npm.Publish(
		npmtest.Package{Name: "notes", Version: "1.0.0", Manifest: map[string]any{"mcpName": "io.github.acme/notes"}}))
	w.write("authority.pem", string(w.npm.Authority()))
	w.write("server.json", string(serverDocument(w.npm)))
	w.machine = w.newMachine("machine")
	return w
}

// newMachine is a machine that has approved nothing yet.
func (w *exampleWorld) newMachine(name string) hallmark.Machine {
	return hallmark.Machine{
		Environ: append(w.npm.Environ(w.path("authority.pem")), "HALLMARK_HOME="+w.path(name), "HOME="+w.path(name),
			"USERPROFILE="+w.path(name),
			"PATH="+os.Getenv("PATH"), "SYSTEMROOT="+os.Getenv("SYSTEMROOT")),
		Stderr: io.Discard,
	}
}

// serveRegistry starts a registry that takes what anybody publishes.
func (w *exampleWorld) serveRegistry() {
	ctx := context.Background()
	records, err := sqlite.Open(ctx, w.path("registry.db"))
	check(err)
	w.later(func() { records.Close() })
	key, _, err := registry.OpenLogKey(ctx, w.path("log.key"), "log.example.com")
	check(err)
	heads := registrylog.FileHeads{Path: w.path("head")}
	check(registrylog.Begin(ctx, records, heads, key))
	log, err := registrylog.Open(ctx, records, heads, key, nil)
	check(err)
	w.later(func() { log.Close() })
	files, err := blobs.OpenFiles(w.path("blobs"))
	check(err)
	handler, err := pages.NewSite(api.Config{
		Records: records, Statuses: records, Tokens: records.Tokens(), Log: log, Validation: registry.Off,
		AllowAnonymous: true,
		Blobs:          files, Archives: registry.ArchiveKinds(archive.Limits{}), ArchiveRecords: records,
	})
	check(err)
	s := httptest.NewServer(handler)
	w.later(s.Close)
	w.registry, w.logKey = s.URL, key.VerifierKey
}

// calculator makes the directory a project with one server, a program that shows one tool.
func (w *exampleWorld) calculator() (project string) {
	check(built.Write(w.path("calculator.exe"), "e2e/puppet"))
	w.write("surface.json", puppetSurface)
	w.write("project/hallmark.toml", `manifest_version = 1
[providers.mcp.calculator]
command = "../calculator.exe"
arguments = ["../surface.json"]
`)
	return w.path("project")
}

func (w *exampleWorld) path(name string) string {
	return filepath.Join(w.dir, filepath.FromSlash(name))
}

func (w *exampleWorld) write(name, content string) {
	check(errors.Join(os.MkdirAll(filepath.Dir(w.path(name)), 0o700),
		os.WriteFile(w.path(name), []byte(content), 0o600)))
}

func (w *exampleWorld) later(f func()) { w.close = append(w.close, f) }

// Close ends everything, in the other order.
func (w *exampleWorld) Close() {
	for i := range w.close {
		w.close[len(w.close)-1-i]()
	}
}

// conversation is a client that sends some messages, and leaves when one was answered.
type conversation struct {
	*io.PipeReader
	client *io.PipeWriter
	until  string
	Answer string
}

func newConversation(until string, messages ...string) *conversation {
	c := &conversation{until: until}
	c.PipeReader, c.client = io.Pipe()
	go io.WriteString(c.client, strings.Join(messages, "\n")+"\n")
	return c
}

func (c *conversation) Write(text []byte) (int, error) {
	if strings.Contains(string(text), c.until) {
		c.Answer = string(text)
		c.client.Close()
	}
	return len(text), nil
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
