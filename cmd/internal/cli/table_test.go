package cli

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	rows := table{indent: "  "}
	rows.add("open", "é", "npx x")
	rows.add("protected", strings.Repeat("n", 30), "")
	rows.writeTo(&b)
	want := "  open       é" + strings.Repeat(" ", 25) + "npx x\n  protected  " + strings.Repeat("n", 30) + "\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"0123456789ab", 12, "0123456789ab"}, {"0123456789ab", 11, "0123456789…"}, {"0123456789ab", 3, "012345678…"},
		{"0123456789ab", -1, "0123456789ab"}, {"éééééééééééé", 12, "éééééééééééé"}} {
		if got := cutText(c.text, c.most); got != c.want {
			t.Errorf("%d of %q: %q", c.most, c.text, got)
		}
	}
}
