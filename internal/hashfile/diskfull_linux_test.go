package hashfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func setAttribute(path string) bool {
	return unix.Setxattr(path, "user.hallmark", []byte("kept"), 0) == nil
}

func hasAttribute(path string) bool {
	buf := make([]byte, 10)
	n, err := unix.Getxattr(path, "user.hallmark", buf)
	return err == nil && string(buf[:n]) == "kept"
}

// TestDiskFull edits and writes on a file system without room (R1): the file stays, byte
// for byte, and nothing is left beside it. With hard links, too, where it is written in place.
func TestDiskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	d := dir(t)
	if err := syscall.Mount("tmpfs", d, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(d, syscall.MNT_DETACH) })
	text := strings.Repeat("0123456789abcde\n", 40<<10/16) // 40 KiB
	path := write(t, d, "f", text)
	write(t, d, "linked", text)
	must(t, os.Link(filepath.Join(d, "linked"), filepath.Join(d, "linked2")))
	p := serveAs(t, Config{Roots: []string{d}, HardLinks: true})
	read := p.call("read_text_file", arguments{"path": path, "end_line": 1}).ok()
	fill := bytes.Repeat([]byte("x"), 4096)
	f, err := os.Create(filepath.Join(d, "fill"))
	must(t, err)
	for err == nil {
		_, err = f.Write(fill)
	}
	f.Close()
	anchor := read.anchor("0123456789abcde")
	long := strings.Repeat("y\n", 100<<10)
	for _, name := range []string{"f", "linked"} {
		name = filepath.Join(d, name)
		r := p.edit(name, read.hash(), replaceOp(anchor, long)).refused("io")
		r.says("no space left")
		if content(t, name) != text {
			t.Errorf("%s is changed", name)
		}
	}
	p.write(filepath.Join(d, "new"), long).refused("io")
	if left, _ := os.ReadDir(d); len(left) != 4 {
		t.Errorf("%v", left)
	}
	os.Remove(filepath.Join(d, "fill"))
	p.edit(path, read.hash(), replaceOp(anchor, "room")).ok()
}
