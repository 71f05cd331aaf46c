package hashline

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMain tries each property with as many batches as HALLMARK_BATCHES says, 100,000 for a
// campaign; without it, with a hundred.
func TestMain(m *testing.M) {
	flag.Parse()
	if batches := os.Getenv("HALLMARK_BATCHES"); batches != "" {
		if err := flag.Set("rapid.checks", batches); err != nil {
			fmt.Fprintln(os.Stderr, "HALLMARK_BATCHES:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// TestMovedAnchors gives each operation anchors with any number and the tag of any line, and
// looks for the lines one by one: the edit is that at the lines that were found.
func TestMovedAnchors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, _ := Parse([]byte(text(t, "file")))
		if f.Lines() == 0 {
			t.Skip("no line")
		}
		o := Options{
			Width: rapid.IntRange(0, 3).Draw(t, "width"),
			Exact: rapid.IntRange(0, 4).Draw(t, "exact") == 0,
			Reach: max(rapid.IntRange(-3, 3).Draw(t, "reach"), 0),
		}
		content := "new"
		var given, exact []Operation
		var want Code
		var moved []Relocation
		for i := range rapid.IntRange(1, 3).Draw(t, "operations") {
			op := Operation{Op: Replace, Content: &content}
			of := f.Line(rapid.IntRange(1, f.Lines()).Draw(t, "of"))
			op.Anchor = fmt.Sprintf("%d:%s", rapid.IntRange(1, f.Lines()+4).Draw(t, "line"), Tag(Hash(of), 4))
			line, code := lookFor(f, op.Anchor, o)
			if want == "" {
				want = code
			}
			if n := number(op.Anchor); line > 0 && line != n {
				moved = append(moved, Relocation{i, op.Anchor, line})
			}
			given = append(given, op)
			op.Anchor = fmt.Sprintf("%d:%s", line, Tag(Hash(of), 4))
			exact = append(exact, op)
		}
		got, err := Edit(f.data, given, o)
		var refused *Error
		if errors.As(err, &refused); want != "" {
			if refused == nil || refused.Code != want {
				t.Fatalf("%v, want %s", err, want)
			}
			return
		}
		should, errExact := Edit(f.data, exact, Options{Exact: true})
		if err != nil || errExact != nil {
			if fmt.Sprint(err) != fmt.Sprint(errExact) {
				t.Fatalf("%v, want %v", err, errExact)
			}
			return
		}
		if !bytes.Equal(got.Bytes(), should.Bytes()) || fmt.Sprint(got.Relocated) != fmt.Sprint(moved) {
			t.Fatalf("%q, %v; want %q, %v", got.Bytes(), got.Relocated, should.Bytes(), moved)
		}
	})
}

// lookFor finds the line of an anchor by the rule, or the code of its refusal.
func lookFor(f *File, anchor string, o Options) (int, Code) {
	n, having := number(anchor), []int{}
	_, tag, _ := strings.Cut(anchor, ":")
	for line := 1; line <= f.Lines(); line++ {
		if Tag(Hash(f.Line(line)), len(tag)) == tag {
			if line == n {
				return n, ""
			}
			having = append(having, line)
		}
	}
	switch {
	case len(having) > 1:
		return 0, AnchorAmbiguous
	case len(having) == 0 || o.Exact || o.Reach > 0 && max(having[0]-n, n-having[0]) > o.Reach:
		return 0, AnchorNotFound
	}
	return having[0], ""
}
