//go:build unix

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// world is an engine and the directories that its calls may use, of which relative paths begin in the first.
type world struct {
	*Engine
	t   *testing.T
	dir string
	sc  *place.Scope
}

// serve returns an engine for new directories, as many as are wanted.
func serve(t *testing.T, more ...string) *world {
	t.Helper()
	d, locks := dir(t), t.TempDir()
	must(t, os.Chmod(locks, 0o700)) // whatever the umask is
	source, err := place.NewSource(append([]string{d}, more...), 0)
	must(t, err)
	sc := source.Configured()
	t.Cleanup(func() { sc.Close(); source.Close() })
	e := New(Options{Locks: locks, MaxFile: 64 << 20, Anchors: hashline.Options{Width: 2}})
	return &world{e, t, d, sc}
}

// dir is a temporary directory without links in its path.
func dir(t *testing.T) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return d
}

// write makes a file in the first directory.
func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	must(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(w.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// writeAll makes files, each given by its name and its text.
func (w *world) writeAll(files ...string) {
	w.t.Helper()
	for i := 0; i < len(files); i += 2 {
		w.write(files[i], files[i+1])
	}
}

// content returns what a file in the first directory holds.
func (w *world) content(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(name)))
	must(w.t, err)
	return string(data)
}

// read returns a file, and its hash as a reader is shown it.
func (w *world) read(name string) (r *Reading, hash string) {
	w.t.Helper()
	r, err := w.Read(w.t.Context(), w.sc, ReadRequest{Path: name})
	must(w.t, err)
	return r, Abbreviate(r.Hash)
}

// anchor is that of a line by its number and text.
func anchor(n int, line string) string {
	text, _, _ := strings.Cut(string(hashline.AppendLine(nil, n, []byte(line), 2)), "|")
	return text
}

// replaceOp replaces the line of an anchor.
func replaceOp(anchor, content string) hashline.Operation {
	return op("replace", anchor, content)
}

func op(name, anchor, content string) hashline.Operation {
	return hashline.Operation{Op: name, Anchor: anchor, Content: &content}
}

// refused demands a refusal with a code, and returns it.
func refused(t *testing.T, what string, err error, code hashline.Code) *place.Refusal {
	t.Helper()
	var r *place.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
		return &place.Refusal{}
	}
	return r
}
