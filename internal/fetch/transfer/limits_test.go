package transfer

import (
	"testing"
	"time"
)

func TestPauseGrows(t *testing.T) {
	limits := Limits{Backoff: 100 * time.Millisecond, BackoffMax: time.Second}
	for attempt, full := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		full *= time.Millisecond
		for range 50 {
			if got := limits.pause(attempt, 0); got < full/2 || got > full {
				t.Errorf("pause %d is %s, not between %s and %s", attempt, got, full/2, full)
			}
		}
	}
	if got := limits.pause(1000, 0); got > time.Second {
		t.Errorf("pause %s", got)
	}
}
