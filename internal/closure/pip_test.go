package closure

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// findPython finds the machine's python behind shims. Without one the test ends, which CI=true does not allow.
func findPython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if python, err = foreign.ResolveShim(t.Context(), python, t.TempDir(), os.Environ(),
		foreign.FindCheckout(".", "")); err != nil {
		t.Fatal(err)
	}
	return python
}

// TestPipURL: what a package requires by a URL, itself or through another, is nothing that pip
// goes to: no index vouches for it, and pip would start git, or download and build what lies
// there. That is said, as a refusal.
func TestPipURL(t *testing.T) {
	python := findPython(t)
	var mu sync.Mutex
	asked := ""
	pages := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked += r.URL.Path + "\n"
		page, ok := pages[r.URL.Path]
		mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(page)
	}))
	defer server.Close()
	publish := func(name string, requires ...string) {
		metadata := "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n"
		for _, r := range requires {
			metadata += "Requires-Dist: " + r + "\n"
		}
		wheel := forge.Wheel(name+"-1.0", name+".py", "", name+"-1.0.dist-info/METADATA", metadata)
		file := name + "-1.0-py3-none-any.whl"
		pages["/files/"+file] = wheel
		pages["/simple/"+name+"/"] = fmt.Appendf(nil,
			`<!DOCTYPE html><html><body><a href="/files/%s#sha256=%s">%[1]s</a></body></html>`, file,
			digest.FromBytes(wheel).Hex())
	}
	elsewhere := server.URL + "/elsewhere/hidden-1.0-py3-none-any.whl"
	publish("leaf")
	publish("plain", "leaf")
	publish("file", "hidden @ file:///etc/hidden-1.0-py3-none-any.whl")
	publish("direct", "hidden @ "+elsewhere)
	publish("git", "hidden @ git+"+server.URL+"/elsewhere/hidden.git@main")
	publish("through", "leaf", "direct")
	publish("extra", "leaf", `hidden @ `+elsewhere+` ; extra == "more"`)
	publish("asks", "extra[more]")

	// The machine has a python and no uv.
	bare := t.TempDir()
	if err := os.Symlink(python, filepath.Join(bare, "python3")); err != nil {
		t.Fatal(err)
	}
	environ := []string{"PATH=" + bare, "HOME=" + t.TempDir()}
	config := fetch.Config{Dir: t.TempDir(), Limits: fetch.Limits{Retries: -1}}
	config.PyPI.Indexes = []string{server.URL + "/simple"}
	var said bytes.Buffer
	h := &host.Host{Environ: environ, Getenv: func(name string) string { return foreign.Variable(environ, name) },
		Fetch: fetch.New(config), Logger: slog.New(slog.NewTextHandler(&said, nil))}
	h.Places.Cache = t.TempDir()
	publish("later")
	pages["/simple/later/"] = bytes.ReplaceAll(pages["/simple/later/"], []byte("<a "),
		[]byte(`<a data-requires-python="&gt;=3.99" `))
	needsLater := func(h *host.Host, by string) {
		t.Helper()
		_, err := ResolvePython(t.Context(), h, "later", []string{"later==1.0"}, time.Time{},
			&project.Runtime{Path: python, Version: "cp311-cp311-x"})
		var need *NeedsPythonError
		if !errors.As(err, &need) || need.Requires != ">=3.99" || evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s, of a package for a later python: %v", by, err)
		}
	}
	needsLater(h, "pip")
	if uv, err := exec.LookPath("uv"); err == nil {
		if uv, err = foreign.ResolveShim(t.Context(), uv, t.TempDir(), os.Environ(),
			foreign.FindCheckout(".", "")); err != nil {
			t.Fatal(err)
		}
		both := *h
		both.Environ = []string{"PATH=" + bare + string(os.PathListSeparator) + filepath.Dir(uv), environ[1]}
		both.Getenv = func(name string) string { return foreign.Variable(both.Environ, name) }
		needsLater(&both, "uv")
	}
	for name, refused := range map[string]bool{"plain": false, "direct": true, "git": true, "file": true,
		"through": true, "asks": true} {
		mu.Lock()
		asked = ""
		mu.Unlock()
		said.Reset()
		c, err := ResolvePython(t.Context(), h, name, []string{name + "==1.0"}, time.Time{},
			&project.Runtime{Path: python, Version: "cp3"})
		if !strings.Contains(said.String(), "there is no uv to ask") {
			t.Errorf("%s: that pip is asked is not said: %q", name, said.String())
		}
		var e *evidence.Error
		switch {
		case !refused && err != nil:
			t.Errorf("%s: %v", name, err)
		case !refused && len(c.Packages) != 2:
			t.Errorf("%s: %+v", name, c.Packages)
		case refused && (!errors.As(err, &e) || e.Kind != evidence.Refused ||
			!strings.Contains(err.Error(), "one comes from a URL, and not from a registry")):
			t.Errorf("%s: %v", name, err)
		}
		mu.Lock()
		if strings.Contains(asked, "elsewhere") {
			t.Errorf("%s: pip asked for\n%s", name, asked)
		}
		mu.Unlock()
	}
}
