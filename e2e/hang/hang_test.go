package hang

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// recorder notes how a test failed, and goes on.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                           {}
func (r *recorder) FailNow()                          { r.said = "failed" }
func (r *recorder) Fatalf(format string, args ...any) { r.said = fmt.Sprintf(format, args...) }

// What takes nearly two minutes passes, what takes longer is named, and a failure within stays one.
func TestHang(t *testing.T) {
	slow := func(d time.Duration) func(testing.TB) {
		return func(t testing.TB) { Ends(t, "x", func() { time.Sleep(d) }) }
	}
	for _, c := range []struct {
		do   func(testing.TB)
		want string
	}{
		{slow(Long - 1), ""}, {slow(Long + 1), "x: no end after 2m0s"},
		{func(t testing.TB) { Ends(t, "x", runtime.Goexit) }, "failed"},
		{func(t testing.TB) { Until(t, "x", after(Long-time.Second)) }, ""},
		{func(t testing.TB) { Until(t, "x", func() bool { return false }) }, "x: not so after 2m0s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{TB: t}
			if c.do(r); r.said != c.want {
				t.Errorf("%q, want %q", r.said, c.want)
			}
			time.Sleep(time.Second) // for what is still to end
		})
	}
}

// after is false for a time.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().After(end) }
}
