package hashline

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEditEqualsLineArray compares Edit with the oracle, and its diff and hunks with what
// they describe.
func TestEditEqualsLineArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := text(t, "file")
		f, err := Parse([]byte(file))
		must(t, err)
		ops := operations(t, f)
		r, err := Edit([]byte(file), ops, Options{})
		var e *Error
		if meet(ops, f.Lines()) {
			if !errors.As(err, &e) || e.Code != Overlap {
				t.Fatalf("%v, want an overlap", err)
			}
			return
		}
		want := oracle(file, ops)
		if want == file {
			if !errors.As(err, &e) || e.Code != NoChange {
				t.Fatalf("%v, want no change", err)
			}
			return
		}
		must(t, err)
		if got := string(r.Bytes()); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		checkHunks(t, r)
		checkRepeated(t, r)
	})
}

// checkRepeated demands that new lines which are reported to repeat neighbours do, and touch
// them.
func checkRepeated(t *rapid.T, r *Result) {
	for _, x := range r.Repeated {
		blank := true
		for i := range x.Lines {
			line := comparedLine(r.New, x.Line+i)
			if !bytes.Equal(line, comparedLine(r.New, x.Neighbour+i)) {
				t.Fatalf("%+v of %q: line %d is another", x, r.New.data, x.Line+i)
			}
			blank = blank && len(line) == 0
		}
		if blank || x.Line+x.Lines != x.Neighbour && x.Neighbour+x.Lines != x.Line {
			t.Fatalf("%+v of %q", x, r.New.data)
		}
	}
}

// checkHunks takes the lines outside the hunks as unchanged and demands that they are.
func checkHunks(t *rapid.T, r *Result) {
	old, now := 1, 1
	for _, h := range r.Hunks {
		for ; old < h.OldFirst; old, now = old+1, now+1 {
			if !bytes.Equal(r.Old.rawLine(old), r.New.rawLine(now)) {
				t.Fatalf("line %d is outside %v and changed", old, r.Hunks)
			}
		}
		if now != h.NewFirst {
			t.Fatalf("hunks %v do not follow each other", r.Hunks)
		}
		old, now = h.OldFirst+h.OldLines, h.NewFirst+h.NewLines
	}
	for ; old <= r.Old.Lines() && now <= r.New.Lines(); old, now = old+1, now+1 {
		if !bytes.Equal(r.Old.rawLine(old), r.New.rawLine(now)) {
			t.Fatalf("line %d is outside %v and changed", old, r.Hunks)
		}
	}
	if old != r.Old.Lines()+1 || now != r.New.Lines()+1 {
		t.Fatalf("hunks %v do not end where the files do: %q, %q", r.Hunks, r.Old.data, r.New.data)
	}
	context := rapid.IntRange(0, 3).Draw(t, "context")
	diff, cut := r.Diff(context, 1<<20)
	if got := patched(r.Old, diff); got != string(r.New.data) || cut {
		t.Fatalf("the diff of %q with %d lines of context makes %q, want %q\n%s", r.Old.data, context, got, r.New.data,
			diff)
	}
}

// patched applies a diff as the program patch does: by the numbers of its headings.
func patched(f *File, diff string) string {
	var out strings.Builder
	at, unended := 1, "\\ No newline at end of file\n"
	for diff != "" {
		var line string
		line, diff, _ = strings.Cut(diff, "\n")
		var first, lines, newFirst, newLines int
		if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &first, &lines, &newFirst, &newLines); err == nil {
			if lines == 0 {
				first++
			}
			for ; at < first; at++ {
				out.Write(f.rawLine(at))
			}
			if newLines > 0 {
				newFirst--
			}
			if before := len(slices.Collect(strings.Lines(out.String()))); before != newFirst {
				return fmt.Sprintf("%q stands behind %d lines", line, before)
			}
			continue
		}
		text := line[1:] + "\n"
		if rest, ok := strings.CutPrefix(diff, unended); ok {
			text, diff = line[1:], rest
		}
		if line[0] != '+' {
			if at > f.Lines() || string(f.rawLine(at)) != text {
				return fmt.Sprintf("line %d is not %q", at, text)
			}
			at++
		}
		if line[0] != '-' {
			out.WriteString(text)
		}
	}
	for ; at <= f.Lines(); at++ {
		out.Write(f.rawLine(at))
	}
	return out.String()
}

// TestDiff joins changes whose contexts touch, and cuts a long diff at a line.
func TestDiff(t *testing.T) {
	file, last := "", 20
	for n := range last {
		file += strconv.Itoa(n+1) + "\n"
	}
	replace := func(lines ...int) *Result {
		var ops []Operation
		for _, n := range lines {
			content := "x" + strconv.Itoa(n)
			ops = append(ops,
				Operation{Op: Replace, Anchor: strconv.Itoa(n) + ":" + Tag(Hash([]byte(strconv.Itoa(n))), 2),
					Content: &content})
		}
		r, err := Edit([]byte(file), ops, Options{})
		must(t, err)
		return r
	}
	for _, x := range []struct{ other, hunks int }{{9, 1}, {12, 1}, {13, 2}} {
		if diff, cut := replace(5, x.other).Diff(3, 1000); strings.Count(diff, "@@ -") != x.hunks || cut {
			t.Errorf("lines 5 and %d: %d hunks, want %d, cut %v", x.other, strings.Count(diff, "@@ -"), x.hunks, cut)
		}
	}
	whole, _ := replace(5, 15).Diff(3, 1000)
	for limit := range len(whole) {
		if diff, cut := replace(5, 15).Diff(3, limit); !cut || len(diff) > limit || !strings.HasPrefix(whole, diff) ||
			diff != "" && !strings.HasSuffix(diff, "\n") {
			t.Errorf("at most %d bytes: %q, cut %v", limit, diff, cut)
		}
	}
	if diff, cut := replace(5, 15).Diff(3, len(whole)); diff != whole || cut {
		t.Errorf("%q, cut %v", diff, cut)
	}
}

// TestUntouchedBytes replaces one line: all bytes before and behind it stay.
func TestUntouchedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := text(t, "file")
		f, _ := Parse([]byte(file))
		if f.Lines() == 0 {
			t.Skip("no line")
		}
		n := rapid.IntRange(1, f.Lines()).Draw(t, "line")
		content := "replaced"
		r, err := Edit([]byte(file),
			[]Operation{{Op: Replace, Anchor: strings.TrimSuffix(string(AppendLine(nil, n, f.Line(n), 2)), "\n"),
				Content: &content}}, Options{})
		must(t, err)
		line := f.Line(n)
		start := f.lineStart(n)
		if n == 1 && strings.HasPrefix(file, bom) {
			start += len(bom)
		}
		if got, want := string(r.Bytes()), file[:start]+content+file[f.lineStart(n)+len(line):]; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// TestRebaseCommutes makes two sets of operations on one file: what Rebase merges is the
// same whichever comes first. The lines of the file differ, as it is not determined which
// of two like lines somebody deleted.
func TestRebaseCommutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, n := "", 0
		for line := range strings.Lines(text(t, "base")) {
			base += strings.TrimRight(line, "\r\n") + strconv.Itoa(n) + line[len(strings.TrimRight(line, "\r\n")):]
			n++
		}
		f, _ := Parse([]byte(base))
		ours, theirs := operations(t, f), operations(t, f)
		a, errA := Edit([]byte(base), ours, Options{})
		b, errB := Edit([]byte(base), theirs, Options{})
		if errA != nil || errB != nil {
			t.Skip("not both apply")
		}
		one, err := Rebase([]byte(base), b.Bytes(), ours, Options{})
		two, err2 := Rebase([]byte(base), a.Bytes(), theirs, Options{})
		if err != nil || err2 != nil {
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Code != Stale && e.Code != NoChange) {
				t.Fatal(err)
			}
			return
		}
		if string(one.Bytes()) != string(two.Bytes()) {
			t.Fatalf("%q or %q", one.Bytes(), two.Bytes())
		}
		checkHunks(t, one)
	})
}

// TestFourAtOnce hashes lines of every length beside each other.
func TestFourAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,9} ?`), 1, 9).Draw(t, "lines"), "\n")
		if got := string(AppendLines(nil, []byte(text), 1, 4)); got != eachLine(text) {
			t.Fatalf("%q, want %q", got, eachLine(text))
		}
	})
}

// eachLine prints lines one at a time.
func eachLine(text string) string {
	var out []byte
	n := 0
	for line := range strings.Lines(text) {
		n++
		out = AppendLine(out, n, trimEnding([]byte(line)), 4)
	}
	return string(out)
}

// FuzzEdit feeds arbitrary files and operations: no panic, no change of the input, and
// an edit that is accepted is one that the oracle makes if its anchors are exact.
func FuzzEdit(f *testing.F) {
	f.Add("a\nb\r\nc", "replace", "2:"+Tag(Hash([]byte("b")), 2), "", "x")
	f.Add("", "insert_after", "0:", "", "x\n")
	f.Add(bom+"a\n", "delete_range", "1:00", "1:00", "")
	f.Fuzz(func(t *testing.T, file, op, anchor, end, content string) {
		operation := Operation{Op: op, Anchor: anchor, EndAnchor: end, Content: &content}
		if op == Delete || op == DeleteRange {
			operation.Content = nil
		}
		data := []byte(file)
		r, err := Edit(data, []Operation{operation}, Options{Exact: true})
		if string(data) != file {
			t.Fatal("the input is changed")
		}
		if err != nil {
			if !errors.As(err, new(*Error)) {
				t.Fatalf("%T", err)
			}
			return
		}
		if want := oracle(file, []Operation{operation}); string(r.Bytes()) != want {
			t.Fatalf("%q, want %q", r.Bytes(), want)
		}
		r.Diff(3, 1000)
		if _, err := Rebase(data, data, []Operation{operation}, Options{Exact: true}); err != nil {
			t.Fatal(err)
		}
	})
}
