package git

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
)

// TestCutBlob: what git prints of a file is its content, or an error.
func TestCutBlob(t *testing.T) {
	for out, want := range map[string]string{
		"a blob 3\nb\nc\nrest": "b\nc", "a blob 0\n\nrest": "", "a missing\nrest": "error", "a tree 1\nx\nrest": "error",
		"b blob 1\nx\nrest": "error", "a blob -1\n\nrest": "error", "a blob 9\nx\nrest": "error", "a blob x\n": "error",
		"": "error",
	} {
		content, rest, err := cutBlob([]byte(out), "a")
		if got := string(content); err == nil && (got != want || string(rest) != "rest") || (err != nil) != (want == "error") {
			t.Errorf("%q: %q, %q, %v", out, content, rest, err)
		}
	}
}

// TestOpenChanged: what is read of a file is what its name says, or an error, whatever became of it meanwhile.
func TestOpenChanged(t *testing.T) {
	c := packedCommit(t)
	all, err := c.all()
	if err != nil {
		t.Fatal(err)
	}
	f := all["s0/a.md"]
	r, err := c.Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data))
	if hex.EncodeToString(sum[:]) != f.ID {
		t.Errorf("%x is not %s", sum, f.ID)
	}
	for _, bad := range []string{"", string(data) + "!", string(data[1:])} {
		if err := os.WriteFile(c.keptName(f.ID), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Open(t.Context(), f); err == nil {
			t.Errorf("%.20q is read", bad)
		}
	}
	if err := os.Remove(c.keptName(f.ID)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context(), f); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
