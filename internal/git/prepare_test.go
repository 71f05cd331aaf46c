package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/tree"
)

// packedCommit is a commit with three skills of three files each, as a pack has it.
func packedCommit(t *testing.T) *Commit {
	t.Helper()
	work, dir := t.TempDir(), t.TempDir()
	for i := range 9 {
		name := filepath.Join(work, fmt.Sprintf("s%d", i/3), []string{"SKILL.md", "a.md", "b.md"}[i%3])
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700),
			os.WriteFile(name, []byte(strings.Repeat("same ", 1000)+name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = work
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet")
	git("add", "-A")
	git("commit", "--quiet", "-m", "one")
	git("repack", "-a", "-d", "-q")
	git("clone", "--quiet", "--bare", "--no-local", work, filepath.Join(dir, "repo"))
	c := &Commit{ID: git("rev-parse", "HEAD"), dir: filepath.Join(dir, "repo"), tried: map[string]bool{},
		repo: Repository{URL: "https://git.example.com/x", Checkout: foreign.FindCheckout(".", ""), Environ: os.Environ()}}
	c.all = func() (map[string]File, error) { return c.list(t.Context()) }
	packs, err := filepath.Glob(filepath.Join(c.dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("%v, %v", packs, err)
	}
	return c
}

// prepared are the ids of files of which each has one of its own.
func (c *Commit) prepared(t *testing.T) (n int) {
	t.Helper()
	all, err := c.all()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if _, err := os.Stat(c.keptName(f.ID)); err == nil {
			n++
		}
	}
	return n
}

// TestOpenPrepares: one that is read of a pack brings those of its name and of its directory, and no others; git is not
// started again for them.
func TestOpenPrepares(t *testing.T) {
	c := packedCommit(t)
	all, err := c.Files("s1")
	if err != nil {
		t.Fatal(err)
	}
	read := func(f File) string {
		t.Helper()
		r, err := c.Open(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if text := read(all["SKILL.md"]); !strings.HasSuffix(text, filepath.Join("s1", "SKILL.md")) {
		t.Errorf("%.20q", text)
	}
	if n := c.prepared(t); n != 5 {
		t.Errorf("%d files are prepared, not those of the name and of the directory", n)
	}
	root, _ := c.Files("")
	c.repo.Environ = []string{"PATH=" + t.TempDir()} // without git
	for _, at := range []string{"s0/SKILL.md", "s2/SKILL.md", "s1/a.md", "s1/b.md"} {
		if text := read(root[at]); !strings.HasSuffix(text, filepath.FromSlash(at)) {
			t.Errorf("%s: %.20q", at, text)
		}
	}
	c.all = func() (map[string]File, error) { return root, nil }
	if _, err := c.Open(t.Context(), root["s0/a.md"]); err == nil {
		t.Error("one that was not prepared is read without git")
	}
}

// TestPrepareInterrupted: what is interrupted while files are prepared is an error.
func TestPrepareInterrupted(t *testing.T) {
	c := packedCommit(t)
	all, err := c.Files("")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := c.Open(ctx, all["s0/a.md"]); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestPrepareLargeFiles: a large file is not copied; git gives it when it is read.
func TestPrepareLargeFiles(t *testing.T) {
	c := packedCommit(t)
	all, err := c.Files("")
	if err != nil {
		t.Fatal(err)
	}
	large := all["s0/a.md"]
	large.Size = prepareFile + 1
	if err := c.Prepare(t.Context(), slices.Values([]File{large, all["s0/b.md"]})); err != nil || c.prepared(t) != 1 {
		t.Errorf("%d files are prepared, %v", c.prepared(t), err)
	}
	r, err := c.Open(t.Context(), large)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(r); err != nil || !strings.HasSuffix(string(data), filepath.Join("s0", "a.md")) {
		t.Errorf("%.20q, %v", data, err)
	}
}

// TestPrepareWithin: what is fetched and what is prepared have together at most maxSize bytes.
func TestPrepareWithin(t *testing.T) {
	c := packedCommit(t)
	all, err := c.Files("")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(c.dir, "large"))
	if err := errors.Join(err, f.Truncate(maxSize), f.Close()); err != nil { // of holes
		t.Fatal(err)
	}
	r, err := c.Open(t.Context(), all["s0/a.md"])
	if err != nil || c.prepared(t) != 0 {
		t.Fatalf("%d files are prepared, %v", c.prepared(t), err)
	}
	if data, err := io.ReadAll(r); err != nil || !strings.HasSuffix(string(data), filepath.Join("s0", "a.md")) {
		t.Errorf("%.20q, %v", data, err)
	}
}

// TestPrepareManyBytes: more than what is in memory together is prepared all the same.
func TestPrepareManyBytes(t *testing.T) {
	c := packedCommit(t)
	work := t.TempDir()
	var names []string
	for i := range prepareMemory/prepareFile + 8 {
		names = append(names, filepath.Join(work, fmt.Sprint(i)))
		if err := os.WriteFile(names[i], []byte(names[i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add := exec.Command("git", "--git-dir", c.dir, "hash-object", "-w", "--stdin-paths")
	add.Stdin = strings.NewReader(strings.Join(names, "\n"))
	out, err := add.Output()
	if err != nil {
		t.Fatal(err)
	}
	var files []File
	for id := range strings.FieldsSeq(string(out)) {
		files = append(files, File{ID: id, Size: prepareFile}) // they are smaller in truth
	}
	if err := c.Prepare(t.Context(), slices.Values(files)); err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if data, err := os.ReadFile(c.keptName(f.ID)); err != nil || string(data) != names[i] {
			t.Errorf("%q, %v", data, err)
		}
	}
}

// TestOpenLink: a link is read if it can be one, however large its object is.
func TestOpenLink(t *testing.T) {
	c := packedCommit(t)
	all, err := c.Files("")
	if err != nil {
		t.Fatal(err)
	}
	link := all["s0/a.md"]
	for link.Kind, link.Size = KindLink, tree.MaxPath; link.Size <= tree.MaxPath+1; link.Size++ {
		if _, err := c.Open(t.Context(), link); (err == nil) != (link.Size == tree.MaxPath) {
			t.Errorf("%d bytes: %v", link.Size, err)
		}
	}
}
