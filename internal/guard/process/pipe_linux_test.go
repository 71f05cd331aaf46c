package process

import (
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// TestStopEndsRead stops a source at any moment of a read: what was written before arrives, the read ends, and a
// pipe that does not belong to the source keeps its mode.
func TestStopEndsRead(t *testing.T) {
	for round := range 400 {
		owned, direct := round%2 == 0, round%4 < 2
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		s := NewSource(r, owned)
		if s.direct == nil {
			t.Fatal("reads of a pipe wait in poll")
		}
		if !direct {
			s.direct.stop()
			s.direct = nil // as where signals would not arrive
		}
		s.linger = 1
		got := make(chan string, 1)
		go func() {
			all, err := io.ReadAll(s)
			if err != nil {
				all = []byte(err.Error())
			}
			got <- string(all)
		}()
		w.WriteString("abc")
		if round%5 == 0 {
			time.Sleep(time.Millisecond) // the read waits for more
		}
		time.Sleep(time.Duration(round%7) * 10 * time.Microsecond)
		s.Stop()
		select {
		case all := <-got:
			if all != "abc" {
				t.Fatalf("owned %t, direct %t: got %q", owned, direct, all)
			}
		case <-time.After(hang.Long):
			t.Fatalf("owned %t, direct %t: the read did not end", owned, direct)
		}
		if !owned {
			if flags, err := unix.FcntlInt(r.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
				t.Fatalf("flags %#x, %v of a pipe that is not the source's", flags, err)
			}
		}
		s.Close()
		r.Close()
		w.Close()
	}
}

// TestReopenedEnd: the end of a pipe that was opened anew is seen at once.
func TestReopenedEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.WriteString("last")
	w.Close()
	s := NewSource(r, false)
	defer s.Close()
	if all, err := io.ReadAll(s); string(all) != "last" || err != nil {
		t.Fatalf("got %q, %v", all, err)
	}
}
