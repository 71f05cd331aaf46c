package launcher

import (
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

func TestRules(t *testing.T) {
	hex := strings.Repeat("a", 64)
	for _, c := range []struct {
		name  string
		d     Declared
		rules string // RULE OUTCOME, …
		fix   string // of the first
	}{
		// The example of the verify block's own document, and what it recommends.
		{"checksum of uvx",
			Declared{Command: "/Users/jean/.cargo/bin/uvx", Args: []string{"kagimcp"}, Verify: "checksum",
				Algorithm: "sha256"},
			"unpinned-launcher absent, verify-hashes-launcher mismatch, deprecated-checksum mismatch",
			`["kagimcp@<version>"]`},
		{"pinned", Declared{Command: "uvx", Args: []string{"kagimcp@0.1.5"}}, " match", ""},
		{"known", Declared{Command: "uvx", Args: []string{"kagimcp"}, Known: func(Package) string { return "0.1.5" }},
			"unpinned-launcher absent", `["kagimcp@0.1.5"]`},
		{"known wrongly",
			Declared{Command: "uvx", Args: []string{"kagimcp"}, Known: func(Package) string { return "latest" }},
			"unpinned-launcher absent", `["kagimcp@<version>"]`},
		{"npx", Declared{Command: "npx", Args: []string{"-y", "pkg"}}, "unpinned-launcher absent",
			`["-y", "pkg@<version>"]`},
		{"bunx", Declared{Command: "bunx", Args: []string{"pkg"}}, "unpinned-launcher absent", `["pkg@<version>"]`},
		{"pnpm", Declared{Command: "pnpm", Args: []string{"dlx", "pkg"}}, "unpinned-launcher absent",
			`["dlx", "pkg@<version>"]`},
		{"pipx", Declared{Command: "pipx", Args: []string{"run", "pkg"}}, "unpinned-launcher absent",
			`["run", "pkg==<version>"]`},
		{"dnx", Declared{Command: "dnx", Args: []string{"Pkg"}}, "unpinned-launcher absent", `["Pkg@<version>"]`},
		{"deno", Declared{Command: "deno", Args: []string{"run", "npm:pkg"}}, "unpinned-launcher absent",
			`["run", "npm:pkg@<version>"]`},
		{"go", Declared{Command: "go", Args: []string{"run", "example.com/m@latest"}}, "range-or-tag-version mismatch",
			`["run", "example.com/m@<version>"]`},
		{"range", Declared{Command: "npx", Args: []string{"pkg@^1"}}, "range-or-tag-version mismatch",
			`["pkg@<version>"]`},
		{"tag", Declared{Command: "npx", Args: []string{"pkg@latest"}}, "range-or-tag-version mismatch",
			`["pkg@<version>"]`},
		{"requirement", Declared{Command: "uvx", Args: []string{"pkg>=1"}}, "range-or-tag-version mismatch",
			`["pkg@<version>"]`},
		{"branch", Declared{Command: "npx", Args: []string{"github:a/b#main"}}, "range-or-tag-version mismatch",
			`["github:a/b#<commit>"]`},
		{"image tag", Declared{Command: "docker", Args: []string{"run", "-i", "img:v2"}}, "mutable-image-tag mismatch",
			`["run", "-i", "img:v2@sha256:<digest>"]`},
		{"image", Declared{Command: "podman", Args: []string{"run", "img"}}, "mutable-image-tag mismatch",
			`["run", "img@sha256:<digest>"]`},
		{"digest", Declared{Command: "docker", Args: []string{"run", "img@sha256:" + hex}}, " match", ""},
		{"several", Declared{Command: "uvx", Args: []string{"--with", "a==1.0", "b"}},
			"unpinned-launcher absent,  match", `["--with", "a==1.0", "b@<version>"]`},
		{"shell", Declared{Command: "bash", Args: []string{"-c", "a | b"}}, "opaque-shell unverifiable", ""},
		{"cmd", Declared{Command: "cmd", Args: []string{"/c", "a & b"}}, "opaque-shell unverifiable", ""},
		{"cmd stays", Declared{Command: "cmd", Args: []string{"/k", "npx", "pkg"}}, "opaque-shell unverifiable", ""},
		{"unwrapped", Declared{Command: "cmd", Args: []string{"/c", "npx", "pkg"}}, "unpinned-launcher absent",
			`["/c", "npx", "pkg@<version>"]`},
		{"unknown", Declared{Command: "timeout", Args: []string{"5", "a"}}, "unknown-launcher unverifiable", ""},
		{"unknown option", Declared{Command: "npx", Args: []string{"--registry", "x", "pkg"}},
			"unknown-launcher unverifiable", ""},
		{"verify of an interpreter",
			Declared{Command: "node", Args: []string{"srv.js"}, Verify: "command", Algorithm: "sha1"},
			"verify-hashes-launcher mismatch, weak-hash mismatch",
			`verify = { type = "file", path = "srv.js", value = "…" }`},
		{"verify of a wrapper", Declared{Command: "sudo", Args: []string{"srv"}, Verify: "command"},
			"unknown-launcher unverifiable, verify-hashes-launcher mismatch", ""},
		{"verify of a binary", Declared{Command: "./srv", Verify: "command", Algorithm: "sha256"}, "", ""},
		{"verify of a file", Declared{Command: "node", Args: []string{"srv.js"}, Verify: "file", Algorithm: "sha256"},
			"", ""},
		{"opt-out", Declared{Command: "node", Args: []string{"srv.js"}, Verify: "none", Algorithm: "sha256"}, "", ""},
		{"http", Declared{URL: "http://a.example.com/mcp"}, "plain-http mismatch", "https://a.example.com/mcp"},
		{"HTTP", Declared{URL: "HTTP://a.example.com/mcp"}, "plain-http mismatch", "https://a.example.com/mcp"},
		{"https", Declared{URL: "https://a.example.com/mcp"}, "", ""},
		{"loopback", Declared{URL: "http://[::1]:1/mcp"}, "", ""},
		{"localhost", Declared{URL: "http://localhost:1/mcp"}, "", ""},
		{"not localhost", Declared{URL: "http://localhost.example.com/mcp"}, "plain-http mismatch",
			"https://localhost.example.com/mcp"},
		{"secret in a URL", Declared{URL: "https://a.example.com/mcp?api_key=hunter2"}, "secret-in-args mismatch", ""},
		{"secret", Declared{Command: "./srv", Args: []string{"--api-key", "hunter2"}}, "secret-in-args mismatch",
			"a variable of the environment, which the entry names"},
		{"secret beside a package", Declared{Command: "npx", Args: []string{"pkg", "--token=hunter2"}},
			"unpinned-launcher absent, secret-in-args mismatch", `"pkg@<version>" in place of "pkg"`},
		{"secret in a shell line", Declared{Command: "sh", Args: []string{"-c", "npx -y 'pkg' --token hunter2"}},
			"unpinned-launcher absent, secret-in-args mismatch", `"pkg@<version>" in place of "'pkg'"`},
		{"secret beside two packages",
			Declared{Command: "npx", Args: []string{"--package=a", "-p", "b@^1", "b", "--token=hunter2"}},
			"unpinned-launcher absent, range-or-tag-version mismatch, secret-in-args mismatch",
			`"a@<version>" in place of "a", "b@<version>" in place of "b@^1"`},
		{"secret in the package", Declared{Command: "uvx", Args: []string{"git+https://u:hunter2@git.example.com/a"}},
			"unpinned-launcher absent, secret-in-args mismatch", ""},
		{"secret of an inner line", Declared{Command: "npx", Args: []string{"a@1.0.0", "--", "npx", "b", "--token=hunter2"}},
			"inner-launcher unverifiable,  match, secret-in-args mismatch", `"command": "npx", "args": what follows it`},
		{"secret over http", Declared{URL: "http://a.example.com/mcp?token=hunter2"},
			"plain-http mismatch, secret-in-args mismatch", `"https://" in place of "http://"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, report := c.d.Evidence(evidence.Claim{Subject: "cursor: s", Where: "mcp.json:3"})
			var rules []string
			for _, e := range report {
				rules = append(rules, e.Rule+" "+string(e.Outcome))
				if _, ok := Rules[e.Rule]; e.Rule != "" && !ok {
					t.Errorf("%s is not described", e.Rule)
				}
				if e.Subject != "cursor: s" || strings.Contains(e.Title()+e.Detail()+e.Fix, "hunter2") {
					t.Errorf("%+v", e)
				}
			}
			if got := strings.Join(rules, ", "); got != c.rules {
				t.Errorf("got %q, want %q", got, c.rules)
			}
			if len(report) > 0 && report[0].Fix != c.fix {
				t.Errorf("fix %q, want %q", report[0].Fix, c.fix)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	commit, digest, hex32 := strings.Repeat("0a", 20), strings.Repeat("0a", 32), strings.Repeat("0a", 16)
	for _, c := range []struct{ args, want []string }{
		{[]string{"--api-key", "hunter2"}, []string{"--api-key", "<redacted>"}},
		{[]string{"--api-key=hunter2"}, []string{"--api-key=<redacted>"}},
		{[]string{"--my-auth-token", "hunter2"}, []string{"--my-auth-token", "<redacted>"}},
		{[]string{"-e", "KAGI_API_KEY=hunter2", "img"}, []string{"-e", "KAGI_API_KEY=<redacted>", "img"}},
		{[]string{"--header", "Authorization: Bearer hunter2"}, []string{"--header", "Authorization: <redacted>"}},
		{[]string{"-c", "srv --token hunter2 --x"}, []string{"-c", "srv --token <redacted> --x"}},
		{[]string{"postgres://u:hunter2@db.example.com/x"}, []string{"postgres://u:<redacted>@db.example.com/x"}},
		{[]string{"https://a.example.com/?token=hunter2&x=1"}, []string{"https://a.example.com/?token=<redacted>&x=1"}},
		{[]string{"sk-abcdefghijklmnopqrst"}, []string{"<redacted>"}},
		{[]string{"ghp_abcdefghijklmnopqrstuvwxyz0123456789"}, []string{"<redacted>"}},
		{[]string{"--x=Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7Ii8Jj9Kk"}, []string{"--x=<redacted>"}},
		{[]string{"--secret", "/hunter2"}, []string{"--secret", "<redacted>"}},
		{[]string{"--password=$ecret2"}, []string{"--password=<redacted>"}},
		{[]string{"Bearer hunter2"}, []string{"Bearer <redacted>"}},
		{[]string{"-pS3cretPassw0rd"}, []string{"-p<redacted>"}},
		{[]string{"-usomebody", "-pS3>cret@Pass(0)rd."}, []string{"-usomebody", "-p<redacted>"}},
		{[]string{"-p", "S3cret!Passw0rd"}, []string{"-p", "<redacted>"}},
		{[]string{"-c", "srv -pS3cretPassw0rd -x"}, []string{"-c", "srv -p<redacted> -x"}},
		{[]string{"srv -x -pS3cretPassw0rd"}, []string{"srv -x -p<redacted>"}},
		{[]string{"srv -u somebody -p 'S3cretPassw0rd' -v"}, []string{"srv -u somebody -p <redacted> -v"}},
		{[]string{"--key", "11112222333344445555a"}, []string{"--key", "<redacted>"}},
		{[]string{"--pat", "abcdefgh1234ij"}, []string{"--pat", "<redacted>"}},
		{[]string{"--auth", "basic:abcdefgh1234"}, []string{"--auth", "<redacted>"}},
		{[]string{"--authentication", "pat abcdefgh1234"}, []string{"--authentication", "<redacted>"}},
		{[]string{"--key", "certs/key1.pem", "--auth", "oauth2", "--key", "primary"}, []string{"--key", "certs/key1.pem", "--auth", "oauth2", "--key", "primary"}},
		{[]string{"--config", `{"apiKey":"abcd1234efgh","n":1}`}, []string{"--config", `{"apiKey":"<redacted>","n":1}`}},
		{[]string{"--config", `{"apiKey":"${KEY}","token_file":"x"}`}, []string{"--config", `{"apiKey":"${KEY}","token_file":"x"}`}},
		{[]string{hex32}, []string{"<redacted>"}},
		{[]string{"t.co/mcp/" + hex32}, []string{"t.co/mcp/<redacted>"}},
		{[]string{"--x=" + hex32}, []string{"--x=<redacted>"}},
		{[]string{"https://a.example.com/mcp/" + hex32}, []string{"https://a.example.com/mcp/<redacted>"}},
		{[]string{"a.example.com/mcp/" + hex32 + "/" + hex32}, []string{"a.example.com/mcp/<redacted>/<redacted>"}},
		{[]string{"/x/Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7Ii8Jj9Kk"}, []string{"/x/<redacted>"}},
		// The path of a file is no secret, and hides none behind it.
		{[]string{"--token", "/k/my key.json", "-e", "API_KEY=/k/a.pem"}, []string{"--token", "/k/my key.json", "-e", "API_KEY=/k/a.pem"}},
		{[]string{"-c", "API_KEY=/k/a PASSWORD=hunter2 node s.js"}, []string{"-c", "API_KEY=<redacted>"}},
		{[]string{"--token", "/mcp?key=hunter2.abc"}, []string{"--token", "<redacted>"}},
	} {
		if got := Redact(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q becomes %q, want %q", c.args, got, c.want)
		}
		if got := Redact(c.want); !slices.Equal(got, c.want) {
			t.Errorf("%q becomes %q when redacted again", c.want, got)
		}
	}
	for _, arg := range [][]string{
		{"--api-key", "${API_KEY}"}, {"--token=$TOKEN"}, {"--token", "<your token>"}, {"--token-file", "/run/token"},
		{"-e", "KAGI_API_KEY"}, {"--header", "Authorization: Bearer ${TOKEN}"}, {"img@sha256:" + digest},
		{"github:a/b#" + commit},
		{"git+https://git.example.com/a@" + commit}, {"--monkey=george"}, {"@acme/token-counter@1.0.0"},
		{"--keyboard", "us"}, {"--token", "--next"}, {"--api-key", "YOUR_API_KEY"}, {"-e", "TOKEN=your_token_here"},
		{"example.com/m@v0.0.0-20260101000000-0123456789ab"}, {"--password={{password}}"},
		{"a_function_name_that_is_quite_long_but_says_something"},
		{"-Xmx131072M"}, {"-p8080"}, {"-v/srv/Data1:/Data2"}, {"-m", "Meta-Llama-3-8B"}, {"-pprefixed-package@1.0.0"},
		{"/home/u/.config/Code/User/workspaceStorage/" + hex32 + "/x"}, {"workspaceStorage/" + hex32},
		{"../store/" + hex32}, {`C:\Users\u\workspaceStorage\` + hex32}, {"--dir=~/store/" + hex32}, {".cache/" + hex32},
	} {
		if got := Redact(arg); !slices.Equal(got, arg) {
			t.Errorf("%q becomes %q", arg, got)
		}
	}
}

func TestIsSecret(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"API_KEY", "hunter2", true}, {"PGPASSWORD", "hunter2", true}, {"Authorization", "Bearer hunter2", true},
		{"X-API-Key", "hunter2", true}, {"DATABASE_URL", "postgres://u:hunter2@db.example.com/x", true},
		{"OTHER", "sk-abcdefghijklmnopqrst", true},
		{"API_KEY", "", false}, {"API_KEY", "${API_KEY}", false}, {"API_KEY", "${input:key}", false},
		{"API_KEY", "{env:API_KEY}", false}, {"API_KEY", "<your key>", false}, {"Authorization", "Bearer ${TOKEN}", false},
		{"LOG_LEVEL", "debug", false}, {"TOKEN_FILE", "/run/token", false}, {"MAX_TOKENS", "4096", false},
		// As pages of servers write what the user is to replace.
		{"BREEZE_API_KEY", "your-api-key", false}, {"XOOCODE_API_KEY", "xoo_your_key_here", false}, {"TOKEN", "YOUR_TOKEN", false},
		{"PERPLEXITY_API_KEY", "pplx-...", false}, {"TOKEN", "sk_…", false}, {"PASSWORD", "xxxxxxxx", false},
		{"API_KEY", "your1abcdefgh2ijk", true}, {"API_KEY", "yourself", true}, {"API_KEY", "your_key_1a2b3c4d", true},
		{"DB_PASSWORD", "your-correct-horse-battery-staple", true}, {"DB_PASSWORD", "my-your-secret-word", true},
		{"MYSQL_PASSWORD", "your-mysql-password", false}, {"Authorization", "Bearer your_mcp_sse_token", false},
		// A file that holds the secret.
		{"GOOGLE_APPLICATION_CREDENTIALS", "/home/u/service account.json", false}, {"PRIVATE_KEY", "~/.ssh/id_ed25519", false},
		{"GOOGLE_OAUTH_CREDENTIALS", `C:\Users\u\gcp-oauth.keys.json`, false}, {"PRIVATE_KEY", "./rsa_key.p8", false},
		{"SECRET_KEY", "/9j4AAQSkZJRgABAQ/x+5z", true}, {"PASSWORD", "/hunter.2", true}, {"PASSWORD", "hunter2.json", true},
		{"TOKEN", "/mcp?key=hunter2.abc", true},
		{"STORAGE", "/x/workspaceStorage/" + strings.Repeat("0a", 16), false},
	} {
		if got := IsSecret(c.name, c.value); got != c.want {
			t.Errorf("%s=%s: %v", c.name, c.value, got)
		}
	}
}

// What the Python SDKs write into files of clients is, without a project, what uvx starts.
func TestOutsideProject(t *testing.T) {
	for line, want := range map[string]string{
		"uv run --with mcp[cli] mcp run /s.py":                            "uvx --from mcp[cli] mcp run /s.py",
		"/opt/uv run --frozen --with mcp[cli] --with idna mcp run /s.py":  "uvx --from mcp[cli] --with idna mcp run /s.py",
		"uv run --no-project --isolated --with fastmcp fastmcp run /s.py": "uvx --from fastmcp fastmcp run /s.py",
		"uv run --with aiohttp --with fastmcp fastmcp run /s.py":          "uvx --from fastmcp --with aiohttp fastmcp run /s.py",
		"uv run --with clickhouse --python 3.12 clickhouse":               "uvx --python 3.12 --from clickhouse clickhouse",
		"uv run --with mcp /s.py":                                         "",
		"uv run --with mcp python /s.py":                                  "",
		"uv run --with mcp -m server":                                     "",
		"uv run --with git+https://example.com/x mcp run /s.py":           "",
		"uv run --env-file .env --with mcp mcp run /s.py":                 "",
		"uv run --with-editable . --with mcp mcp run /s.py":               "",
		"uv run --directory /d --with mcp mcp run /s.py":                  "",
		"uv run --project /d --with mcp mcp run /s.py":                    "",
		"uv run mcp run /s.py":                                            "",
		"uvx --from mcp mcp run /s.py":                                    "",
	} {
		words := strings.Fields(line)
		if got := strings.Join(Parse(words[0], words[1:]).OutsideProject(), " "); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}
