package fetch

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestTogether: all that one client of For fetches counts together: files, documents, and what
// had to be fetched again. A body whose announced size exceeds the rest is not read at all.
func TestTogether(t *testing.T) {
	config := testConfig(t)
	config.Limits.Together, config.Limits.Parallel = 10_000, 1
	var sent atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			w.Header().Set("Content-Length", "10001")
		case "/endless":
			w.(http.Flusher).Flush()
			for r.Context().Err() == nil {
				n, _ := io.WriteString(w, body(1000))
				sent.Add(int64(n))
			}
			return
		case "/broken": // again and again, and each time from its beginning
			w.Header().Set("Content-Length", "4000")
			io.WriteString(w, body(3000))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/pypi/a/1.0/json":
			io.WriteString(w, `{"info":{"name":"a","version":"1.0","summary":"`+strings.Repeat("x",
				5000)+`"},"urls":[{"filename":"a.zip","url":"https://`+r.Host+`/f","digests":{}}]}`)
			return
		}
		io.WriteString(w, body(4000))
	})
	config.PyPI.Base = url
	c := newClient(t, config)
	const limit = "more than the limit of 10,000 bytes for all files together"

	one := c.For("com.example/a")
	for range 2 {
		d, err := get(t, one, url+"/f")
		wantBody(t, d, err, body(4000)) // which is removed, and counts all the same
	}
	_, err := get(t, one, url+"/f")
	wantError(t, err, evidence.TooLarge, limit)
	_, err = get(t, c.For("com.example/a"), url+"/large")
	wantError(t, err, evidence.TooLarge, limit)
	_, err = get(t, c.For("com.example/a"), url+"/endless")
	wantError(t, err, evidence.TooLarge, limit)
	if sent.Load() > 50_000_000 {
		t.Errorf("%d bytes were sent", sent.Load())
	}
	_, err = get(t, c.For("com.example/a"), url+"/broken")
	wantError(t, err, evidence.TooLarge, limit)
	two := c.For("com.example/b")
	d, err := get(t, two, "pypi:a==1.0")
	wantBody(t, d, err, body(4000))
	_, err = get(t, two, "pypi:a==1.0")
	wantError(t, err, evidence.TooLarge, limit)
	// Another client of For, and the client itself, are not concerned.
	d, err = get(t, c.For("com.example/a"), url+"/f")
	wantBody(t, d, err, body(4000))
	for range 4 {
		d, err = get(t, c, url+"/f")
		wantBody(t, d, err, body(4000))
	}
}

// TestHeld: the files that are held at once are bounded. A file without room is tried again
// later, and then fails as if its host did not answer.
func TestHeld(t *testing.T) {
	config := testConfig(t)
	config.Limits.Held, config.Limits.Retries = 10_000, 2
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.Header().Set("Content-Length", "4001")
		}
		io.WriteString(w, body(4000))
	})
	c := newClient(t, config)
	var held []*Download
	for range 2 {
		d, err := get(t, c, url+"/f")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, d)
	}
	_, err := get(t, c.For("com.example"), url+"/f")
	wantError(t, err, evidence.Unreachable, "other fetches take up the 10,000 bytes", "3 attempts")
	for range 2 { // giving back twice gives back once
		if err := held[0].Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // what fails holds nothing
		_, err = get(t, c, url+"/broken")
		wantError(t, err, evidence.Unreachable, "broke off")
	}
	d, err := get(t, c, url+"/f")
	wantBody(t, d, err, body(4000))
	held[1].Close()
	if n := c.held.Spent(); n != 0 {
		t.Errorf("%d bytes are held by nobody", n)
	}

	// Many at once get through, as each gives way to the others.
	config.Limits.Retries, config.Limits.Parallel = 100_000, 8
	c = newClient(t, config)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			d, err := get(t, c, url+"/f")
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(5 * time.Millisecond)
			d.Close()
		})
	}
	wg.Wait()
	if n := c.held.Spent(); n != 0 {
		t.Errorf("%d bytes are held by nobody", n)
	}
}
