package program

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"", 10, ""},
		{"one two three", 13, "one two three"},
		{"one two three", 12, "one two|three"},
		{"one\n two", 3, "one|two"},
		{"postgres://… is seven", 12, "postgres://…|is seven"},
		{"toolongword a", 4, "toolongword|a"},
	} {
		if got := strings.Join(wrapText(test.text, test.columns), "|"); got != test.want {
			t.Errorf("fold(%q, %d): %q", test.text, test.columns, got)
		}
	}
}
