//go:build unix

package engine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// search returns the lines that a search finds, by their text, and the number of hits in each file; more reports that
// hits are only counted.
func (w *world) search(in SearchRequest, pattern string) (lines, counts string, more bool) {
	w.t.Helper()
	in.Pattern = regexp.MustCompile(pattern)
	found, err := w.Search(w.t.Context(), w.sc, in)
	must(w.t, err)
	var texts, hits []string
	for _, f := range found.Files {
		shown := 0
		for _, line := range f.Lines {
			_, text, _ := strings.Cut(line.Text, "|")
			texts = append(texts, text)
			if line.Match {
				shown++
			}
		}
		more = more || shown < f.Count
		hits = append(hits, fmt.Sprintf("%s:%d", f.Path, f.Count))
	}
	return strings.Join(texts, ";"), strings.Join(hits, " "), more
}

// tree returns the paths of a walk.
func (w *world) tree(path string, limit int) (paths string, more bool) {
	w.t.Helper()
	found, err := w.Walk(w.t.Context(), w.sc, path, limit)
	must(w.t, err)
	var all []string
	for _, e := range found.Entries {
		all = append(all, e.Path)
	}
	return strings.Join(all, " "), found.More
}

// TestRefusedMoves leaves both places as they are.
func TestRefusedMoves(t *testing.T) {
	other := dir(t)
	w := serve(t, other)
	d := w.dir
	w.writeAll("f", "f\n", "linked", "linked\n", "plain/deep/y", "y\n",
		"target/AGENTS.md", "---\nforbidden: [plain/deep/y]\nread_only: [fixed/deep/y]\n---\n")
	must(t, os.Link(filepath.Join(d, "linked"), filepath.Join(d, "linked2")))
	must(t, os.Symlink("target", filepath.Join(d, "link")))
	for _, x := range []struct {
		from, to string
		code     hashline.Code
	}{
		{d + "/f", d + "/none/deep/f", place.NotFound},
		{d + "/plain", d + "/target/plain", place.Forbidden},
		{d + "/plain", d + "/target/fixed", place.ReadOnly},
		{d + "/linked", other + "/linked", place.HardLink},
		{d + "/plain", other + "/plain", hashline.Invalid},
		{d + "/none", d + "/x", place.NotFound},
		{d + "/plain", d + "/plain/deep/plain", hashline.Invalid},
		{d + "/plain", d + "/link", place.Exists},
		{d + "/f", d + "/f", place.Exists},
		{d + "/f", d + "/plain", place.Exists},
		{d + "/f", d + "/g ", hashline.Invalid},
		{d, d + "/plain/x", place.ReadOnly},
		{d + "/f", other + "/.git/f", place.ReadOnly},
		{d + "/f", filepath.Dir(d) + "/f", place.OutsideRoots},
	} {
		refused(t, x.from+" to "+x.to, w.Move(t.Context(), w.sc, x.from, x.to), x.code)
	}
	for _, there := range []string{"f", "linked", "linked2", "plain/deep/y"} {
		w.content(there)
	}
	for _, gone := range []string{d + "/none", d + "/deep", other + "/linked", d + "/target/plain",
		d + "/target/fixed"} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is there", gone)
		}
	}
	must(t, w.Move(t.Context(), w.sc, d+"/plain", d+"/target/free"))
}

// TestRepositoryIsLeftOut leaves .git out of what is listed and searched.
func TestRepositoryIsLeftOut(t *testing.T) {
	w := serve(t)
	w.write(".git/config", "hit\n")
	w.write(".github/f", "hit\n")
	w.write("sub/.git", "hit\n") // of a submodule, a file
	if got, _ := w.tree(".", 100); got != ".github .github/f sub sub/.git" {
		t.Errorf("%q", got)
	}
	if _, counts, _ := w.search(SearchRequest{Limit: 10}, "hit"); counts != ".github/f:1 sub/.git:1" {
		t.Error(counts)
	}
}

// TestContextOnce shows each line once, if the contexts of hits meet.
func TestContextOnce(t *testing.T) {
	w := serve(t)
	w.write("f", "1\n2\n3 hit\n4\n5 hit\n6\n7\n8\n9\n10\n11 hit\n")
	lines, _, _ := w.search(SearchRequest{Limit: 10, Context: 2}, "hit")
	if lines != "1;2;3 hit;4;5 hit;6;7;9;10;11 hit" {
		t.Error(lines)
	}
}

// TestDeepTree walks directories that are nested as deep as is allowed, and no deeper.
func TestDeepTree(t *testing.T) {
	const deepest = 64
	w := serve(t)
	nested := strings.Repeat("n/", deepest)
	w.write(nested+"f", "found\n")
	if _, counts, _ := w.search(SearchRequest{Limit: 10}, "found"); counts != nested+"f:1" {
		t.Error(counts)
	}
	must(t, os.Mkdir(filepath.Join(w.dir, nested, "n"), 0o700))
	const why = "directories are nested more than 64 deep"
	tree, err := w.Walk(t.Context(), w.sc, ".", 1000)
	must(t, err)
	found, err := w.Search(t.Context(), w.sc, SearchRequest{Limit: 10, Pattern: regexp.MustCompile("found")})
	must(t, err)
	for what, passed := range map[string][]Passed{"a walk": tree.Passed, "a search": found.Passed} {
		if want := []Passed{{why, []string{nested + "n/"}, 1}}; !reflect.DeepEqual(passed, want) {
			t.Errorf("%s: %+v", what, passed)
		}
	}
	if len(found.Files) != 1 || len(tree.Entries) != deepest+2 {
		t.Errorf("%+v, %d entries", found, len(tree.Entries))
	}
	// A move counts from the directory that is moved.
	must(t, os.Mkdir(filepath.Join(w.dir, nested, "n/n"), 0o700))
	refused(t, "a move", w.Move(t.Context(), w.sc, "n", "m"), hashline.TooLarge)
}

// TestLargeFileSearched: a file as large as is read is searched, and a larger one is named. Its lines are long, as a
// search takes its time by the line, ends at searchTime, and is tried under the race detector on busy machines too.
func TestLargeFileSearched(t *testing.T) {
	if testing.Short() {
		t.Skip("searches as other tests do, in a larger file")
	}
	w := serve(t)
	line := strings.Repeat("hay ", 1023) + "hay\n"
	path := w.write("f", strings.Repeat(line, int(w.o.MaxFile)/len(line)-1)+strings.Repeat("hay ", 1022)+"a needle")
	for _, want := range []string{"f:1", ""} {
		if _, counts, _ := w.search(SearchRequest{Limit: 10}, "needle"); counts != want {
			t.Errorf("%s, want %s", counts, want)
		}
		found, err := w.Search(t.Context(), w.sc, SearchRequest{Limit: 10, Pattern: regexp.MustCompile("needle")})
		if err != nil || want == "" && !reflect.DeepEqual(found.Passed, []Passed{{"too large (--max-file)", []string{"f"}, 1}}) {
			t.Errorf("%+v, %v", found, err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		f.WriteString("\n")
		f.Close()
	}
}

// TestUnshownSearch: what a search finds for nobody is no file that was read, and counts as one when it is shown.
func TestUnshownSearch(t *testing.T) {
	w := serve(t)
	w.write("f", "hit\n")
	whole := digest.FromBytes([]byte("hit\n"))
	for _, unshown := range []bool{true, false} {
		w.search(SearchRequest{Limit: 9, Unshown: unshown}, "hit")
		if known := w.reader.Expand(whole.Hex()[:shownDigits], digest.FromBytes(nil)); (len(known) == 0) != unshown {
			t.Errorf("unshown %t: %v", unshown, known)
		}
	}
}

// TestSearchBounds: a search ends at each of its limits, and says so; a file that was named is told to be no text.
func TestSearchBounds(t *testing.T) {
	w := serve(t)
	w.writeAll("a", "hit 1\nhit 2\n", "b.go", "hit 3\n", "bin", "hit\x00\n")
	goFiles := func(rel string) bool { return strings.HasSuffix(rel, ".go") }
	for what, c := range map[string]struct {
		in     SearchRequest
		counts string
		cut    bool
	}{
		"all":       {SearchRequest{Limit: 9}, "a:2 b.go:1", false},
		"two":       {SearchRequest{Limit: 2}, "a:2 b.go:1", true},
		"one":       {SearchRequest{Limit: 1}, "a:2 b.go:1", true},
		"a glob":    {SearchRequest{Limit: 9, Only: goFiles}, "b.go:1", false},
		"a file":    {SearchRequest{Limit: 9, Path: "a"}, "a:2", false},
		"few words": {SearchRequest{Limit: 9, Tokens: EstimateTokens([]byte(anchor(1, "hit 1") + "|hit 1\n"))}, "a:2 b.go:1", true},
	} {
		if _, counts, cut := w.search(c.in, "hit"); counts != c.counts || cut != c.cut {
			t.Errorf("%s: %s, %v", what, counts, cut)
		}
	}
	for path, code := range map[string]hashline.Code{"bin": hashline.Binary, "none": place.NotFound} {
		_, err := w.Search(t.Context(), w.sc, SearchRequest{Limit: 9, Path: path, Pattern: regexp.MustCompile("hit")})
		refused(t, path, err, code)
	}
	for path, want := range map[string]string{"": "b.go", w.dir: filepath.Join(w.dir, "b.go")} {
		names, err := w.Search(t.Context(), w.sc, SearchRequest{Limit: 1, Path: path, Only: goFiles})
		if err != nil || len(names.Files) != 1 || names.Files[0].Path != want || names.Searched != 1 {
			t.Errorf("%q: %+v, %v", path, names, err)
		}
	}
	names, err := w.Search(t.Context(), w.sc, SearchRequest{Limit: 2})
	if err != nil || len(names.Files) != 2 || names.Searched != 3 {
		t.Errorf("%+v, %v", names, err)
	}
}

// TestListBounds: a listing says how much it leaves out, and a walk that there is more.
func TestListBounds(t *testing.T) {
	w := serve(t)
	for _, name := range []string{"a", "b/c", "d/y"} {
		w.write(name, "x\n")
	}
	for limit, more := range map[int]int{0: 3, 2: 1, 3: 0, 4: 0} {
		l, err := w.List(w.sc, ".", limit)
		if err != nil || l.More != more || len(l.Entries) != 3-more {
			t.Errorf("%d: %+v, %v", limit, l, err)
		}
	}
	for limit, want := range map[int]string{5: "a b b/c d d/y", 4: "a b b/c d", 6: "a b b/c d d/y"} {
		if got, more := w.tree(".", limit); got != want || more != (limit < 5) {
			t.Errorf("%d: %s, %v", limit, got, more)
		}
	}
	if got, _ := w.tree("d", 9); got != "y" {
		t.Errorf("below d: %s", got)
	}
}

// TestLongNames edits and moves files whose names have no room for more.
func TestLongNames(t *testing.T) {
	w := serve(t)
	name := strings.Repeat("n", 249) + "\u65e5\u672c"
	w.write(name, "a\n")
	_, hash := w.read(name)
	_, err := w.Edit(t.Context(), w.sc, EditRequest{Path: name, FileHash: hash,
		Operations: []hashline.Operation{replaceOp(anchor(1, "a"), "b")}})
	if err != nil || w.content(name) != "b\n" {
		t.Error("it is not edited", err)
	}
	_, err = w.Write(t.Context(), w.sc, WriteRequest{Path: strings.Repeat("m", 255), Content: "x"})
	must(t, err)
	_, err = w.Write(t.Context(), w.sc, WriteRequest{Path: strings.Repeat("m", 256), Content: "x"})
	refused(t, "a longer name", err, place.IO)
}

// TestSameLock moves a file to a path of which the lock is the same: it does not wait for itself.
func TestSameLock(t *testing.T) {
	w := serve(t)
	from := w.write("f", "f\n")
	slot := func(path string) byte { return sha256.Sum256([]byte(path))[0] }
	to := ""
	for i := 0; to == "" || slot(to) != slot(from); i++ {
		to = filepath.Join(w.dir, "g"+strconv.Itoa(i))
	}
	must(t, w.Move(t.Context(), w.sc, from, to))
}
