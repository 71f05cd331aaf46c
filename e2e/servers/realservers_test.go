package servers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// realServer is an MCP server of a public registry, at two of its versions.
type realServer struct {
	name      string
	command   string   // its launcher
	old, new  string   // the package at either version, as the launcher is told
	with      []string // what it needs beside it
	until     bool     // with is for the old version only
	arguments []string // of the server
	variables []string // that it wants; what they hold opens nothing
	tool      string   // that is called
	before    string   // what that was called in the old version, if otherwise
	input     map[string]any
	answer    string // a part of what it answers
	change    string // a part of the differences between the two surfaces
}

// realServers answer without an account and without a network; where a tool would need
// one, its input is such that the server itself refuses it.
var realServers = []realServer{
	{name: "memory", command: "npx", old: "@modelcontextprotocol/server-memory@2025.4.25",
		new:  "@modelcontextprotocol/server-memory@2026.8.31",
		tool: "read_graph", answer: "entities", change: "/outputSchema added"},
	{name: "thinking", command: "npx", old: "@modelcontextprotocol/server-sequential-thinking@2025.7.1",
		new:    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
		tool:   "sequentialthinking",
		input:  map[string]any{"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1},
		answer: "thoughtHistoryLength", change: "description-changed"},
	{name: "filesystem", command: "npx", old: "@modelcontextprotocol/server-filesystem@2025.3.28",
		new: "@modelcontextprotocol/server-filesystem@2026.8.31", arguments: []string{"."},
		change: "/outputSchema added",
		tool:   "list_allowed_directories", answer: "llowed"},
	{name: "everything", command: "npx", old: "@modelcontextprotocol/server-everything@2025.9.25",
		new:  "@modelcontextprotocol/server-everything@2026.8.31",
		tool: "echo", input: map[string]any{"message": "hallmark"}, answer: "hallmark", change: "tool-removed"},
	{name: "clock", command: "npx", old: "time-mcp@1.0.4", new: "time-mcp@1.0.6", tool: "current_time",
		input: map[string]any{"format": "YYYY-MM-DD"}, change: "parameter \"format\" became optional"},
	{name: "sequential", command: "npx", old: "mcp-sequentialthinking-tools@0.0.2",
		new: "mcp-sequentialthinking-tools@0.0.3", tool: "sequentialthinking_tools",
		change: "required parameter \"available_mcp_tools\" added"},
	{name: "github", command: "npx", old: "@modelcontextprotocol/server-github@2025.1.23",
		new: "@modelcontextprotocol/server-github@2025.4.8", tool: "get_issue", change: "tool-added"},
	{name: "airtable", command: "npx", old: "airtable-mcp-server@1.10.0", new: "airtable-mcp-server@1.14.0",
		variables: []string{"AIRTABLE_API_KEY"}, tool: "list_tables"},
	{name: "time", command: "uvx", old: "mcp-server-time==2025.7.1", new: "mcp-server-time==2026.10.19",
		with: []string{"--with", "mcp<2"}, until: true, arguments: []string{"--local-timezone=Etc/UTC"},
		tool:   "convert_time",
		input:  map[string]any{"source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
		answer: "+9.0h"},
	{name: "git", command: "uvx", old: "mcp-server-git==2025.7.1", new: "mcp-server-git==2026.10.19",
		with: []string{"--with", "mcp<2"}, until: true,
		tool: "git_status", input: map[string]any{"repo_path": "."}},
	{name: "sqlite", command: "uvx", old: "mcp-server-sqlite==0.6.2", new: "mcp-server-sqlite==2025.4.25",
		with: []string{"--with", "mcp<2"}, arguments: []string{"--db-path", "x.db"}, change: "read_query",
		tool: "read_query", before: "read-query", input: map[string]any{"query": "SELECT 40+2 AS n"},
		answer: "'n': 42"},
	{name: "fetch", command: "uvx", old: "mcp-server-fetch==2025.4.7", new: "mcp-server-fetch==2026.10.24",
		with: []string{"--with", "mcp<2"}, until: true, tool: "fetch", change: "schema-widened"},
}

// TestRealServers pins real servers with all that they depend on, runs them, calls a tool
// through the official client, and upgrades them to a newer real version, whose differences
// are shown before it is locked. It tries one of npm, beside those of package pypi, and 'make real' all. It reaches
// package registries.
func TestRealServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reaches package registries")
	}
	world.NeedsPython(t)
	bin, home := world.Build(t, "hallmark"), t.TempDir()
	t.Cleanup(func() { writable(home) })
	servers := realServers
	if !sample.Whole() {
		ofPython := func(s realServer) bool { return s.command == "uvx" }
		servers = sample.Of(t, slices.DeleteFunc(slices.Clone(servers), ofPython), 1)
	}
	runs := make([]*realRun, len(servers))
	var all errgroup.Group
	all.SetLimit(4) // they wait for the network more than they compute
	for i, s := range servers {
		r := &realRun{realServer: s, bin: bin, home: home, dir: t.TempDir()}
		runs[i] = r
		all.Go(func() error {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
			defer cancel()
			r.err = r.all(ctx)
			r.took = time.Since(start)
			return nil
		})
	}
	all.Wait()
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			if r.err != nil {
				t.Fatal(r.err)
			}
			t.Logf("%s to %s in %v\n%s", r.old, r.new, r.took.Round(100*time.Millisecond), r.changes)
		})
	}
}

// writable lets the directories of a store be removed.
func writable(dir string) {
	filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
}

// realRun is one server in a project of its own.
type realRun struct {
	realServer
	bin, home, dir string
	flags          []string // of hallmark run
	changes        string   // between the surfaces, as they were shown
	err            error
	took           time.Duration
}

func (r *realRun) all(ctx context.Context) error {
	if _, err := exec.CommandContext(ctx, "git", "init", "-q", r.dir).Output(); err != nil { // for the server of git
		return err
	}
	if err := r.declare(r.old, r.with); err != nil {
		return err
	}
	out, err := r.hallmark(ctx, 0, "pin", "--yes")
	if err != nil {
		return err
	}
	if !strings.Contains(out, "each verified") || !strings.Contains(out, "tool:"+cmp.Or(r.before, r.tool)) {
		return fmt.Errorf("pin of %s shows\n%s", r.old, out)
	}
	if err := r.use(ctx, cmp.Or(r.before, r.tool)); err != nil {
		return fmt.Errorf("%s: %w", r.old, err)
	}
	before, err := r.lockedSurface()
	if err != nil {
		return err
	}
	if r.until {
		r.with = nil
	}
	if err := r.declare(r.new, r.with); err != nil {
		return err
	}
	// Another version than the one that was locked is not started.
	if out, err := r.hallmark(ctx, 4, "run", r.name); err != nil || !strings.Contains(out, "launch mismatch") {
		return errors.Join(err, fmt.Errorf("run of %s before it is pinned says\n%s", r.new, out))
	}
	if out, err = r.hallmark(ctx, 0, "pin", "--yes"); err != nil {
		return err
	}
	after, err := r.lockedSurface()
	if err != nil {
		return err
	}
	_, changes, shown := strings.Cut(out, "  changes     ")
	r.changes = changes
	if before == after || !shown || !strings.Contains(changes, r.change) {
		return fmt.Errorf("the upgrade from %s to %s, surfaces %s and %s, shows\n%s", r.old, r.new, before, after, out)
	}
	if err := r.use(ctx, r.tool); err != nil {
		return fmt.Errorf("%s: %w", r.new, err)
	}
	_, err = r.hallmark(ctx, 0, "check", "--offline")
	return err
}

// declare writes hallmark.toml with the server at one version.
func (r *realRun) declare(version string, with []string) error {
	arguments, err := json.Marshal(
		slices.Concat(with, []string{"--from", version, strings.Split(version, "==")[0]}, r.arguments))
	switch r.command {
	case "npx":
		arguments, err = json.Marshal(slices.Concat([]string{"-y", version}, r.arguments))
	case "go":
		arguments, err = json.Marshal(slices.Concat([]string{"run"}, with, []string{version}, r.arguments))
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("manifest_version = 1\n[providers.mcp.%s]\ncommand = %q\narguments = %s\n", r.name, r.command,
		arguments)
	if len(r.variables) > 0 {
		text += fmt.Sprintf("variables = [%q]\n", strings.Join(r.variables, `", "`))
	}
	return os.WriteFile(filepath.Join(r.dir, "hallmark.toml"), []byte(text), 0o600)
}

// command is the program in the project, with the environment of whoever runs the test.
func (r *realRun) program(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, r.bin, args...)
	c.Dir = r.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "HALLMARK_") {
			c.Env = append(c.Env, kv)
		}
	}
	c.Env = append(c.Env, "HALLMARK_HOME="+r.home)
	for _, name := range r.variables {
		c.Env = append(c.Env, name+"=none")
	}
	return c
}

// hallmark runs the program to its end and gives all that it printed.
func (r *realRun) hallmark(ctx context.Context, want int, args ...string) (string, error) {
	c := r.program(ctx, args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && c.ProcessState == nil {
		return "", err
	}
	if code := c.ProcessState.ExitCode(); code != want {
		return "", fmt.Errorf("hallmark %q: exit code %d, want %d\n%s", args, code, want, &out)
	}
	return out.String(), nil
}

// use starts the server through the guard with the official client, lists its tools and
// calls one. No registry can be reached meanwhile, and no resolver found.
func (r *realRun) use(ctx context.Context, called string) error {
	c := r.program(ctx, slices.Concat([]string{"run"}, r.flags, []string{r.name})...)
	c.Env = append(c.Env, "npm_config_registry=https://127.0.0.1:1", "UV_DEFAULT_INDEX=https://127.0.0.1:1/simple",
		"PIP_INDEX_URL=https://127.0.0.1:1/simple")
	var messages bytes.Buffer
	c.Stderr = &messages
	fail := func(err error) error { return fmt.Errorf("%w\n%s", err, &messages) }
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: c}, nil)
	if err != nil {
		return fail(err)
	}
	defer session.Close() // its error says how the server ended, and some do not by themselves
	found := false
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fail(err)
		}
		names = append(names, tool.Name)
		found = found || tool.Name == called
	}
	if !found {
		return fail(fmt.Errorf("lists %q", names))
	}
	input := r.input
	if input == nil {
		input = map[string]any{}
	}
	answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: called, Arguments: input})
	if err != nil {
		if refused := new(jsonrpc.Error); errors.As(err, &refused) && r.answer == "" {
			return nil // the server's own refusal of the input
		}
		return fail(err)
	}
	var text string
	for _, content := range answer.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	if text == "" || !strings.Contains(text, r.answer) {
		return fail(fmt.Errorf("%s answers %q", called, text))
	}
	return nil
}

// lockedSurface is the digest of the surface that the lock has.
func (r *realRun) lockedSurface() (string, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, "hallmark.lock"))
	if err != nil {
		return "", err
	}
	var lock struct {
		Servers map[string]struct {
			Surface string `json:"surface"`
		} `json:"servers"`
	}
	err = json.Unmarshal(data, &lock)
	return lock.Servers[r.name].Surface, err
}
