package api

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestLimiter(t *testing.T) {
	l := newLimiter(Rate{PerSecond: 2, Burst: 3})
	now := registrytest.Epoch
	for i := range 3 {
		if wait := l.take("a", now); wait != 0 {
			t.Errorf("request %d waits %s", i, wait)
		}
	}
	if wait := l.take("a", now); wait != 500*time.Millisecond {
		t.Errorf("the fourth waits %s", wait)
	}
	if wait := l.take("a", now); wait != 500*time.Millisecond {
		t.Errorf("to be refused costs: %s", wait)
	}
	if wait := l.take("b", now); wait != 0 {
		t.Errorf("another client waits %s", wait)
	}
	if wait := l.take("a", now.Add(500*time.Millisecond)); wait != 0 {
		t.Errorf("half a second later: %s", wait)
	}
	if wait := l.take("", now); wait != 0 {
		t.Error("nobody is limited")
	}
	if wait := newLimiter(Rate{}).take("a", now); wait != 0 {
		t.Error("no rate is limited")
	}
}

// However many clients there are, few are remembered, and those that keep coming are.
func TestLimiterMemory(t *testing.T) {
	l := newLimiter(Rate{PerSecond: 0.001, Burst: 1})
	l.most = 100
	l.take("a", registrytest.Epoch)
	for i := range 10_000 {
		l.take(fmt.Sprint(i), registrytest.Epoch)
		if i%50 == 0 {
			if wait := l.take("a", registrytest.Epoch); wait == 0 {
				t.Fatalf("forgotten after %d others", i)
			}
		}
	}
	if n := len(l.newer) + len(l.previous); n > 200 {
		t.Errorf("%d are remembered", n)
	}
}

func TestClientAddress(t *testing.T) {
	l := Limits{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")}}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"}, // no proxy of ours
		{"10.1.1.1:5", "198.51.100.7", "198.51.100.7"},
		{"10.1.1.1:5", "203.0.113.9, 198.51.100.7", "198.51.100.7"}, // the first may be made up
		{"10.1.1.1:5", "203.0.113.9, 198.51.100.7, 10.2.2.2", "198.51.100.7"},
		{"10.1.1.1:5", "203.0.113.9, nonsense, 10.2.2.2", "10.2.2.2"},
		{"10.1.1.1:5", "", "10.1.1.1"},
		{"127.0.0.1:5", "", ""},
		{"127.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{"[::1]:5", "198.51.100.7", ""},
		{"[2001:db8:1:2:3:4:5:6]:5", "", "2001:db8:1:2::/64"},
		{"[2001:db8:1:2:ffff::1]:5", "", "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:5", "", "192.0.2.1"},
		{"@", "", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := l.client(r); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// What was taken is given back, of a body that is larger than its share too, and who
// holds nothing is forgotten.
func TestRoom(t *testing.T) {
	r := newRoom(Limits{Bytes: 100, EachBytes: 40})
	taken, p := r.take("a", 0, 30)
	if taken != 30 || p != nil {
		t.Errorf("%d, %v", taken, p)
	}
	more, p := r.take("a", 30, 500)
	if more != 10 || p != nil {
		t.Errorf("a body alone: %d, %v", more, p)
	}
	if _, p := r.take("a", 0, 1); p == nil || p.Status != 429 {
		t.Errorf("beyond its share: %v", p)
	}
	if n, p := r.take("", 0, 60); n != 60 || p != nil {
		t.Errorf("this machine: %d, %v", n, p)
	}
	if _, p := r.take("b", 0, 1); p == nil || p.Status != 503 {
		t.Errorf("beyond all: %v", p)
	}
	r.give("", 60)
	r.give("a", taken+more)
	if r.held != 0 || len(r.of) != 0 {
		t.Errorf("%d, %v", r.held, r.of)
	}
	unlimited := newRoom(Limits{})
	if n, p := unlimited.take("a", 0, 1<<40); n != 1<<40 || p != nil {
		t.Errorf("no limit: %d, %v", n, p)
	}
}
