package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing/fstest"

	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Write an archive that its files determine, and read it in one pass: the digests come
// from the bytes, and nothing is unpacked to disk.
func ExampleWalk() {
	fsys := fstest.MapFS{"readme.md": {Data: []byte("# Notes\n")}, "src/main.js": {Data: []byte("serve()\n")}}
	files, err := tree.Walk(fsys, tree.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var packed bytes.Buffer
	fingerprint, _, err := archive.WriteTarGzip(context.Background(), &packed, files, tree.OpenFS(fsys), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	printFile := func(e archive.Entry, r io.Reader) error {
		text, err := io.ReadAll(r)
		fmt.Printf("%s: %q\n", e.Path, text)
		return err
	}
	sums, err := archive.Walk(&packed, archive.TarGzip, archive.Limits{Unpacked: 1 << 20}, printFile)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sums.Tar.String() == fingerprint.String())
	// Output:
	// readme.md: "# Notes\n"
	// src/main.js: "serve()\n"
	// true
}

// A path is accepted only if it can be extracted below a directory on every platform.
func ExampleCheckPath() {
	for _, path := range []string{"src/main.js", "../../etc/passwd", `C:\notes`, "aux.txt", ".GIT/config"} {
		refused, _ := errors.AsType[*archive.Error](archive.CheckPath(path))
		if refused == nil {
			fmt.Println(path, "can be extracted")
			continue
		}
		fmt.Println(path, refused.Problem)
	}
	// Output:
	// src/main.js can be extracted
	// ../../etc/passwd parent-path
	// C:\notes drive-path
	// aux.txt device-name
	// .GIT/config repository
}

// Read one file of a zip, whose two lists of files must agree.
func ExampleOpenZip() {
	fsys := fstest.MapFS{"notes/readme.md": {Data: []byte("# Notes\n")}}
	var packed bytes.Buffer
	err := archive.WriteZip(&packed, []tree.File{{Path: "notes/readme.md", Size: 8}}, tree.OpenFS(fsys))
	if err != nil {
		fmt.Println(err)
		return
	}
	files, open, err := archive.OpenZip(bytes.NewReader(packed.Bytes()), int64(packed.Len()), archive.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		r, err := open(f.Path)
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := io.ReadAll(r)
		r.Close()
		fmt.Printf("%s: %q %v\n", f.Path, text, err)
	}
	// Output:
	// notes/readme.md: "# Notes\n" <nil>
}
