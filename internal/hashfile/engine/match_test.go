package engine

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// A pattern that takes 0.1 ms for each byte of a file does not hold a search longer than its time, or than its caller
// wants it: for these it would take half an hour.
func TestMatchesEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	const pattern = "(?i)[a-z]{1000}0"
	for what, data := range map[string]string{"one line": strings.Repeat("a", 20<<20),
		"lines": strings.Repeat(strings.Repeat("a", 2000)+"\n", 10_000)} {
		q := &search{SearchRequest: SearchRequest{Pattern: regexp.MustCompile(pattern)}}
		hang.Ends(t, what, func() {
			ctx := &shortContext{Context: t.Context()}
			if _, err := q.mayMatch(ctx, []byte(data)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}

// shortContext is a context that has ended when it is asked for the fourth time.
type shortContext struct {
	context.Context
	asked int
}

func (c *shortContext) Err() error {
	if c.asked++; c.asked < 4 {
		return nil
	}
	return context.DeadlineExceeded
}

// What is found is what the pattern finds in each line, however long lines are.
func TestMatches(t *testing.T) {
	long := strings.Repeat("x", 3*matchAtOnce)
	text := strings.Join([]string{"", "one", "two three", long + "needle", "\u00e9" + long + "\u00e9\u00e9", "end"}, "\n")
	for _, pattern := range []string{"one", "needle", "xneedle", "none", "^one", "^two", "three$", "(?i)NEEDLE", "n[a-f]+dle",
		"\\bthree\\b", "\u00e9+", "x\u00e9", "x{5}\u00e9", "e.t", "[^a-z]t", "(?s)e.t", "^$", "d$", "x*needle|zz", "(?:)"} {
		q := &search{SearchRequest: SearchRequest{Pattern: regexp.MustCompile(pattern)}}
		want := false
		for _, line := range strings.Split(text, "\n") {
			one := q.Pattern.MatchString(line)
			got, err := q.matches(t.Context(), []byte(line))
			if err != nil || got != one {
				t.Errorf("%s, line of %d bytes: %v, %v", pattern, len(line), got, err)
			}
			want = want || one
		}
		if may, err := q.mayMatch(t.Context(), []byte(text)); err != nil || want && !may {
			t.Errorf("%s: %v, %v", pattern, may, err)
		}
	}
	q := &search{SearchRequest: SearchRequest{Pattern: regexp.MustCompile("[q]")}}
	if may, _ := q.mayMatch(t.Context(), bytes.Repeat([]byte("a line\n"), 5000)); may {
		t.Error("a file without a hit is looked at line by line")
	}
}
