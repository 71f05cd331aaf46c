//go:build unix

package hfmcp

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

// peer calls the tools for one allowed directory.
type peer struct {
	t     *testing.T
	dir   string
	sc    *roots.Scope
	tools map[string]toolset.Tool
}

type arguments map[string]any

// maxFile is the size of the largest file here, in bytes.
const maxFile = 1 << 20

func serve(t *testing.T) *peer {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	locks := t.TempDir()
	must(t, os.Chmod(locks, 0o700)) // whatever the umask is
	source, err := roots.NewSource([]string{d}, 0)
	must(t, err)
	p := &peer{t, d, source.Configured(), map[string]toolset.Tool{}}
	t.Cleanup(func() { p.sc.Close(); source.Close() })
	for _, tool := range Tools(engine.New(engine.Options{Locks: locks, MaxFile: maxFile,
		Anchors: hashline.Options{Width: 2}, Warn: func(message string) { t.Error(message) }})) {
		p.tools[tool.Name] = tool
	}
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file in the directory.
func (p *peer) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	must(p.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(p.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// content returns what a file holds.
func (p *peer) content(path string) string {
	p.t.Helper()
	data, err := os.ReadFile(path)
	must(p.t, err)
	return string(data)
}

// call calls a tool, of which a refusal is the text.
func (p *peer) call(tool string, args arguments) (text string, refused *mcp.CallToolResult) {
	p.t.Helper()
	in, err := json.Marshal(args)
	must(p.t, err)
	called, ok := p.tools[tool]
	if !ok {
		p.t.Fatalf("there is no tool %s", tool)
	}
	a, err := called.Call(p.t.Context(), p.sc, in, 1<<20)
	if err != nil {
		refused = toolset.RefuseCall(called, err)
		return refused.Content[0].(*mcp.TextContent).Text, refused
	}
	var all strings.Builder
	all.WriteString(a.Text)
	if a.Write != nil {
		must(p.t, a.Write(&all))
	}
	return all.String(), nil
}

// says makes a call and demands its text.
func (p *peer) says(tool string, args arguments, want string) {
	p.t.Helper()
	if got, refused := p.call(tool, args); got != want || refused != nil {
		p.t.Errorf("%s %v says (error %t)\n%q, want\n%q", tool, args, refused != nil, got, want)
	}
}

// refuses makes a call that must fail, and demands what its text contains.
func (p *peer) refuses(tool string, args arguments, want string) {
	p.t.Helper()
	if got, refused := p.call(tool, args); refused == nil || !strings.Contains(got, want) {
		p.t.Errorf("%s %v says (error %t) %q, want %q", tool, args, refused != nil, got, want)
	}
}

// ops are the operations of an edit.
func ops(all ...arguments) []arguments { return all }
