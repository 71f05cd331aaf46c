package clients

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An entry with a URL starts a program afterwards, its headers are variables, all else stays; and it gets its bytes back,
// or its value where a client wrote the file anew.
func TestRewriteRemote(t *testing.T) {
	variables := map[string]string{"Authorization": "MCP_X_AUTHORIZATION", "X-Team": "MCP_X_X_TEAM"}
	const run = `"command": "/bin/hallmark", "args": ["run", "x"]`
	for name, c := range map[string]struct{ file, text, want string }{
		"url alone":  {".cursor/mcp.json", `{"mcpServers": {"x": {"url": "https://a/mcp"}}}`, `{"mcpServers": {"x": {` + run + `}}}`},
		"with type":  {".mcp.json", `{"mcpServers": {"x": {"type": "http", "url": "https://a/mcp", "timeout": 5}}}`, `{"mcpServers": {"x": {"type": "stdio", ` + run + `, "timeout": 5}}}`},
		"last is it": {".mcp.json", `{"mcpServers": {"x": {"timeout": 5, "url": "https://a/mcp", "type": "sse"}}}`, `{"mcpServers": {"x": {"timeout": 5, ` + run + `, "type": "stdio"}}}`},
		"headers": {".cursor/mcp.json", "{\n // mine\n \"mcpServers\": {\n  \"y\": {\"url\": \"https://b\"},\n  \"x\": {\n   \"headers\": {\"Authorization\": \"Bearer a\", \"X-Team\": \"b\"}, // who\n   \"url\": \"https://a\", // where\n  },\n }\n}\n",
			"{\n // mine\n \"mcpServers\": {\n  \"y\": {\"url\": \"https://b\"},\n  \"x\": { // who\n   " + run + `, "env": {"MCP_X_AUTHORIZATION": "Bearer a", "MCP_X_X_TEAM": "b"}` + ", // where\n  },\n }\n}\n"},
		"headers last": {".vscode/mcp.json", `{"servers": {"x": {"type": "http", "url": "https://a", "headers": {"X-Team": "${input:team}"}}}}`,
			`{"servers": {"x": {"type": "stdio", ` + run + `, "env": {"MCP_X_X_TEAM": "${input:team}"}}}}`},
		"opencode": {"opencode.json", `{"mcp": {"x": {"type": "remote", "url": "https://a", "headers": {"X-Team": "b"}, "enabled": true}}}`,
			`{"mcp": {"x": {"type": "local", "command": ["/bin/hallmark", "run", "x"], "environment": {"MCP_X_X_TEAM": "b"}, "enabled": true}}}`},
		"cline": {".cline/data/settings/cline_mcp_settings.json", `{"mcpServers": {"x": {"transport": {"type": "streamableHttp", "url": "https://a"}, "disabled": false}}}`,
			`{"mcpServers": {"x": {"transport": {"type": "stdio", ` + run + `}, "disabled": false}}}`},
		"empties": {".cursor/mcp.json", `{"mcpServers": {"x": {"command": null, "args": [], "url": "https://a", "env": {}, "headers": {"X-Team": "b"}}}}`,
			`{"mcpServers": {"x": { ` + run + `, "env": {"MCP_X_X_TEAM": "b"}}}}`},
		"gemini":   {".gemini/settings.json", `{"mcpServers": {"x": {"httpUrl": "https://a", "trust": false}}}`, `{"mcpServers": {"x": {` + run + `, "trust": false}}}`},
		"windsurf": {".codeium/windsurf/mcp_config.json", `{mcpServers: {x: {serverUrl: 'https://a',},},}`, `{mcpServers: {x: {` + run + `,},},}`},
	} {
		t.Run(name, func(t *testing.T) {
			f := FileAt(filepath.Join(t.TempDir(), filepath.FromSlash(c.file)))
			servers, err := Parse(f, []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			s := servers[slices.IndexFunc(servers, func(s Server) bool { return s.Name == "x" })]
			given := map[string]string{}
			for _, header := range s.Headers {
				given[header] = variables[header]
			}
			out, change, err := RewriteRemote([]byte(c.text), s, "/bin/hallmark", []string{"run", "x"}, given)
			if err != nil || string(out) != c.want {
				t.Fatalf("%v\n%s\nwant\n%s", err, out, c.want)
			}
			if back, err := Restore(out, change); err != nil || string(back) != c.text {
				t.Errorf("restored: %v\n%s", err, back)
			}
			// A client has another layout, and other values elsewhere.
			anew := strings.NewReplacer(run, `"args": ["run", "x"],`+"\n\t"+`"command": "/bin/hallmark"`, `"https://b"`, `"https://c"`).Replace(c.want)
			back, err := Restore([]byte(anew), change)
			if err != nil || strings.Contains(string(back), "hallmark") {
				t.Errorf("restored by value: %v\n%s", err, back)
			}
			if _, err := JSON.Parse(back, false); err != nil {
				t.Errorf("%v\n%s", err, back)
			}
			// The user switched it off since: it stays off.
			off := strings.Replace(c.want, `"command"`, `"timeout": 7, "command"`, 1)
			if back, err := Restore([]byte(off), change); !strings.Contains(c.want, `"timeout"`) && !strings.Contains(c.want, `"transport"`) &&
				(err != nil || !strings.Contains(string(back), `"timeout": 7`) || strings.Contains(string(back), "hallmark")) {
				t.Errorf("with a member of the client's: %v\n%s", err, back)
			}
			edited := strings.Replace(c.want, `"run", "x"`, `"run", "x", "--more"`, 1)
			if _, err := Restore([]byte(edited), change); !errors.Is(err, ErrChanged) {
				t.Errorf("edited: %v", err)
			}
		})
	}
	const doubled = `{"mcpServers": {"x": {"url": "https://a", "url": "https://b"}}}`
	f := FileAt(filepath.Join(t.TempDir(), ".cursor", "mcp.json"))
	if servers, err := Parse(f, []byte(doubled)); err != nil || len(servers) != 1 {
		t.Fatal(err, servers)
	} else if _, _, err := RewriteRemote([]byte(doubled), servers[0], "h", nil, nil); err == nil {
		t.Error("one of two URLs is rewritten")
	}
	const both = `{"mcpServers": {"x": {"url": "https://a", "headers": {"A": "b"}, "env": {"MCP_X_A": "other"}}}}`
	if servers, err := Parse(f, []byte(both)); err != nil || len(servers) != 1 {
		t.Fatal(err, servers)
	} else if out, _, err := RewriteRemote([]byte(both), servers[0], "h", nil, map[string]string{"A": "MCP_X_A"}); err == nil {
		t.Errorf("a header gets another value: %s", out)
	}
	for text, want := range map[string]string{
		"[mcp_servers.x]\nurl = \"https://a\" # mine\nenabled = true\n":        "[mcp_servers.x]\ncommand = \"h\"\nargs = [\"run\"] # mine\nenabled = true\n",
		"[mcp_servers]\nx = { url = \"https://a\", enabled = true }\n":         "[mcp_servers]\nx = { command = \"h\", args = [\"run\"], enabled = true }\n",
		"[mcp_servers.x]\r\nurl = \"https://a\"\r\n":                           "[mcp_servers.x]\r\ncommand = \"h\"\r\nargs = [\"run\"]\r\n",
		"[mcp_servers.x]\nurl = \"https://a\"\nhttp_headers = { A = \"b\" }\n": "",
		"[mcp_servers.x]\nurl = \"https://a\"\nbearer_token_env_var = \"B\"\n": "",
	} {
		f := FileAt(filepath.Join(t.TempDir(), ".codex", "config.toml"))
		servers, err := Parse(f, []byte(text))
		if err != nil || len(servers) != 1 {
			t.Fatal(err, servers)
		}
		checkRewriting(t, text, want, servers[0], nil)
	}
}

// checkRewriting has an entry of text start a program, which makes want of it, "" if it cannot be, and gives it back.
func checkRewriting(t *testing.T, text, want string, server Server, variables map[string]string) {
	t.Helper()
	out, change, err := RewriteRemote([]byte(text), server, "h", []string{"run"}, variables)
	if (err == nil) != (want != "") || string(out) != want {
		t.Errorf("%q: %v, %q", text, err, out)
	}
	if err == nil {
		if back, err := Restore([]byte("# more\n"+string(out)), change); err != nil || string(back) != "# more\n"+text {
			t.Errorf("%q is restored as %q, %v", text, back, err)
		}
	}
}

// What Codex sends as headers from a literal or its own environment, a program gets in variables.
func TestRewriteHeadersOfCodex(t *testing.T) {
	headers := map[string]string{"A": "MCP_X_A", "X-Own": "OWN", "Authorization": "TOKEN"}
	const run = "command = \"h\"\nargs = [\"run\"]\n"
	for text, want := range map[string]string{ // of Codex, whose headers become variables, too
		"[mcp_servers.x]\nurl = \"https://a\"\nbearer_token_env_var = \"TOKEN\"\n": "[mcp_servers.x]\n" + run + "env_vars = [\"TOKEN\"]\n",
		"[mcp_servers.x]\nbearer_token_env_var = \"TOKEN\" # mine\n# and\nurl = \"https://a\"\nenabled = true": "[mcp_servers.x] # mine\n# and\n" +
			run + "env_vars = [\"TOKEN\"]\nenabled = true",
		"[mcp_servers.x]\r\nhttp_headers = { A = \"b\" }\r\nurl = \"https://a\"\r\nenv_http_headers = { X-Own = \"OWN\" }\r\n": "[mcp_servers.x]\r\ncommand = \"h\"\r\n" +
			"args = [\"run\"]\r\nenv = { MCP_X_A = \"b\" }\r\nenv_vars = [\"OWN\"]\r\n",
		// as Codex writes its file anew
		"[mcp_servers.x]\nurl = \"https://a\"\n\n[mcp_servers.x.http_headers]\nA = \"b\"\n\n[mcp_servers.x.env_http_headers]\nX-Own = \"OWN\"\n\n[mcp_servers.x.tools.y]\nm = 1\n": "[mcp_servers.x]\n" +
			run + "env = { MCP_X_A = \"b\" }\nenv_vars = [\"OWN\"]\n\n[mcp_servers.x.tools.y]\nm = 1\n",
		"[mcp_servers.x.http_headers] # one\n# two\nA = \"b\" # three\n[mcp_servers.x]\nurl = \"https://a\"\n": " # one\n# two # three\n[mcp_servers.x]\n" + run + "env = { MCP_X_A = \"b\" }\n",
		"[mcp_servers.x]\nurl = \"https://a\"\nhttp_headers.A = \"b\"\n\"env_http_headers\".X-Own = 'OWN'":     "[mcp_servers.x]\n" + run + "env = { MCP_X_A = \"b\" }\nenv_vars = [\"OWN\"]",
		"[mcp_servers.'x']\n\"url\" = 'https://a'\n\"bearer_token_env_var\" = 'TOKEN'\n":                       "[mcp_servers.'x']\n" + run + "env_vars = [\"TOKEN\"]\n",
		"[mcp_servers.x]\nurl = \"https://a\"\nhttp_headers = { A = 1 }\n":                                     "",
		"[mcp_servers.x]\nurl = \"https://a\"\nenv = { A = \"b\" }\nhttp_headers = { A = \"b\" }\n":            "",
		"[mcp_servers]\nx = { url = \"https://a\", http_headers = { A = \"b\" } }\n":                           "",
	} {
		f := FileAt(filepath.Join(t.TempDir(), ".codex", "config.toml"))
		servers, err := Parse(f, []byte(text))
		if err != nil || len(servers) != 1 {
			t.Fatal(err, servers)
		}
		given := map[string]string{}
		for _, header := range servers[0].Headers {
			given[header] = headers[header]
		}
		checkRewriting(t, text, want, servers[0], given)
	}
}

// Codex writes its file anew whenever a server is added or removed: what the entry was is given back by its values then,
// unless somebody edited it.
func TestRestoreURLByValue(t *testing.T) {
	const text = "[mcp_servers.x]\nurl = \"https://a\"\nbearer_token_env_var = \"TOKEN\"\nhttp_headers = { A = \"b\", \"B\" = \"c\" } # mine\n"
	const anew = "[mcp_servers.x]\ncommand = \"/elsewhere/h\"\nargs = [\n    \"run\",\n]\nenv_vars = [\"TOKEN\"]\nstartup_timeout_sec = 20.0\n\n" +
		"[mcp_servers.x.env]\nMCP_X_A = \"b\"\nMCP_X_B = \"c\"\n\n[mcp_servers.x.tools.y]\nm = \"a\"\n\n[mcp_servers.z]\nurl = \"https://z\"\n"
	const want = "[mcp_servers.x]\nurl = \"https://a\"\nbearer_token_env_var = \"TOKEN\"\nhttp_headers = { \"A\" = \"b\", \"B\" = \"c\" }\nstartup_timeout_sec = 20.0\n\n" +
		"[mcp_servers.x.tools.y]\nm = \"a\"\n\n[mcp_servers.z]\nurl = \"https://z\"\n"
	f := FileAt(filepath.Join(t.TempDir(), ".codex", "config.toml"))
	for _, c := range []struct{ text, anew, want string }{
		{text, anew, want},
		{text, strings.ReplaceAll(anew, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")},
		{text, strings.Replace(anew, `"run"`, `"run", "--more"`, 1), ""},
		{text, strings.Replace(anew, "MCP_X_B = \"c\"\n", "", 1), ""},
		{text, strings.Replace(anew, `"b"`, `"other"`, 1), ""},
		{text, strings.Replace(anew, "env_vars = [\"TOKEN\"]\n", "", 1), ""},
		{text, strings.Replace(anew, "/h", "/other", 1), ""},
		{"[mcp_servers]\nx = { url = \"https://a\" }\n", "[mcp_servers.x]\nargs = [\"run\"]\ncommand = \"h\"\n", "[mcp_servers.x]\nurl = \"https://a\"\n"},
	} {
		servers, err := Parse(f, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		given := map[string]string{}
		for _, header := range servers[0].Headers {
			given[header] = map[string]string{"A": "MCP_X_A", "B": "MCP_X_B", "Authorization": "TOKEN"}[header]
		}
		_, change, err := RewriteRemote([]byte(c.text), servers[0], "h", []string{"run"}, given)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Restore([]byte(c.anew), change)
		if string(back) != c.want || errors.Is(err, ErrChanged) != (c.want == "") {
			t.Errorf("%q is restored as %q, %v", c.anew, back, err)
		}
	}
}
