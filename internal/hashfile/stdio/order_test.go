package stdio

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// TestOrder: what is written is written in the order of the calls, and a reading call sees what was written before it.
func TestOrder(t *testing.T) {
	var mu sync.Mutex
	var wrote []string
	c := greeted(t, "2025-11-25", func(_ context.Context, name, argument string) (string, error) {
		mu.Lock()
		n := len(wrote)
		mu.Unlock()
		if name == "read" {
			return fmt.Sprintf("%s saw %d", argument, n), nil
		}
		time.Sleep(time.Millisecond) // for others to overtake
		mu.Lock()
		defer mu.Unlock()
		wrote = append(wrote, argument)
		return "", nil
	})
	go func() {
		for i := range 200 {
			c.send(call(2*i, "write", fmt.Sprint(i)), call(2*i+1, "read", fmt.Sprint(i)))
		}
	}()
	for range 400 {
		var i, saw int
		_, text, ok := strings.Cut(c.line(), `{\"a\":\"`)
		if _, err := fmt.Sscanf(text, `%d\"} saw %d`, &i, &saw); ok && (err != nil || saw <= i) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for i, argument := range wrote {
		if argument != fmt.Sprintf(`{"a":"%d"}`, i) {
			t.Fatalf("call %d wrote %s", i, argument)
		}
	}
}

// TestManyCalls: of 10,000 calls that come at once few are at work, and all are answered. A ping does not wait for
// them.
func TestManyCalls(t *testing.T) {
	var now, most atomic.Int64
	hold := make(chan struct{})
	c := greeted(t, "2025-11-25", func(context.Context, string, string) (string, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		<-hold
		return "", nil
	})
	before := runtime.NumGoroutine()
	for i := range 10000 {
		c.send(call(i, "read", ""))
	}
	c.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	if got := c.line(); !strings.Contains(got, `"ping"`) {
		t.Error(got)
	}
	if n := runtime.NumGoroutine() - before; n > 4*maxCalls {
		t.Errorf("%d goroutines", n)
	}
	close(hold)
	for range 10000 {
		c.line()
	}
	if most.Load() > maxCalls {
		t.Errorf("%d calls at work", most.Load())
	}
}

// TestFullQueue: what cannot wait is refused, and the server goes on.
func TestFullQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("moves much data through the goroutines of TestManyCalls")
	}
	hold := make(chan struct{})
	c := greeted(t, "2025-11-25", func(context.Context, string, string) (string, error) { <-hold; return "", nil })
	argument := strings.Repeat("x", limit-200)
	n := maxWaiting/limit + 2*maxCalls
	go func() {
		for i := range n {
			c.send(call(i, "read", argument))
		}
		c.send(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	}()
	refused := 0
	for {
		got := c.line()
		if strings.Contains(got, `"last"`) {
			close(hold)
			break
		}
		if !strings.Contains(got, "-32000") {
			t.Fatal(got)
		}
		refused++
	}
	for range n - refused {
		if got := c.line(); strings.Contains(got, "-32000") {
			n++
			refused++
		}
	}
	if refused == 0 {
		t.Error("everything waited")
	}
}

// TestUnread: a client that does not read holds up nothing but itself.
func TestUnread(t *testing.T) {
	c := begin(t, fmt.Sprintf(greeting, "2025-11-25"), echo)
	for i := range 1000 {
		c.send(call(i, "read", "x"), "garbage", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	}
	c.in.Close()
	hang.Ends(t, "the server", func() {
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

// TestCancelled: a call that is cancelled is not answered, ends if it is at work, and never begins if it waits.
func TestCancelled(t *testing.T) {
	var began atomic.Int64
	ended := make(chan struct{}, 2)
	c := greeted(t, "2025-03-26", func(ctx context.Context, _, _ string) (string, error) {
		began.Add(1)
		<-ctx.Done()
		ended <- struct{}{}
		return "", ctx.Err()
	})
	cancel := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
	}
	c.send(call(1, "write", ""), call(2, "write", ""), call(3, "read", ""), cancel(2), cancel(3))
	for began.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	c.send(cancel(1))
	<-ended
	c.send("["+call(4, "write", "")+`,{"jsonrpc":"2.0","id":5,"method":"ping"},`+call(6, "read", "")+"]", cancel(6))
	for began.Load() == 1 {
		time.Sleep(time.Millisecond)
	}
	c.send(cancel(4))
	<-ended
	if got := c.line(); got != `[{"jsonrpc":"2.0","id":5,"result":{}}]` {
		t.Error(got)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) // the id is free again
	if got := c.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Error(got)
	}
	if began.Load() != 2 {
		t.Errorf("%d calls began", began.Load())
	}
}

// TestInputEnds: what came before the end is answered, and what goes on is cancelled.
func TestInputEnds(t *testing.T) {
	for name, tool := range map[string]func(context.Context, string, string) (string, error){
		"short": func(context.Context, string, string) (string, error) { time.Sleep(Grace / 4); return "", nil },
		"heeds": func(ctx context.Context, _, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		"heeds nothing": func(ctx context.Context, name, _ string) (string, error) {
			if <-ctx.Done(); name == "read" {
				select {}
			}
			return "", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := greeted(t, "2025-11-25", tool)
			c.send(call(1, "read", ""), call(2, "write", ""))
			c.in.Close()
			if name == "short" {
				if got := c.line() + c.line(); !strings.Contains(got, `"id":1`) || !strings.Contains(got, `"id":2`) {
					t.Error(got)
				}
			}
			c.ended()
		})
	}
}
