package hashline

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var anchorInMessage = regexp.MustCompile(`[0-9]+:[0-9a-f]{2,4}\b`)

// TestRefusedAnchorsNameOthers gives anchors that do not hold: each anchor that the refusal
// shows holds, so that the next try can be right, and the candidates are the nearest lines.
func TestRefusedAnchorsNameOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, _ := Parse([]byte(text(t, "file")))
		of := rapid.SampledFrom([]string{"a", "b", "}", "n", ""}).Draw(t, "of")
		tag := Tag(Hash([]byte(of)), rapid.IntRange(2, 4).Draw(t, "width"))
		given := fmt.Sprintf("%d:%s", rapid.IntRange(1, 15).Draw(t, "line"), tag)
		o := Options{Exact: rapid.Bool().Draw(t, "exact"), Reach: rapid.IntRange(0, 3).Draw(t, "reach")}
		_, err := Edit(f.data, []Operation{{Op: Delete, Anchor: given}}, o)
		var e *Error
		if !errors.As(err, &e) || e.Code != AnchorNotFound && e.Code != AnchorAmbiguous {
			return
		}
		content := "new"
		message := strings.Replace(e.Error(), "anchor "+given, "", 1)
		for _, other := range anchorInMessage.FindAllString(message, -1) {
			_, err := Edit(f.data, []Operation{{Op: Replace, Anchor: other, Content: &content}}, Options{Exact: true})
			if err != nil {
				t.Fatalf("%s: %s: %v", e, other, err)
			}
		}
		if n := number(given); n <= f.Lines() && !strings.Contains(message, fmt.Sprintf("%d:", n)) {
			t.Fatalf("%s: line %d is not shown", e, n)
		}
		var want []int
		for n := 1; n <= f.Lines(); n++ {
			if a, _ := parseAnchor(given, 2); a.matches(f, n) {
				want = append(want, n)
			}
		}
		away := func(n int) int { return max(n-number(given), number(given)-n) }
		slices.SortStableFunc(want, func(a, b int) int { return away(a) - away(b) })
		if want = want[:min(len(want), 10)]; !slices.Equal(e.Candidates, want) {
			t.Fatalf("candidates %d, want %d", e.Candidates, want)
		}
	})
}

// TestRefusalsArePlain reads the messages of all vectors: none speaks of the program, and none
// is left without words.
func TestRefusalsArePlain(t *testing.T) {
	foreign := regexp.MustCompile(`%!|strconv|nil|struct|panic|regexp|interface|\[\]|runtime|0x`)
	v := load(t)
	for _, x := range slices.Concat(v.Edits, v.Rebases, v.Maps) {
		var err error
		switch {
		case x.Error == nil:
			continue
		case x.Base == "" && x.Current == "":
			_, err = Edit([]byte(x.File), x.operations(), x.options())
		case slices.ContainsFunc(v.Maps, func(m editVector) bool { return m.Name == x.Name }):
			_, err = MapAnchors([]byte(x.Base), []byte(x.Current), x.operations(), x.options())
		default:
			_, err = Rebase([]byte(x.Base), []byte(x.Current), x.operations(), x.options())
		}
		if err == nil || foreign.MatchString(err.Error()) || len(err.Error()) > 600 {
			t.Errorf("%s: %v", x.Name, err)
		}
	}
}
