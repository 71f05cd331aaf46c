package registry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// Clients that send a byte now and then, or nearly a whole body each and no more, or read
// nothing, do not keep others waiting, and are put out.
func TestSlowClients(t *testing.T) {
	r := start(t, "--data", t.TempDir(), "--trusted-proxy", "127.0.0.1")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var put atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i := range 400 {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			head := "GET /v0/servers HTTP/1.1\r\nHost: x\r\nX-Slow: "
			if i%2 == 0 {
				head = "POST /v0/publish HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
					"Content-Length: 100000\r\n\r\n{"
			}
			if _, err := io.WriteString(conn, head); err != nil {
				return
			}
			wg.Go(func() { io.Copy(io.Discard, conn); put.Add(1); conn.Close() })
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(500 * time.Millisecond):
				}
				if _, err := io.WriteString(conn, " "); err != nil {
					return
				}
			}
		})
	}
	// All that there is room for, from one address: large bodies without their end, then
	// smaller ones for what the last of these, which are refused, leave.
	sizes := slices.Repeat([]int{1 << 20}, 130)
	for size := 1 << 19; size >= 32; size /= 2 {
		sizes = append(sizes, size, size)
	}
	for _, size := range sizes {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { <-ctx.Done(); conn.Close() })
		conn.SetWriteDeadline(time.Now().Add(time.Second)) // those that are refused are not read to their end
		fmt.Fprintf(conn,
			"POST /v0/publish HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", size+1, strings.Repeat(" ", size))
		time.Sleep(5 * time.Millisecond) // in this order
	}
	for i := range 200 {
		if status := r.publish(fmt.Sprintf("io.example.slow/s%d", i), "1.0.0"); status != 200 && status != 201 {
			t.Fatalf("publish: status %d", status)
		}
	}
	if all, _ := r.list(); len(all) != 200 {
		t.Errorf("%d records", len(all))
	}
	// The headers' time is ten seconds.
	hang.Until(t, "200 of the slow clients are put out", func() bool { return put.Load() >= 200 })
}

// served demands that others are answered while somebody does what he does.
func served(t *testing.T, r *replica, prefix string) {
	t.Helper()
	for i := range 50 {
		if status := r.publish(fmt.Sprintf("io.example.%s/s%d", prefix, i), "1.0.0"); status != http.StatusOK &&
			status != http.StatusCreated {
			t.Fatalf("publish: status %d", status)
		}
	}
}

// Ten thousand connections on which nothing comes, half of them after a request, keep
// nobody waiting.
func TestIdleConnections(t *testing.T) {
	r := start(t, "--data", t.TempDir(), "--rate-writes", "0")
	const most = 10_000
	var silent []net.Conn
	defer func() {
		for _, c := range silent {
			c.Close()
		}
	}()
	for i := range most {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatalf("connection %d: %v (the limit of open files has to be above %d)", i, err, most)
		}
		silent = append(silent, conn)
		if i%2 == 0 {
			continue
		}
		if _, err := io.WriteString(conn, "GET /v0/ping HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < most; i += 2 {
		silent[i].SetReadDeadline(time.Now().Add(hang.Long))
		answer, err := http.ReadResponse(bufio.NewReader(silent[i]), nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	served(t, r, "idle")
	if kib := resident(t, r.cmd.Process.Pid); kib > 512<<10 {
		t.Errorf("%d connections take %d KiB", most, kib)
	} else {
		t.Logf("%d connections: %d KiB resident", most, kib)
	}
	// Those that never sent anything are put out after ten seconds.
	silent[0].SetReadDeadline(time.Now().Add(hang.Long))
	if _, err := silent[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection without a request stays: %v", err)
	}
}

// resident is the memory of a process, in KiB; 0 where that is not known.
func resident(t *testing.T, pid int) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Headers of a megabyte and bodies without an end are refused while they come, and are
// not kept: those who send them get no further than the limit, and others are answered.
func TestEndlessRequests(t *testing.T) {
	r := start(t, "--data", t.TempDir(), "--max-archive", "1", "--rate-writes", "0")
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<16, bytes.Repeat([]byte(" "), 1<<16))
	var senders sync.WaitGroup
	for _, c := range []struct {
		what, head, body string
		most             int64 // bytes that are taken, with what sockets hold
		status           string
	}{
		{"a header line", "GET /v0/servers HTTP/1.1\r\nHost: x\r\nX-Long: ", strings.Repeat("x", 1<<20), 16 << 20,
			"431"},
		{"many header lines", "GET /v0/servers HTTP/1.1\r\nHost: x\r\n", strings.Repeat("X-Many: y\r\n", 1<<16),
			16 << 20, "431"},
		{"a request line", "GET /v0/servers?search=", strings.Repeat("x", 1<<20), 16 << 20, "431"},
		{"a document",
			"POST /v0/publish HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n" +
				"\r\n", chunk, 24 << 20, "413"},
		{"a login", "POST /v0/auth/none HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n", chunk, 24 << 20, ""},
		{"an archive",
			"POST /v0/facets/endless/versions HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n" +
				"Transfer-Encoding: chunked\r\n\r\n", chunk, 24 << 20, "413"},
		{"what a GET has", "GET /v0/servers HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", chunk, 24 << 20,
			""},
	} {
		for range 8 {
			senders.Go(func() {
				conn, err := net.Dial("tcp", r.addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(hang.Long))
				answer := make(chan string, 1)
				go func() {
					line, _ := bufio.NewReader(conn).ReadString('\n')
					answer <- line
				}()
				sent := int64(0)
				if _, err := io.WriteString(conn, c.head); err != nil {
					t.Errorf("%s: %v", c.what, err)
					return
				}
				for sent <= c.most {
					n, err := io.WriteString(conn, c.body)
					if sent += int64(n); err != nil {
						break
					}
				}
				if sent > c.most {
					t.Errorf("%s: more than %d bytes were taken", c.what, c.most)
				}
				// A reset may overtake the answer.
				if line := <-answer; line != "" && c.status != "" && !strings.Contains(line, " "+c.status+" ") {
					t.Errorf("%s: answered %q, want %s", c.what, line, c.status)
				}
			})
		}
	}
	served(t, r, "endless")
	senders.Wait()
	if kib := resident(t, r.cmd.Process.Pid); kib > 256<<10 {
		t.Errorf("%d KiB resident", kib)
	}
	if all, _ := r.list(); len(all) != 50 {
		t.Errorf("%d records", len(all))
	}
}
