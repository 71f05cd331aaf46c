package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenLoose: what is read of an object is what its name says, or an error.
func TestOpenLoose(t *testing.T) {
	dir := t.TempDir()
	put := func(id, text string) {
		t.Helper()
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		z.Write([]byte(text))
		z.Close()
		name := filepath.Join(dir, "objects", id[:2], id[2:])
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(id string) (string, error) {
		r, err := openLoose(dir, id)
		if err != nil {
			return "", err
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		return string(data), err
	}
	for _, text := range []string{"", "hello\n", strings.Repeat("x", 1<<20)} {
		object := fmt.Sprintf("blob %d\x00%s", len(text), text)
		sum := sha1.Sum([]byte(object))
		id := hex.EncodeToString(sum[:])
		put(id, object)
		if got, err := read(id); err != nil || got != text {
			t.Errorf("%.20q: %.20q, %v", text, got, err)
		}
		for what, bad := range map[string]string{
			"other bytes": fmt.Sprintf("blob %d\x00%s", len(text)+1, text+"!"), "longer": object + "!",
			"shorter": fmt.Sprintf("blob %d\x00%s", len(text)+1, text), "a tree": strings.Replace(object, "blob", "tree", 1),
			"no head": strings.Repeat("1", 40), "nothing": "", "a negative size": "blob -1\x00",
		} {
			put(id, bad)
			if got, err := read(id); err == nil {
				t.Errorf("%.20q, %s: %.20q", text, what, got)
			}
		}
	}
	if _, err := read(strings.Repeat("0", 40)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such object: %v", err)
	}
}
