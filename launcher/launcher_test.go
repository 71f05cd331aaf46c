package launcher

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line                               string
		launcher, ref, name, bin, file, op string
		args                               []string
	}{
		{line: "npx -y notes@1.4.0 --root /tmp", launcher: "npx", ref: "npm:notes@1.4.0", name: "notes", args: []string{"--root", "/tmp"}},
		{line: "npx @acme/notes@1.4.0", launcher: "npx", ref: "npm:@acme/notes@1.4.0", name: "@acme/notes"},
		{line: "/usr/local/bin/npx --yes -- @acme/notes@1.4.0-rc.1 -y", launcher: "npx", ref: "npm:@acme/notes@1.4.0-rc.1", name: "@acme/notes", args: []string{"-y"}},
		{line: `C:\node\npx.cmd notes@1.0.0`, launcher: "npx", ref: "npm:notes@1.0.0", name: "notes"},
		{line: "npm exec -- notes@1.0.0 a", launcher: "npx", ref: "npm:notes@1.0.0", name: "notes", args: []string{"a"}},
		{line: "npx -p notes@1.0.0 notes-server --x", launcher: "npx", ref: "npm:notes@1.0.0", name: "notes", bin: "notes-server", args: []string{"--x"}},
		{line: "npx --package=@acme/n@2.0.0 n", launcher: "npx", ref: "npm:@acme/n@2.0.0", name: "@acme/n", bin: "n"},
		{line: "npx notes", launcher: "npx", name: "notes"},
		{line: "npx @acme/notes", launcher: "npx", name: "@acme/notes"},
		{line: "npx notes@^1", launcher: "npx", name: "notes"},
		{line: "npx notes@latest", launcher: "npx", name: "notes"},
		{line: "npx -c 'notes serve'", launcher: "npx", op: "shell line"},
		{line: "npx --registry http://e.example.com notes", launcher: "npx", op: "--registry is not known"},
		{line: "npx ./local", launcher: "npx", name: "./local", op: "not a package"},
		{line: "npx", launcher: "npx", op: "without a package"},
		{line: "npx -p", launcher: "npx", op: "needs a package"},
		{line: "npx -p a@1.0.0 -p b@1.0.0 c", launcher: "npx", op: "several"},
		{line: "npm run serve", launcher: "npm", op: "package.json", args: []string{"run", "serve"}},
		{line: "node --no-warnings server.js 8080", launcher: "node", file: "server.js", args: []string{"--no-warnings", "server.js", "8080"}},
		{line: "python3 -u srv/main.py", launcher: "python3", file: "srv/main.py", args: []string{"-u", "srv/main.py"}},
		{line: "python3 -m srv", launcher: "python3", op: "-m", args: []string{"-m", "srv"}},
		{line: "java -jar s.jar", launcher: "java", file: "s.jar", args: []string{"-jar", "s.jar"}},
		{line: "java Main", launcher: "java", op: "-jar", args: []string{"Main"}},
		{line: "deno run -A main.ts", launcher: "deno", file: "main.ts", args: []string{"run", "-A", "main.ts"}},
		{line: "deno run npm:notes@1.0.0", launcher: "deno", op: "yet", args: []string{"run", "npm:notes@1.0.0"}},
		{line: "bun server.ts", launcher: "bun", file: "server.ts", args: []string{"server.ts"}},
		{line: "uvx kagimcp", launcher: "uvx", op: "yet", args: []string{"kagimcp"}},
		{line: "./server --a b", args: []string{"--a", "b"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			words := strings.Fields(c.line)
			got := Parse(words[0], words[1:])
			if got.Launcher != c.launcher || got.Ref.String() != c.ref || got.Name != c.name || got.Bin != c.bin || got.File != c.file {
				t.Errorf("got %+v", got)
			}
			if (got.Opaque == "") != (c.op == "") || !strings.Contains(got.Opaque, c.op) {
				t.Errorf("opaque %q, want %q", got.Opaque, c.op)
			}
			if c.op == "" && !slices.Equal(got.Args, c.args) {
				t.Errorf("args %q, want %q", got.Args, c.args)
			}
			if got.Exact() != (c.ref != "") {
				t.Errorf("Exact() = %v", got.Exact())
			}
		})
	}
}
