package kind

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// readsCase is a server that was pinned, and files that somebody put there since. Names are relative to the project,
// with slashes.
type readsCase struct {
	name    string
	command string
	args    []string
	tree    string
	data    []string
	files   map[string]string // when it is pinned; see [readsWorld.write]
	planted map[string]string // each by itself is refused by run and by check
	free    map[string]string // each by itself changes nothing
}

// A name that ends in a slash is an empty directory, and a text "-> x" is a link.
var readsCases = []readsCase{
	{
		name: "python", command: "python3", args: []string{"srv/server.py"}, tree: "srv",
		files: map[string]string{"srv/server.py": "", "srv/helper.py": "", "srv/text.txt": ""},
		planted: map[string]string{
			"srv/json.py": "", "srv/helper.pyc": "", "srv/helper.so": "", "srv/json/__init__.py": "",
			"srv/json/more.py": "", "srv/helper.py": "edited", "srv/os": "-> ..", "srv/text.txt": "edited",
			"srv/lost": "-> nowhere", "srv/node_modules/.x": "",
		},
		free: map[string]string{"json.py": "", "srv/__pycache__/helper.pyc": "", "srv/.git/index": ""},
	},
	{
		name: "what says that it is an environment", command: "python3", args: []string{"srv/server.py"}, tree: "./srv/",
		files:   map[string]string{"srv/server.py": "", "srv/json/pyvenv.cfg": ""},
		planted: map[string]string{"srv/json/__init__.py": "", "srv/json/bin/more.py": "", "srv/json/pyvenv.cfg": "edited"},
	},
	{
		name: "environment", command: ".venv/bin/python3", args: []string{"-I", "srv/server.py"}, tree: ".",
		files: map[string]string{
			"srv/server.py": "", ".venv/lib/python3.11/site-packages/told.py": "", "hallmark.toml": "", "src/more.py": "",
			".venv/lib/python3.11/site-packages/_mine.pth": "# mine\nimport os; os.x = 1\n../../../../src\n\n",
		},
		planted: map[string]string{
			".venv/lib/python3.11/site-packages/sitecustomize.py":                  "",
			".venv/lib/python3.11/site-packages/usercustomize/__init__.py":         "",
			".venv/lib/python3.11/site-packages/.b.pth":                            "",
			".venv/lib/python3.11/site-packages/a.pth":                             "/",
			".venv/lib/python3.11/site-packages/told.py":                           "edited",
			".venv/lib/python3.11/site-packages/told-1.dist-info/entry_points.txt": "",
			".venv/lib/python3.12/site-packages/x.py":                              "",
			".venv/lib64/python3.11/site-packages/x.py":                            "",
			".venv/lib/python3.11/site-packages/node_modules/x.py":                 "",
			".venv/lib/python3.11/site-packages/x":                                 "-> ../../../../..",
			"src/json.py":                                                          "", "src/more.py": "edited", "srv/bin/x.py": "", "srv/RECORD": "",
		},
		free: map[string]string{
			".venv/bin/activate": "", ".venv/pyvenv.cfg": "home = ${MACHINE}\ninclude-system-site-packages = false\nversion = 3", ".venv/.gitignore": "*",
			".venv/lib/python3.11/site-packages/told-1.dist-info/RECORD": "",
			".venv/lib/python3.11/site-packages/__pycache__/told.pyc":    "",
			"hallmark.toml": "edited", "hallmark.lock": "", "hallmark.surfaces/notes.json": "", ".git/HEAD": "",
			".mcp.json": "{}", ".vscode/mcp.json.hallmark": "{}",
		},
	},
	{
		name: "a script in an environment", command: "srv/bin/python3", args: []string{"srv/server.py"}, tree: "srv",
		files:   map[string]string{"srv/server.py": "", "srv/pyvenv.cfg": ""},
		planted: map[string]string{"srv/bin/x.py": "", "srv/Scripts/x.py": ""},
	},
	{
		name: "node", command: "node", args: []string{"srv/server.js"}, tree: ".",
		files: map[string]string{"srv/server.js": `require("../lib/helper"); require("told")`, "lib/helper.js": "",
			"node_modules/told/index.js": "", "node_modules/linked": "-> ../lib"},
		planted: map[string]string{
			"lib/helper": "", "lib/helper.js": "edited", "package.json": "{}", "srv/package.json": "{}",
			"srv/node_modules/told/index.js": "", "node_modules/told/index.js": "edited", "node_modules/told.js": "",
			"../node_modules/told/index.js": "", "../package.json": "{}", "node_modules/out": "-> ../../../machine",
			"shared/worker.mjs": "", "__pycache__/x.js": "",
		},
		free: map[string]string{"node_modules/.package-lock.json": "", "node_modules/.bin/told": "", "../told.js": ""},
	},
	{
		name: "node in a part", command: "node", args: []string{"srv/server.js"}, tree: "srv",
		files: map[string]string{"srv/server.js": "", "srv/lib.js": "", "package.json": "{}"},
		planted: map[string]string{
			"package.json": "edited", "node_modules/told/index.js": "", "../node_modules/told/index.js": "",
			"srv/package.json": "",
		},
		free: map[string]string{"../package.json": "{}", "lib.js": ""},
	},
	{
		name: "alone", command: "node", args: []string{"srv/server.js"},
		files:   map[string]string{"srv/server.js": "", "lib.js": ""},
		planted: map[string]string{"srv/other.js": "", "srv/notes.txt": "", "package.json": "{}", "node_modules/x/x.js": ""},
		free:    map[string]string{"lib.js": "edited", "srv/.git/index": ""},
	},
	{
		name: "alone in the project", command: "sh", args: []string{"server.sh", "--with=other.sh"},
		files:   map[string]string{"server.sh": "", "other.sh": "", "hallmark.toml": "", "hallmark.lock": ""},
		planted: map[string]string{"more.sh": "", "server.sh": "edited", "other.sh": "edited", "sub/x": ""},
		free:    map[string]string{"hallmark.toml": "edited", "hallmark.closures/x.json": ""},
	},
	{
		name: "by its line", command: "srv/server",
		files:   map[string]string{"srv/server": "#!/usr/bin/env ruby\n"},
		planted: map[string]string{"srv/x.rb": "", "srv/server": "#!/usr/bin/env ruby\nedited"},
	},
	{
		name: "bun", command: "bun", args: []string{"run", "srv/server.ts"}, tree: ".",
		files: map[string]string{"srv/server.ts": `import "@/x"`, "bunfig.toml": "preload = ['./first.ts']", "first.ts": ""},
		planted: map[string]string{
			"bunfig.toml": "", "srv/bunfig.toml": "", "first.ts": "edited", "tsconfig.json": "{}", "../tsconfig.json": "{}",
			"../jsconfig.json": "{}", "../package.json": "{}", "mapped/x.ts": "", "node_modules/base/y.ts": "", ".env": "X=1",
		},
	},
	{
		name: "bun elsewhere", command: "bun", args: []string{"run", "../elsewhere/server.ts"}, tree: "../elsewhere",
		files: map[string]string{"../elsewhere/server.ts": "", "../elsewhere/more.ts": ""},
		planted: map[string]string{"bunfig.toml": "", "package.json": "{}", "../elsewhere/bunfig.toml": "",
			"../elsewhere/package.json": "{}"},
	},
	{
		name: "deno", command: "deno", args: []string{"run", "srv/server.ts"}, tree: ".",
		files: map[string]string{"srv/server.ts": `import "x"`, "deno.json": `{"vendor": true}`, "vendor/example.com/mod.ts": "",
			"deno.lock": "{}"},
		planted: map[string]string{
			"deno.json": "{}", "deno.jsonc": "{}", "srv/deno.json": "{}", "../deno.json": "{}", "../deno.jsonc": "{}",
			"srv/package.json": "{}", "../package.json": "{}", "../../deno.json": "{}", "deno.lock": `{"x": 1}`,
			"vendor/example.com/mod.ts": "edited", "vendor/other": "", "node_modules/x/index.js": "",
		},
	},
	{
		name: "java", command: "java", args: []string{"-jar", "app/server.jar"}, tree: "app",
		files:   map[string]string{"app/server.jar": "jar", "app/lib/first.jar": "jar", "app/classes/X.class": ""},
		planted: map[string]string{"app/lib/first.jar": "edited", "app/later.jar": "", "app/classes/Y.class": ""},
	},
	{
		name: "data", command: "node", args: []string{"srv/server.js", "--db", "srv/notes.db"}, tree: "srv",
		data:  []string{"srv/notes.db", "srv/cache/"},
		files: map[string]string{"srv/server.js": "", "srv/notes.db": "one", "srv/cache/x": ""},
		planted: map[string]string{"srv/notes.db-wal": "", "srv/server.js": "edited", "srv/caches": "",
			"srv/sub/notes.db": ""},
		free: map[string]string{"srv/notes.db": "two", "srv/cache/x": "edited", "srv/cache/y": "", "srv/cache/up": "-> /"},
	},
	{
		name: "a program with a tree", command: "bin/server", tree: "bin",
		files:   map[string]string{"bin/server": "\x7fELF", "bin/plugin.so": ""},
		planted: map[string]string{"bin/plugin.so": "edited", "bin/more.so": ""},
	},
}

// TestReads plants the files of every case, one by one.
func TestReads(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	for _, c := range readsCases {
		t.Run(c.name, func(t *testing.T) {
			plant := func(name, text string, stopped bool) {
				s := newReadsWorld(t, c)
				if report, err := s.run(); err != nil || !report.Allowed() {
					t.Fatalf("untouched: %v %v", err, report.Err())
				}
				s.write(name, text)
				report, err := s.run()
				if err == nil {
					err = report.Err()
				}
				for flow, err := range map[string]error{"run": err, "check": s.check().Err()} {
					class := evidence.ClassOf(err)
					if stopped != (err != nil) || stopped && class != evidence.Refused && class != evidence.Integrity {
						t.Errorf("%s with %s: %v", flow, name, err)
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(c.planted)) {
				plant(name, c.planted[name], true)
			}
			for _, name := range slices.Sorted(maps.Keys(c.free)) {
				plant(name, c.free[name], false)
			}
		})
	}
}

// TestReadsRefused: what a tree that is named, or none, does not hold is refused, with a command that leads on.
func TestReadsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	files := map[string]string{"dist/server.js": "", "dist/lib.js": "", "package.json": "{}", "node_modules/told/index.js": "",
		"bare/one.py": "", "bare/two.py": "", "../away/package.json": "{}", "../away/build/server.js": "",
		"../away/build/other.js": "", "linked/server.py": "", "linked/out": "-> ../../../machine", "env/server.py": "", "twice/a b.py": "",
		"twice/b.py": "", ".venv/more/server.py": "", ".venv/lib/site-packages/a.pth": "import x\n../../../bare\n",
		"../lib/node_modules/@a/b/index.js": "", "../lib/node_modules/c/dist/index.js": "",
		"../lib/node_modules/c/dist/lib.js": "",
		"edited/server.py":                  "", "edited/__editable___x_finder.py": "MAPPING: dict[str, str] = {'x': '${MACHINE}'}"}
	for _, c := range []struct {
		command, script, tree string
		data                  []string
		want                  string
	}{
		{"node", "dist/server.js", "", nil, `server.js may load "lib.js" and all else in dist, which no hash of the script covers; ` +
			`run 'hallmark pin notes --tree .', once this is mended: the link linked/out leads`},
		{"python3", "bare/one.py", "", nil, `may load "two.py" and all else in bare`},
		{"python3", "twice/a b.py", "", nil, `run 'hallmark pin notes --tree .'`},
		{"node", "../away/build/server.js", "", nil, `away', which locks all 3 files of it (1 kB); or declare the package itself`},
		{"node", "../lib/node_modules/@a/b/index.js", "", nil, `; declare the package itself: command = "npx", ` +
			`arguments = ["-y", "@a/b"]; or run 'hallmark pin notes --tree `},
		{"node", "../lib/node_modules/c/dist/index.js", "", nil, `lib/node_modules', which locks all 3 files of it (0 kB); ` +
			`or declare the package itself: command = "npx", arguments = ["-y", "c"]`},
		{".venv/bin/python3", "env/server.py", "", nil, `may load packages of .venv`},
		{".venv/bin/python3", "env/server.py", "env", nil, `its packages lie in ".venv", outside of the directory "env"`},
		{"node", "dist/server.js", "dist", nil, "node would load modules from "},
		{"node", "dist/server.js", "bare", nil, `server.js" is not hashed with the directory "bare"`},
		{"node", "dist/server.js", "gone", nil, `tree names "gone", which is no directory`},
		{"node", "dist/server.js", "dist/lib.js", nil, "which is no directory"},
		{"python3", "linked/server.py", "linked", nil, "the link out leads out of it, to "},
		{".venv/bin/python3", ".venv/more/server.py", ".venv", nil, `lib/site-packages/a.pth adds the packages of `},
		{"python3", "edited/server.py", "edited", nil, `__editable___x_finder.py adds the packages of `},
		{"python3", "bare/one.py", "bare", []string{"linked/x"}, `data names "linked/x", which does not lie in the directory "bare"`},
		{"python3", "bare/one.py", "bare", []string{"bare"}, `data names "bare", which does not`},
		{"python3", "bare/one.py", "bare", []string{"bare/one.py"}, `one.py" is not hashed with the directory "bare"`},
	} {
		s := makeReadsWorld(t, readsCase{command: c.command, args: []string{c.script}, tree: c.tree, data: c.data, files: files})
		_, err := s.open(nil)
		var e *evidence.Error
		if evidence.ClassOf(err) != evidence.Refused || !errors.As(err, &e) || e.Hint == "" ||
			!strings.Contains(e.Err.Error()+"; "+e.Hint, c.want) {
			t.Errorf("%s %s, tree %q: %v; %s", c.command, c.script, c.tree, err, e.Hint)
		}
	}
}

// readsWorld is a project with one server that was pinned.
type readsWorld struct {
	t       *testing.T
	w       *workspace.Workspace
	server  project.Server
	path    string
	entry   project.ServerLock
	runtime *project.Runtime
	args    []string
	unknown []string
}

// quietHost is hosttest.New, which stands above this package.
func quietHost(t *testing.T) *host.Host {
	return &host.Host{
		Places: host.Places{State: filepath.Join(t.TempDir(), "state")}, Logger: slog.New(slog.DiscardHandler),
		Now:    time.Now,
		Getenv: func(string) string { return "" },
	}
}

// makeReadsWorld makes a project with a server that is not pinned.
func makeReadsWorld(t *testing.T, c readsCase) *readsWorld {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &readsWorld{t: t, path: filepath.Join(top, "machine"),
		w: &workspace.Workspace{Host: quietHost(t), Dir: filepath.Join(top, "above", "project"),
			Config: &project.Config{}}}
	for _, name := range []string{"python3", "node", "bun", "deno", "java", "php", "ruby", "perl", "lua", "sh"} {
		s.write("../../machine/"+name, "\x7fELF")
	}
	for name, text := range c.files {
		s.write(name, text)
	}
	if dir := filepath.Dir(filepath.Dir(c.command)); filepath.Base(c.command) == "python3" && dir != "." {
		s.write(dir+"/pyvenv.cfg", "home = "+s.path+"\ninclude-system-site-packages = false")
		s.write(c.command, "-> "+filepath.Join(s.path, "python3"))
	}
	s.server = project.Server{Name: "notes", Command: c.command, Arguments: c.args, Tree: c.tree, Data: c.data}
	return s
}

// open opens the server, compared with locked unless that is nil.
func (s *readsWorld) open(locked *project.ServerLock) (*program.Program, error) {
	approval := project.Approval{Path: s.path, Runtime: s.runtime}
	return commandLine{s.w, s.server, locked, approval, process.Open}.open(s.t.Context(), true)
}

func newReadsWorld(t *testing.T, c readsCase) *readsWorld {
	s := makeReadsWorld(t, c)
	p, err := s.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s.entry, s.runtime, s.args = project.ServerLock{Source: "command", Ref: p.OwnKey, Artifacts: p.Artifacts},
		p.Runtime, p.Args
	for _, e := range p.Report {
		if e.Scheme == evidence.Import {
			s.unknown = append(s.unknown, e.Reason)
		}
	}
	return s
}

// write puts a file, a link or a jar below the project.
func (s *readsWorld) write(name, text string) {
	file := s.w.Path(filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	data := []byte(strings.ReplaceAll(text, "${MACHINE}", s.path))
	if to, ok := strings.CutPrefix(text, "-> "); ok {
		if err := os.Symlink(to, file); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") || strings.HasPrefix(text, "\x7fELF") {
		mode = 0o755
	}
	if err := os.WriteFile(file, data, mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *readsWorld) run() (policy.Verdict, error) {
	p, err := s.open(&s.entry)
	if err != nil {
		return policy.Verdict{}, err
	}
	defer p.Close()
	return policy.Judge(policy.Launch, policy.Settings{}, append(p.Report, missingArtifacts(s.entry, p)...)), nil
}

func (s *readsWorld) check() policy.Verdict {
	report, err := command{}.Check(s.t.Context(), Locked{Workspace: s.w, Server: s.server, Entry: s.entry,
		Approval: project.Approval{Path: s.path, Runtime: s.runtime}})
	if err != nil {
		s.t.Fatal(err)
	}
	return policy.Judge(policy.Check, policy.Settings{}, report)
}

// TestReadsUnknown: what an interpreter loads that nobody here knows is said, and nothing is said
// of the others.
func TestReadsUnknown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	for _, c := range []struct {
		command, file string
		args          []string
		want          string
	}{
		{"php", "server.php", nil, "what php loads besides the script is not known"},
		{"ruby", "server.rb", nil, "what ruby loads besides the script is not known"},
		{"perl", "server.pl", nil, "what perl loads besides the script is not known"},
		{"lua", "server.lua", nil, "what lua loads besides the script is not known"},
		{"sh", "server.sh", nil, "what sh loads besides the script is not known"},
		{"python3", "server.py", nil, ""},
		{"node", "server.js", nil, ""},
		{"java", "server.jar", []string{"-jar"}, ""},
		{"deno", "server.ts", []string{"run"}, "what deno loads besides the script is not known"},
	} {
		s := newReadsWorld(t, readsCase{command: c.command, args: append(c.args, c.file),
			files: map[string]string{c.file: ""}})
		if got := strings.Join(s.unknown, "; "); got != c.want {
			t.Errorf("%s: %q", c.command, got)
		}
	}
}

// TestReadsOnce: a file that an argument names and the script imports is one artifact, and bun is
// kept from what the lock does not cover.
func TestReadsOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	s := newReadsWorld(t, readsCase{command: "bun", args: []string{"run", "srv/a.ts", "--load=srv/b.ts"},
		files: map[string]string{"srv/a.ts": `import "./b"`, "srv/b.ts": "", ".env": "X=1"}})
	if got := slices.Sorted(maps.Keys(s.entry.Artifacts)); !slices.Equal(got, []string{"file:srv/a.ts", "file:srv/b.ts"}) {
		t.Errorf("%q", got)
	}
	if want := []string{"bun", "--no-install", "--no-env-file", "run", s.w.Path("srv/a.ts"),
		"--load=srv/b.ts"}; !slices.Equal(s.args, want) {
		t.Errorf("%q", s.args)
	}
}

// TestReadsOwn: an entry that is of another file than the one that is started is refused, though
// every digest in it is right.
func TestReadsOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	s := newReadsWorld(t, readsCase{command: "node", args: []string{"server.js"}, tree: ".",
		files: map[string]string{"server.js": `require("./lib/index")`, "lib/index.js": ""}})
	s.entry.Ref = "file:lib/index.js"
	report, err := s.run()
	if err == nil {
		err = report.Err()
	}
	for flow, err := range map[string]error{"run": err, "check": s.check().Err()} {
		if evidence.ClassOf(err) != evidence.Refused || !strings.Contains(err.Error(), "launch mismatch") {
			t.Errorf("%s: %v", flow, err)
		}
	}
}
