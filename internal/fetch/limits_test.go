package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

func TestTooLarge(t *testing.T) {
	config := testConfig(t)
	config.Limits.FileSize = 100_000
	var sent atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/exact":
			io.WriteString(w, body(100_000))
		case "/announced":
			w.Header().Set("Content-Length", "100001")
			n, _ := io.WriteString(w, body(100_001))
			sent.Add(int64(n))
		case "/onemore":
			w.(http.Flusher).Flush()
			io.WriteString(w, body(100_001))
		case "/part": // its size is first told by the reply to the retry
			if r.Header.Get("Range") == "" {
				w.Header().Set("ETag", `"v1"`)
				w.(http.Flusher).Flush()
				io.WriteString(w, body(1000))
				w.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond)
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Range", "bytes 1000-100000/100001")
			w.WriteHeader(http.StatusPartialContent)
		case "/chunked":
			w.(http.Flusher).Flush()
			for range 1000 {
				if n, err := io.WriteString(w, body(100_001)); err != nil {
					return
				} else {
					sent.Add(int64(n))
				}
			}
		}
	})
	c := newClient(t, config)
	d, err := get(t, c, url+"/exact")
	wantBody(t, d, err, body(100_000))
	_, err = get(t, c, url+"/announced")
	wantError(t, err, evidence.TooLarge, "100,001 bytes", "100,000")
	_, err = get(t, c, url+"/chunked")
	wantError(t, err, evidence.TooLarge, "100,000")
	_, err = get(t, c, url+"/onemore")
	wantError(t, err, evidence.TooLarge, "100,000")
	_, err = get(t, c, url+"/part")
	wantError(t, err, evidence.TooLarge, "100,001 bytes")
	if sent.Load() > 50_000_000 {
		t.Errorf("%d bytes were sent", sent.Load())
	}
}

func TestSlowBody(t *testing.T) {
	for _, tt := range []struct {
		name     string
		limits   func(*Limits)
		message  string
		requests int32
		took     time.Duration
	}{
		{"deadline", func(l *Limits) { l.FileTime = 200 * time.Millisecond },
			"not complete after 200ms (5 of 10 bytes)", 1, 200 * time.Millisecond},
		{"stall", func(l *Limits) { l.Stall, l.Retries, l.Backoff = 100*time.Millisecond, 1, 1 },
			"no data for too long (100ms, after 5 of 10 bytes) (2 attempts)", 2, 200 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withoutWaiting(t, func(t *testing.T) {
				config := quickConfig(t)
				tt.limits(&config.Limits)
				var requests atomic.Int32
				config.dial = servePipes(t, func(w http.ResponseWriter, r *http.Request) {
					requests.Add(1)
					w.Header().Set("Content-Length", "10")
					io.WriteString(w, "12345")
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				})
				start := time.Now()
				_, err := get(t, newClient(t, config), "https://localhost/f")
				wantError(t, err, evidence.Unreachable, tt.message)
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
				if requests.Load() != tt.requests {
					t.Errorf("%d requests", requests.Load())
				}
			})
		})
	}
}

// TestTrickleIsNoStall: a slow body that keeps coming is read to its end.
func TestTrickleIsNoStall(t *testing.T) {
	withoutWaiting(t, func(t *testing.T) {
		config := quickConfig(t)
		config.Limits.Stall = 300 * time.Millisecond
		config.dial = servePipes(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "10")
			for range 10 {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(60 * time.Millisecond)
			}
		})
		d, err := get(t, newClient(t, config), "https://localhost/f")
		wantBody(t, d, err, "xxxxxxxxxx")
	})
}

func TestCancel(t *testing.T) {
	config := testConfig(t)
	reached := make(chan bool, 4)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "12345")
		w.(http.Flusher).Flush()
		reached <- true
		<-r.Context().Done()
	})
	config.Limits.Parallel = 1
	c := newClient(t, config)
	ctx, cancel := context.WithCancel(context.Background())
	ref := mustRef(t, url+"/f")
	done := make(chan error, 2)
	go func() { _, err := c.Fetch(ctx, ref); done <- err }()
	<-reached
	go func() { _, err := c.Fetch(ctx, ref); done <- err }() // waits for the slot
	time.Sleep(20 * time.Millisecond)
	cancel()
	hang.Ends(t, "fetches that were cancelled", func() {
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), ref.String()) {
				t.Errorf("error %v", err)
			}
		}
	})
	if _, err := c.Fetch(ctx, ref); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(reached) != 0 {
		t.Error("a request was sent although the context had ended")
	}
	ctx, cancel = context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Fetch(ctx, ref); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestParallelIsBounded(t *testing.T) {
	config := testConfig(t)
	config.Limits.Parallel = 3
	var now, most atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		io.WriteString(w, "x")
	})
	c := newClient(t, config)
	ref := mustRef(t, url+"/f")
	errs := make(chan error)
	for range 12 {
		go func() {
			d, err := c.Fetch(context.Background(), ref)
			if err == nil {
				err = d.Close()
			}
			errs <- err
		}()
	}
	for range 12 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 3 {
		t.Errorf("%d requests at once, not 3", most.Load())
	}
}

// fullDisk is a staging file on a disk that takes only so much.
type fullDisk struct {
	*os.File
	room int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	n, err := f.File.Write(p[:min(len(p), f.room)])
	f.room -= n
	if err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

func TestFullDisk(t *testing.T) {
	config := testConfig(t)
	config.create = func(dir string) (stagingFile, error) {
		f, err := os.CreateTemp(dir, "x")
		return &fullDisk{f, 50_000}, err
	}
	var requests atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		io.WriteString(w, body(100_000))
	})
	_, err := get(t, newClient(t, config), url+"/f")
	var refused *wire.Error
	if !errors.Is(err, syscall.ENOSPC) || errors.As(err, &refused) || !strings.Contains(err.Error(), config.Dir) {
		t.Errorf("error %v", err)
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests", requests.Load())
	}

	config.create = nil
	config.Dir += "/missing"
	_, err = get(t, newClient(t, config), url+"/f")
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), config.Dir) {
		t.Errorf("error %v", err)
	}
	if requests.Load() != 1 {
		t.Error("a request was sent although nothing can be staged")
	}
}

// TestMemory reads far more than it may hold.
func TestMemory(t *testing.T) {
	config := testConfig(t)
	const size = 96 << 20
	var most uint64
	var seen int64
	config.Progress = func(_ artifact.Ref, done, _ int64) {
		if done-seen > 16<<20 {
			seen = done
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	}
	block := bytes.Repeat([]byte("hallmark"), 8<<10)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		for range size / len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	d, err := get(t, newClient(t, config), url+"/f")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Observed.Size != size {
		t.Errorf("size %d", d.Observed.Size)
	}
	if most == 0 || most > 48<<20 {
		t.Errorf("%d MiB of heap for a file of %d MiB", most>>20, size>>20)
	}
}
