package hashline

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

// TestManyLinesChanged: where more lines than are compared lie between two changes, all of them count as changed, and
// those outside do not.
func TestManyLinesChanged(t *testing.T) {
	middle := strings.Repeat("middle\n", maxCompared/2+1)
	base, current := "head\nfirst\n"+middle+"last\nnext\ntail\n", "new\nhead\nFIRST\nalone\n"+middle+"LAST\nnext\ntail\n"
	base = strings.Replace(base, "middle\n", "alone\n", 1)
	content := "x"
	line := func(anchor string) []Operation {
		return []Operation{{Op: "replace", Anchor: anchor, Content: &content}}
	}
	tagOf := func(text string) string { return Tag(Hash([]byte(text)), 2) }
	n := maxCompared/2 + 4
	for anchor, want := range map[string]string{
		anchorAt(n, tagOf("last")):   "",
		anchorAt(n+2, tagOf("tail")): anchorAt(n+4, tagOf("tail")),
		anchorAt(3, tagOf("alone")):  anchorAt(4, tagOf("alone")), // the only one with its content
		anchorAt(2, tagOf("first")):  "",
		anchorAt(9, tagOf("middle")): "",
	} {
		got, err := MapAnchors([]byte(base), []byte(current), line(anchor), Options{})
		if err != nil || len(got) != 1 || got[0].NewAnchor != want {
			t.Errorf("%s: %+v, %v, want %q", anchor, got, err, want)
		}
		_, err = Rebase([]byte(base), []byte(current), line(anchor), Options{})
		var refused *Error
		if stale := errors.As(err, &refused) && refused.Code == Stale; stale != !strings.HasSuffix(anchor, tagOf("tail")) {
			t.Errorf("%s: rebased with %v", anchor, err)
		}
	}
}

func anchorAt(line int, tag string) string { return strconv.Itoa(line) + ":" + tag }

// TestMapsOnlyLine: a line that was moved is found by its content only if that is in each file once.
func TestMapsOnlyLine(t *testing.T) {
	const base = "a\nmoved\nb\nc\nd\n"
	content := "x"
	ops := []Operation{{Op: "replace", Anchor: anchorAt(2, Tag(Hash([]byte("moved")), 2)), Content: &content}}
	for current, want := range map[string]int{
		"a\nb\nc\nd\nmoved\n":                     5,
		"a\nb\nc\nd\nmoved\nmoved\n":              0,
		"a\nb\nc\nd\n":                            0,
		"a\nb\nc\nd\n  moved\n":                   0,
		"new\nb\nc\nd\nnew\nmoved \t\nnew\nnew\n": 6,
	} {
		got, err := MapAnchors([]byte(base), []byte(current), ops, Options{})
		if err != nil || len(got) != 1 || got[0].Line != want {
			t.Errorf("%q: %+v, %v, want line %d", current, got, err, want)
		}
	}
	twice := strings.Replace(base, "c\n", "moved\n", 1)
	if got, err := MapAnchors([]byte(twice), []byte("a\nb\nd\nmoved\n"), ops, Options{}); err != nil || got[0].Line != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
