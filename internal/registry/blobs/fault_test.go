package blobs_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

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
	h := &registrytest.HostileS3{To: to}
	proxy := httptest.NewServer(h)
	t.Cleanup(proxy.Close)
	const wait = 300 * time.Millisecond
	faulty, err := blobs.OpenS3Waiting(t.Context(),
		strings.Replace(server.URL("a"), url.QueryEscape(server.Endpoint), url.QueryEscape(proxy.URL), 1), wait, wait)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := blobs.OpenS3(t.Context(), server.URL("a"))
	if err != nil {
		t.Fatal(err)
	}
	f := servertest.ArchiveServer(t, servertest.NewShelf(t, faulty))
	client := &http.Client{Timeout: hang.Long}
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
		if answer.StatusCode == http.StatusServiceUnavailable &&
			(answer.Header.Get("Retry-After") == "" || answer.Header.Get("ETag") != "" ||
				answer.Header.Get("Cache-Control") != "") {
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
			h.Did.Store(0)
			h.Mode.Store(c.mode)
			text := archive()
			if got := put("during-"+c.mode, text); got != c.put {
				t.Errorf("upload: %d, want %d", got, c.put)
			}
			status, whole := read("before", "")
			if status != c.status || whole != c.whole {
				t.Errorf("download: %d, whole %t, want %d, %t", status, whole, c.status, c.whole)
			}
			read("before", "bytes=100-") // of which read demands the bytes
			if h.Did.Load() == 0 {
				t.Error("nothing was done")
			}
			h.Mode.Store("")
			// What was refused can be sent again, what was acknowledged is there.
			if id := "during-" + c.mode; acked[id] == nil && put(id, text) != http.StatusCreated {
				t.Error("the upload is not taken afterwards")
			}
			if answer, _ := registrytest.Download(t, "GET", f.URL+"/v0/health"); answer.StatusCode != 200 {
				t.Errorf("health: %d", answer.StatusCode)
			}
			for id, text := range acked {
				if _, whole := read(id, ""); !whole {
					t.Errorf("%s is not there afterwards", id)
				}
				if size, err := direct.Stat(t.Context(), digest.FromBytes(text)); err != nil ||
					size != int64(len(text)) {
					t.Errorf("%s: in the bucket are %d bytes, %v", id, size, err)
				}
			}
		})
	}
	if len(acked) != 8 {
		t.Errorf("%d archives", len(acked))
	}
}
