//go:build unix

package packages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// nanotar is the program whose archives facets have been published as, and the digest
// of its package, by npm pack and sha256sum.
const (
	nanotar       = "nanotar@0.3.0"
	nanotarDigest = "sha256:19787e5699b207c658abbdcd4696fe147d53b88773136c0fab6fc2133a5f22a1"
)

// nanotarScript packs each tree that trees.json lists, in the order of JavaScript, to
// theirs/N.tar, and prints what it reads in ours/N.tar.
const nanotarScript = `
import { createTar, parseTar } from "./package/dist/index.mjs";
import { readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
const attrs = { mode: "644", uid: 0, gid: 0, mtime: 0 };
const sha256 = (data) => createHash("sha256").update(data ?? "").digest("hex");
const read = JSON.parse(readFileSync("trees.json")).map((files, i) => {
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  writeFileSync("theirs/" + i + ".tar", createTar(files.map((f) => ({ name: f.path, data: readFileSync(f.file), attrs }))));
  return parseTar(readFileSync("ours/" + i + ".tar")).map((f) => ({ path: f.name, digest: "sha256:" + sha256(f.data) }));
});
console.log(JSON.stringify(read));
`

// TestNanotar needs the network: it fetches the package through the user's own npm
// configuration. Random trees have the same bytes as its archives and as ours, and each
// reads what the other wrote.
func TestNanotar(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("uses the network")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("%v; 'make test' installs it", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
	defer cancel()
	dir := t.TempDir()
	run := func(name string, args ...string) []byte {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, &stderr)
		}
		return out
	}
	run("npm", "pack", nanotar, "--ignore-scripts", "--silent")
	for _, sub := range []string{"ours", "theirs", "files"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	unpack(t, filepath.Join(dir, strings.Replace(nanotar, "@", "-", 1)+".tgz"), dir)

	const trees = 40
	r := rand.New(rand.NewPCG(20261121, 5))
	type listed struct {
		Path string `json:"path"`
		File string `json:"file"`
	}
	var (
		all   [trees][]tree.File
		lists [trees][]listed
		where [trees]map[string]string
		sums  [trees]map[string]digest.Digest
	)
	for i := range all {
		all[i], where[i], sums[i] = randomTree(t, r, filepath.Join(dir, "files", fmt.Sprint(i)))
		lists[i] = []listed{} // not null
		for _, f := range all[i] {
			lists[i] = append(lists[i], listed{f.Path, where[i][f.Path]})
		}
		var tar bytes.Buffer
		open := func(path string) (io.ReadCloser, error) { return os.Open(where[i][path]) }
		if _, err := tree.WriteTar(t.Context(), &tar, all[i], open, 0); err != nil {
			t.Fatal(err)
		}
		world.Write(t, filepath.Join(dir, "ours", fmt.Sprint(i)+".tar"), tar.String())
	}
	data, err := json.Marshal(lists)
	if err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(dir, "trees.json"), string(data))
	world.Write(t, filepath.Join(dir, "run.mjs"), nanotarScript)
	var read [][]struct{ Path, Digest string }
	if err := json.Unmarshal(run("node", "run.mjs"), &read); err != nil || len(read) != trees {
		t.Fatal(len(read), err)
	}
	for i, files := range all {
		ours, err := os.ReadFile(filepath.Join(dir, "ours", fmt.Sprint(i)+".tar"))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(filepath.Join(dir, "theirs", fmt.Sprint(i)+".tar"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(ours, theirs) {
			t.Errorf("tree %d: %d bytes of ours differ from %d of theirs: %+v", i, len(ours), len(theirs), files)
		}
		var order []string
		got, err := archive.Walk(bytes.NewReader(theirs), archive.Canonical, archive.Limits{},
			func(e archive.Entry, r io.Reader) error {
				order = append(order, e.Path)
				d, _, err := digest.FromReader(r)
				if err == nil && d.String() != sums[i][e.Path].String() {
					t.Errorf("tree %d: %q read as %s", i, e.Path, d)
				}
				return err
			})
		if err != nil || len(order) != len(files) || got.Tar.String() != digest.FromBytes(ours).String() {
			t.Errorf("tree %d: read %q of %+v: %v", i, order, files, err)
		}
		for j, f := range read[i] {
			if j >= len(order) || f.Path != order[j] || f.Digest != sums[i][f.Path].String() {
				t.Errorf("tree %d: they read %q, %s of ours", i, f.Path, f.Digest)
			}
		}
		want := len(files)
		if want > 0 && ends(ours, order[want-1]) {
			want-- // it stops before a header that is the last block: an empty file
		}
		if len(read[i]) != want {
			t.Errorf("tree %d: they read %d files of ours", i, len(read[i]))
		}
	}
}

// ends reports whether the last block of a tar is the header of an empty file at path.
func ends(tar []byte, path string) bool {
	header, err := tree.TarHeader(path, 0)
	return err == nil && bytes.HasSuffix(tar, header)
}

// unpack extracts a tarball of npm's.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	sums, err := archive.Walk(f, archive.TarGzip, archive.Limits{}, func(e archive.Entry, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(e.Path)), 0o700); err != nil {
			return err
		}
		return root.WriteFile(filepath.FromSlash(e.Path), data, 0o600)
	})
	if err != nil || sums.Packed.String() != nanotarDigest {
		t.Fatalf("%s: %s, %v", nanotar, sums.Packed, err)
	}
}

// randomTree writes the files of a tree below dir and says where each is.
func randomTree(t *testing.T, r *rand.Rand, dir string) (files []tree.File, where map[string]string,
	sums map[string]digest.Digest) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	where, sums = map[string]string{}, map[string]digest.Digest{}
	var names []string
	for n := r.IntN(12); len(files) < n; {
		path := randomPath(r)
		var set archive.Names
		ok := len(path) <= tree.MaxTarPath
		for _, p := range append(slices.Clone(names), path) {
			ok = ok && set.Add(p) == nil
		}
		if !ok {
			continue
		}
		names = append(names, path)
		data := make([]byte, randomSize(r))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		where[path], sums[path] = filepath.Join(dir, fmt.Sprint(len(files))), digest.FromBytes(data)
		world.Write(t, where[path], string(data))
		files = append(files, tree.File{Path: path, Size: int64(len(data))})
	}
	return files, where, sums
}

func randomSize(r *rand.Rand) int {
	switch r.IntN(6) {
	case 0:
		return 512 * r.IntN(40)
	case 1:
		return tree.TarRecord * r.IntN(4)
	case 2: // with its header exactly a record
		return tree.TarRecord*(1+r.IntN(3)) - tree.TarBlock
	case 3:
		return r.IntN(3 << 20)
	case 4:
		return r.IntN(3)
	}
	return r.IntN(5000)
}

// randomPath is one that an archive may hold, but for its length: it may be longer.
func randomPath(r *rand.Rand) string {
	alphabet := []rune("abz09._-~AZ éßñ日本\u0301\ufb01\ufffd\ue000\uf8ff\U00010000\U0001f600\U0010fffd")
	for {
		var b strings.Builder
		for n := 1 + r.IntN(40); n > 0; n-- {
			if r.IntN(8) == 0 {
				b.WriteByte('/')
			}
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		if r.IntN(4) == 0 { // exactly what a header holds
			b.WriteString(strings.Repeat("x", max(0, tree.MaxTarPath-b.Len())))
		}
		if path := b.String(); archive.CheckPath(path) == nil {
			return path
		}
	}
}
