package local

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestInQuotes: no comment, pattern or other quote hides a text, and paths in pieces are put together.
func TestInQuotes(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{`f("a.js")`, "a.js"}, {"f(`a.js`)", "a.js"}, {`/"/.test(x); f("a.js")`, "a.js"}, {`it's "a.js" // '`, "a.js"},
		{`don't('a.js')`, "a.js"},
		{`f("\x61\u002ejs")`, "a.js"}, {`f("\u{61}.js")`, "a.js"}, {`f("b\\a.js")`, `b\a.js`},
		{`j(d, "..", "a", 'b.js')`, "../a/b.js"}, {`d / "a" / "b.py"`, "a/b.py"},
		{`"a" + "b.js"`, "ab.js"}, {"[\n\"a\",\n\"b.js\"]", "a/b.js"}, {`"a" "b.py"`, "ab.py"},
	} {
		var got []string
		eachQuotedText([]byte(c.code), func(text string, _ bool) bool { got = append(got, text); return true })
		if !slices.Contains(got, c.want) {
			t.Errorf("%s: %q", c.code, got)
		}
	}
	// in time that is linear
	for _, hard := range []string{strings.Repeat(`"`, 1<<20), strings.Repeat(`"a",`, 1<<18),
		strings.Repeat(`"'`+"`", 1<<18), strings.Repeat("'"+strings.Repeat("a", 1000)+`"`, 1<<10)} {
		n := 0
		eachQuotedText([]byte(hard), func(string, bool) bool { n++; return true })
		if n > maxPieces*len(hard) {
			t.Errorf("%d texts", n)
		}
	}
}

// TestPathsIn: a text is a path, a command line, a URL or what a template ends with.
func TestPathsIn(t *testing.T) {
	for text, want := range map[string]string{
		"a.js": "a.js", "node ./a --x": "./a", "./a.mjs?v=1": "./a.mjs", "file:///a/b.js": "/a/b.js",
		"${dir}/a.js": "/a.js", "f --load=b.py": "b.py",
	} {
		if got := quotedPaths(text); !slices.Contains(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := quotedPaths("data.json or words"); got != nil {
		t.Errorf("%q", got)
	}
}

// TestReadsComputed: code that may start or load what it does not name is said to, and no other.
func TestReadsComputed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its interpreters are other files")
	}
	for _, c := range []struct{ command, code, want string }{
		{"node", `require("node:child_process").fork(x)`, "child_process"},
		{"node", `import { Worker } from "worker_threads"`, "worker_threads"},
		{"node", `new Worker(x)`, "Worker"},
		{"node", `import(x)`, "import()"},
		{"node", `require(x)`, "require"},
		{"bun", `Bun.spawn(x)`, "Bun.spawn"},
		{"deno", `new Deno.Command(x)`, "Deno.Command"},
		{"node", `require("fs").readFileSync("x.js"); class Workers {}`, ""},
		{"python3", `import subprocess`, "subprocess"},
		{"python3", `runpy.run_path(x)`, "runpy"},
		{"python3", `exec(open(x).read())`, "exec"},
		{"python3", `importlib.import_module(x)`, "import_module"},
		{"python3", `importlib.import_module("x")`, ""},
		{"python3", `__import__(x)`, "__import__"},
		{"python3", `os.execv(x)`, "execv"},
		{"python3", `os.system(x)`, "os.system"},
		{"python3", `from os import system; system(x)`, "system"},
		{"python3", `platform.system(); import re, importlib.metadata; evaluate(x); cursor.executemany(y)`, ""},
	} {
		file := map[string]string{"python3": "server.py"}[c.command]
		if file == "" {
			file = "server.js"
		}
		args := []string{file}
		if c.command != "node" && c.command != "python3" {
			args = []string{"run", file}
		}
		s := newReadsWorld(t, readsCase{command: c.command, args: args, files: map[string]string{file: c.code}})
		want := ""
		if c.want != "" {
			want = "it may start or load by " + c.want +
				" what its code does not name in quotes, or what that loads in turn"
		}
		if got := strings.Join(s.unknown, "; "); got != want {
			t.Errorf("%s %s: %q", c.command, c.code, got)
		}
	}
}
