package project

import (
	"maps"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

func TestRemoteConfig(t *testing.T) {
	const base = "manifest_version = 1\n[providers.mcp.x]\ntype = \"http\"\n"
	for rest, why := range map[string]string{
		`url = "https://mcp.example.com/mcp?team=1"`:                    "",
		`url = "http://localhost:8080/mcp"`:                             "",
		`url = "http://[::1]/"`:                                         "",
		"url = \"https://mcp.example.com\"\nserver_requests = \"deny\"": "",
		"url = \"https://mcp.example.com\"\nheaders = { Authorization = \"Bearer ${A}${B_2}\", X-Team = \"ours\" }": "",

		``:                                      `needs a url`,
		`url = "mcp.example.com"`:               `is no URL`,
		`url = "https:mcp.example.com"`:         `is no URL`,
		`url = "http://mcp.example.com"`:        `this machine only`,
		`url = "http://localhost.example.com"`:  `this machine only`,
		`url = "ftp://mcp.example.com"`:         `is not https`,
		`url = "https://me:pw@mcp.example.com"`: `user name or password`,
		`url = "https://mcp.example.com/#x"`:    `fragment`,
		`url = "https://mcp.example.com/?api_key=abcdefghijklmnop0123456789"`:             `secret`,
		"url = \"https://mcp.example.com\"\ncommand = \"x\"":                              `no command`,
		"url = \"https://mcp.example.com\"\narguments = [\"x\"]":                          `no command`,
		"url = \"https://mcp.example.com\"\nserver = \"a/b@1.0.0\"":                       `no command`,
		"url = \"https://mcp.example.com\"\nvariables = [\"X\"]":                          `no variables`,
		"url = \"https://mcp.example.com\"\nverify = { type = \"none\" }":                 `no verify block`,
		"url = \"https://mcp.example.com\"\nserver_requests = \"no\"":                     `allow, log or deny`,
		"url = \"https://mcp.example.com\"\nheaders = { Authorization = \"Bearer abc\" }": `a secret is not written here`,
		"url = \"https://mcp.example.com\"\nheaders = { X-Api-Key = \"abc\" }":            `a secret is not written here`,
		"url = \"https://mcp.example.com\"\nheaders = { X-A = \"${1A}\" }":                `no variable's name`,
		"url = \"https://mcp.example.com\"\nheaders = { X-A = \"${}\" }":                  `no variable's name`,
		"url = \"https://mcp.example.com\"\nheaders = { X-A = \"a\\r\\nHost: b\" }":       `control character`,
		"url = \"https://mcp.example.com\"\nheaders = { Host = \"b\" }":                   `protocol's own`,
		"url = \"https://mcp.example.com\"\nheaders = { mcp-session-id = \"b\" }":         `protocol's own`,
		"url = \"https://mcp.example.com\"\nheaders = { X-A = \"1\", x-a = \"2\" }":       `given twice`,
		"url = \"https://mcp.example.com\"\nheaders = { \"X A\" = \"1\" }":                `cannot be the name`,
	} {
		c, err := ParseConfig([]byte(base + rest + "\n"))
		switch {
		case why == "" && err != nil:
			t.Errorf("%s: %v", rest, err)
		case why == "" && c.Servers["x"].Launch().URL == "":
			t.Errorf("%s: %+v", rest, c.Servers["x"])
		case why != "" && (err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "line 2")):
			t.Errorf("%s: %v, want %s", rest, err, why)
		}
	}
	for _, stray := range []string{`url = "https://mcp.example.com"`, `headers = { X-A = "1" }`} {
		if _, err := ParseConfig([]byte("manifest_version = 1\n[providers.mcp.x]\ncommand = \"x\"\n" + stray + "\n")); err == nil {
			t.Errorf("%s beside a command", stray)
		}
	}
}

func TestFillHeaders(t *testing.T) {
	s := Server{Headers: map[string]string{"Authorization": "Bearer ${A}-${B}", "X-Team": "ours ${"}}
	values := map[string]string{"A": "1", "B": "2", "C": "${A}"}
	lookup := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	got, err := s.FillHeaders(lookup)
	if want := map[string]string{"Authorization": "Bearer 1-2", "X-Team": "ours ${"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for value, why := range map[string]string{"": "is not set", "a\r\nX: y": "control character", strings.Repeat("x", maxHeaderValue): "longer than"} {
		values["B"] = value
		if _, err := s.FillHeaders(lookup); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "Authorization") {
			t.Errorf("%q: %v", value, err)
		}
	}
	delete(values, "B")
	if _, err := s.FillHeaders(lookup); err == nil || !strings.Contains(err.Error(), "the variable B is not set") {
		t.Errorf("%v", err)
	}
}

// TestWeakenedRemote: what is sent, where to, and what the server may ask are locked.
func TestWeakenedRemote(t *testing.T) {
	base := Server{Type: "http", URL: "https://mcp.example.com", Headers: map[string]string{"X-A": "${A}"}, OnDrift: "withhold", Requests: "deny"}
	for name, change := range map[string]func(*Server){
		"url":      func(s *Server) { s.URL += "/" },
		"header":   func(s *Server) { s.Headers = map[string]string{"X-A": "${B}"} },
		"headers":  func(s *Server) { s.Headers = nil },
		"requests": func(s *Server) { s.Requests = "allow" },
	} {
		other := base
		change(&other)
		if evidence.Same(base.Launch().Digest(), other.Launch().Digest()) {
			t.Errorf("%s is not locked", name)
		}
	}
	if allowed := (Server{Command: "x", OnDrift: "withhold", Requests: "allow"}); !evidence.Same(allowed.Launch().Digest(), Server{Command: "x", OnDrift: "withhold"}.Launch().Digest()) {
		t.Error("locks of before do not hold any more")
	}
}

func TestRemoteLock(t *testing.T) {
	shown, err := surface.New(surface.Listing{})
	if err != nil {
		t.Fatal(err)
	}
	good := ServerLock{Source: "http", Ref: "https://mcp.example.com", Launch: Server{URL: "https://mcp.example.com"}.Launch(),
		Surface: shown.Digest(), APISurface: shown.APISurface()}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ServerLock){
		"other URL": func(s *ServerLock) { s.Ref += "/" },
		"plain":     func(s *ServerLock) { s.Ref = "http://mcp.example.com"; s.Launch.URL = s.Ref },
		"artifacts": func(s *ServerLock) { s.Artifacts = map[string]digest.Digest{"x": shown.Digest()} },
		"entry":     func(s *ServerLock) { s.Entry = "x" },
		"closure":   func(s *ServerLock) { s.Closure = &ClosureLock{} },
		"command": func(s *ServerLock) {
			s.Source = "command"
			s.Ref = "x"
			s.Artifacts = map[string]digest.Digest{"x": shown.Digest()}
		},
		"no surface": func(s *ServerLock) { s.Surface = digest.Digest{} },
	} {
		bad := good
		change(&bad)
		if bad.check() == nil {
			t.Errorf("%s: passed", name)
		}
	}
}
