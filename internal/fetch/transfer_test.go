package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// body is n bytes that do not repeat at any power of two.
func body(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i/251)
	}
	return string(b)
}

func TestFetchHTTPS(t *testing.T) {
	want := body(700 << 10)
	config := testConfig(t)
	var last, total atomic.Int64
	config.Progress = func(ref artifact.Ref, done, all int64) { last.Store(done); total.Store(all) }
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding %q", got)
		}
		if r.Header.Get("Range") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("unexpected headers %v", r.Header)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(want)))
		io.WriteString(w, want)
	})
	c := newClient(t, config)
	d, err := c.Fetch(context.Background(), mustRef(t, url+"/a/file.tgz?token=secret"), digest.SHA512,
		digest.SHA1, digest.SHA256)
	wantBody(t, d, err, want)
	if len(d.Observed.Digests) != 3 {
		t.Errorf("%d digests", len(d.Observed.Digests))
	}
	if d.Observed.From != url+"/a/file.tgz" {
		t.Errorf("from %q", d.Observed.From)
	}
	if d.Claims != nil || d.NPM != nil {
		t.Error("claims for an https ref")
	}
	if last.Load() != int64(len(want)) || total.Load() != int64(len(want)) {
		t.Errorf("progress ended at %d of %d", last.Load(), total.Load())
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestFetchChunkedAndEmpty(t *testing.T) {
	config := testConfig(t)
	want := body(300_000)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/empty" {
			w.Header().Set("Content-Length", "0")
			return
		}
		for chunk := range 3 {
			io.WriteString(w, want[chunk*100_000:(chunk+1)*100_000])
			w.(http.Flusher).Flush()
		}
	})
	c := newClient(t, config)
	d, err := get(t, c, url+"/chunked")
	wantBody(t, d, err, want)
	d, err = get(t, c, url+"/empty")
	wantBody(t, d, err, "")
}

func TestRetries(t *testing.T) {
	for _, tt := range []struct {
		status   int
		requests int32 // of a client that retries twice
		cause    evidence.Cause
	}{
		{500, 3, evidence.Unreachable},
		{503, 3, evidence.Unreachable},
		{429, 3, evidence.Unreachable},
		{404, 1, evidence.NotFound},
		{410, 1, evidence.NotFound},
		{400, 1, evidence.Unreachable},
		{401, 1, evidence.Unreachable},
		{403, 1, evidence.Unreachable},
		{416, 1, evidence.Unreachable},
		{204, 1, evidence.Unreachable},
		{206, 3, evidence.Unreachable}, // nobody asked for a part
		{304, 1, evidence.Unreachable},
	} {
		t.Run(strconv.Itoa(tt.status), func(t *testing.T) {
			config := testConfig(t)
			config.Limits.Retries = 2
			var requests atomic.Int32
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				w.WriteHeader(tt.status)
			})
			_, err := get(t, newClient(t, config), url+"/f?key=secret")
			e := wantError(t, err, tt.cause, strconv.Itoa(tt.status), url+"/f")
			if e.Status != tt.status || strings.Contains(err.Error(), "secret") {
				t.Errorf("status %d in %q", e.Status, err)
			}
			if requests.Load() != tt.requests {
				t.Errorf("%d requests, not %d", requests.Load(), tt.requests)
			}
		})
	}
}

func TestRetrySucceeds(t *testing.T) {
	for _, status := range []int{500, 429} {
		config := testConfig(t)
		var requests atomic.Int32
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) < 3 {
				w.WriteHeader(status)
				return
			}
			io.WriteString(w, "fine")
		})
		d, err := get(t, newClient(t, config), url+"/f")
		wantBody(t, d, err, "fine")
	}
}

// TestRetryAfter: the pause is what the server asks for, up to the cap, and no pause
// goes past the time allowed.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		longest, took time.Duration
		requests      int32
	}{{300 * time.Millisecond, 300 * time.Millisecond, 2}, {time.Hour, 0, 1}} {
		withoutWaiting(t, func(t *testing.T) {
			config := quickConfig(t)
			config.Limits.BackoffMax = c.longest
			var requests atomic.Int32
			config.dial = servePipes(t, func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) == 1 {
					w.Header().Set("Retry-After", "3600")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				io.WriteString(w, "fine")
			})
			start := time.Now()
			d, err := get(t, newClient(t, config), "https://localhost/f")
			if took := time.Since(start); took != c.took || requests.Load() != c.requests {
				t.Errorf("took %s and %d requests, want %s and %d", took, requests.Load(), c.took, c.requests)
			}
			if c.requests > 1 {
				wantBody(t, d, err, "fine")
			} else {
				wantError(t, err, evidence.Unreachable, "429")
			}
		})
	}
}

func TestEncodedReplyRefused(t *testing.T) {
	config := testConfig(t)
	var requests atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Encoding", strings.TrimPrefix(r.URL.Path, "/"))
		if r.URL.Path == "/identity" {
			io.WriteString(w, "plain")
			return
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, "plain")
		z.Close()
		w.Write(b.Bytes())
	})
	c := newClient(t, config)
	_, err := get(t, c, url+"/gzip")
	wantError(t, err, evidence.Unsupported, `"gzip"`)
	if requests.Load() != 1 {
		t.Errorf("%d requests", requests.Load())
	}
	d, err := get(t, c, url+"/identity")
	wantBody(t, d, err, "plain")
}

func TestUnknownAlgorithm(t *testing.T) {
	c := newClient(t, testConfig(t))
	_, err := c.Fetch(context.Background(), mustRef(t, "https://files.example.com/f"), "md5")
	var unknown *digest.UnknownAlgorithmError
	if !errors.As(err, &unknown) {
		t.Errorf("error %v", err)
	}
}

func TestUnsupportedKinds(t *testing.T) {
	c := newClient(t, testConfig(t))
	for _, s := range []string{
		"file:a", "git+https://git.example.com/r#0123456789012345678901234567890123456789",
	} {
		_, err := get(t, c, s)
		kind, _, _ := strings.Cut(s, ":")
		wantError(t, err, evidence.Unsupported, strings.TrimSuffix(kind, "+https"))
	}
	_, err := c.Fetch(context.Background(), artifact.Ref{})
	wantError(t, err, evidence.Unsupported, "empty")
	_, err = c.NPM(context.Background(), mustRef(t, "https://files.example.com/f"))
	wantError(t, err, evidence.Unsupported, "https")
	_, err = c.Description(context.Background(), mustRef(t, "npm:a@1.0.0"))
	wantError(t, err, evidence.Unsupported, "npm")
	_, err = c.OCILabel(context.Background(), mustRef(t, "npm:a@1.0.0"), "x")
	wantError(t, err, evidence.Unsupported, "npm")
}
