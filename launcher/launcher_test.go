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
		{line: "java Main", launcher: "java", op: "without -jar", args: []string{"Main"}},
		{line: "deno run -A main.ts", launcher: "deno", file: "main.ts", args: []string{"run", "-A", "main.ts"}},
		{line: "deno run npm:notes@1.0.0", launcher: "deno", op: "yet", args: []string{"run", "npm:notes@1.0.0"}},
		{line: "bun run server.ts", launcher: "bun", file: "server.ts", args: []string{"run", "server.ts"}},
		{line: "bun server.ts", launcher: "bun", op: "without 'run'"},
		{line: "python3.11 srv.py", launcher: "python3.11", file: "srv.py", args: []string{"srv.py"}},
		{line: "/opt/node20/bin/node-20 srv.js", launcher: "node-20", file: "srv.js", args: []string{"srv.js"}},
		{line: "pypy3 srv.py", launcher: "pypy3", file: "srv.py", args: []string{"srv.py"}},
		{line: "php srv.php", launcher: "php", file: "srv.php", args: []string{"srv.php"}},
		// Options that name more code, joined to their value or not.
		{line: "node --import=./pre.mjs srv.js", launcher: "node", op: "--import=./pre.mjs"},
		{line: "node --require=./pre.js srv.js", launcher: "node", op: "--require"},
		{line: "node -r./pre.js srv.js", launcher: "node", op: "-r./pre.js"},
		{line: "node --loader ./pre.mjs srv.js", launcher: "node", op: "--loader"},
		{line: "node --env-file=.env srv.js", launcher: "node", op: "--env-file"},
		{line: "python3 -cimport srv.py", launcher: "python3", op: "-cimport"},
		{line: "python3 -W error srv.py", launcher: "python3", op: "-W"},
		{line: "python3 -X importtime srv.py", launcher: "python3", op: "-X"},
		{line: "java -javaagent:a.jar -jar s.jar", launcher: "java", op: "-javaagent"},
		{line: "java @args -jar s.jar", launcher: "java", op: "@args"},
		{line: "perl -Mlib srv.pl", launcher: "perl", op: "-Mlib"},
		{line: "ruby -rjson srv.rb", launcher: "ruby", op: "-rjson"},
		{line: "bash --rcfile x srv.sh", launcher: "bash", op: "--rcfile"},
		{line: "bash -c srv", launcher: "bash", op: "-c"},
		// Programs that start others.
		{line: "env node srv.js", launcher: "env", op: "starts another program"},
		{line: "timeout 5 ./server", launcher: "timeout", op: "starts another program"},
		{line: "tsx srv.ts", launcher: "tsx", op: "starts another program"},
		{line: "pwsh -c srv", launcher: "pwsh", op: "starts another program"},
		{line: "cmd /c npx notes", launcher: "cmd", op: "starts another program"},
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
