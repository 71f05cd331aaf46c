package tree

import (
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
)

// What no fingerprint tells is found wherever it lies, and nothing else is.
func TestInspect(t *testing.T) {
	file := func(mode fs.FileMode) *fstest.MapFile { return &fstest.MapFile{Data: []byte("x"), Mode: mode} }
	dir := func(mode fs.FileMode) *fstest.MapFile { return &fstest.MapFile{Mode: fs.ModeDir | mode} }
	for name, c := range map[string]struct {
		fsys fstest.MapFS
		want []string
	}{
		"files alone":        {fstest.MapFS{"a": file(0o644), "b/c/d": file(0o755), "b/e": file(0o600)}, nil},
		"nothing":            {fstest.MapFS{}, nil},
		"an empty directory": {fstest.MapFS{"a": file(0o644), "b": dir(0o755)}, []string{"b an empty directory"}},
		"empty ones below each other": {
			fstest.MapFS{"a/b/c": dir(0o755), "a/b/d": dir(0o755), "e/f": file(0o644), "e/g/h": dir(0o755)},
			[]string{"a an empty directory", "e/g an empty directory"}},
		"a directory of a link": {fstest.MapFS{"a/l": file(fs.ModeSymlink)}, nil}, // which is refused by itself
		"special files": {
			fstest.MapFS{"a": file(0o755 | fs.ModeSetuid), "b/c": file(0o644 | fs.ModeSetgid), "d": file(fs.ModeSticky),
				"e": file(0o644 | fs.ModeSetgid | fs.ModeSetuid)},
			[]string{"a a setuid file", "b/c a setgid file", "d a sticky file", "e a setuid setgid file"}},
		"special directories": {
			fstest.MapFS{"a": dir(0o755 | fs.ModeSetgid), "a/f": file(0o644), "b": dir(0o755 | fs.ModeSticky)},
			[]string{"a a setgid directory", "b an empty directory", "b a sticky directory"}},
	} {
		in, err := Inspect(c.fsys, Limits{})
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, o := range in.Unhashed {
			got = append(got, fmt.Sprint(o.Path, " ", o.Kind))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		files, refused, err := Scan(c.fsys, Limits{})
		if err != nil || !slices.Equal(files, in.Files) || len(refused) != len(in.Refused) {
			t.Errorf("%s: Scan finds %v, %v, %v; Inspect %v, %v", name, files, refused, err, in.Files, in.Refused)
		}
	}
}
