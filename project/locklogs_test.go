package project

import (
	"fmt"
	"sync"
	"testing"
)

// TestLogSideBySide: entries are verified side by side, and each asks for the log of its registry.
func TestLogSideBySide(t *testing.T) {
	l := &Lock{facets: map[string]FacetLock{}}
	for i := range 100 {
		f := facetEntry()
		f.Log = "log.example.com"
		l.facets[fmt.Sprint("kit-", i)] = f
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				if got := l.Log("registry.example.com"); got != "log.example.com" {
					t.Errorf("the log is %q", got)
				}
			}
		})
	}
	group.Wait()
	if got := l.Log("other.example.com"); got != "" {
		t.Errorf("another registry has %q", got)
	}
}
