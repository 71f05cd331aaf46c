package tree_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Fingerprint a directory. Use the FS of an os.Root, or os.DirFS, in place of the map.
func ExampleV1() {
	fsys := fstest.MapFS{
		"server.js":         {Data: []byte("serve()\n")},
		"bin/notes":         {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"docs/guide/use.md": {Data: []byte("# Use\n")},
	}
	files, err := tree.Walk(fsys, tree.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Println(f.Path, f.Size, f.Exec)
	}
	fingerprint, size, err := tree.V1(context.Background(), files, tree.OpenFS(fsys), 0)
	fmt.Println(fingerprint, size, err)
	// Output:
	// bin/notes 10 true
	// docs/guide/use.md 6 false
	// server.js 8 false
	// sha256:c997529bfafb0382a5d63e978f5b8f0958501c16dc6ef0b1237d3a40d6b84d4b 24 <nil>
}

// The canonical tar follows from paths and contents alone: neither the order of the
// files nor their times and permissions change a byte of it.
func ExampleWriteTar() {
	fsys := fstest.MapFS{
		"a.md": {Data: []byte("one\n"), Mode: 0o600},
		"b.md": {Data: []byte("two\n"), Mode: 0o755},
	}
	files := []tree.File{{Path: "b.md", Size: 4, Exec: true}, {Path: "a.md", Size: 4}}
	var tar bytes.Buffer
	size, err := tree.WriteTar(context.Background(), &tar, files, tree.OpenFS(fsys), 0)
	fmt.Println(size, err)
	fingerprint, _, err := tree.FacetTar(context.Background(), files, tree.OpenFS(fsys), 0)
	fmt.Println(fingerprint.String() == digest.FromBytes(tar.Bytes()).String(), err)
	// Output:
	// 10240 <nil>
	// true <nil>
}

// Inspect reports what no fingerprint tells: links, empty directories, special modes.
func ExampleInspect() {
	fsys := fstest.MapFS{
		"readme.md": {Data: []byte("hello\n")},
		"latest":    {Data: []byte("readme.md"), Mode: fs.ModeSymlink},
		"cache":     {Mode: fs.ModeDir},
	}
	inventory, err := tree.Inspect(fsys, tree.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range inventory.Files {
		fmt.Println("file:", f.Path)
	}
	for _, refused := range inventory.Refused {
		fmt.Println("refused:", refused)
	}
	for _, entry := range inventory.Unhashed {
		fmt.Println("unhashed:", entry.Path, "is", entry.Kind)
	}
	// Output:
	// file: readme.md
	// refused: "latest" is a symbolic link; a tree holds regular files only
	// unhashed: cache is an empty directory
}
