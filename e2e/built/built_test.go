package built

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// alone is in a directory in which no other test builds anything.
const alone = "cmd/internal/man"

// TestRunBuildsOnce: what one run has built is not asked of go again in that run, and is in the next.
func TestRunBuildsOnce(t *testing.T) {
	run := fmt.Sprintf("%s, %d at %d", t.Name(), os.Getpid(), time.Now().UnixNano()) // what an earlier one made is on disk
	t.Setenv(Run, run)
	if _, err := Paths(alone); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "") // go is not found
	if _, err := Paths(alone); err != nil {
		t.Error(err)
	}
	for _, next := range []string{"", run + " again"} {
		t.Setenv(Run, next)
		if _, err := Paths(alone); err == nil {
			t.Errorf("%q: built without go", next)
		}
	}
}
