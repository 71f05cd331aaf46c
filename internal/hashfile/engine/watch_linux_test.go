package engine

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// watch returns a function that returns what the system has told since about a name of a directory.
func watch(t *testing.T, dir, name string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	const kinds = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	_, err = unix.InotifyAddWatch(fd, dir, kinds)
	must(t, err)
	words := map[uint32]string{unix.IN_CREATE: "made", unix.IN_DELETE: "removed", unix.IN_MOVED_FROM: "moved from",
		unix.IN_MOVED_TO: "moved to"}
	return func() (told []string) {
		buf := make([]byte, 64<<10)
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		must(t, err)
		for buf = buf[:n]; len(buf) > 0; {
			end := unix.SizeofInotifyEvent + binary.NativeEndian.Uint32(buf[12:])
			if strings.TrimRight(string(buf[unix.SizeofInotifyEvent:end]), "\x00") == name {
				told = append(told, words[binary.NativeEndian.Uint32(buf[4:])&kinds])
			}
			buf = buf[end:]
		}
		return told
	}
}

// TestWatched: who watches a directory, as build tools and mirrors do, sees a replaced file go and come back, never come
// and go: else it would pass for deleted. So it is where an edit is taken back.
func TestWatched(t *testing.T) {
	for name := range lesser {
		t.Run(name, func(t *testing.T) {
			x := lessen(t, name)
			writeFile(t, x.dir, "f", "a\n")
			told := watch(t, x.dir, "f")
			p := x.at("f")
			_, err := x.w.Replace(p, x.read(p), []byte("b\n"))
			must(t, err)
			want := "moved from, moved to"
			if strings.Contains(name, "exchange") || strings.Contains(name, "neither") || name == "old kernel" {
				want = "moved to"
			}
			if got := strings.Join(told(), ", "); got != want {
				t.Errorf("told was %s", got)
			}
			twice := want + ", " + want
			if want == "moved to" {
				twice = "" // nothing is exchanged
			}
			p = x.at("f")
			old := x.read(p)
			rename := renameat2
			renameat2 = func(a int, from string, b int, to string, flags uint) error {
				renameat2 = rename
				writeFile(t, x.dir, "f", "theirs\n")
				return rename(a, from, b, to, flags)
			}
			if _, err := x.w.Replace(p, old, []byte("c\n")); !errors.Is(err, errReplaced) {
				t.Error(err)
			}
			if got := strings.Join(told(), ", "); got != twice {
				t.Errorf("told was %s", got)
			}
		})
	}
}
