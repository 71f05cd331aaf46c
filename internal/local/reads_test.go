package local

import (
	"archive/zip"
	"bytes"
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
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// readsCase is a server that was pinned, and files that somebody put there since: each by itself
// is refused by run and by check. Names are relative to the project, with slashes.
type readsCase struct {
	name    string
	command string
	args    []string
	files   map[string]string // when it is pinned, beside those of readsFiles
	planted map[string]string // each, and what it holds, "" for anything
}

// A name that ends in a slash is an empty directory, and a text "-> x" is a link.
var readsCases = []readsCase{
	{
		name: "python", command: "python3", args: []string{"srv/server.py"},
		files: map[string]string{"srv/server.py": "", "srv/helper.py": ""},
		planted: map[string]string{
			"srv/json.py": "", "srv/helper.pyc": "", "srv/helper.so": "", "srv/json/__init__.py": "",
			"srv/json/more.py": "", "srv/helper.py": "edited", "srv/os": "-> ..",
		},
	},
	{
		name: "what says that it is an environment", command: "python3", args: []string{"srv/server.py"},
		files:   map[string]string{"srv/server.py": "", "srv/json/pyvenv.cfg": ""},
		planted: map[string]string{"srv/json/__init__.py": "", "srv/json/lib/more.py": ""},
	},
	{
		name: "environment", command: ".venv/bin/python3", args: []string{"-I", "srv/server.py"},
		files: map[string]string{
			"srv/server.py": "", ".venv/lib/python3.11/site-packages/told.py": "",
			".venv/lib/python3.11/site-packages/a.pth": "../../../../src",
			"src/more.py": "", ".venv/lib/python3.11/site-packages/__editable___e_finder.py": "MAPPING = {'e': '${PROJECT}/edited'}", "edited/e.py": "",
		},
		planted: map[string]string{
			".venv/lib/python3.11/site-packages/sitecustomize.py":                  "",
			".venv/lib/python3.11/site-packages/usercustomize/__init__.py":         "",
			".venv/lib/python3.11/site-packages/.b.pth":                            "",
			".venv/lib/python3.11/site-packages/a.pth":                             "/",
			".venv/lib/python3.11/site-packages/told.py":                           "edited",
			".venv/lib/python3.11/site-packages/told-1.dist-info/entry_points.txt": "",
			".venv/lib/python3.12/site-packages/x.py":                              "",
			".venv/lib64/python3.11/site-packages/x.py":                            "", "src/json.py": "",
			"src/more.py": "edited",
			"edited/f.py": "",
			".venv/lib/python3.11/site-packages/node_modules/x.py": "",
			".venv/lib/python3.11/site-packages/x":                 "-> ../../../..",
		},
	},
	{
		name: "node", command: "node", args: []string{"srv/server.js"},
		files: map[string]string{"srv/server.js": `require("../lib/helper"); require("told")`, "lib/helper.js": ""},
		planted: map[string]string{
			"lib/helper": "", "lib/helper.js": "edited", "lib/helper.json": "", "package.json": "{}",
			"srv/package.json": "{}", "lib/package.json": "{}",
			"srv/node_modules/told/index.js": "", "node_modules/told/index.js": "", "../node_modules/told/index.js": "",
		},
	},
	{
		name: "what node is told to start", command: "node", args: []string{"srv/server.js"},
		files: map[string]string{
			"srv/server.js": `import { fork } from "node:child_process"; // don't
fork("./shared/fork.js"); fork("./shared/bare"); new Worker("./shared/worker.mjs"); new Worker(new URL('./near.js?x', import.meta.url));
await import(new URL("../up.mjs", import.meta.url)); require.resolve("./resolved.js"); createRequire(import.meta.url)("./created.cjs");
spawn(process.execPath, [path.join(__dirname, "..", "joined", 'x.js')]); exec("node ./line.js --x"); run(` +
				"`${__dirname}/template.js`" + `); run(__dirname + "/sum.js");
spawn("./tool"); spawn("python3", ["job.py"]); write("data.json"); write("./notes.txt")`,
			"shared/fork.js": `require("./next")`, "shared/next.js": "", "shared/bare.js": "", "shared/worker.mjs": "",
			"srv/near.js": "", "up.mjs": "", "srv/resolved.js": "", "srv/created.cjs": "",
			"joined/x.js": "", "line.js": "", "srv/template.js": "", "srv/sum.js": "", "tool": "#!/bin/sh\n",
			"srv/job.py": "", "data.json": "{}", "notes.txt": "",
		},
		planted: map[string]string{
			"shared/fork.js": "edited", "shared/next.js": "edited", "shared/bare.js": "edited", "shared/bare.mjs": "",
			"shared/worker.mjs": "edited", "srv/near.js": "edited", "up.mjs": "edited",
			"srv/resolved.js": "edited", "srv/created.cjs": "edited", "joined/x.js": "edited", "line.js": "edited",
			"srv/template.js": "edited", "srv/sum.js": "edited", "tool": "#!/bin/sh\nedited",
			"srv/job.py": "edited", "srv/shared/fork.js": "", "srv/line.js": "", "job.py": "",
		},
	},
	{
		name: "what python is told to start", command: "python3", args: []string{"-I", "srv/server.py"},
		files: map[string]string{
			"srv/server.py": `subprocess.run([sys.executable, "worker.py"]); runpy.run_path('path.py'); exec(open("x.py").read()) # it's
os.system("python3 ./shared/system.py"); subprocess.Popen([os.path.join(HERE, "..", "shared", "joined.py")]); Path(__file__).parent / "deep" / "quotient.py"; f"{HERE}/text.py"
ctypes.CDLL("./native.so"); open("data.json", "w")`,
			"worker.py": `open("second.py")`, "second.py": "", "srv/path.py": "", "x.py": "", "shared/system.py": "",
			"shared/joined.py": "", "srv/deep/quotient.py": "", "srv/text.py": "", "native.so": "", "data.json": "",
		},
		planted: map[string]string{
			"worker.py": "edited", "second.py": "edited", "srv/path.py": "edited", "x.py": "edited",
			"shared/system.py": "edited", "shared/joined.py": "edited", "srv/deep/quotient.py": "edited",
			"srv/text.py": "edited", "native.so": "edited", "srv/worker.py": "", "path.py": "",
		},
	},
	{
		name: "bun", command: "bun", args: []string{"run", "srv/server.ts"},
		files: map[string]string{
			"srv/server.ts": `import "@/x"; import "base/y"`, "bunfig.toml": "preload = ['./first.ts'] # \"./no.ts\"",
			"first.ts": `import "./second"`, "second.ts": "",
			"tsconfig.json": "{\"extends\": \"./base.json\", // \"\n \"compilerOptions\": {\"paths\": {\"@/*\": [\"./mapped/*\"]}}}",
			"base.json":     `{"compilerOptions": {"baseUrl": "../outside", "paths": {"other": ["./one.ts"]}}}`,
			"mapped/x.ts":   "", "../outside/base/y.ts": "", "../outside/one.ts": "",
		},
		planted: map[string]string{
			"bunfig.toml": "", "srv/bunfig.toml": "", "first.ts": "edited", "second.ts": "edited",
			"tsconfig.json": "{}", "srv/tsconfig.json": "{}", "srv/jsconfig.json": "{}",
			"../tsconfig.json": "{}", "package.json": "{}", "mapped/x.ts": "edited", "mapped/x.js": "",
			"../outside/base/y.ts": "edited", "../outside/one.ts": "edited",
			"base.json": "{}", "node_modules/base/y.ts": "",
		},
	},
	{
		name: "bun elsewhere", command: "bun", args: []string{"run", "../elsewhere/server.ts"},
		files: map[string]string{"../elsewhere/server.ts": ""},
		planted: map[string]string{"bunfig.toml": "", "package.json": "{}", "../elsewhere/bunfig.toml": "",
			"../elsewhere/package.json": "{}"},
	},
	{
		name: "bun by its line", command: "./server.ts",
		files:   map[string]string{"server.ts": "#!/usr/bin/env -S bun run\n"},
		planted: map[string]string{".env": "X=1", ".env.local": "X=1", ".env.production": "X=1", "bunfig.toml": ""},
	},
	{
		name: "deno", command: "deno", args: []string{"run", "srv/server.ts"},
		files: map[string]string{
			"srv/server.ts": `import "x"; import "@a/b"; import "https://example.com/mod.ts"`,
			"deno.json":     `{"vendor": true, "importMap": "./maps/map.json", "workspace": ["./member"], "imports": {"z": "../outside/z.ts", "lib/": "./lib/"}} // "`,
			"maps/map.json": `{"imports": {"x": "../../outside/x.ts"}}`, "../outside/x.ts": "", "../outside/z.ts": "",
			"member/deno.json": `{"name": "@a/b", "exports": "./mod.ts"}`,
			"member/mod.ts":    "", "vendor/example.com/mod.ts": "", "lib/deep.ts": "", "deno.lock": "{}",
		},
		planted: map[string]string{
			"deno.json": "{}", "deno.jsonc": "{}", "srv/deno.json": "{}", "../deno.json": "{}", "../deno.jsonc": "{}",
			"srv/package.json": "{}", "../package.json": "{}", "deno.lock": `{"x": 1}`,
			"srv/deno.lock": "{}", "maps/map.json": "{}", "../outside/x.ts": "edited", "../outside/z.ts": "edited",
			"member/mod.ts": "edited", "member/deno.json": "{}",
			"vendor/example.com/mod.ts": "edited", "vendor/other": "", "lib/deep.ts": "edited", "lib/more.ts": "",
			"node_modules/x/index.js": "",
		},
	},
	{
		name: "java", command: "java", args: []string{"-jar", "app/server.jar"},
		files: map[string]string{
			"app/server.jar": "jar:first.jar lib/a%20b.jar later.jar classes/ later/ ../deep.jar",
			"app/first.jar":  "jar:second.jar", "app/second.jar": "jar:", "app/lib/a b.jar": "no archive",
			"app/classes/X.class": "", "deep.jar": "jar:",
		},
		planted: map[string]string{
			"app/first.jar": "jar:", "app/second.jar": "jar:edited.jar", "app/lib/a b.jar": "edited",
			"app/later.jar": "jar:", "app/classes/X.class": "edited", "app/classes/Y.class": "",
			"app/later/Z.class": "", "deep.jar": "jar:x", "app/server.jar": "jar:later.jar",
		},
	},
}

// TestReads plants the files of every case, one by one.
func TestReads(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	for _, c := range readsCases {
		t.Run(c.name, func(t *testing.T) {
			for _, planted := range slices.Sorted(maps.Keys(c.planted)) {
				s := newReadsWorld(t, c)
				if report, err := s.run(); err != nil || !report.Allowed() {
					t.Fatalf("untouched: %v %v", err, report.Err())
				}
				s.write(planted, c.planted[planted])
				report, err := s.run()
				if err == nil {
					err = report.Err()
				}
				if class := evidence.ClassOf(err); err == nil || class != evidence.Refused &&
					class != evidence.Integrity {
					t.Errorf("run with %s: %v", planted, err)
				}
				err = s.check().Err()
				if class := evidence.ClassOf(err); err == nil || class != evidence.Refused &&
					class != evidence.Integrity {
					t.Errorf("check with %s: %v", planted, err)
				}
			}
		})
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

func newReadsWorld(t *testing.T, c readsCase) *readsWorld {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &readsWorld{t: t, path: filepath.Join(top, "machine"),
		w: &workspace.Workspace{Host: quietHost(t), Dir: filepath.Join(top, "above", "project"),
			Config: &project.Config{}}}
	for _, name := range []string{"python3", "node", "bun", "deno", "java", "php", "ruby", "perl", "lua", "sh"} {
		s.write("../../machine/"+name, "\x7fELF")
		if err := os.Chmod(filepath.Join(s.path, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range c.files {
		s.write(name, text)
		if strings.HasPrefix(text, "#!") {
			if err := os.Chmod(s.w.Path(name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if strings.HasPrefix(c.command, ".venv") {
		s.write(".venv/pyvenv.cfg", "home = "+s.path)
		s.write(c.command, "-> "+filepath.Join(s.path, "python3"))
	}
	s.server = project.Server{Name: "notes", Command: c.command, Arguments: c.args}
	p, err := OpenLocked(t.Context(), s.w, s.server, nil, project.Approval{Path: s.path})
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
	data := []byte(strings.ReplaceAll(text, "${PROJECT}", s.w.Dir))
	if to, ok := strings.CutPrefix(text, "-> "); ok {
		if err := os.Symlink(to, file); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	if names, ok := strings.CutPrefix(text, "jar:"); ok {
		data = jarOf(s.t, "Manifest-Version: 1.0\r\nClass-Path: "+fold(names)+
			"\r\n\r\nName: x\r\nClass-Path: other.jar\r\n")
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// fold breaks a value in the middle of its words, as java's tools do.
func fold(s string) (out string) {
	for len(s) > 7 {
		out, s = out+s[:7]+"\r\n ", s[7:]
	}
	return out + s
}

func jarOf(t *testing.T, manifest string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("META-INF/MANIFEST.MF")
	if err == nil {
		_, err = f.Write([]byte(manifest))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (s *readsWorld) run() (policy.Verdict, error) {
	p, err := OpenLocked(s.t.Context(), s.w, s.server, &s.entry, project.Approval{Path: s.path, Runtime: s.runtime})
	if err != nil {
		return policy.Verdict{}, err
	}
	defer p.Close()
	return policy.Judge(policy.Launch, policy.Settings{}, append(p.Report, MissingArtifacts(s.entry, p)...)), nil
}

func (s *readsWorld) check() policy.Verdict {
	report, err := CheckEntry(s.t.Context(), s.w, s.server, s.entry, project.Approval{Path: s.path, Runtime: s.runtime})
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
		{"deno", "server.ts", []string{"run"}, ""},
	} {
		s := newReadsWorld(t, readsCase{command: c.command, args: append(c.args, c.file),
			files: map[string]string{c.file: ""}})
		if got := strings.Join(s.unknown, "; "); got != c.want {
			t.Errorf("%s: %q", c.command, got)
		}
	}
	s := newReadsWorld(t, readsCase{command: "deno", args: []string{"run", "x.ts"},
		files: map[string]string{"x.ts": `import "a"`, "deno.json": `{"imports": {"a": "npm:left@1"}}`}})
	if !slices.Equal(s.unknown, []string{"deno.json names npm:left@1"}) {
		t.Errorf("%q", s.unknown)
	}
}

// TestReadsOnce: a file that an argument names and the script imports is one artifact, and bun is
// kept from what the lock does not cover.
func TestReadsOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	s := newReadsWorld(t, readsCase{command: "bun", args: []string{"run", "a.ts", "--load=b.ts"},
		files: map[string]string{"a.ts": `import "./b"`, "b.ts": "", ".env": "X=1"}})
	if got := slices.Sorted(maps.Keys(s.entry.Artifacts)); !slices.Equal(got, []string{"file:a.ts", "file:b.ts"}) {
		t.Errorf("%q", got)
	}
	if want := []string{"bun", "--no-install", "--no-env-file", "run", s.w.Path("a.ts"),
		"--load=b.ts"}; !slices.Equal(s.args, want) {
		t.Errorf("%q", s.args)
	}
}

// TestReadsOwn: an entry that is of another file than the one that is started is refused, though
// every digest in it is right.
func TestReadsOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	s := newReadsWorld(t, readsCase{command: "node", args: []string{"server.js"},
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
