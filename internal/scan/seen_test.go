package scan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/host"
)

// An entry that Hallmark wrote, or gave back, is no news; nor is one whose secret is another.
func TestFindNews(t *testing.T) {
	dir := t.TempDir()
	h := &host.Host{Places: host.Places{State: filepath.Join(dir, "state")}}
	entry := func(state State, command string, args ...string) Server {
		return Server{Client: "cursor", File: "/home/a/.cursor/mcp.json", Name: "s", User: true, State: state, Command: command,
			Arguments: args}
	}
	look := func(o Options, s Server) News {
		t.Helper()
		r := &Result{Servers: []Server{s}}
		o.Home = dir
		if err := r.FindNews(t.Context(), h, o); err != nil {
			t.Fatal(err)
		}
		return r.Servers[0].News
	}
	for i, step := range []struct {
		s    Server
		o    Options
		want News
	}{
		{entry(StateOpen, "npx", "a"), Options{}, ""},
		{entry(StateOpen, "npx", "a"), Options{}, ""},
		{entry(StateGuarded, "/bin/hallmark", "run", "s"), Options{}, ""},
		{entry(StateGuarded, "/bin/hallmark", "run", "s"), Options{}, ""},
		{entry(StateOpen, "npx", "a"), Options{}, ""},
		{entry(StateOpen, "npx", "b"), Options{Project: true}, ""},
		{entry(StateOpen, "npx", "b"), Options{Paths: []string{"x"}}, ""},
		{entry(StateOpen, "npx", "b"), Options{}, ChangedEntry},
		{entry(StateOpen, "npx", "b"), Options{}, ""},
		{Server{Client: "cursor", File: "/p/.cursor/mcp.json", Name: "s", State: StateOpen}, Options{}, ""}, // a project's
		{entry(StateOpen, "npx", "b"), Options{}, NewEntry},                                                 // it was gone
		{entry(StateOpen, "npx", "b"), Options{Clients: []string{"cursor"}}, ""},
		{Server{}, Options{Clients: []string{"cursor"}}, ""},
		{entry(StateOpen, "npx", "b"), Options{Clients: []string{"cursor"}}, NewEntry}, // it was gone
		{Server{}, Options{Clients: []string{"zed"}}, ""},
		{entry(StateOpen, "npx", "b"), Options{Clients: []string{"cursor"}}, ""}, // zed's alone was looked at
	} {
		if got := look(step.o, step.s); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	before := `{"seen_version":1,"looked":"2026-11-01T00:00:00Z","entries":{"` + digestOf("cursor") + `":""}}`
	if err := os.WriteFile(filepath.Join(dir, "state", "seen.json"), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := look(Options{}, entry(StateOpen, "npx", "b")); got != "" {
		t.Errorf("after a file whose entries are of no client: %q", got)
	}
	data, err := os.ReadFile(filepath.Join(dir, "state", "seen.json"))
	if err != nil || strings.Contains(string(data), "npx") || strings.Contains(string(data), "cursor") {
		t.Errorf("%s, %v", data, err)
	}
}
