//go:build unix

package hashfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedMoves leaves both places as they are.
func TestRefusedMoves(t *testing.T) {
	d, other := dir(t), dir(t)
	write(t, d, "f", "f\n")
	write(t, d, "linked", "linked\n")
	write(t, d, "plain/deep/y", "y\n")
	write(t, d, "target/AGENTS.md", "---\nforbidden: [plain/deep/y]\nread_only: [fixed/deep/y]\n---\n")
	if err := os.Link(filepath.Join(d, "linked"), filepath.Join(d, "linked2")); err != nil {
		t.Fatal(err)
	}
	p, _ := connect(t, Config{Roots: []string{d, other}}, "2025-11-25", nil)
	for _, x := range [][3]string{
		{d + "/f", d + "/none/deep/f", "not_found"},
		{d + "/plain", d + "/target/plain", "forbidden"},
		{d + "/plain", d + "/target/fixed", "read_only"},
		{d + "/linked", other + "/linked", "hard_link"},
		{d + "/none", d + "/x", "not_found"},
		{d + "/plain", d + "/plain/deep/plain", "invalid"},
	} {
		p.call("move_file", arguments{"source": x[0], "destination": x[1]}).refused(x[2])
	}
	for _, there := range []string{d + "/f", d + "/linked", d + "/linked2", d + "/plain/deep/y"} {
		content(t, there)
	}
	for _, gone := range []string{d + "/none", d + "/deep", other + "/linked", d + "/target/plain",
		d + "/target/fixed"} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is there", gone)
		}
	}
	p.call("move_file", arguments{"source": d + "/plain", "destination": d + "/target/free"}).ok()
}

// TestRepositoryIsLeftOut leaves .git out of what is listed and searched.
func TestRepositoryIsLeftOut(t *testing.T) {
	d := dir(t)
	write(t, d, ".git/config", "hit\n")
	write(t, d, ".github/f", "hit\n")
	write(t, d, "sub/.git", "hit\n") // of a submodule, a file
	p := serve(t, d)
	if r := p.call("directory_tree", arguments{"path": "."}).ok(); r.Text != ".github/\n.github/f\nsub/\nsub/.git\n" {
		t.Errorf("%q", r.Text)
	}
	if r := p.call("search_files", arguments{"pattern": "hit"}).ok(); !strings.Contains(r.Text, "[2 hits in 2 files]") {
		t.Error(r.Text)
	}
}

// TestContextOnce shows each line once, if the contexts of hits meet.
func TestContextOnce(t *testing.T) {
	d := dir(t)
	write(t, d, "f", "1\n2\n3 hit\n4\n5 hit\n6\n7\n8\n9\n10\n11 hit\n")
	r := serve(t, d).call("search_files", arguments{"pattern": "hit", "context": 2}).ok()
	var got []string
	for line := range strings.Lines(r.Text) {
		if _, text, ok := strings.Cut(line, "|"); ok {
			got = append(got, strings.Fields(text)[0])
		}
	}
	if strings.Join(got, " ") != "1 2 3 4 5 6 7 9 10 11" {
		t.Errorf("%s", got)
	}
}

// TestDeepTree walks directories that are nested as deep as is allowed, and no deeper.
func TestDeepTree(t *testing.T) {
	const deepest = 64
	d := dir(t)
	nested := filepath.Join(d, strings.Repeat("n/", deepest))
	write(t, nested, "f", "found\n")
	p := serve(t, d)
	if r := p.call("search_files", arguments{"pattern": "found"}).ok(); !strings.Contains(r.Text, "1 hits") {
		t.Error(r.Text)
	}
	if err := os.Mkdir(filepath.Join(nested, "n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"directory_tree", "search_files"} {
		args := arguments{"path": d}
		if tool == "search_files" {
			args["pattern"] = "found"
		}
		p.call(tool, args).refused("too_large")
	}
	if err := os.Mkdir(filepath.Join(nested, "n/n"), 0o700); err != nil { // a move counts from the directory that is moved
		t.Fatal(err)
	}
	p.call("move_file", arguments{"source": d + "/n", "destination": d + "/m"}).refused("too_large")
}

// TestLargeFileSearched: a file of 16 MiB is searched, and a larger one passed over.
func TestLargeFileSearched(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", strings.Repeat("a line of 16 b.\n", 1<<20-1)+"it is the needle")
	p := serve(t, d)
	for _, want := range []string{"[1 hits", "[0 hits"} {
		if r := p.call("search_files", arguments{"pattern": "needle"}).ok(); !strings.Contains(r.Text, want) {
			t.Errorf("%s, want %s", r.Text, want)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString("\n")
		f.Close()
	}
}
