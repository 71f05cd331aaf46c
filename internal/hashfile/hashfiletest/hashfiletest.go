// Package hashfiletest calls the tools of an editing server as its session does, without one: for tests of the rooms
// that offer tools.
package hashfiletest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// Arguments are those of a call.
type Arguments map[string]any

// MaxFile is the size of the largest file that tools read, in bytes.
const MaxFile = 1 << 20

// Peer calls tools for one allowed directory.
type Peer struct {
	Dir   string // without links in its path
	Tools map[string]toolset.Tool
	t     *testing.T
	scope *roots.Scope
}

// Serve returns a peer for a new directory. A warning of the engine fails the test.
func Serve(t *testing.T, tools func(*engine.Engine) []toolset.Tool) *Peer {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	locks := t.TempDir()
	must(t, os.Chmod(locks, 0o700)) // whatever the umask is
	source, err := roots.NewSource([]string{dir}, 0)
	must(t, err)
	p := &Peer{dir, map[string]toolset.Tool{}, t, source.Configured()}
	t.Cleanup(func() { p.scope.Close(); source.Close() })
	for _, tool := range tools(engine.New(engine.Options{Locks: locks, MaxFile: MaxFile,
		Anchors: hashline.Options{Width: 2}, Warn: func(message string) { t.Error(message) }})) {
		p.Tools[tool.Name] = tool
	}
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Write makes a file below the directory, and returns its path.
func (p *Peer) Write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.Dir, filepath.FromSlash(name))
	must(p.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(p.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Content returns what a file holds.
func (p *Peer) Content(path string) string {
	p.t.Helper()
	data, err := os.ReadFile(path)
	must(p.t, err)
	return string(data)
}

// Call calls a tool. The answer's text is all of it, and that of the refusal if it is refused.
func (p *Peer) Call(tool string, args Arguments) (a *toolset.Answer, refused *mcp.CallToolResult) {
	p.t.Helper()
	in, err := json.Marshal(args)
	must(p.t, err)
	called, ok := p.Tools[tool]
	if !ok {
		p.t.Fatalf("there is no tool %s", tool)
	}
	if a, err = called.Call(p.t.Context(), p.scope, in, 1<<20); err != nil {
		refused = toolset.RefuseCall(called, err)
		return &toolset.Answer{Text: refused.Content[0].(*mcp.TextContent).Text}, refused
	}
	if a.Write != nil {
		var rest strings.Builder
		must(p.t, a.Write(&rest))
		a.Text += rest.String()
	}
	return a, nil
}

// Says makes a call, demands its text, and returns its answer.
func (p *Peer) Says(tool string, args Arguments, want string) *toolset.Answer {
	p.t.Helper()
	a, refused := p.Call(tool, args)
	if a.Text != want || refused != nil {
		p.t.Errorf("%s %v says (error %t)\n%q, want\n%q", tool, args, refused != nil, a.Text, want)
	}
	return a
}

// Refuses makes a call that must fail, and demands what its text contains.
func (p *Peer) Refuses(tool string, args Arguments, want string) {
	p.t.Helper()
	if a, refused := p.Call(tool, args); refused == nil || !strings.Contains(a.Text, want) {
		p.t.Errorf("%s %v says (error %t) %q, want %q", tool, args, refused != nil, a.Text, want)
	}
}
