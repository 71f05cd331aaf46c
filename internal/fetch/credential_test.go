package fetch

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

// TestOperatorCredentials: they are for their host, and for the namespaces that are
// mapped to it, whatever the kind of the Ref.
func TestOperatorCredentials(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	other := newSite(t, map[string]string{"/away": "x"})
	s := newSite(t, map[string]string{
		"/f":           "x",
		"/away":        "-> " + other.base + "/away",
		"/npm/a/1.0.0": `{"name":"a","version":"1.0.0","dist":{"tarball":"BASE/f"}}`,
		"/pypi/a/1.0/json": `{"info":{"name":"a","version":"1.0"},"urls":[{"filename":"a-1.0.zip","url":"BASE/f",` +
			`"digests":{}}]}`,
		"/repos/o/r/releases/tags/v1":  `{"tag_name":"v1","assets":[{"id":1,"name":"a"}]}`,
		"/repos/o/r/releases/assets/1": "x",
		"/o/r/releases/download/v1/a":  "x",
		"/nuget":                       `{"resources":[{"@id":"BASE/flat","@type":"PackageBaseAddress/3.0.0"}]}`,
		"/flat/a/1.0.0/a.1.0.0.nupkg":  "x",
		"/config.json":                 `{"dl":"BASE/dl"}`,
		"/1/a":                         indexLine("a", "1.0.0", "x", ""),
		"/dl/a/1.0.0/download":         "x",
	})
	r := newImages()
	r.image(t, "1", "io.example/notes")
	images := strings.TrimPrefix(serve(t,
		guarded(r, func() string { return `Basic realm="x"` }, "Basic dTpw")), "https://")
	config.NPM = settings(map[string]string{"registry": s.base + "/npm"})
	config.PyPI.Base, config.NuGet.Index, config.Cargo.Index = s.base, s.base+"/nuget", s.base
	config.GitHub = userconfig.GitHub{Base: s.base, API: s.base}
	config.Credentials = []HostCredential{
		{Host: s.host(), Token: "wrong", Namespaces: []string{"com.other"}},
		{Host: s.host(), Token: "nobody's"},
		{Host: s.host(), Token: "the empty", Namespaces: []string{""}},
		{Host: images, Username: "u", Password: "p", Namespaces: []string{""}},
		{Host: strings.ToUpper(s.host()), Token: "T", Namespaces: []string{"org.x", "com.example"}},
		{Host: images, Username: "u", Password: "p", Namespaces: []string{"com.example"}},
		{Token: "no host", Namespaces: []string{"com.example"}},
	}
	c := newClient(t, config)
	refs := map[string]int{ // and how many requests each makes
		s.base + "/f": 1, "npm:a@1.0.0": 2, "pypi:a==1.0": 2, "github:o/r/v1/a": 2, "nuget:a@1.0.0": 2,
		"cargo:a@1.0.0": 3,
	}
	for namespace, want := range map[string]string{
		"":                  "",
		"com.example":       " <- Bearer T",
		"com.example/notes": " <- Bearer T",
		"com.example.sub":   "",
		"com":               "",
		"com.other":         " <- Bearer wrong",
		"org.x":             " <- Bearer T",
		"/":                 "",
	} {
		for ref, n := range refs {
			s.requests()
			d, err := c.For(namespace).Fetch(t.Context(), mustRef(t, ref))
			wantBody(t, d, err, "x")
			log := s.requests()
			if len(log) != n || slices.ContainsFunc(log, func(r string) bool {
				_, h, _ := strings.Cut(r+" ", " ")
				return strings.TrimSpace(h) != strings.TrimSpace(want)
			}) {
				t.Errorf("%q %s: %v", namespace, ref, log)
			}
		}
		_, err := c.For(namespace).OCILabel(t.Context(), mustRef(t, "oci:"+images+"/acme/notes:1"), ociLabel)
		if ok := strings.HasPrefix(namespace, "com.example") && namespace != "com.example.sub"; ok != (err == nil) {
			t.Errorf("%q: %v", namespace, err)
		}
	}
	// The client itself is nobody's, also after For.
	s.requests()
	d, err := get(t, c, s.base+"/f")
	wantBody(t, d, err, "x")
	if log := s.requests(); fmt.Sprint(log) != "[/f]" {
		t.Errorf("%v", log)
	}
	d, err = c.For("com.example").Fetch(t.Context(), mustRef(t, s.base+"/away"))
	wantBody(t, d, err, "x")
	if log := other.requests(); fmt.Sprint(log) != "[/away]" {
		t.Errorf("after a redirect to another host: %v", log)
	}
	// What was begun keeps its credentials; what begins has the new ones, or none.
	begun := c.For("com.example")
	c.SetCredentials([]HostCredential{{Host: s.host(), Token: "new", Namespaces: []string{"org.x"}}})
	for _, k := range []struct {
		client *Client
		want   string
	}{{begun, "[/f <- Bearer T]"}, {c.For("com.example"), "[/f]"},
		{c.For("org.x"), "[/f <- Bearer new]"}, {c, "[/f]"}} {
		s.requests()
		d, err := get(t, k.client, s.base+"/f")
		wantBody(t, d, err, "x")
		if log := s.requests(); fmt.Sprint(log) != k.want {
			t.Errorf("%v, want %s", log, k.want)
		}
	}
	config.Credentials = []HostCredential{{Host: s.host(), Token: "T\r\nX: secret",
		Namespaces: []string{"com.example"}}}
	_, err = newClient(t, config).For("com.example").Fetch(t.Context(), mustRef(t, s.base+"/f"))
	wantError(t, err, evidence.Unsupported, "characters that cannot be sent")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// TestServerAddresses: of every kind, a redirect to a private address is refused, and so
// is a private address that a registry's document names.
func TestServerAddresses(t *testing.T) {
	config := testConfig(t)
	inner := serve(t, func(w http.ResponseWriter, r *http.Request) {
		t.Error("a request was sent to a private address")
	})
	s := newSite(t, map[string]string{
		"/pypi/doc/1.0/json": "-> " + inner + "/x",
		"/pypi/file/1.0/json": `{"info":{"name":"file","version":"1.0"},"urls":[{"filename":"f.zip","url":"` + inner +
			`/x","digests":{}}]}`,
		"/repos/o/r/releases/tags/v1": "-> " + inner + "/x",
		"/nuget":                      `{"resources":[{"@id":"` + inner + `/","@type":"PackageBaseAddress/3.0.0"}]}`,
		"/config.json":                `{"dl":"` + inner + `/"}`,
		"/1/a":                        indexLine("a", "1.0.0", "x", ""),
		"/v2/":                        "{}",
		"/v2/acme/notes/manifests/1":  "-> " + inner + "/x",
	})
	base := strings.Replace(s.base, "127.0.0.1", "localhost", 1)
	server := ServerConfig()
	server.Dir, server.RootCAs, server.Limits = config.Dir, config.RootCAs, config.Limits
	server.AllowAddr = transfer.RefusePrivate("localhost")
	server.PyPI.Base, server.NuGet.Index, server.Cargo.Index = base, base+"/nuget", base
	server.GitHub = userconfig.GitHub{Base: base, API: base}
	c := newClient(t, server)
	for _, ref := range []string{"pypi:doc==1.0", "pypi:file==1.0", "github:o/r/v1/a", "nuget:a@1.0.0", "cargo:a@1.0.0",
		"oci:" + strings.TrimPrefix(base, "https://") + "/acme/notes:1"} {
		_, err := get(t, c, ref)
		wantError(t, err, evidence.Unsupported, "is not a public address")
	}
	// A login that leads to a private address is refused as well.
	host := strings.TrimPrefix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate",
			`Bearer realm="https://127.0.0.1:`+strings.Split(inner, ":")[2]+`/token",service="x"`)
		w.WriteHeader(401)
		io.WriteString(w, "{}")
	}), "https://")
	_, err := get(t, c, "oci:"+strings.Replace(host, "127.0.0.1", "localhost", 1)+"/acme/notes:1")
	wantError(t, err, evidence.Unreachable, "private")
}

func TestOwnerToken(t *testing.T) {
	const name = "io.github.acme/widget"
	for text, want := range map[string]bool{
		"":                                                                    false,
		"mcp-name: io.github.acme/widget":                                     true,
		"x\nmcp-name: io.github.acme/widget\ny":                               true,
		"<p>mcp-name: io.github.acme/widget</p>":                              true,
		"mcp-name: io.github.acme/widget, x":                                  true,
		"xmcp-name: io.github.acme/widget ":                                   true, // as the official registry
		"mcp-name: io.github.acme/widget\u00e9":                               true,
		"mcp-name: io.github.acme/widget-pro":                                 false,
		"mcp-name: io.github.acme/widget.":                                    false,
		"mcp-name: io.github.acme/widget/sub":                                 false,
		"mcp-name: io.github.acme/widget_2":                                   false,
		"mcp-name: io.github.acme/widget2":                                    false,
		"mcp-name: io.github.acme/widgetX":                                    false,
		"mcp-name:io.github.acme/widget":                                      false,
		"mcp-name:  io.github.acme/widget":                                    false,
		"MCP-Name: io.github.acme/widget":                                     false,
		"mcp-name: io.github.acme/Widget":                                     false,
		"mcp-name: io.github.acme/widge":                                      false,
		"<!-- mcp-name: io.github.acme/widget -->":                            true,
		"<!--mcp-name: io.github.acme/widget-->":                              true,
		"<!-- mcp-name: io.github.acme/widget--!>":                            true,
		"mcp-name: io.github.acme/widget--pro":                                false,
		"mcp-name: io.github.acme/widget--":                                   false,
		"mcp-name: io.github.acme/widget-pro mcp-name: io.github.acme/widget": true,
	} {
		if got := OwnerToken(text, name); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if OwnerToken("mcp-name: ", "") {
		t.Error("the empty name is owned")
	}
}

func FuzzOwnerToken(f *testing.F) {
	f.Add("mcp-name: a/b-->", "a/b")
	f.Add("mcp-name: a/bmcp-name: a/b", "a/b")
	f.Fuzz(func(t *testing.T, text, name string) {
		got := OwnerToken(text, name)
		if got && !strings.Contains(text, "mcp-name: "+name) {
			t.Error("found what is not there")
		}
		if name != "" && !OwnerToken(text+"\nmcp-name: "+name, name) {
			t.Error("not found at the end")
		}
	})
}
