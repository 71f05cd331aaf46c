package launcher

import (
	"slices"
	"strings"
	"testing"
)

// TestInnerLine: what a server's arguments may start or fetch is found in whatever wrapper it stands.
func TestInnerLine(t *testing.T) {
	for _, c := range []struct{ line, inner string }{
		// the field's wrappers
		{"npx|-y|run-env@1.0.0|npx|-y|mail-demo", "npx -y mail-demo"},
		{"npx|-y|envmcp@1.0.0|npx|-y|@acme/mail@1.0.0", "npx -y @acme/mail@1.0.0"},
		{"npx|-y|dotenv-cli@1.0.0|-e|.env|--|npx|-y|mail-demo", "npx -y mail-demo"},
		{"npx|-y|supergateway@1.0.0|--stdio|npx -y mail-demo", "npx -y mail-demo"},
		{"npx|-y|supergateway@1.0.0|--stdio|uvx mail-demo|--port|8000", "uvx mail-demo"},
		{"npx|-y|supergateway@1.0.0|--stdio|node dist/index.js", "node dist/index.js"},
		{"uvx|mcp-proxy@1.0.0|--|npx|-y|mail-demo", "npx -y mail-demo"},
		{"uvx|mcp-proxy@1.0.0|--port=80|uvx|mail-demo", "uvx mail-demo"},
		{"uvx|mcp-proxy@1.0.0|python|-m|mail", "python -m mail"},
		{"uvx|mcp-proxy@1.0.0|--|node|build/index.js", "node build/index.js"},
		{"node|./wrap.js|npx|-y|mail-demo", "npx -y mail-demo"},
		{"./wrap|npx|-y|mail-demo", "npx -y mail-demo"},
		{"docker|run|-i|img@sha256:" + strings.Repeat("0", 64) + "|npx|-y|mail-demo", "npx -y mail-demo"},
		{"docker|run|--entrypoint|npx|img:1|-y|mail-demo", "npx -y mail-demo"},
		// other spellings
		{"npx|a@1.0.0|/usr/local/bin/npx|-y|mail-demo", "/usr/local/bin/npx -y mail-demo"},
		{`npx|a@1.0.0|C:\node\npx.cmd|-y|mail-demo`, `\node\npx.cmd -y mail-demo`},
		{"npx|a@1.0.0|NPX.EXE|mail-demo", "NPX.EXE mail-demo"},
		{"npx|a@1.0.0|--cmd=npx -y mail-demo", "npx -y mail-demo"},
		{"npx|a@1.0.0|--cmd=npx|--args=-y|--args=mail-demo", "npx --args=-y --args=mail-demo"},
		{"npx|a@1.0.0|--command|npx|--args|-y mail-demo", "npx --args -y mail-demo"},
		{"npx|a@1.0.0|EXEC:npx -y mail-demo", "npx -y mail-demo"},
		{"npx|a@1.0.0|--run|cd x && npx -y mail-demo", "npx -y mail-demo"},
		{"npx|a@1.0.0|--run|envmcp npx -y mail-demo", "npx -y mail-demo"},
		{"npx|a@1.0.0|sh|-c|exec mail", "sh -c exec mail"},
		{"npx|a@1.0.0|cmd|/c|mail", "cmd /c mail"},
		{"npx|a@1.0.0|env|A=b|npx|mail-demo", "env A=b npx mail-demo"},
		{`npx|a@1.0.0|--config|{"command":"npx","args":["-y","mail-demo"]}`, "npx args -y mail-demo"},
		{"npx|a@1.0.0|npx|--registry=https://x.example.com|mail-demo", "npx --registry=https://x.example.com mail-demo"},
		{"npx|a@1.0.0|docker|run|--rm|-i|img:1", "docker run --rm -i img:1"},
		{"npx|a@1.0.0|--x|docker|run|--unknown|img:1", "docker run --unknown img:1"},
		{"npx|a@1.0.0|docker|-H|x|exec|-i|box|mail", "docker -H x exec -i box mail"},
		{"npx|a@1.0.0|go|run|example.com/mail@latest", "go run example.com/mail@latest"},
		{"npx|a@1.0.0|deno|run|npm:mail", "deno run npm:mail"},
		{"npx|a@1.0.0|uv|--directory|mail|run|mail", "uv --directory mail run mail"},
		{"npx|a@1.0.0|5|npm|start", "npm start"},
		{"npx|a@1.0.0|pipx|run|mail", "pipx run mail"},
		{"npx|a@1.0.0|--args|npx,-y,mail-demo", "npx -y mail-demo"},
		{"npx|a@1.0.0|node|-e|import('x')", "node -e import x"},
		{"npx|a@1.0.0|--|python|worker", "python worker"},
		{"npx|a@1.0.0|.env|node|--import|./x.js|y", "node --import ./x.js y"},
		{"npx|a@1.0.0|powershell|-Command|mail", "powershell -Command mail"},
		{"npx|a@1.0.0|poetry|run|mail", "poetry run mail"},
		{"npx|a@1.0.0|tsx|src/index.ts", "tsx src/index.ts"},
		// values that are called as programs
		{"npx|a@1.0.0|--docker", ""},
		{"npx|a@1.0.0|./docker", ""},
		{"npx|a@1.0.0|--shell|bash", ""},
		{"npx|a@1.0.0|--shell|bash|--port|80", ""},
		{"npx|a@1.0.0|--runtime=node|--port|80", ""},
		{"npx|a@1.0.0|--runtime=node|server.js", ""},
		{"npx|a@1.0.0|--language|python|src", ""},
		{"npx|a@1.0.0|--language|python|3.11", ""},
		{"npx|a@1.0.0|--languages|go|python|node|--port|80", ""},
		{"npx|a@1.0.0|--languages=go,python,node", ""},
		{"npx|a@1.0.0|--tools|docker,npm,make", ""},
		{"npx|a@1.0.0|--runtime|docker|--image|x", ""},
		{"npx|a@1.0.0|--installer|uvx", ""},
		{"npx|a@1.0.0|/home/me/go|/home/me/docker|/home/me/python|/home/me/npx|/home/me/x", ""},
		{"npx|a@1.0.0|https://example.com/npx|x", ""},
		{"npx|a@1.0.0|@acme/docker|run", ""},
		{"npx|a@1.0.0|--mode|task|--time|5", ""},
		{"npx|a@1.0.0|--prompt|Help with Python and Docker, and say so.", ""},
		{"node|server.js|--port|80", ""},
		{"uv|run|--directory|d|python|server.py", ""},
		{"docker|run|-i|img:1|python|-m|server", ""},
		{"docker|run|-i|img:1|node|dist/index.js", ""},
		{"docker|run|-i|img:1|uv|run|server.py", ""},
		{"docker|run|--entrypoint|sh|img:1|-c|exec ./server", ""},
	} {
		words := strings.Split(c.line, "|")
		if got := strings.Join(Parse(words[0], words[1:]).InnerLine(), " "); got != c.inner {
			t.Errorf("%s: got %q, want %q", c.line, got, c.inner)
		}
	}
}

// TestInnerLineBounded: a hostile line takes no time that grows with its square.
func TestInnerLineBounded(t *testing.T) {
	args := slices.Repeat([]string{"--x", "node"}, MaxArguments/2-1)
	args = append(args, "--y", strings.Repeat("node ", 1<<13))
	if got := InnerLine(args, true); got != nil {
		t.Errorf("got %d words", len(got))
	}
}
