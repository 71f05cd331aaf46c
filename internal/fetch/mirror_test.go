package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// TestMirror: a file is fetched once, and again when its host says that it is another one.
func TestMirror(t *testing.T) {
	config := testConfig(t)
	_, config.RootCAs = authority()
	body, tag, modified, status, asked := "one", `W/"1"`, "", 0, []string{}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since"))
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		if tag != "" {
			w.Header().Set("ETag", tag)
		}
		if modified != "" {
			w.Header().Set("Last-Modified", modified)
		}
		if tag != "" && r.Header.Get("If-None-Match") == tag || modified != "" && r.Header.Get("If-Modified-Since") == modified {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, body)
	})
	u, _ := url.Parse(base + "/npm/all.zip")
	c, dir := New(config), t.TempDir()
	defer c.CloseIdleConnections()
	get := func(want string) {
		t.Helper()
		path, err := c.Mirror(t.Context(), u, dir, 100)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != want {
			t.Fatalf("%q, %v, want %q", data, err, want)
		}
	}
	get("one")
	body = "unseen"
	get("one")
	body, tag, modified = "two", "", "Wed, 01 Jul 2026 00:00:00 GMT"
	get("two")
	body = "unseen"
	get("two")
	if err := os.Remove(filepath.Join(dir, "file.version")); err != nil {
		t.Fatal(err)
	}
	get("unseen")
	if want := fmt.Sprint([]string{"", `W/"1"`, `W/"1"`, modified, ""}); fmt.Sprint(asked) != want {
		t.Errorf("asked with %q, want %s", asked, want)
	}
	for _, status = range []int{404, 304} { // 304 answers no question if there is no copy
		other := t.TempDir()
		if path, err := c.Mirror(t.Context(), u, other, 100); !errors.As(err, new(*wire.Error)) {
			t.Errorf("%d: %q, %v", status, path, err)
		}
		if left, _ := os.ReadDir(other); len(left) > 0 {
			t.Errorf("%d: %v is left", status, left)
		}
	}
	status, body, modified = 0, string(make([]byte, 101)), ""
	if path, err := c.Mirror(t.Context(), u, t.TempDir(), 100); !errors.As(err, new(*wire.Error)) {
		t.Errorf("%q, %v", path, err)
	}
}
