//go:build unix

package servers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// Servers that were packed from source, one for each runtime. Each is two files, of which
// the second holds what a call is answered with, but for the program, which is one. ANSWER
// and DESCRIPTION are filled in.
var packed = []struct {
	runtime, entry string
	files          map[string]string
}{
	{"node", "main.mjs",
		map[string]string{"main.mjs": "import { answer } from './answer.mjs';\n" + scripted,
			"answer.mjs": "export const answer = 'ANSWER';\n"}},
	{"bun", "main.ts",
		map[string]string{"main.ts": "import { answer } from './answer.ts';\n" + scripted,
			"answer.ts": "export const answer: string = 'ANSWER';\n"}},
	{"deno", "src/main.ts",
		map[string]string{"src/main.ts": "import { answer } from './answer.ts';\n" + scripted,
			"src/answer.ts": "export const answer: string = 'ANSWER';\n"}},
	{"python", "main.py", map[string]string{"main.py": `import json, sys
from answer import answer
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {"jsonrpc": "2.0", "id": m["id"]}
    if m["method"] == "initialize":
        r["result"] = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        r["result"] = {"tools": [{"name": "greet", "description": "DESCRIPTION", "inputSchema": {"type": "object"}}]}
    elif m["method"] == "tools/call":
        try:
            import left
            answer = "code that nobody verified"
        except ImportError:
            pass
        r["result"] = {"content": [{"type": "text", "text": answer}]}
    else:
        r["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(r), flush=True)
`, "answer.py": "answer = 'ANSWER'\n"}},
	{"binary", "bin/server", map[string]string{"main.go": `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		r := "\"error\":{\"code\":-32601,\"message\":\"no such method\"}"
		switch m.Method {
		case "initialize":
			r = fmt.Sprintf("\"result\":{\"protocolVersion\":%q,\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}", m.Params.ProtocolVersion)
		case "tools/list":
			r = "\"result\":{\"tools\":[{\"name\":\"greet\",\"description\":\"DESCRIPTION\",\"inputSchema\":{\"type\":\"object\"}}]}"
		case "tools/call":
			r = "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ANSWER\"}]}"
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", m.ID, r)
	}
}
`}},
}

// scripted is the server in JavaScript. A package "left" is none of its own.
const scripted = `import { createInterface } from 'node:readline';
import { stdin } from 'node:process';
const results = {
  initialize: async (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }),
  'tools/list': async () => ({ tools: [{ name: 'greet', description: 'DESCRIPTION', inputSchema: { type: 'object' } }] }),
  'tools/call': async () => {
    let text = globalThis.preloaded ?? answer;
    try { await import('left'); text = 'code that nobody verified'; } catch { }
    return { content: [{ type: 'text', text }] };
  },
};
createInterface({ input: stdin }).on('line', async (line) => {
  const m = JSON.parse(line);
  if (m.id === undefined) return;
  const r = { jsonrpc: '2.0', id: m.id };
  if (results[m.method]) r.result = await results[m.method](m.params); else r.error = { code: -32601, message: 'no such method' };
  console.log(JSON.stringify(r));
});
`

// runtimePath is a PATH with bun and deno before what is there: with CI=true
// e2e/prerequisites.sh puts them into bin/runtimes.
func runtimePath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, pattern := range map[string]string{"bun": "@oven/bun-*/bin/bun", "deno": "@deno/*/deno"} {
		found, err := filepath.Glob(
			filepath.Join("..", "..", "bin", "runtimes", "node_modules", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, program := range found { // npm installs those of other C libraries too
			if program, err = filepath.Abs(program); err != nil {
				t.Fatal(err)
			}
			if exec.Command(program, "--version").Run() == nil {
				os.Remove(filepath.Join(dir, name))
				if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return dir + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// TestRuntimes packs, publishes, pins and runs a server of every runtime that a server.json
// can name. What lies in the project, where it is started, is no part of any.
func TestRuntimes(t *testing.T) {
	bin := world.Build(t, "hallmark")
	client := filepath.Join(t.TempDir(), "client")
	built.Into(t, client, "e2e/client")
	t.Setenv("PATH", runtimePath(t))
	registry := world.StartRegistry(t, "--data", t.TempDir(), "--allow-anonymous")
	key := world.LogKey(t, registry.URL)
	for _, p := range packed {
		t.Run(p.runtime, func(t *testing.T) {
			for _, program := range map[string][]string{"node": {"node"}, "bun": {"bun"}, "deno": {"deno"},
				"python": {"python3"}}[p.runtime] {
				if _, err := exec.LookPath(program); err != nil {
					if os.Getenv("CI") == "true" {
						t.Fatal(err)
					}
					t.Skipf("%v ('CI=true make test' installs it)", err)
				}
			}
			name := p.runtime + "-server"
			s := world.NewFacetStage(t, bin,
				fmt.Sprintf("[registry]\nurl = %q\nlog_key = %q\n[providers.mcp.s]\nsource = \"%s@1.0.0\"\n",
					registry.URL, key, name))
			publish := func(version, description, answer string) string {
				t.Helper()
				fill := strings.NewReplacer("DESCRIPTION", description, "ANSWER", answer)
				for file, text := range p.files {
					s.Write("src-"+version+"/"+file, fill.Replace(text))
				}
				if p.runtime == "binary" {
					c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", "bin/server", "main.go")
					c.Dir, c.Env = filepath.Join(s.Dir, "src-"+version), append(os.Environ(), "CGO_ENABLED=0")
					if out, err := c.CombinedOutput(); err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
				}
				s.Write("src-"+version+"/server.json",
					fmt.Sprintf(`{"name":%q,"version":%q,"runtime":%q,"entry":%q}`, name, version, p.runtime, p.entry))
				s.Run("pack", filepath.Join(s.Dir, "src-"+version), "-o", filepath.Join(s.Dir, "s.facet"))
				out := s.Run("publish", filepath.Join(s.Dir, "s.facet"), "--registry", registry.URL, "--log-key", key)
				_, shown, _ := strings.Cut(out, "api_surface")
				return strings.TrimSpace(strings.SplitN(shown, "\n", 2)[0])
			}
			calls := func(answer string, args ...string) {
				t.Helper()
				c := s.Command(append([]string{"-call", "greet", bin, "run"}, args...)...)
				c.Path = client
				out, err := c.CombinedOutput()
				if c.ProcessState == nil || !world.Ended(c.ProcessState.ExitCode()) ||
					!strings.Contains(string(out), "call greet: "+answer+"\n") {
					t.Errorf("%v\n%s", err, out)
				}
			}
			// Those who look at a directory for settings find what loads other code.
			s.Write("project/bunfig.toml", "preload = [\"./left.js\"]\n")
			s.Write("project/left.js", "globalThis.preloaded = 'code that nobody verified';\n")
			s.Write("project/package.json",
				`{"name":"x","dependencies":{"left":"1.0.0"},"imports":{"left":"./left.js"}}`)
			s.Write("project/node_modules/left/package.json", `{"name":"left","version":"1.0.0","main":"index.js"}`)
			s.Write("project/node_modules/left/index.js", "")
			s.Write("project/deno.json", `{"imports":{"left":"./left.js"}}`)
			s.Write("project/left.py", "")

			api := publish("1.0.0", "Greet.", "one")
			publish("1.2.0", "Greet.", "two")
			publish("2.0.0", "Greet.", "three")
			s.Run("pin", "--yes")
			var lock struct {
				Servers map[string]struct {
					Source, Ref, Entry, Runtime string
					API                         string `json:"api_surface"`
				}
			}
			data, err := os.ReadFile(filepath.Join(s.Project, "hallmark.lock"))
			if err != nil || json.Unmarshal(data, &lock) != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			if l := lock.Servers["s"]; l.Source != "artifact" || l.Ref != name+"@1.2.0" || l.Entry != p.entry ||
				l.Runtime != p.runtime || l.API != api {
				t.Errorf("published with %s, locked as %+v", api, l)
			}
			calls("two", "s")
			s.Run("check")

			publish("1.3.0", "Greet somebody.", "four")
			if out := s.Run("upgrade", "--yes"); !strings.Contains(out, "1.2.0 -> 1.3.0") ||
				!strings.Contains(out, "description changed") {
				t.Errorf("upgrade says\n%s", out)
			}
			calls("four", "s")
			// Another machine gets the same bytes.
			s.Home += "-other"
			calls("four", "s", "--trust-lock")
			calls("four", "s", "--trust-lock")
			s.Run("check", "--offline")

			found, err := filepath.Glob(
				filepath.Join(s.Home, "cache", "store", "sha256", "*", "*", "content", filepath.FromSlash(p.entry)))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			if err := os.Chmod(found[0], 0o700); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(found[0], os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteString(" ")
			f.Close()
			out, err := s.Command("check", "--offline").CombinedOutput()
			if c, ok := err.(*exec.ExitError); !ok || c.ExitCode() != 3 {
				t.Errorf("%v\n%s", err, out)
			}
			calls("four", "s", "--trust-lock") // fetched again
			if left, _ := filepath.Glob(filepath.Join(s.Home, "cache", "store", "quarantine", "*")); len(left) != 1 {
				t.Errorf("in quarantine: %q", left)
			}
		})
	}
}
