package transfer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// clock runs what is to happen later when a test says so.
type clock struct {
	mu      sync.Mutex
	pending []later
}

type later struct {
	at time.Duration
	do func()
}

func (c *clock) after(d time.Duration, do func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, later{d, do})
	return func() bool { return true } // what is stopped too late
}

// pass lets all happen that waits for at most d, once something waits.
func (c *clock) pass(t *testing.T, d time.Duration) {
	t.Helper()
	var due []later
	hang.Until(t, "a request is watched", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		due = slices.Clone(c.pending)
		return len(due) > 0
	})
	for _, l := range due {
		if l.at <= d {
			l.do()
		}
	}
}

// TestPatience: a host that is silent is told of, given up, and not asked again; one that has answered is waited for.
func TestPatience(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its backlog
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	drops := func(ctx context.Context, network, address string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"accepts and says nothing": nil, "drops": drops} {
		t.Run(name, func(t *testing.T) {
			var c clock
			said := make(chan string, 10)
			p := &Patience{After: c.after, Say: func(host string) { said <- host }}
			n := NewNetwork(Route{Dial: dial, Patience: p})
			defer n.CloseIdleConnections()
			ask := func() error {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+silent.Addr().String()+"/", nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := n.RoundTrip(r)
				if err == nil {
					resp.Body.Close()
				}
				return err
			}
			done := make(chan error, 1)
			go func() { done <- ask() }()
			c.pass(t, sayAfter)
			if host := <-said; host != silent.Addr().String() {
				t.Errorf("said %q", host)
			}
			select {
			case err := <-done:
				t.Fatalf("given up early: %v", err)
			default:
			}
			c.pass(t, giveUpAfter)
			var first *SilentError
			hang.Ends(t, "the request", func() { err = <-done })
			if !errors.As(err, &first) {
				t.Fatalf("got %v", err)
			}
			if f := ConnectionFailure(err); f.Retry {
				t.Error("it is tried again")
			}
			watched := len(c.pending)
			if again := ask(); again != error(first) || len(c.pending) != watched {
				t.Errorf("asked again: %v, %d watched", again, len(c.pending)-watched)
			}
			if len(said) != 0 {
				t.Errorf("also said %q", <-said)
			}
		})
	}
	t.Run("has answered", func(t *testing.T) {
		var c clock
		release := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-release
			}
			w.Write([]byte("body"))
		}))
		defer server.Close()
		client := http.Client{Transport: (&Patience{After: c.after}).Over(&http.Transport{DisableKeepAlives: true})}
		get := func(path string) error {
			resp, err := client.Get(server.URL + path)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
		if err := get("/"); err != nil {
			t.Fatal(err)
		}
		c.pass(t, giveUpAfter) // too late for the first request
		close(release)
		if err := get("/slow"); err != nil || len(c.pending) != 2 {
			t.Errorf("%v, %d watched", err, len(c.pending))
		}
	})
}
