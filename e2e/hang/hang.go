// Package hang lets a test wait for what happens, and judge by that and not by the clock: however busy a machine is,
// only what hangs fails.
package hang

import (
	"testing"
	"time"
)

// Long is more time than anything takes that does not hang. What hangs in a test has to hang for longer.
const Long = 2 * time.Minute

// Ends runs do beside the test, and fails the test unless it returns.
func Ends(t testing.TB, what string, do func()) {
	t.Helper()
	returned := make(chan bool, 1)
	go func() {
		whole := false
		defer func() { returned <- whole }()
		do()
		whole = true
	}()
	select {
	case whole := <-returned:
		if !whole { // do has failed the test
			t.FailNow()
		}
	case <-time.After(Long):
		t.Fatalf("%s: no end after %v", what, Long)
	}
}

// Until waits until something is so, and fails the test if it does not become so.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(Long); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not so after %v", what, Long)
			return
		}
	}
}
