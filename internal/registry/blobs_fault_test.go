package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
)

// hostile stands before an S3 server and does to what passes what its mode says.
type hostile struct {
	to   *url.URL
	mode atomic.Value // string
	did  atomic.Int64 // how often it did it
}

// ServeHTTP implements http.Handler. The host stays that of the proxy, which the
// signature covers.
func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mode, _ := h.mode.Load().(string)
	get, put := r.Method == http.MethodGet, r.Method == http.MethodPut
	switch {
	case mode == "500":
		h.did.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		return
	case mode == "silent":
		h.did.Add(1)
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return
	case mode == "cut" && put: // what is being put
		h.did.Add(1)
		io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		panic(http.ErrAbortHandler)
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", h.to.Scheme, h.to.Host
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	if mode == "lost" && put && h.did.Add(1) == 1 { // the answer, of what was done
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	var body io.Reader = answer.Body
	part := get && answer.StatusCode < 300 && (mode == "truncate" || mode == "stall" || mode == "once")
	if part {
		h.did.Add(1)
		body = io.LimitReader(answer.Body, answer.ContentLength/2)
	}
	io.Copy(w, body)
	if !part {
		return
	}
	w.(http.Flusher).Flush()
	switch mode {
	case "once":
		h.mode.Store("")
	case "stall":
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// An S3 server that fails, is silent, cuts what is sent, loses answers, and breaks
// downloads off: no upload that was acknowledged is lost or differs, nobody is given part
// of an archive as the whole, clients are told to come back, and all is well again as soon
// as the server is.
func TestHostileS3(t *testing.T) {
	server := s3.ForTest(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	to, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{to: to}
	proxy := httptest.NewServer(h)
	t.Cleanup(proxy.Close)
	const wait = 300 * time.Millisecond
	blobs, err := openS3Blobs(t.Context(), strings.Replace(server.URL("a"), url.QueryEscape(server.Endpoint), url.QueryEscape(proxy.URL), 1), wait, wait)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := OpenS3Blobs(t.Context(), server.URL("a"))
	if err != nil {
		t.Fatal(err)
	}
	f := archiveServer(t, newShelf(t, blobs))
	client := &http.Client{Timeout: 20 * time.Second}
	random := rand.NewChaCha8([32]byte{1})
	acked := map[string][]byte{}
	place := func(id string) string { return f.URL + "/v0/artifacts/" + id }
	put := func(id string, text []byte) int {
		t.Helper()
		answer, err := client.Post(place(id)+"/versions?version=1", "application/octet-stream", bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		defer answer.Body.Close()
		io.Copy(io.Discard, answer.Body)
		if answer.StatusCode == http.StatusCreated {
			acked[id] = text
		} else if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s: upload: %d, %v", id, answer.StatusCode, answer.Header)
		}
		return answer.StatusCode
	}
	// read returns the status, and whether the archive came whole. One that did not come
	// whole must be known to.
	read := func(id, byteRange string) (status int, whole bool) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, place(id)+"/versions/1/archive", nil)
		if err != nil {
			t.Fatal(err)
		}
		if byteRange != "" {
			req.Header.Set("Range", byteRange)
		}
		answer, err := client.Do(req)
		if err != nil {
			return 0, false
		}
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		if answer.StatusCode == http.StatusServiceUnavailable && (answer.Header.Get("Retry-After") == "" || answer.Header.Get("ETag") != "" || answer.Header.Get("Cache-Control") != "") {
			t.Errorf("%s: %v", id, answer.Header)
		}
		if answer.StatusCode >= 300 || err != nil {
			return answer.StatusCode, false
		}
		want := acked[id]
		if first, ok := strings.CutPrefix(byteRange, "bytes="); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(first, "-"))
			if err != nil {
				t.Fatal(err)
			}
			want = want[n:]
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%s: %d bytes were answered as if they were the %d", id, len(got), len(want))
		}
		return answer.StatusCode, true
	}
	archive := func() []byte {
		text := make([]byte, 200_000)
		random.Read(text)
		return text
	}
	if put("before", archive()) != http.StatusCreated {
		t.FailNow()
	}
	for _, c := range []struct {
		mode   string
		put    int  // of an upload
		status int  // of a download
		whole  bool // else it is known not to be
	}{
		{mode: "500", put: 503, status: 503},
		{mode: "silent", put: 503, status: 503},
		{mode: "cut", put: 503, status: 200, whole: true},
		{mode: "lost", put: 201, status: 200, whole: true}, // the second attempt finds it there
		{mode: "once", put: 201, status: 200, whole: true}, // goes on where it broke off
		{mode: "truncate", put: 201, status: 200},
		{mode: "stall", put: 201, status: 200},
	} {
		t.Run(c.mode, func(t *testing.T) {
			h.did.Store(0)
			h.mode.Store(c.mode)
			began := time.Now()
			text := archive()
			if got := put("during-"+c.mode, text); got != c.put {
				t.Errorf("upload: %d, want %d", got, c.put)
			}
			status, whole := read("before", "")
			if status != c.status || whole != c.whole {
				t.Errorf("download: %d, whole %t, want %d, %t", status, whole, c.status, c.whole)
			}
			read("before", "bytes=100-") // of which read demands the bytes
			if h.did.Load() == 0 {
				t.Error("nothing was done")
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
			h.mode.Store("")
			// What was refused can be sent again, what was acknowledged is there.
			if id := "during-" + c.mode; acked[id] == nil && put(id, text) != http.StatusCreated {
				t.Error("the upload is not taken afterwards")
			}
			if answer, _ := download(t, "GET", f.URL+"/v0/health"); answer.StatusCode != 200 {
				t.Errorf("health: %d", answer.StatusCode)
			}
			for id, text := range acked {
				if _, whole := read(id, ""); !whole {
					t.Errorf("%s is not there afterwards", id)
				}
				if size, err := direct.Stat(t.Context(), digest.FromBytes(text)); err != nil || size != int64(len(text)) {
					t.Errorf("%s: in the bucket are %d bytes, %v", id, size, err)
				}
			}
		})
	}
	if len(acked) != 8 {
		t.Errorf("%d archives", len(acked))
	}
}

// A wait of ours that is over is an error that passes; the end of the caller's context is
// that.
func TestS3Waits(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	h := new(hostile)
	h.mode.Store("silent")
	proxy := httptest.NewServer(h)
	defer proxy.Close()
	b, err := openS3Blobs(t.Context(), fmt.Sprintf("s3://b/?endpoint=%s&path-style=true", url.QueryEscape(proxy.URL)), 50*time.Millisecond, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.FromBytes([]byte("x"))
	if _, err := b.Stat(t.Context(), sum); !errors.Is(err, ErrUnavailable) {
		t.Errorf("stat: %v", err)
	}
	if _, err := b.Open(t.Context(), sum, 0, -1); !errors.Is(err, ErrUnavailable) {
		t.Errorf("open: %v", err)
	}
	b.wait, b.client = time.Hour, func() *S3Blobs {
		patient, err := openS3Blobs(t.Context(), fmt.Sprintf("s3://b/?endpoint=%s&path-style=true", url.QueryEscape(proxy.URL)), time.Hour, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return patient
	}().client
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Stat(ctx, sum); errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's end: %v", err)
	}
}

// A bucket that is not there for now, as where a server has not mounted its disks, has lost
// nothing: neither a blob nor what was signed last.
func TestS3WithoutItsBucket(t *testing.T) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none"} {
		t.Setenv(name, value)
	}
	var code atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>x</Message></Error>", code.Load())
	}))
	defer srv.Close()
	ctx := context.Background()
	b, err := OpenS3Blobs(ctx, "s3://bucket/prefix?path-style=true&endpoint="+url.QueryEscape(srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	heads, sum := b.Heads(), digest.FromBytes(nil)

	code.Store("NoSuchBucket")
	if _, _, err := heads.Load(ctx); !errors.Is(err, ErrUnavailable) {
		t.Errorf("load: %v", err)
	}
	for _, tag := range []string{"", "tag"} {
		if _, err := heads.Swap(ctx, tag, []byte("note")); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrMoved) {
			t.Errorf("swap of %q: %v", tag, err)
		}
	}
	if _, err := b.Open(ctx, sum, 0, -1); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotFound) {
		t.Errorf("open: %v", err)
	}

	code.Store("NoSuchKey")
	if note, tag, err := heads.Load(ctx); note != nil || tag != "" || err != nil {
		t.Errorf("load of nothing: %q %q %v", note, tag, err)
	}
	if _, err := heads.Swap(ctx, "tag", []byte("note")); !errors.Is(err, ErrMoved) {
		t.Errorf("swap of nothing: %v", err)
	}
	if _, err := b.Open(ctx, sum, 0, -1); !errors.Is(err, ErrNotFound) {
		t.Errorf("open of nothing: %v", err)
	}
}
