//go:build unix

package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

// TestServerEnds: everything that the server wrote is delivered, and its code or
// signal passed on.
func TestServerEnds(t *testing.T) {
	many := make([]string, 3000)
	for i := range many {
		many[i] = fmt.Sprintf(`{"jsonrpc":"2.0","method":"n","params":{"i":%d,"x":%q}}`, i, strings.Repeat("y", 200))
	}
	for _, x := range []struct {
		name string
		last []string
		code int
		tail string
	}{
		{"exit", []string{"!exit 5"}, 5, ""},
		{"killed", []string{"!kill"}, 128 + int(syscall.SIGKILL), ""},
		{"half a line", []string{`!raw {"jsonrpc":"2.0","method":"last"}`, "!exit 0"}, 0,
			`{"jsonrpc":"2.0","method":"last"}`},
		{"cut line", []string{`!raw {"jsonrpc":"2.0","meth`, "!exit 0"}, 0, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, _ := startPeer(t, rules{"x": {append(append([]string{}, many...), x.last...)}}, nil)
			c := relayTo(t, p, Options{})
			c.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
			time.Sleep(50 * time.Millisecond)
			for _, line := range many {
				c.want(line)
			}
			if code := c.wait(); code != x.code || c.err != nil {
				t.Errorf("code %d, %v", code, c.err)
			}
			if got := <-c.lines; got != x.tail {
				t.Errorf("after the last line %q", got)
			}
		})
	}
}

// TestServerLeavesChild: a process that the server started and that holds its output
// does not hold the relay, and ends with the server.
func TestServerLeavesChild(t *testing.T) {
	needLinux(t)
	for _, child := range []string{"sleep 600", "yes", "sh -c 'trap true TERM; while true; do sleep 1; done'",
		"sleep 601 >/dev/null"} {
		leaveChild(t, child)
	}
}

func leaveChild(t *testing.T, child string) {
	sh := image(t, "/bin/sh")
	adm, subjects := admit(t, sh)
	pidFile := filepath.Join(t.TempDir(), "pid")
	p, err := process.Exec(t.Context(), adm, subjects,
		process.Command{Exe: sh, Args: []string{"sh", "-c",
			child + ` & echo $! >` + pidFile + `; echo '{"jsonrpc":"2.0","method":"x"}'; exit 4`}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	c := relayTo(t, p, Options{})
	c.want(`{"jsonrpc":"2.0","method":"x"}`)
	if code := c.wait(); code != 4 {
		t.Errorf("%s: code %d", child, code)
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(text))
	hang.Until(t, child+" ends", func() bool { return gone(pid) })
}

// gone reports whether the process pid ended.
func gone(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// TestClientEnds: the server's input is closed, and a server that does not end is ended.
func TestClientEnds(t *testing.T) {
	t.Run("closes", func(t *testing.T) {
		p, _ := startPeer(t, rules{"exit": {}},
			map[string]any{"exit": []string{`{"jsonrpc":"2.0","method":"bye"}`}, "code": 9})
		c := relayTo(t, p, Options{})
		c.in.Close()
		c.want(`{"jsonrpc":"2.0","method":"bye"}`)
		if code := c.wait(); code != 9 {
			t.Errorf("code %d", code)
		}
	})
	t.Run("server is deaf", func(t *testing.T) {
		p := startSelf(t, "deaf")
		c := relayTo(t, p, Options{grace: 100 * time.Millisecond, term: 100 * time.Millisecond})
		time.Sleep(50 * time.Millisecond)
		go io.WriteString(c.in, strings.Repeat(`{"jsonrpc":"2.0","method":"x"}`+"\n", 10000)) // more than pipes hold
		time.Sleep(50 * time.Millisecond)
		c.in.Close()
		c.cancel()
		if code := c.wait(); code != 128+int(syscall.SIGKILL) && code != 128+int(syscall.SIGTERM) {
			t.Errorf("code %d", code)
		}
		if !errors.Is(c.err, context.Canceled) {
			t.Errorf("error %v", c.err)
		}
	})
	t.Run("stops reading and goes", func(t *testing.T) {
		var flood []string
		for range 5000 {
			flood = append(flood, `{"jsonrpc":"2.0","method":"`+strings.Repeat("n", 100)+`"}`)
		}
		p, _ := startPeer(t, rules{"x": {flood}}, nil)
		inR, inW, _ := os.Pipe()
		outR, outW, _ := os.Pipe()
		done := make(chan int)
		go func() {
			code, _ := Relay(context.Background(), inR, outW, p,
				Options{grace: 200 * time.Millisecond, term: 200 * time.Millisecond})
			done <- code
		}()
		io.WriteString(inW, `{"jsonrpc":"2.0","method":"x"}`+"\n")
		time.Sleep(100 * time.Millisecond)
		outR.Close() // EPIPE for the relay
		hang.Ends(t, "the relay", func() { <-done })
		inW.Close()
	})
	t.Run("closes its input and reads nothing", func(t *testing.T) {
		var flood []string
		for range 5000 {
			flood = append(flood, `{"jsonrpc":"2.0","method":"`+strings.Repeat("n", 100)+`"}`)
		}
		p, _ := startPeer(t, rules{"x": {flood}}, nil)
		inR, inW, _ := os.Pipe()
		outR, outW, _ := os.Pipe()
		defer outR.Close()
		done := make(chan int)
		go func() {
			code, _ := Relay(context.Background(), inR, outW, p,
				Options{grace: 200 * time.Millisecond, term: 200 * time.Millisecond})
			done <- code
		}()
		io.WriteString(inW, `{"jsonrpc":"2.0","method":"x"}`+"\n")
		inW.Close()
		hang.Ends(t, "the relay", func() { <-done })
	})
}

// TestClientClosesInput: what a client has asked before it closed its input is answered first, for a while.
func TestClientClosesInput(t *testing.T) {
	answer := `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	later := []string{"!sleep 0.3", result(`{"content":[]}`)}
	session := []string{hello, initialized, callTool("1", "add")}
	hangs, none := []string{"!sleep 600"}, []string{}
	call := func(id, method string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{}}`
	}
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`
	for name, x := range map[string]struct {
		rules rules
		send  []string
		want  []string
		o     Options
		code  int
	}{
		"a call": {base(addTool).Set("tools/call", later), session, []string{answer}, Options{}, 3},
		"its listing": {base(addTool).Set("tools/list", []string{"!sleep 0.3", tools(addTool)}), session,
			[]string{answer}, Options{}, 3},
		"nothing waits": {base(addTool), session[:2], nil, Options{}, 3},
		"a subscription": {base(addTool).Set("subscriptions/listen", none),
			append(session[:3:3], call("2", "subscriptions/listen")), []string{answer}, Options{}, 3},
		"cancelled": {base(addTool).Set("x", none),
			append(session[:3:3], call("2", "x"), cancel), []string{answer}, Options{}, 3},
		"is not answered": {base(addTool).Set("x", none),
			append(session[:3:3], call("2", "x")), []string{answer}, Options{answers: time.Second}, 3},
		"does not end": {base(addTool).Set("x", hangs), append(session[:2:2], call("2", "x")), nil,
			Options{answers: 100 * time.Millisecond, grace: 100 * time.Millisecond}, 128 + int(syscall.SIGTERM)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := x.o
			o.Approved, o.left = approve(t, "tool", addTool), time.Millisecond
			if o.answers == 0 {
				o.answers, o.grace = 2*hang.Long, 2*hang.Long
			}
			p, _ := startPeer(t, x.rules, map[string]any{"code": 3})
			c := relayTo(t, p, o)
			c.send(x.send...)
			if x.o.answers == 0 {
				c.in.Close()
			}
			c.next() // the introduction
			for _, line := range x.want {
				c.want(line)
			}
			c.in.Close() // where little time is left for what is not answered, not before the rest is
			if code := c.wait(); code != x.code {
				t.Errorf("code %d, want %d; notes:\n%s", code, x.code, c.notes)
			}
			if line := <-c.lines; line != "" {
				t.Errorf("also got %q", line)
			}
		})
	}
	t.Run("goes meanwhile", func(t *testing.T) {
		p, _ := startPeer(t, rules{"x": {{`{"jsonrpc":"2.0","method":"m"}`, "!sleep 600"}}}, nil)
		c := relayTo(t, p, Options{answers: 2 * hang.Long, grace: 2 * hang.Long})
		c.send(call("1", "x"))
		c.in.Close()
		c.want(`{"jsonrpc":"2.0","method":"m"}`)
		if runtime.GOOS != "linux" {
			c.cancel() // elsewhere it is noticed when something is written
		}
		c.out.Close()
		c.wait()
	})
}

// TestSignal: a signal to the guard reaches the server, which may still write.
func TestSignal(t *testing.T) {
	p := startSelf(t, "term")
	c := relayTo(t, p, Options{})
	c.want(`{"jsonrpc":"2.0","method":"ready"}`)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.want(`{"jsonrpc":"2.0","method":"bye"}`)
	if code := c.wait(); code != 7 {
		t.Errorf("code %d", code)
	}
}

// TestNoLeaks: a finished relay leaves no goroutine and no descriptor.
func TestNoLeaks(t *testing.T) {
	needLinux(t)
	count := func() (goroutines, files int) {
		runtime.GC()
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), len(d)
	}
	run := func() {
		p, _ := startPeer(t, base(addTool), nil)
		inR, inW, _ := os.Pipe()
		outR, outW, _ := os.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			Relay(context.Background(), inR, outW, p, Options{Approved: approve(t, "tool", addTool)})
		}()
		io.WriteString(inW, hello+"\n"+initialized+"\n"+callTool("1", "add")+"\n")
		inW.Close()
		io.ReadFull(outR, make([]byte, 200))
		<-done
		outW.Close()
		io.Copy(io.Discard, outR)
		inR.Close()
		outR.Close()
	}
	t.Run("first", func(t *testing.T) { run() })
	time.Sleep(500 * time.Millisecond) // for what ends to end: with more at the beginning less would be found
	g, f := count()
	t.Run("more", func(t *testing.T) {
		for range 5 {
			run()
		}
	})
	hang.Until(t, fmt.Sprintf("no more than %d goroutines and %d files", g, f+10), func() bool {
		g2, f2 := count() // images of the subtest close with it
		return g2 <= g && f2 <= f+10
	})
}

// TestServerClosesOutput: a server that closed its output is ended.
func TestServerClosesOutput(t *testing.T) {
	p, _ := startPeer(t, rules{"x": {{`{"jsonrpc":"2.0","method":"m"}`, "!close", "!sleep 600"}}}, nil)
	c := relayTo(t, p, Options{grace: 100 * time.Millisecond})
	c.send(`{"jsonrpc":"2.0","method":"x"}`)
	c.want(`{"jsonrpc":"2.0","method":"m"}`)
	if code := c.wait(); code == 0 {
		t.Errorf("code %d", code)
	}
}

// needLinux skips a test of what only Linux guarantees.
func needLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the guarantee is Linux's")
	}
}
