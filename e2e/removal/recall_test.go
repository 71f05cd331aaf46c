//go:build unix

package removal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// The campaign has the same asked of npm and uv a thousand times, which takes most of a
// second each time. What stands before them tells what they said and left where all that they
// could read is what it was; see e2e/recall.

// recalling puts copies of e2e/recall before programs of this machine, and gives the PATH in
// which they are found. What they ask must be told the same as long as the world is used.
func (w *removalWorld) recalling(names ...string) (path string) {
	w.T.Helper()
	bin, memory := filepath.Join(w.base(), "bin"), filepath.Join(w.base(), "memory")
	if err := errors.Join(os.MkdirAll(bin, 0o700), os.MkdirAll(memory, 0o700)); err != nil {
		w.T.Fatal(err)
	}
	for _, name := range names {
		config, err := json.Marshal(map[string]string{"program": programBehind(w.T, name), "memory": memory})
		if err != nil {
			w.T.Fatal(err)
		}
		built.Into(w.T, filepath.Join(bin, name), "e2e/recall")
		if err := os.WriteFile(filepath.Join(bin, name+".json"), config, 0o600); err != nil {
			w.T.Fatal(err)
		}
	}
	return bin + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// ownNode is recalling, with a puppet that stands for node. It starts in a tenth of the time,
// and is hashed in a hundredth.
func (w *removalWorld) ownNode(names ...string) (path string) {
	w.T.Helper()
	path = w.recalling(names...)
	built.Into(w.T, filepath.Join(w.base(), "bin", "node"), "e2e/puppet")
	return path
}

// programBehind is the path of a program of this machine, and not of a version manager's shim.
func programBehind(t *testing.T, name string) string {
	t.Helper()
	found, err := foreign.Find(os.Getenv("PATH"), name)
	if err == nil {
		found, err = foreign.ResolveShim(t.Context(), found, t.TempDir(), os.Environ(),
			foreign.FindCheckout(t.TempDir(), os.Getenv("HOME")))
	}
	if err != nil {
		t.Fatalf("%v (e2e/prerequisites.sh installs it)", err)
	}
	return found
}
