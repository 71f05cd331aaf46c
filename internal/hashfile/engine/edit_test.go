//go:build unix

package engine

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// edit makes one edit of a file.
func (w *world) edit(in EditRequest, ops ...hashline.Operation) (*Edited, error) {
	in.Operations = ops
	return w.Edit(w.t.Context(), w.sc, in)
}

// edited makes an edit that must be made.
func (w *world) edited(in EditRequest, ops ...hashline.Operation) *Edited {
	w.t.Helper()
	done, err := w.edit(in, ops...)
	must(w.t, err)
	return done
}

// editOf asks for an edit of a file as it was read.
func editOf(path, hash string, stale ...OnStale) EditRequest {
	in := EditRequest{Path: path, FileHash: hash}
	if len(stale) > 0 {
		in.Stale = stale[0]
	}
	return in
}

// notEdited makes an edit that must be refused with a code.
func (w *world) notEdited(what string, code hashline.Code, in EditRequest, ops ...hashline.Operation) *place.Refusal {
	w.t.Helper()
	_, err := w.edit(in, ops...)
	return refused(w.t, what, err, code)
}

// TestEditChain: what an edit answers suffices for the next one, and a dry run changes nothing.
func TestEditChain(t *testing.T) {
	w := serve(t)
	w.write("f", "a\r\nb\r\nc")
	_, hash := w.read("f")
	tried, err := w.edit(EditRequest{Path: "f", FileHash: hash, DryRun: true}, replaceOp(anchor(2, "b"), "B"))
	if err != nil || w.content("f") != "a\r\nb\r\nc" ||
		!digest.Equal(tried.Hash, digest.FromBytes([]byte("a\r\nB\r\nc"))) {
		t.Errorf("%+v, %v", tried, err)
	}
	// What was not written cannot be the base of an edit.
	w.notEdited("on a dry run", hashline.Stale, editOf("f", Abbreviate(tried.Hash), Rebase),
		replaceOp(anchor(1, "a"), "x"))
	for i, word := range []string{"one", "two"} {
		done, err := w.edit(editOf("f", hash), replaceOp(anchor(i+1, string("ab"[i])), word))
		if err != nil || done.Lines[i] != anchor(i+1, word)+"|"+word {
			t.Fatalf("%s: %+v, %v", word, done, err)
		}
		hash = Abbreviate(done.Hash)
	}
	if got := w.content("f"); got != "one\r\ntwo\r\nc" {
		t.Errorf("%q", got)
	}
}

// TestEditRefused leaves the file as it was, by each code.
func TestEditRefused(t *testing.T) {
	w := serve(t)
	const text = "a\r\nb\nb\nlast"
	path := w.write("f", text)
	before, _ := os.Stat(path)
	w.writeAll("bin", "\x00", "AGENTS.md", "---\nread_only: [go.sum]\n---\n", "go.sum", text)
	_, hash := w.read("f")
	a, b := anchor(1, "a"), anchor(2, "b")
	for what, c := range map[string]struct {
		path, hash string
		ops        []hashline.Operation
		code       hashline.Code
	}{
		"no line":     {"f", hash, []hashline.Operation{replaceOp("1:00", "x")}, hashline.AnchorNotFound},
		"two lines":   {"f", hash, []hashline.Operation{replaceOp("1:"+b[2:], "x")}, hashline.AnchorAmbiguous},
		"twice":       {"f", hash, []hashline.Operation{replaceOp(a, "x"), replaceOp(a, "y")}, hashline.Overlap},
		"the same":    {"f", hash, []hashline.Operation{replaceOp(a, "a")}, hashline.NoChange},
		"a tag":       {"f", hash, []hashline.Operation{replaceOp(a, a+"|x")}, hashline.EchoedTags},
		"a NUL":       {"f", hash, []hashline.Operation{replaceOp(a, "x\x00")}, hashline.Binary},
		"nothing":     {"f", hash, nil, hashline.Invalid},
		"no hash":     {"f", "", []hashline.Operation{replaceOp(a, "x")}, hashline.Invalid},
		"another":     {"f", "sha256:" + strings.Repeat("0", 64), []hashline.Operation{replaceOp(a, "x")}, hashline.Stale},
		"no text":     {"bin", hash, []hashline.Operation{replaceOp(a, "x")}, hashline.Binary},
		"protected":   {"go.sum", hash, []hashline.Operation{replaceOp(a, "x")}, place.ReadOnly},
		"missing":     {"none", hash, []hashline.Operation{replaceOp(a, "x")}, place.NotFound},
		"a directory": {".", hash, []hashline.Operation{replaceOp(a, "x")}, place.ReadOnly},
	} {
		_, err := w.edit(EditRequest{Path: c.path, FileHash: c.hash}, c.ops...)
		r := refused(t, what, err, c.code)
		if fresh := r.FileHash != ""; fresh && (r.FileHash != hash || *r.TotalLines != 4) ||
			!fresh && (c.code == hashline.Invalid || c.code == hashline.Stale) {
			t.Errorf("%s: the hash of now is %q, of %v lines", what, r.FileHash, r.TotalLines)
		}
	}
	w.o.MaxFile = int64(len(text))
	w.notEdited("a byte too many", hashline.TooLarge, editOf("f", hash), replaceOp(a, "xx"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Edit(ended, w.sc, EditRequest{Path: "f", FileHash: hash,
		Operations: []hashline.Operation{replaceOp(a, "x")}}); err == nil {
		t.Error("a call that was canceled writes")
	}
	after, _ := os.Stat(path)
	if w.content("f") != text || w.content("go.sum") != text || !os.SameFile(before, after) ||
		!before.ModTime().Equal(after.ModTime()) {
		t.Error("a file is changed")
	}
}

// TestEditKeepsBytes edits files of every kind of bytes, and tells of them what a reader is told.
func TestEditKeepsBytes(t *testing.T) {
	for _, c := range []struct{ before, op, line, content, after string }{
		{"a\r\nb\r\n", "replace", "2b", "x", "a\r\nx\r\n"},
		{"a\nb", "replace", "2b", "x", "a\nx"},
		{"\ufeffa\nb\n", "replace", "2b", "x", "\ufeffa\nx\n"},
		{"a  \n\nb\n\n", "replace", "3b", "x", "a  \n\nx\n\n"},
		{"a\r\nb\nc\r\nd", "replace", "2b", "x", "a\r\nx\nc\r\nd"},
		{"", "append", "", "first", "first\n"},
		// An empty last line without an end is no line any more.
		{"a\nb", "replace", "2b", "", "a\n"},
		{"a\nb", "insert_after", "2b", "", "a\nb\n"},
		{"b", "replace", "1b", "", ""},
		{"a\r\nb", "replace", "2b", "x\n\n", "a\r\nx\r\n"},
		{"\ufeffb", "replace", "1\ufeffb", "", "\ufeff"},
	} {
		w := serve(t)
		w.write("f", c.before)
		_, hash := w.read("f")
		at := ""
		if c.line != "" {
			at = anchor(int(c.line[0]-'0'), c.line[1:])
		}
		done := w.edited(editOf("f", hash), op(c.op, at, c.content))
		read, _ := w.read("f")
		if got := w.content("f"); got != c.after || !digest.Equal(done.Hash, digest.FromBytes([]byte(got))) ||
			!digest.Equal(read.Hash, done.Hash) || read.Lines != done.New.Lines() {
			t.Errorf("%q: %q, want %q; %d lines, then %d", c.before, got, c.after, done.New.Lines(), read.Lines)
		}
	}
}

// TestRebase: an edit of what changed meanwhile is refused with where its lines are now, and is merged if that is asked
// for and the two do not meet.
func TestRebase(t *testing.T) {
	w := serve(t)
	w.write("f", "a\nb\nc\nd\ne\n")
	_, hash := w.read("f")
	w.write("f", "A\na\nb\nc\nd\ne\n")
	d := replaceOp(anchor(4, "d"), "D")
	_, err := w.edit(editOf("f", hash), d)
	r := refused(t, "changed", err, hashline.Stale)
	if want := []place.MovedAnchor{{Operation: 1, Anchor: anchor(4, "d"), Now: anchor(5, "d")}}; !reflect.DeepEqual(
		r.Anchors, want) || !strings.Contains(r.Message, `on_stale "rebase"`) {
		t.Errorf("%+v", r)
	}
	if w.content("f") != "A\na\nb\nc\nd\ne\n" {
		t.Error("a refused edit is made")
	}
	done := w.edited(editOf("f", hash, Rebase), d)
	if done.Rebased != OntoOthers || w.content("f") != "A\na\nb\nc\nD\ne\n" || !strings.Contains(done.Explain()[0], "rebased onto") {
		t.Errorf("%q, %+v", w.content("f"), done)
	}
	for _, stale := range []OnStale{MergeOwn, Reject, Rebase} { // the same line, by somebody else
		r := w.notEdited("met", hashline.Stale, editOf("f", hash, stale), d)
		if strings.Contains(r.Message, `on_stale "rebase"`) {
			t.Error(r.Message)
		}
	}
	if w.content("f") != "A\na\nb\nc\nD\ne\n" {
		t.Errorf("%q", w.content("f"))
	}
}

// TestMergeOwn: edits that were made for one reading are merged onto one another, if nobody else changed the file; one
// that was made already is told to be.
func TestMergeOwn(t *testing.T) {
	w := serve(t)
	w.write("f", "a\nb\nc\nd\ne\n")
	_, hash := w.read("f")
	for i, line := range []string{"a", "c", "e"} {
		done := w.edited(editOf("f", hash), replaceOp(anchor(2*i+1, line), strings.ToUpper(line)))
		if want := min(i, 1) * int(OntoOwn); int(done.Rebased) != want {
			t.Errorf("%s: %+v", line, done)
		}
	}
	for _, stale := range []OnStale{MergeOwn, Reject} { // lines beside the others, or as it is asked for
		r := w.notEdited("beside", hashline.Stale, editOf("f", hash, stale), replaceOp(anchor(2, "b"), "B"))
		if stale == MergeOwn && !strings.Contains(r.Message, "another edit of yours") {
			t.Error(r.Message)
		}
	}
	if got := w.content("f"); got != "A\nb\nC\nd\nE\n" {
		t.Errorf("%q", got)
	}
	_, hash = w.read("f")
	b := replaceOp(anchor(2, "b"), "B")
	w.edited(editOf("f", hash), b)
	w.edited(editOf("f", hash), replaceOp(anchor(5, "E"), "5"))
	_, err := w.edit(editOf("f", hash), b) // also behind another one
	if r := refused(t, "again", err, hashline.Stale); !strings.Contains(r.Message, "made already") || r.FileHash == "" {
		t.Errorf("%+v", r)
	}
	// What somebody else wrote meanwhile is not ours, nor what was merged onto it.
	w.write("f", "A\nB\nC\nd\n5\nf\n")
	c := editOf("f", hash)
	w.notEdited("of others", hashline.Stale, c, replaceOp(anchor(5, "E"), "6"))
	c.Stale = Rebase
	w.notEdited("beside", hashline.Stale, c, replaceOp(anchor(3, "C"), "3"))
	w.write("f", "A\nb\nC\nd\nE\nf\ng\n")
	w.edited(c, replaceOp(anchor(1, "A"), "1"))
	w.notEdited("onto a merge", hashline.Stale, editOf("f", hash), replaceOp(anchor(3, "C"), "3"))
}

// TestMergeExactly: an edit is merged onto edits of this server by what they did, also among like lines.
func TestMergeExactly(t *testing.T) {
	type ops = []hashline.Operation
	block := "x{\n a\n}\n"
	del := func(first, last string) hashline.Operation {
		return hashline.Operation{Op: "delete", Anchor: first, EndAnchor: last}
	}
	for what, c := range map[string]struct {
		file         string
		first, then  ops
		want, refuse string
	}{
		"a block of like ones": {file: strings.Repeat(block, 4), first: ops{del(anchor(1, "x{"), anchor(3, "}"))},
			then: ops{replaceOp(anchor(2, " a"), " b")}, refuse: "look at the lines below"},
		"another block of them": {file: strings.Repeat(block, 4), first: ops{del(anchor(1, "x{"), anchor(3, "}"))},
			then: ops{replaceOp(anchor(8, " a"), " b")}, want: block + "x{\n b\n}\n" + block},
		"a copy above": {file: "A\nB\nC\nD\n", first: ops{op("insert_before", anchor(1, "A"), "A\nB\nC")},
			then: ops{replaceOp(anchor(3, "C"), "3")}, want: "A\nB\nC\nA\nB\n3\nD\n"},
		"an open end": {file: "a\nb\nc", first: ops{replaceOp(anchor(1, "a"), "1\n2")},
			then: ops{op("append", "", "d")}, want: "1\n2\nb\nc\nd"},
		"a rename": {file: "one\nb\nc\n", first: ops{op("insert_after", anchor(3, "c"), "one again")},
			then: ops{op("replace_all", "one", "two")}, want: "two\nb\nc\none again\n"},
	} {
		w := serve(t)
		w.write("f", c.file)
		_, hash := w.read("f")
		w.edited(editOf("f", hash), c.first...)
		done, err := w.edit(editOf("f", hash), c.then...)
		if c.refuse != "" {
			if r := refused(t, what, err, hashline.Stale); !strings.Contains(r.Message, c.refuse) || len(r.Lines) == 0 {
				t.Errorf("%s: %+v", what, r)
			}
			continue
		}
		must(t, err)
		if got := w.content("f"); got != c.want || done.Rebased != OntoOwn {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// TestOthersAreNotOwn: another file that got a path, and what somebody else wrote between, is nothing that this server
// did.
func TestOthersAreNotOwn(t *testing.T) {
	w := serve(t)
	w.write("f", "a\nb\nc\nd\n")
	_, hash := w.read("f")
	must(t, w.Move(t.Context(), w.sc, "f", "old"))
	_, err := w.Write(t.Context(), w.sc, WriteRequest{Path: "f", Content: "a\nb\nc\nd\nand more\n"})
	must(t, err)
	for _, stale := range []OnStale{MergeOwn, Rebase} {
		w.notEdited("another file", hashline.Stale, editOf("f", hash, stale), replaceOp(anchor(2, "b"), "B"))
	}
	_, hash = w.read("f")
	done := w.edited(editOf("f", hash), replaceOp(anchor(1, "a"), "A"))
	text := strings.Replace(w.content("f"), "more", "less", 1)
	w.write("f", text)
	w.edited(EditRequest{Path: "f", FileHash: digest.FromBytes([]byte(text)).String()}, replaceOp(anchor(2, "b"), "B"))
	for _, of := range []string{hash, Abbreviate(done.Hash)} {
		w.notEdited("written by others between", hashline.Stale, editOf("f", of), replaceOp(anchor(4, "d"), "D"))
	}
	// An edit that was made is known as such, whoever wrote since.
	w.write("g", "a\nb\nc\n")
	_, hash = w.read("g")
	insert := op("insert_after", anchor(2, "b"), "new")
	w.edited(editOf("g", hash), insert)
	w.write("g", w.content("g")+"end\n")
	for _, content := range []string{"new", "new\n"} {
		insert.Content = &content
		r := w.notEdited("again", hashline.Stale, editOf("g", hash, Rebase), insert)
		if !strings.Contains(r.Message, "made already") {
			t.Error(r.Message)
		}
	}
}

// TestStaleWithoutAnchors: what needs no anchors is refused with what it needs.
func TestStaleWithoutAnchors(t *testing.T) {
	for _, o := range []hashline.Operation{op("append", "", "x"), op("replace_all", "b", "x")} {
		w := serve(t)
		w.write("f", "a\nb\n")
		_, hash := w.read("f")
		w.write("f", "a\nb\nc\n")
		_, err := w.edit(editOf("f", hash), o)
		r := refused(t, o.Op, err, hashline.Stale)
		if strings.Contains(strings.ToLower(r.Message), "anchors") || len(r.Lines) != 3 {
			t.Errorf("%s: %+v", o.Op, r)
		}
	}
}

// TestBaseOfPath: what was read of one file is no base for an edit of another one.
func TestBaseOfPath(t *testing.T) {
	w := serve(t)
	w.write("f", "a\nb\nc\n")
	w.write("g", "x\na\nb\nc\n")
	_, hash := w.read("f")
	w.read("g")
	r := w.notEdited("another file's", hashline.Stale, editOf("g", hash, Rebase), replaceOp(anchor(3, "c"), "C"))
	if !strings.Contains(r.Message, "no longer known here") {
		t.Error(r.Message)
	}
}

// TestDoubts: new lines that may not be what was meant are applied, and told.
func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		file string
		op   hashline.Operation
		says string
	}{
		{"f()\n\ng()\n", op("insert_before", anchor(3, "g()"), "h()\n"), "two line feeds"},
		{"f()\n\ng()\n", op("insert_before", anchor(3, "g()"), "h()\n\n"), ""},
		{"f()\n\ng()\n", op("insert_before", anchor(3, "g()"), "h()"), ""},
		{"f()\ng()\n", op("insert_before", anchor(2, "g()"), "h()\n"), ""},
		{"f()\n\ng()\n", op("insert_after", anchor(3, "g()"), "h()\n"), ""},
		{"f()\n\ng()\n", op("replace", anchor(1, "f()")+".."+anchor(2, ""), "h()\n"), "two line feeds"},
		{"f()\n\ng()\n", op("replace", anchor(1, "f()"), "h()\n"), ""},
		{"f\n\ta\n\tb\n", op("insert_after", anchor(2, "\ta"), "    c"), "with spaces, and those of the file with tabs"},
		{"f\n\ta\n\tb\n", op("insert_after", anchor(2, "\ta"), "\tc\n\t * d"), ""},
		{"f\n    a\n    b\n", op("insert_after", anchor(2, "    a"), "\tc"), "with tabs, and those of the file with spaces"},
		{"a b\n  a\n", op("replace_all", "a", "c"), "replaced 2 times"},
		{"a ab\n", op("replace_all", "a", "c"), "left once inside of longer words, first in line 1"},
	} {
		w := serve(t)
		w.write("f", c.file)
		_, hash := w.read("f")
		done := w.edited(editOf("f", hash), c.op)
		said := strings.Join(done.Explain(), "; ")
		if c.says == "" && said != "" || !strings.Contains(said, c.says) {
			t.Errorf("%q, %+v: %q, want %q", c.file, c.op, said, c.says)
		}
	}
}

// TestExplain: a repeated line and a moved anchor are said to be.
func TestExplain(t *testing.T) {
	w := serve(t)
	w.write("f", "f {\n\treturn\n}\n\ng\n")
	_, hash := w.read("f")
	done, err := w.edit(editOf("f", hash), replaceOp(anchor(2, "\treturn"), "\treturn 1\n}"),
		replaceOp(strings.Replace(anchor(5, "g"), "5:", "4:", 1), "G"))
	must(t, err)
	said := strings.Join(done.Explain(), "\n")
	for _, want := range []string{"operation 1: line 3 repeats line 4, already there before; unless that is meant, " +
		"delete " + anchor(3, "}"), "operation 2: anchor 4:", "was moved to line 5"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s does not say %s", said, want)
		}
	}
	if got := done.Anchors(1, 2); got != anchor(1, "f {")+".."+anchor(2, "\treturn 1") {
		t.Error(got)
	}
}

// TestParseFileHash: a hash is understood as it is shown, and refused where it could be another one's.
func TestParseFileHash(t *testing.T) {
	whole := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]string{
		"sha256:0123456789ab": "0123456789ab", "0123456789AB": "0123456789ab", " sha256:" + whole + "\n": whole,
		"[file_hash=sha256:0123456789ab total_lines=3]": "0123456789ab", "file_hash=0123456789ab": "0123456789ab",
		"": "", "sha256:": "", "0123456789a": "", whole + "0": "", "sha512:" + whole: "", "0123456789ag": "", "*": "",
	} {
		if got, r := parseFileHash(text); got != want || (r == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, r)
		}
	}
}

// TestReadRanges: lines are read as they are asked for, up to each limit; what is no range is refused.
func TestReadRanges(t *testing.T) {
	w := serve(t)
	w.write("f", "one\ntwo\nthree\nfour")
	w.write("empty", "")
	for _, c := range []struct {
		in   ReadRequest
		text string
		cut  bool
		code hashline.Code
	}{
		{ReadRequest{Path: "f"}, "one\ntwo\nthree\nfour", false, ""},
		{ReadRequest{Path: "f", First: 2, Last: 3}, "two\nthree\n", false, ""},
		{ReadRequest{Path: "f", First: 4, Last: math.MaxInt}, "four", false, ""},
		{ReadRequest{Path: "f", MaxLines: 2}, "one\ntwo\n", true, ""},
		{ReadRequest{Path: "f", MaxBytes: 8}, "one\ntwo\n", true, ""},
		{ReadRequest{Path: "f", MaxBytes: 7}, "one\n", true, ""},
		{ReadRequest{Path: "f", MaxTokens: 1}, "one\n", true, ""},
		{ReadRequest{Path: "empty"}, "", false, ""},
		{ReadRequest{Path: "f", First: 3, MaxBytes: 5}, "", false, hashline.TooLarge},
		{ReadRequest{Path: "f", First: 5}, "", false, hashline.Invalid},
		{ReadRequest{Path: "f", First: -1}, "", false, hashline.Invalid},
		{ReadRequest{Path: "f", Last: -1}, "", false, hashline.Invalid},
		{ReadRequest{Path: "f", MaxBytes: -1}, "", false, hashline.Invalid},
		{ReadRequest{Path: "f", First: 3, Last: 2}, "", false, hashline.Invalid},
		{ReadRequest{Path: "."}, "", false, place.NotAFile},
	} {
		r, err := w.Read(t.Context(), w.sc, c.in)
		if c.code != "" {
			refused(t, "a read", err, c.code)
		} else if err != nil || string(r.Text) != c.text || r.Cut != c.cut {
			t.Errorf("%+v: %+v, %v", c.in, r, err)
		}
	}
}

// TestWriteRefused: what exists is replaced only by one who read it, and what is no text is not replaced by text.
func TestWriteRefused(t *testing.T) {
	w := serve(t)
	w.write("f", "one\n")
	w.write("bin", "\x00")
	_, hash := w.read("f")
	for what, c := range map[string]struct {
		in   WriteRequest
		code hashline.Code
	}{
		"unread":        {WriteRequest{Path: "f", Content: "x"}, place.Exists},
		"stale":         {WriteRequest{Path: "f", Content: "x", FileHash: strings.Repeat("0", 12)}, hashline.Stale},
		"no hash":       {WriteRequest{Path: "f", Content: "x", FileHash: "f00"}, hashline.Invalid},
		"as it is":      {WriteRequest{Path: "f", Content: "one\n", FileHash: hash}, hashline.NoChange},
		"tags":          {WriteRequest{Path: "f", Content: "y\n" + anchor(90, "x") + "|x\n", FileHash: hash}, hashline.EchoedTags},
		"NUL":           {WriteRequest{Path: "f", Content: "x\x00", FileHash: hash}, hashline.Binary},
		"gone":          {WriteRequest{Path: "g", Content: "x", FileHash: hash}, place.NotFound},
		"no directory":  {WriteRequest{Path: "no/g", Content: "x"}, place.NotFound},
		"a directory":   {WriteRequest{Path: "g/", Content: "x"}, hashline.Invalid},
		"an odd name":   {WriteRequest{Path: "'g'", Content: "x"}, hashline.Invalid},
		"no text there": {WriteRequest{Path: "bin", Content: "x"}, hashline.Binary},
	} {
		_, err := w.Write(t.Context(), w.sc, c.in)
		refused(t, what, err, c.code)
	}
	if left, _ := filepath.Glob(w.dir + "/*"); len(left) != 2 || w.content("f") != "one\n" || w.content("bin") != "\x00" {
		t.Errorf("%q", left)
	}
	done, err := w.Write(t.Context(), w.sc, WriteRequest{Path: "new", Content: "y\r\n"})
	if err != nil || !done.Created || done.LineEnding != "crlf" || w.content("new") != "y\r\n" {
		t.Errorf("%+v, %v, %q", done, err, w.content("new"))
	}
}
