package program

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{"notes", "notes"},
		{7, "7"},
		{"/tmp/Übung.json", "/tmp/Übung.json"},
		{`C:\Notes`, `C:\Notes`},
		{"", `""`},
		{"a b", `"a b"`},
		{"a=b", `"a=b"`},
		{`a"b`, `"a\"b"`},
		{`C:\My Notes`, `"C:\\My Notes"`},
		{errors.New("open x: no such file"), `"open x: no such file"`},
		{"first\nsecond", `"first\nsecond"`},
		{"a\tb", `"a\tb"`},
		{"no\u00a0break", `"no\u00a0break"`},
		{"\x1b[31mred", `"\x1b[31mred"`},
		{"ab\u202ecd", `"ab\u202ecd"`},
		{"a\ufe0fb", `"a\ufe0fb"`},
		{"a\xffb", `"a\xffb"`},
	} {
		var out strings.Builder
		slog.New(Warnings{Name: "hallmark", Stderr: &out}).Warn("not kept", "file", test.value, "n", 1)
		if want := "hallmark: warning: not kept file=" + test.want + " n=1\n"; out.String() != want {
			t.Errorf("%q: got %swant %s", test.value, out.String(), want)
		}
	}
}

// TestWarningOnce: of the same warnings one is printed, where they are counted.
func TestWarningOnce(t *testing.T) {
	for want, said := range map[int]*sync.Map{3: nil, 2: new(sync.Map)} {
		var out strings.Builder
		log := slog.New(Warnings{Name: "hallmark", Stderr: &out, Said: said})
		log.Warn("no uv")
		log.Warn("no uv")
		log.Warn("no uv", "file", "a")
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("printed %d: %s", got, &out)
		}
	}
}
