package pypi

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

type pythonServer struct {
	name      string
	arguments []string
	tool      string // that it lists
	call      string // NAME=JSON
	answer    string // that is part of the answer
}

// pythonServers are real MCP servers of PyPI, as their users declare them: in each of the
// ways to name a version. Others are upgraded by TestRealServers.
var pythonServers = []pythonServer{
	{"sqlite", []string{"--from", "mcp-server-sqlite==0.6.2", "--with", "mcp<2", "mcp-server-sqlite", "--db-path",
		"x.db"}, "read_query",
		`read_query={"query":"SELECT 40+2 AS n"}`, "'n': 42"},
	{"time", []string{"--with", "mcp<2", "mcp-server-time==2026.1.26", "--local-timezone=Etc/UTC"}, "convert_time",
		`convert_time={"source_timezone":"Etc/UTC","time":"12:00","target_timezone":"Asia/Tokyo"}`, "+9.0h"},
	{"calculator", []string{"--with", "mcp<2", "mcp-server-calculator"}, "calculate", `calculate={"expression":"6*7"}`,
		"42"},
}

// tried are the servers of this run: the first, or all.
func tried() []pythonServer {
	if sample.Whole() {
		return pythonServers
	}
	return pythonServers[:1]
}

// temporary holds the worlds, which tests share.
var temporary string

func TestMain(m *testing.M) {
	var err error
	if temporary, err = os.MkdirTemp("", "hallmark-pypi-"); err != nil {
		panic(err)
	}
	code := m.Run()
	filepath.WalkDir(temporary, func(name string, e os.DirEntry, err error) error { // slots are read-only
		if err == nil && e.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	os.RemoveAll(temporary)
	os.Exit(code)
}

// withUV is the world with uv, whose first server is pinned once for the tests that use it, one after the other: the
// last of them upgrades it.
var withUV *pythonWorld

func pinnedWithUV(t *testing.T) *pythonWorld {
	t.Helper()
	if withUV == nil {
		w := newPythonWorld(t, os.Getenv("PATH"))
		w.pin(t, "sqlite")
		withUV = w
	}
	return withUV
}

// pin pins one server, and requires that all that it has is verified.
func (w *pythonWorld) pin(t *testing.T, name string) {
	t.Helper()
	if code, _, messages := w.run(t, w.bin, "pin", name, "--yes"); code != 0 {
		t.Fatalf("pin %s: exit code %d\n%s", name, code, messages)
	} else if !strings.Contains(messages, "each verified") ||
		!regexp.MustCompile(`(?m)^  script      [a-z_.]+:main$`).MatchString(messages) {
		t.Errorf("pin %s says\n%s", name, messages)
	}
}

// pythonWorld is a project whose servers are those, with an empty home of its own.
type pythonWorld struct {
	bin, client, dir, home string
	path                   string
	env                    []string // besides that of whoever runs the test
}

func newPythonWorld(t *testing.T, path string) *pythonWorld {
	t.Helper()
	w := &pythonWorld{path: path}
	base, err := os.MkdirTemp(temporary, "")
	if err != nil {
		t.Fatal(err)
	}
	w.dir, w.home, w.client = filepath.Join(base, "project"), filepath.Join(base, "home"), filepath.Join(base, "client")
	for _, dir := range []string{w.dir, w.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.bin = filepath.Join(base, "hallmark")
	built.Into(t, w.bin, "cmd/hallmark")
	built.Into(t, w.client, "e2e/client")
	config := "manifest_version = 1\n"
	for _, s := range tried() {
		arguments, err := json.Marshal(s.arguments)
		if err != nil {
			t.Fatal(err)
		}
		config += "[providers.mcp." + s.name + "]\ncommand = \"uvx\"\narguments = " + string(arguments) + "\n"
	}
	if err := os.WriteFile(filepath.Join(w.dir, "hallmark.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSecondProject pins a server that another project of the machine has already: its packages, and what was compiled
// of them, are in the store.
func TestSecondProject(t *testing.T) {
	first := pinnedWithUV(t)
	second := *first
	second.dir = filepath.Join(filepath.Dir(first.dir), "second")
	config, err := os.ReadFile(filepath.Join(first.dir, "hallmark.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(second.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(second.dir, "hallmark.toml"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	second.pin(t, "sqlite")
}

// run starts a program in the project and gives its exit code and what it printed.
func (w *pythonWorld) run(t *testing.T, program string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = w.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PATH=") && !strings.HasPrefix(kv, "HALLMARK_") {
			c.Env = append(c.Env, kv)
		}
	}
	c.Env = append(append(c.Env, "PATH="+w.path, "HALLMARK_HOME="+w.home), w.env...)
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), messages.String()
}

// tree is the installed tree that the lock has of a server.
func (w *pythonWorld) tree(t *testing.T, name string) (engine, tree string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "hallmark.lock"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Servers map[string]struct {
			Closure struct {
				Engine string            `json:"engine"`
				Trees  map[string]string `json:"trees"`
			} `json:"closure"`
		} `json:"servers"`
	}
	world.Decode(t, data, &lock)
	for _, d := range lock.Servers[name].Closure.Trees {
		tree = d
	}
	return lock.Servers[name].Closure.Engine, tree
}

// tryProject is a Python project that was never published: a server without dependencies, and its build by the oldest backend.
var tryProject = map[string]string{
	"pyproject.toml": `[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
[project]
name = "hallmark-tried-notes"
version = "1.0.0"
description = "Notes that were never published"
readme = "README.md"
[project.scripts]
hallmark-tried-notes = "tried_notes:main"
[tool.setuptools]
py-modules = ["tried_notes"]
`,
	"README.md": "# Notes\n\n<!-- mcp-name: io.github.acme/notes -->\n",
	"tried_notes.py": `import json, sys
def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = {}
        if request["method"] == "initialize":
            result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"}}
        if request["method"] == "tools/list":
            result = {"tools": [{"name": "note", "description": "says " + " ".join(sys.argv[1:]), "inputSchema": {"type": "object"}}]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`,
}

// TestTry tries a Python project before it is published, and then its wheel. It reaches package registries, for what
// builds it.
func TestTry(t *testing.T) {
	if testing.Short() {
		t.Skip("reaches package registries")
	}
	world.NeedsPython(t)
	w := newPythonWorld(t, os.Getenv("PATH"))
	for name, text := range tryProject {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, messages := w.run(t, w.bin, "try", ".", "--", "hello")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, messages)
	}
	for _, want := range []string{`(?m)^packed +hallmark_tried_notes-1\.0\.0-py3-none-any\.whl$`,
		`(?m)^hash +pypi:hallmark-tried-notes==1\.0\.0  sha256:[0-9a-f]{64}$`, `(?m)^draft +server\.json$`,
		`(?m)^tool:note  sha256:`, `says hello`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
	if strings.Contains(messages, "warning") {
		t.Error(messages)
	}
	var draft struct{ Name, Description string }
	world.Decode(t, mustRead(t, filepath.Join(w.dir, "server.json")), &draft)
	if draft.Name != "io.github.acme/notes" || draft.Description != "Notes that were never published" {
		t.Errorf("the draft has %+v", draft)
	}
	build := exec.Command("python3", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", "dist", ".")
	build.Dir = w.dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wheel := "dist/hallmark_tried_notes-1.0.0-py3-none-any.whl"
	bytes := mustRead(t, filepath.Join(w.dir, wheel))
	code, out, messages = w.run(t, w.bin, "try", wheel)
	if code != 0 || !strings.Contains(out, "valid       server.json") || !strings.Contains(messages,
		"next: 'hallmark hash-gen --write --local "+wheel+"', publish that very file") {
		t.Errorf("exit code %d\n%s%s", code, out, messages)
	}
	if string(mustRead(t, filepath.Join(w.dir, wheel))) != string(bytes) {
		t.Error("the wheel is another one now")
	}
	// By pip, and under a name that is another version's.
	w.path = pathWithoutUV(t)
	if code, out, messages = w.run(t, w.bin, "try", wheel); code != 0 || !strings.Contains(out, "tool:note") {
		t.Errorf("by pip: exit code %d\n%s%s", code, out, messages)
	}
	renamed := filepath.Join(w.dir, "hallmark_tried_notes-2.0.0-py3-none-any.whl")
	if err := os.Rename(filepath.Join(w.dir, wheel), renamed); err != nil {
		t.Fatal(err)
	}
	if code, _, messages = w.run(t, w.bin, "try", renamed); code != 2 || !strings.Contains(messages, "its METADATA says that it is") {
		t.Errorf("renamed: exit code %d\n%s", code, messages)
	}
}

// pathWithoutUV is a PATH with python and without uv.
func pathWithoutUV(t *testing.T) string {
	t.Helper()
	bare := t.TempDir()
	out, err := exec.Command("python3", "-c", "import os, sys; print(os.path.realpath(sys.executable))").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(strings.TrimSpace(string(out)), filepath.Join(bare, "python3")); err != nil {
		t.Fatal(err)
	}
	return bare + string(os.PathListSeparator) + "/usr/bin" + string(os.PathListSeparator) + "/bin"
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPythonWithoutUV has pip alone install what uv resolved and locked, and both make the same tree. 'make real' has
// pip resolve, too. It reaches package registries.
func TestPythonWithoutUV(t *testing.T) {
	if testing.Short() {
		t.Skip("reaches package registries")
	}
	world.NeedsPython(t)
	alone := newPythonWorld(t, pathWithoutUV(t))
	pinned := pinnedWithUV(t)
	if err := os.RemoveAll(alone.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(alone.dir, os.DirFS(pinned.dir)); err != nil {
		t.Fatal(err)
	}
	_, shown, _ := alone.run(t, alone.bin, "review", "sqlite", "--json")
	var review struct {
		Consent string `json:"consent"`
	}
	world.Decode(t, []byte(shown), &review)
	if code, _, messages := alone.run(t, alone.bin, "review", "sqlite", "--approve", review.Consent); code != 0 {
		t.Fatalf("review: exit code %d\n%s", code, messages)
	}
	code, got, messages := alone.run(t, alone.client, "-call", `read-query={"query":"SELECT 40+2 AS n"}`, alone.bin, "run",
		"sqlite")
	if !world.Ended(code) || !strings.Contains(got, "'n': 42") {
		t.Errorf("exit code %d\n%s\n%s", code, got, messages)
	}
	if code, out, messages := alone.run(t, alone.bin, "check", "--offline"); code != 0 {
		t.Errorf("check: exit code %d\n%s%s", code, out, messages)
	}
	if !sample.Whole() {
		return
	}
	resolved := newPythonWorld(t, alone.path)
	resolved.pin(t, "sqlite")
	engine, tree := resolved.tree(t, "sqlite")
	if byUV, want := pinned.tree(t, "sqlite"); engine != "pip" || byUV != "uv" || tree != want {
		t.Errorf("%s resolves and installs %s, %s %s", byUV, want, engine, tree)
	}
}

// TestPythonServers pins real servers of PyPI with all that they depend on, runs them from
// the store without any network or resolver, and calls them: one of them every day, all with 'make real'. It reaches
// package registries.
func TestPythonServers(t *testing.T) {
	if testing.Short() {
		t.Skip("reaches package registries")
	}
	world.NeedsPython(t)
	w := pinnedWithUV(t)
	for _, s := range tried()[1:] {
		w.pin(t, s.name)
	}
	if engine, tree := w.tree(t, "sqlite"); engine != "uv" || !strings.HasPrefix(tree, "sha256:") {
		t.Errorf("engine %q, tree %q", engine, tree)
	}
	// That of sqlite has a newer version, whose tools have other names.
	alone := *w
	alone.dir = t.TempDir()
	text := "manifest_version = 1\n[providers.mcp.sqlite]\ncommand = \"uvx\"\n" +
		"arguments = [\"--with\", \"mcp<2\", \"mcp-server-sqlite@0.6.2\"]\n"
	if err := os.WriteFile(filepath.Join(alone.dir, "hallmark.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := regexp.MustCompile(`"wanted": "20[0-9.]+",\s+"newest": "20[0-9.]+",\s+"outdated": true`)
	if code, out, messages := alone.run(t, w.bin, "outdated", "--json"); code != 0 || !newer.MatchString(out) {
		t.Errorf("outdated: exit code %d\n%s%s", code, out, messages)
	}
	if code, _, messages := w.run(t, w.bin, "upgrade", "sqlite", "--yes"); code != 0 ||
		!strings.Contains(messages, "read_query") {
		t.Errorf("upgrade: exit code %d\n%s", code, messages)
	}
	if data, err := os.ReadFile(filepath.Join(w.dir, "hallmark.toml")); err != nil ||
		!regexp.MustCompile(`"mcp-server-sqlite==20[0-9.]+","--with"`).Match(data) {
		t.Errorf("%v; hallmark.toml is\n%s", err, data)
	}
	// What runs now comes from the store: there is no registry, and no uv.
	w.env = []string{"UV_DEFAULT_INDEX=https://127.0.0.1:1/simple", "PIP_INDEX_URL=https://127.0.0.1:1/simple"}
	for _, s := range tried() {
		args := []string{w.bin, "run", s.name}
		if s.call != "" {
			args = append([]string{"-call", s.call}, args...)
		}
		code, out, messages := w.run(t, w.client, args...)
		if !world.Ended(code) || !strings.Contains(out, "tool "+s.tool+":") || !strings.Contains(out, s.answer) {
			t.Errorf("run %s: exit code %d\n%s\n%s", s.name, code, out, messages)
		}
	}
	if code, out, messages := w.run(t, w.bin, "check", "--offline"); code != 0 {
		t.Errorf("check: exit code %d\n%s%s", code, out, messages)
	}

	t.Run("bytecode", func(t *testing.T) {
		pattern := filepath.Join(w.home, "cache", "store", "sha256", "*", "*", "content", "mcp_server_sqlite",
			"__pycache__", "server.*.pyc")
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) != 2 { // of both versions
			t.Fatal(found, err)
		}
		for _, name := range found {
			if err := os.Chmod(name, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte("bytes that nobody verified"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, _, messages := w.run(t, w.bin, "run", "sqlite")
		if code != 3 || !strings.Contains(messages, "mcp_server_sqlite/__pycache__/server.") {
			t.Errorf("exit code %d\n%s", code, messages)
		}
		for range 2 { // it is compiled again, and kept
			code, out, messages := w.run(t, w.client, w.bin, "run", "sqlite")
			if !world.Ended(code) || !strings.Contains(out, "tool read_query:") {
				t.Errorf("exit code %d\n%s\n%s", code, out, messages)
			}
		}
		if found, err = filepath.Glob(pattern); err != nil || len(found) != 2 { // one of them as it was
			t.Error(found, err)
		}
	})
	t.Run("tampered", func(t *testing.T) {
		found, err := filepath.Glob(
			filepath.Join(w.home, "cache", "store", "sha256", "*", "*", "content", "site-packages", "mcp_server_sqlite",
				"server.py"))
		if err != nil || len(found) != 2 { // of both versions
			t.Fatal(found, err)
		}
		for _, name := range found {
			if err := os.Chmod(name, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte("raise SystemExit('bytes that nobody verified')\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, _, messages := w.run(t, w.bin, "run", "sqlite")
		if code != 3 || !strings.Contains(messages, "mcp_server_sqlite/server.py") ||
			strings.Contains(messages, "nobody verified") {
			t.Errorf("exit code %d\n%s", code, messages)
		}
	})
	t.Run("closure edited", func(t *testing.T) {
		// The closure names another hash for a wheel: it is not the one that was locked.
		name := filepath.Join(w.dir, "hallmark.closures", "sqlite.json")
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		wheel := regexp.MustCompile(`(mcp_server_sqlite-[^"]*whl": "sha256:)[0-9a-f]{64}`)
		if err := os.WriteFile(name, wheel.ReplaceAll(data, []byte("${1}"+strings.Repeat("0", 64))), 0o600); err !=
			nil {
			t.Fatal(err)
		}
		if code, _, messages := w.run(t, w.bin, "run", "sqlite"); code != 3 {
			t.Errorf("exit code %d\n%s", code, messages)
		}
	})
}
