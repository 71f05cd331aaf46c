package fetch

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// installed writes a tarball of the members, installs it and returns the modes of the files that are there, by path.
func installed(t *testing.T, elsewhere func(string) bool, members ...*forge.Member) (map[string]fs.FileMode, error) {
	t.Helper()
	data := (&forge.Tar{Gzip: true, End: make([]byte, 1024), Members: members}).Bytes()
	file := filepath.Join(t.TempDir(), "tarball")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := InstallTarball(t.Context(), file, digest.FromBytes(data), dir, ".", elsewhere); err != nil {
		return nil, err
	}
	modes := map[string]fs.FileMode{}
	return modes, fs.WalkDir(dir.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				modes[name] = info.Mode().Perm() & 0o100
			}
		}
		return err
	})
}

func nowhere(string) bool { return false }

// TestInstallTarball: files are where npm puts them, whatever the directory at the top is called, and what "bin" names can
// be executed.
func TestInstallTarball(t *testing.T) {
	script := forge.NewMember("package/build.sh", '0', []byte("#!/bin/sh\n"))
	script.Set(100, "0000755\x00")
	got, err := installed(t, func(name string) bool { return name == "node_modules/other/index.js" },
		forge.NewMember("package/package.json", '0', []byte("\uFEFF"+`{"bin":{"a":"./cli.js","b":"../../etc/b","c":"gone.js"}}`)),
		forge.NewMember("package/cli.js", '0', []byte("1")), script,
		forge.NewMember("else/lib/index.js", '0', []byte("2")),
		forge.NewMember("at-the-top", '0', []byte("3")),
		forge.NewMember("package/node_modules/bundled/index.js", '0', []byte("4")),
		forge.NewMember("package/node_modules/other/index.js", '0', []byte("5")))
	want := map[string]fs.FileMode{"package.json": 0, "cli.js": 0o100, "build.sh": 0o100, "lib/index.js": 0,
		"node_modules/bundled/index.js": 0}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
}

// TestInstallTarballTwice: a file that is there twice is taken if it is equal; else the command that installs it ends
// with the exit code of bytes that differ.
func TestInstallTarballTwice(t *testing.T) {
	for content, class := range map[string]evidence.Class{"1": evidence.OK, "2": evidence.Integrity} {
		got, err := installed(t, nowhere, forge.NewMember("package/dist/index.js", '0', []byte("1")),
			forge.NewMember("package/./dist/index.js", '0', []byte(content)))
		if evidence.ClassOf(err) != class || err == nil && len(got) != 1 {
			t.Errorf("%s: %v %v", content, got, err)
		}
	}
	if got, err := installed(t, nowhere, forge.NewMember("package/index.js", '0', []byte("1")),
		forge.NewMember("other/index.js", '0', []byte("2"))); err == nil {
		t.Errorf("two files of one path are installed: %v", got)
	}
}

// TestInstallTarballChanged: bytes that are not those that were compared before are refused.
func TestInstallTarballChanged(t *testing.T) {
	tar := forge.Tar{Gzip: true, End: make([]byte, 1024),
		Members: []*forge.Member{forge.NewMember("package/index.js", '0', []byte("1"))}}
	file := filepath.Join(t.TempDir(), "tarball")
	if err := os.WriteFile(file, tar.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := InstallTarball(t.Context(), file, digest.FromBytes(nil), dir, ".", nowhere); evidence.ClassOf(err) != evidence.Integrity {
		t.Errorf("bytes that changed: %v", err)
	}
}
