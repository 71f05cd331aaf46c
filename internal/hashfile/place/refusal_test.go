//go:build unix

package place

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// TestOf: an error has the code that says what to do, and of the system's only the cause, whatever path it names.
func TestOf(t *testing.T) {
	hidden := func(err error) error { return &fs.PathError{Op: "open", Path: "/hidden", Err: err} }
	for _, c := range []struct {
		err  error
		code hashline.Code
		want string
	}{
		{Refuse(HardLink, "as it is"), HardLink, "as it is"},
		{fmt.Errorf("/hidden: %w", Refuse(Forbidden, "as it is")), Forbidden, "as it is"},
		{hidden(syscall.ENOENT), NotFound, `a\nb does not exist`},
		{hidden(syscall.EEXIST), Exists, `a\nb exists already`},
		{hidden(syscall.EACCES), IO, `a\nb: the system denies access (permission denied); no tool here changes that, ask the user`},
		{&os.LinkError{Op: "rename", Old: "/hidden", New: "/hidden2", Err: syscall.EPERM}, IO,
			`a\nb: the system denies access (operation not permitted); no tool here changes that, ask the user`},
		{hidden(syscall.ENOSPC), IO, `a\nb: no space left on device`},
		{fmt.Errorf("asked: %w", context.Canceled), IO, `a\nb: the call was canceled`},
		{errors.New("odd\x1b[2J"), IO, `a\nb: odd\x1b[2J`},
	} {
		r := RefusalOf("a\nb", c.err)
		if r.Code != c.code || r.Message != c.want || strings.Contains(r.Text(), "hidden") {
			t.Errorf("%v: %s %q, want %s %q", c.err, r.Code, r.Message, c.code, c.want)
		}
	}
	r := RefusalOf("f", fmt.Errorf("edit: %w",
		&hashline.Error{Code: hashline.Overlap, Operations: []int{0, 3}, Candidates: []int{7}}))
	if r.Code != hashline.Overlap || !reflect.DeepEqual(r.Operations, []int{1, 4}) ||
		!reflect.DeepEqual(r.Candidates, []int{7}) || !strings.HasPrefix(r.Message, "f: ") {
		t.Errorf("%+v", r)
	}
}

// TestText: what a model reads holds the hash and the lines of now.
func TestText(t *testing.T) {
	lines := 2
	r := &Refusal{Code: hashline.Stale, Message: "m", FileHash: "sha256:ab", TotalLines: &lines,
		Lines: []string{"1:aa|x", "2:bb|y"}}
	if got := r.Text(); got != "m\n[file_hash=sha256:ab total_lines=2]\n1:aa|x\n2:bb|y" || r.Error() != "m" {
		t.Errorf("%q", got)
	}
}

// TestOutside names few directories, and none that the caller may not know.
func TestOutside(t *testing.T) {
	for want, dirs := range map[string][]string{
		"give a path in a directory that list_directory gives without a path":               nil,
		"give a path in /a, where relative paths begin":                                     {"/a"},
		"give a path in /a or /b":                                                           {"/a", "/b"},
		"give a path in /a, /b, /c or another one that list_directory gives without a path": {"/a", "/b", "/c", "/d", "/e"},
		`give a path in /a\n/b\u{202e}, /c, /d or another one that list_directory`:          {"/a\n/b\u202e", "/c", "/d", "/e"},
	} {
		r := refuseOutside("../\x1b", dirs)
		if r.Code != OutsideRoots || !strings.HasPrefix(r.Message, `../\x1b is outside`) ||
			!strings.Contains(r.Message, want) || strings.Contains(r.Message, "/e") {
			t.Errorf("%q: %s", dirs, r.Message)
		}
	}
}

// TestShow: what is shown is short and on one line, also of a text that is cut within a character.
func TestShow(t *testing.T) {
	for in, want := range map[string]string{
		"plain caf\u00e9": "plain caf\u00e9", "a\r\n\tb\x00": `a\r\n\tb\x00`, "\u202eevil": `\u{202e}evil`, `a\nb`: `a\\nb`,
		strings.Repeat("x", maxShown):                strings.Repeat("x", maxShown),
		strings.Repeat("x", maxShown+1):              strings.Repeat("x", maxShown) + "...",
		strings.Repeat("x", maxShown-1) + "\u00e9zz": strings.Repeat("x", maxShown-1) + `\xc3...`,
	} {
		if got := Show(in); got != want {
			t.Errorf("%.20q...: %q", in, got[max(0, len(got)-30):])
		}
	}
}

// TestCause leaves out the path that the system names.
func TestCause(t *testing.T) {
	if _, err := os.Open(t.TempDir() + "/none"); Cause(err) == err || !errors.Is(Cause(err), fs.ErrNotExist) {
		t.Error(Cause(err))
	}
	if err := errors.New("other"); Cause(err) != err {
		t.Error(Cause(err))
	}
}
