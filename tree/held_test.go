package tree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// TestHeld: contents in memory have the hashes of the same contents that are read, and are refused alike.
func TestHeld(t *testing.T) {
	contents := map[string][]byte{"b.js": []byte("b"), "a/.x": {}, "a.js": bytes.Repeat([]byte("a"), jobSize+1),
		"A": []byte("z")}
	var files []File
	for path, content := range contents {
		files = append(files, File{Path: path, Size: int64(len(content)), Exec: path == "A"})
	}
	open := func(path string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(contents[path])), nil }
	ctx := t.Context()
	for _, p := range Profiles() {
		want, err := Dist(ctx, p, files, open, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DistHeld(ctx, p, files, contents); err != nil || got.String() != want.String() {
			t.Errorf("%s: %v, %v; want %v", p, got, err, want)
		}
	}
	want, size, err := V1(ctx, files, open, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, n, err := V1Held(ctx, files, contents); err != nil || got.String() != want.String() || n != size {
		t.Errorf("%v, %d, %v; want %v, %d", got, n, err, want, size)
	}
	sums, err := DigestsHeld(ctx, files, contents)
	if err != nil || len(sums) != len(contents) {
		t.Fatal(sums, err)
	}
	for path, content := range contents {
		if sums[path].String() != digest.FromBytes(content).String() {
			t.Errorf("%s: %v", path, sums[path])
		}
	}

	for what, c := range map[string]struct {
		change map[string][]byte
		want   error
	}{"longer": {map[string][]byte{"b.js": []byte("bb")}, ErrChanged}, "shorter": {map[string][]byte{"A": {}}, ErrChanged},
		"nothing": {nil, fs.ErrNotExist}} {
		var changed map[string][]byte
		if c.change != nil {
			changed = maps.Clone(contents)
			maps.Copy(changed, c.change)
		}
		_, distErr := DistHeld(ctx, Guide, files, changed)
		_, _, v1Err := V1Held(ctx, files, changed)
		_, sumsErr := DigestsHeld(ctx, files, changed)
		for _, err := range []error{distErr, v1Err, sumsErr} {
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if _, err := DistHeld(ctx, Guide, nil, nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("no file: %v", err)
	}
}
