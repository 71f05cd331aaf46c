package hashline

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMappedAnchors maps the anchors of operations over an edit that somebody else made: a
// mapped line has the content that was read, and if the operations can be rebased, the same
// operations at the mapped anchors give what Rebase gives.
func TestMappedAnchors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := text(t, "base")
		f, _ := Parse([]byte(base))
		current := base
		if theirs, err := Edit([]byte(base), operations(t, f), Options{}); err == nil {
			current = string(theirs.Bytes())
		}
		now, _ := Parse([]byte(current))
		ours := operations(t, f)
		mapped, err := MapAnchors([]byte(base), []byte(current), ours, Options{})
		must(t, err)
		for _, m := range mapped {
			if m.Line == 0 {
				continue
			}
			read, is := trimSpace(f.Line(m.Read)), trimSpace(now.Line(m.Line))
			want := fmt.Sprintf("%d:%s", m.Line, Tag(Hash(is), 2))
			if !bytes.Equal(read, is) || m.NewAnchor != want || m.Read != number(m.Anchor) {
				t.Fatalf("%q to %q: %+v is %q, then %q", base, current, m, read, is)
			}
		}
		rebased, err := Rebase([]byte(base), []byte(current), ours, Options{})
		if err != nil {
			return
		}
		edited, err := Edit([]byte(current), withMapped(t, ours, mapped), Options{Exact: true})
		if err != nil {
			t.Fatalf("%q to %q: %+v: %v", base, current, mapped, err)
		}
		if !bytes.Equal(edited.Bytes(), rebased.Bytes()) {
			t.Fatalf("%q to %q: %q, want %q", base, current, edited.Bytes(), rebased.Bytes())
		}
	})
}

// withMapped is operations at their new anchors, all of which must be there and their ranges
// unaltered.
func withMapped(t *rapid.T, ops []Operation, mapped []Mapped) []Operation {
	ops = slices.Clone(ops)
	for i := range ops {
		var err *Error
		if ops[i], err = ops[i].standard(); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range mapped {
		if m.NewAnchor == "" || m.Altered {
			t.Fatalf("%+v, but the operations can be rebased", m)
		}
		if i > 0 && mapped[i-1].Operation == m.Operation {
			ops[m.Operation].EndAnchor = m.NewAnchor
		} else {
			ops[m.Operation].Anchor = m.NewAnchor
		}
	}
	return ops
}

// TestManyOperations edits with operations at one place, and with anchors that do not hold, so
// many that work which grows with their square would not end.
func TestManyOperations(t *testing.T) {
	content, many := "x", 200_000
	var file bytes.Buffer
	var moved []Operation
	for n := range 20_000 {
		fmt.Fprintf(&file, "line %d\n", n)
	}
	file.WriteString("last\n")
	for range many {
		moved = append(moved, Operation{Op: InsertAfter, Anchor: "1:" + Tag(Hash([]byte("last")), 4), Content: &content})
	}
	if f, _ := Parse(file.Bytes()); f.countTags(4)[Hash([]byte("last"))&0xffff].lines != 1 {
		t.Fatal("the last line shares its tag")
	}
	for _, ops := range [][]Operation{moved, slices.Repeat([]Operation{{Op: Append, Content: &content}}, many)} {
		r, err := Edit(file.Bytes(), ops, Options{})
		must(t, err)
		if !bytes.HasSuffix(r.Bytes(), []byte("last\n"+strings.Repeat("x\n", many))) {
			t.Errorf("%s: not all are there, or not behind the last line", ops[0].Op)
		}
	}
}

// TestMapManyAnchors maps many anchors, some of which do not hold, between two
// files of as many lines that have none in common but those at their ends: each file is read a
// bounded number of times.
func TestMapManyAnchors(t *testing.T) {
	const lines = 30_000
	var base, current strings.Builder
	base.WriteString("first\n")
	current.WriteString("first\n")
	for n := range lines {
		fmt.Fprintf(&base, "line %d\n", n)
		fmt.Fprintf(&current, "other %d\n", n)
	}
	base.WriteString("last\n")
	current.WriteString("new\nlast\n")
	first, last := "1:"+Tag(Hash([]byte("first")), 4), fmt.Sprintf("%d:%s", lines+2, Tag(Hash([]byte("last")), 4))
	var ops []Operation
	for range lines / 2 {
		ops = append(ops, Operation{Op: Delete, Anchor: first + ".." + last}, Operation{Op: Delete, Anchor: "7:0000"})
	}
	mapped, err := MapAnchors([]byte(base.String()), []byte(current.String()), ops, Options{Width: 4})
	must(t, err)
	for i := 0; i < len(mapped); i += 3 {
		a, b := mapped[i], mapped[i+1]
		if a.Line != 1 || b.Line != lines+3 || !b.Altered {
			t.Fatalf("%+v", mapped[i:i+3])
		}
	}
	var refused *Error
	if _, err := MapAnchors([]byte("a\x00"), nil, ops, Options{}); !errors.As(err, &refused) || refused.Code != Binary {
		t.Error(err)
	}
}
