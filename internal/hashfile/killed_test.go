//go:build unix

package hashfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// slaughter is two allowed directories, and servers that are killed while they write there.
type slaughter struct {
	t     *testing.T
	a, b  string
	locks string
	body  string // 1 MB, so that writing takes a while
	state int    // how often f was changed
	kept  int    // files that were left in the directory of the locks
	done  map[string]int
}

// TestKilled kills servers while they edit, write, create and move files (R1), HALLMARK_KILLS times. Each file is
// always one of its two states, whole, with its mode. Where the locks are on the same mount, nothing else is in the
// allowed directories, before any other server starts.
func TestKilled(t *testing.T) {
	s := newSlaughter(t, private(t))
	for round := range s.kills() {
		s.killOne(round)
		if left := s.strays(); len(left) > 0 && runtime.GOOS == "linux" {
			t.Fatalf("round %d: %q is left", round, left)
		}
	}
	s.end()
}

// TestKilledElsewhere does the same where the locks are on another mount: what lost its name lies beside the file,
// whole.
func TestKilledElsewhere(t *testing.T) {
	locks, ok := otherMount(t)
	if !ok {
		t.Skip("there is no other mount on this system")
	}
	s, beside := newSlaughter(t, locks), regexp.MustCompile(`^\.(f|g|moved)\.[A-Z2-7]{12}\.tmp$`)
	left := 0
	for round := range s.kills() {
		s.killOne(round)
		for _, stray := range s.strays() {
			left++
			if !beside.MatchString(filepath.Base(stray)) || !s.isState(content(t, stray)) {
				t.Fatalf("round %d: %s is left, of %d bytes", round, stray, len(content(t, stray)))
			}
			os.Remove(stray)
		}
	}
	t.Logf("%d files were left", left)
	s.end()
}

func newSlaughter(t *testing.T, locks string) *slaughter {
	s := &slaughter{t: t, a: dir(t), b: dir(t), locks: locks, done: map[string]int{},
		body: strings.Repeat("a line that stays as it is\n", 40_000)}
	must(t, os.Chmod(write(t, s.a, "f", s.text(0)), 0o640))
	return s
}

func (s *slaughter) kills() int {
	kills, _ := strconv.Atoi(os.Getenv("HALLMARK_KILLS"))
	return max(kills, 30)
}

// text is what f holds in a state.
func (s *slaughter) text(state int) string { return fmt.Sprintf("%d\n%s", state, s.body) }

// isState reports whether a text is all that f held before or after the last change, or all of another file.
func (s *slaughter) isState(text string) bool {
	return slices.Contains([]string{s.body, s.text(s.state - 1), s.text(s.state), s.text(s.state + 1)}, text)
}

// killOne starts a server, lets it begin to write, and kills it.
func (s *slaughter) killOne(round int) {
	f, g := filepath.Join(s.a, "f"), filepath.Join(s.a, "g")
	call, args, check := "", arguments{}, func() bool { return true }
	edited := func() bool {
		switch content(s.t, f) {
		case s.text(s.state + 1):
			s.state++
			return true
		case s.text(s.state):
			return false
		}
		s.t.Fatalf("round %d: the file is neither the old nor the new one", round)
		return false
	}
	os.Remove(g)
	switch round % 5 {
	case 0:
		call, check = "edit_text_file", edited
		args = arguments{"path": f, "file_hash": sum([]byte(s.text(s.state))).String(), "operations": ops(
			replaceOp("1:"+hashline.Tag(hashline.Hash(fmt.Append(nil, s.state)), 2), fmt.Sprint(s.state+1)))}
	case 1:
		call, check = "write_text_file", edited
		args = arguments{"path": f, "file_hash": sum([]byte(s.text(s.state))).String(), "content": s.text(s.state + 1)}
	case 2:
		call, args = "write_text_file", arguments{"path": g, "content": s.body}
		check = func() bool { return s.whole(round, g) > 0 }
	case 3:
		write(s.t, s.a, "g", s.body)
		to := filepath.Join(s.a, "moved")
		call, args = "move_file", arguments{"source": g, "destination": to}
		check = func() bool { return s.moved(round, g, to) }
	case 4:
		write(s.t, s.a, "g", s.body)
		to := filepath.Join(s.b, "moved")
		call, args = "move_file", arguments{"source": g, "destination": to}
		check = func() bool { return s.moved(round, g, to) }
	}
	p := startProcess(s.t, Config{Roots: []string{s.a, s.b}, Locks: s.locks})
	text, _ := json.Marshal(args)
	fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n",
		call, text)
	if round%7 == 6 { // now and then one may finish
		p.out.ReadBytes('\n')
	} else {
		time.Sleep(rand.N(40 * time.Millisecond))
	}
	p.stop()
	if check() {
		s.done[call]++
	}
	s.checkLocks(round)
	if st, err := os.Stat(f); err != nil || st.Mode().Perm() != 0o640 {
		s.t.Fatalf("round %d: %v, %v", round, st.Mode(), err)
	}
}

// whole demands that each of the files is whole or not there, and counts them.
func (s *slaughter) whole(round int, paths ...string) (n int) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if n++; string(text) != s.body {
			s.t.Fatalf("round %d: %s has %d bytes", round, path, len(text))
		}
	}
	return n
}

// moved demands that a file is at one place or the other, or on the way from one root to another at both, and tells
// whether it arrived. It removes it there.
func (s *slaughter) moved(round int, from, to string) bool {
	if s.whole(round, from, to) == 0 {
		s.t.Fatalf("round %d: the file is nowhere", round)
	}
	return os.Remove(to) == nil
}

// strays are the files in the allowed directories that nobody asked for.
func (s *slaughter) strays() (left []string) {
	for _, root := range []string{s.a, s.b} {
		filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				s.t.Fatal(err)
			}
			if path != root && !slices.Contains([]string{"f", "g"}, e.Name()) {
				left = append(left, path)
			}
			return nil
		})
	}
	return left
}

// checkLocks demands that what is in the directory of the locks beside them is whole, and removes it.
func (s *slaughter) checkLocks(round int) {
	s.t.Helper()
	entries, err := os.ReadDir(s.locks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(s.locks, e.Name())
		if len(e.Name()) == 2 { // a lock
			continue
		}
		if !s.isState(content(s.t, path)) {
			s.t.Fatalf("round %d: %s is left, of %d bytes", round, path, len(content(s.t, path)))
		}
		s.kept++
		os.Remove(path)
	}
}

// end demands that something was finished, and that a new server serves on and leaves nothing behind.
func (s *slaughter) end() {
	s.t.Helper()
	s.t.Logf("finished: %v of %d; %d files were kept", s.done, s.kills(), s.kept)
	if s.done["edit_text_file"] == 0 && s.done["write_text_file"] == 0 {
		s.t.Error("no edit was ever finished")
	}
	p := startProcess(s.t, Config{Roots: []string{s.a, s.b}, Locks: s.locks})
	p.call("read_text_file", arguments{"path": filepath.Join(s.a, "f"), "end_line": 1}).ok()
	if left := s.strays(); len(left) > 0 {
		s.t.Errorf("%q is left", left)
	}
}
