package fetch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestResume ends the first reply in the middle, by a reset or an early end, and checks what
// the second request asks for and how its reply is used.
func TestResume(t *testing.T) {
	const size, cut = 400_000, 150_000
	old, fresh := body(size), body(2 * size)[size:] // of one length
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	partial := func(w http.ResponseWriter, from int, content, etag string) {
		w.Header().Set("ETag", etag)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, content[from:])
	}
	for _, tt := range []struct {
		name      string
		header    string // of the first reply
		value     string
		wantRange bool   // the second request resumes
		ifRange   string // with this
		second    func(w http.ResponseWriter, from int)
		requests  int32
		want      string
	}{
		{
			name: "strong etag", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { partial(w, from, old, `"v1"`) },
			requests: 2, want: old,
		}, {
			name: "last modified", header: "Last-Modified", value: past, wantRange: true, ifRange: past,
			second:   func(w http.ResponseWriter, from int) { partial(w, from, old, "") },
			requests: 2, want: old,
		}, {
			name: "weak etag forbids", header: "ETag", value: `W/"v1"`,
			second:   func(w http.ResponseWriter, from int) { io.WriteString(w, old) },
			requests: 2, want: old,
		}, {
			name: "no validator forbids", header: "X-Nothing", value: "x",
			second:   func(w http.ResponseWriter, from int) { io.WriteString(w, old) },
			requests: 2, want: old,
		}, {
			name: "200 to a range begins at zero", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { io.WriteString(w, fresh) },
			requests: 2, want: fresh,
		}, {
			name: "200 with a shorter file leaves nothing of the longer", header: "ETag", value: `"v1"`,
			wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { io.WriteString(w, "short") },
			requests: 2, want: "short",
		}, {
			name: "206 of a changed file is not mixed", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { partial(w, from, fresh, `"v2"`) },
			requests: 3, want: fresh,
		}, {
			name: "206 with another total is not mixed", header: "ETag", value: `"v1"`,
			wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { partial(w, from, fresh+"more", `"v1"`) },
			requests: 3, want: fresh,
		}, {
			name: "206 that begins elsewhere", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { partial(w, from-1, old, `"v1"`) },
			requests: 3, want: fresh,
		}, {
			name: "206 that leaves a gap", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { partial(w, from+1, old, `"v1"`) },
			requests: 3, want: fresh,
		}, {
			name: "206 that ends early", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second: func(w http.ResponseWriter, from int) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-2, size))
				w.WriteHeader(http.StatusPartialContent)
				io.WriteString(w, old[from:size-1])
			},
			requests: 3, want: fresh,
		}, {
			name: "206 longer than its range", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second: func(w http.ResponseWriter, from int) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
				w.WriteHeader(http.StatusPartialContent)
				w.(http.Flusher).Flush() // chunked
				io.WriteString(w, old[from:]+"more")
			},
			requests: 3, want: fresh,
		}, {
			name: "206 shorter than its range goes on", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second: func(w http.ResponseWriter, from int) {
				w.Header().Set("ETag", `"v1"`)
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
				w.WriteHeader(http.StatusPartialContent)
				w.(http.Flusher).Flush()
				io.WriteString(w, old[from:from+1000])
			},
			requests: 3, want: old,
		}, {
			name: "206 without a range", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { w.WriteHeader(http.StatusPartialContent) },
			requests: 3, want: fresh,
		}, {
			name: "416 begins at zero", header: "ETag", value: `"v1"`, wantRange: true, ifRange: `"v1"`,
			second:   func(w http.ResponseWriter, from int) { w.WriteHeader(http.StatusRequestedRangeNotSatisfiable) },
			requests: 3, want: fresh,
		},
	} {
		for _, abrupt := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/reset=%v", tt.name, abrupt), func(t *testing.T) {
				config := testConfig(t)
				var requests atomic.Int32
				url := serve(t, func(w http.ResponseWriter, r *http.Request) {
					switch n := requests.Add(1); n {
					case 1:
						hijack(t, w, func(conn net.Conn) {
							fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Length: %d\r\n%s: %s\r\n\r\n%s",
								time.Now().UTC().Format(http.TimeFormat), size, tt.header, tt.value, old[:cut])
							if abrupt {
								time.Sleep(20 * time.Millisecond) // let the bytes arrive
								reset(conn)
							}
						})
					case 2:
						from := 0
						if tt.wantRange {
							// a reset may take the last bytes with it
							if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil ||
								from <= 0 || from > cut {
								t.Errorf("Range %q", r.Header.Get("Range"))
							}
						} else if r.Header.Get("Range") != "" {
							t.Errorf("Range %q without a validator", r.Header.Get("Range"))
						}
						if got := r.Header.Get("If-Range"); got != tt.ifRange {
							t.Errorf("If-Range %q, not %q", got, tt.ifRange)
						}
						tt.second(w, from)
					default:
						from := 0
						if tt.want == old {
							fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
							partial(w, from, old, `"v1"`)
							return
						}
						if r.Header.Get("Range") != "" {
							t.Errorf("Range %q after what cannot be continued", r.Header.Get("Range"))
						}
						io.WriteString(w, fresh)
					}
				})
				d, err := get(t, newClient(t, config), url+"/file")
				wantBody(t, d, err, tt.want)
				if requests.Load() != tt.requests {
					t.Errorf("%d requests, not %d", requests.Load(), tt.requests)
				}
			})
		}
	}
}

// TestWrongLength: a reply that is shorter than announced at every attempt is no artifact. What
// follows the announced length is not a part of it, nor the reply to the next request.
func TestWrongLength(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = 2
	var requests atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		hijack(t, w, func(conn net.Conn) {
			if r.URL.Path == "/short" {
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
				return
			}
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n12345HTTP/1.1 200 "+
				"OK\r\nContent-Length: 4\r\n\r\nevil")
		})
	})
	c := newClient(t, config)
	_, err := get(t, c, url+"/short")
	e := wantError(t, err, evidence.Unreachable, "5 of 10 bytes", "3 attempts", url+"/short")
	if e.Status != 200 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("status %d, %v", e.Status, e.Err)
	}
	if requests.Load() != 3 {
		t.Errorf("%d requests", requests.Load())
	}
	for range 2 {
		d, err := get(t, c, url+"/long")
		wantBody(t, d, err, "12345")
	}
}

// TestUnmarkedEnd: with neither length nor chunks a body that is cut off looks whole.
func TestUnmarkedEnd(t *testing.T) {
	config := testConfig(t)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hijack(t, w, func(conn net.Conn) { fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n\r\nabc") })
	})
	_, err := get(t, newClient(t, config), url+"/f")
	wantError(t, err, evidence.Unsupported, "neither a length nor chunks")
}
