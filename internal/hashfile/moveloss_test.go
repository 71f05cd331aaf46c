//go:build unix

package hashfile

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestMoveLosesNothing moves a file to another allowed directory while somebody replaces it: what
// was written last is at one of the two places afterwards, and nothing else is.
func TestMoveLosesNothing(t *testing.T) {
	a, b := dir(t), dir(t)
	p := serve(t, a, b)
	from, to, temp := filepath.Join(a, "f"), filepath.Join(b, "f"), filepath.Join(dir(t), "temp")
	usual := time.Millisecond // of a move, twice
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		os.Remove(from)
		os.Remove(to)
		write(t, a, "f", "first")
		began := make(chan struct{})
		done := make(chan error)
		delay := time.Duration(rand.Int64N(int64(usual)))
		go func() {
			os.WriteFile(temp, []byte("last"), 0o600)
			close(began)
			time.Sleep(delay)
			done <- os.Rename(temp, from)
		}()
		<-began
		at := time.Now()
		r := p.move(from, to)
		usual = min((3*usual+2*time.Since(at))/4, 100*time.Millisecond)
		must(t, <-done)
		there, _ := os.ReadFile(to)
		here, _ := os.ReadFile(from)
		if string(there) != "last" && string(here) != "last" {
			t.Fatalf("what was written last is lost; there is %q, and at the old place %q (%s)", there, here, r.Text)
		}
		for _, d := range []string{a, b} {
			all, _ := os.ReadDir(d)
			for _, e := range all {
				if e.Name() != "f" {
					t.Fatalf("%s is left over (%s)", e.Name(), r.Text)
				}
			}
		}
	}
}
