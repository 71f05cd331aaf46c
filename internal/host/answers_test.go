package host

import (
	"errors"
	"sync"
	"testing"
)

// TestAnswers: a question is asked until it is answered, and once by all who ask at the same time.
func TestAnswers(t *testing.T) {
	var a Answers
	asked, fails := 0, errors.New("no network")
	ask := func() ([]byte, error) {
		if asked++; asked == 1 {
			return nil, fails
		}
		return []byte("yes"), nil
	}
	if _, err := a.Get("q", ask); !errors.Is(err, fails) {
		t.Errorf("got %v", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := a.Get("q", ask); string(got) != "yes" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	var none *Answers
	for _, get := range []func(string, func() ([]byte, error)) ([]byte, error){a.Get, none.Get} {
		if got, err := get("another", ask); string(got) != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if asked != 4 {
		t.Errorf("asked %d times", asked)
	}
}
