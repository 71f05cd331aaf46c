package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

func TestArchives(t *testing.T) {
	for name, open := range map[string]func(*testing.T) registry.Blobs{
		"files": servertest.FileBlobs,
		"s3": func(t *testing.T) registry.Blobs {
			b, err := blobs.OpenS3(context.Background(), s3.ForTest(t).URL("p"))
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) { testArchives(t, open(t)) })
	}
}

func testArchives(t *testing.T, blobs registry.Blobs) {
	s := servertest.NewShelf(t, blobs)
	f := servertest.ArchiveServer(t, s)
	content := strings.Repeat("0123456789", 5000)
	sum := digest.FromBytes([]byte(content)).String()
	base := f.URL + "/v0/artifacts/"

	// A body of unknown length is streamed.
	answer, body := registrytest.Upload(t, base+"@acme/notes/versions?version=1.0.0",
		io.MultiReader(strings.NewReader(content)))
	if answer.StatusCode != http.StatusCreated || !strings.Contains(body, sum) ||
		!strings.Contains(body, `"size_bytes":50000`) || !strings.Contains(body, `"@acme/notes"`) {
		t.Fatalf("upload: %d %s", answer.StatusCode, body)
	}
	if answer, body := registrytest.Upload(t, f.URL+"/v0.1/artifacts/@acme%2Fnotes/versions?version=1.0.0",
		strings.NewReader(content)); answer.StatusCode != http.StatusConflict {
		t.Errorf("again: %d %s", answer.StatusCode, body)
	}
	if answer, body := registrytest.Upload(t, base+"plain/versions?version=2",
		strings.NewReader("")); answer.StatusCode != http.StatusCreated {
		t.Errorf("empty: %d %s", answer.StatusCode, body)
	}

	url := base + "@acme/notes/versions/1.0.0/archive"
	etag := `"` + sum + `"`
	for _, c := range []struct {
		method, path string
		header       []string
		status       int
		want         string
	}{
		{"GET", url, nil, 200, content},
		{"GET", f.URL + "/v0.1/artifacts/@acme%2Fnotes/versions/1.0.0/archive", nil, 200, content},
		{"HEAD", url, nil, 200, ""},
		{"GET", url, []string{"Range", "bytes=10-14"}, 206, "01234"},
		{"GET", url, []string{"Range", "bytes=49995-"}, 206, "56789"},
		{"GET", url, []string{"Range", "bytes=-3"}, 206, "789"},
		{"GET", url, []string{"Range", "bytes=10-14", "If-Range", etag}, 206, "01234"},
		{"GET", url, []string{"Range", "bytes=10-14", "If-Range", `"other"`}, 200, content},
		{"GET", url, []string{"Range", "bytes=50000-"}, 416, "invalid range: failed to overlap\n"},
		{"GET", url, []string{"If-None-Match", etag}, 304, ""},
		{"GET", url, []string{"If-None-Match", `"other"`}, 200, content},
		{"GET", base + "plain/versions/2/archive", nil, 200, ""},
	} {
		answer, body := registrytest.Download(t, c.method, c.path, c.header...)
		if answer.StatusCode != c.status || body != c.want {
			t.Errorf("%s %s %q: %d with %d bytes, want %d with %d", c.method, c.path, c.header, answer.StatusCode,
				len(body), c.status, len(c.want))
		}
		if c.status < 300 && c.path == url &&
			(answer.Header.Get("ETag") != etag || !strings.Contains(answer.Header.Get("Cache-Control"), "immutable")) {
			t.Errorf("%s %q: headers %v", c.method, c.header, answer.Header)
		}
	}
	head, _ := registrytest.Download(t, "HEAD", url)
	for name, want := range map[string]string{"Content-Length": "50000", "Accept-Ranges": "bytes",
		"Content-Type":        "application/octet-stream",
		"Content-Disposition": `attachment; filename="acme__notes_.facet"`, "X-Content-Type-Options": "nosniff"} {
		if got := head.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for path, want := range map[string]int{
		"@acme/notes/versions/2.0.0/archive": 404, "@acme/notes/versions/1.0.0": 404, "@acme/versions": 404,
		"plain/archive": 404, "plain/versions": 405,
	} {
		if answer, body := registrytest.Download(t, "GET", base+path); answer.StatusCode != want {
			t.Errorf("GET %s: %d %s, want %d", path, answer.StatusCode, body, want)
		}
	}
	if answer, body := registrytest.Download(t, "DELETE", url); answer.StatusCode != 405 ||
		answer.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE: %d %s", answer.StatusCode, body)
	}
}

func TestArchiveDeleted(t *testing.T) {
	s := servertest.NewShelf(t, servertest.FileBlobs(t))
	f := servertest.ArchiveServer(t, s)
	registrytest.Upload(t, f.URL+"/v0/artifacts/a/versions?version=deleted", strings.NewReader("x"))
	if answer, body := registrytest.Download(t, "GET",
		f.URL+"/v0/artifacts/a/versions/deleted/archive"); answer.StatusCode != http.StatusGone {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

// What is refused leaves neither a blob nor a file.
func TestArchiveRefused(t *testing.T) {
	s := servertest.NewShelf(t, servertest.FileBlobs(t))
	f := servertest.ArchiveServer(t, s)
	url := f.URL + "/v0/artifacts/a/versions"
	limit := int(s.Limit)
	for name, c := range map[string]struct {
		body    io.Reader
		instead func(api.Upload) error
		status  int
	}{
		"one byte too many, declared": {bytes.NewReader(make([]byte, limit+1)), nil, 413},
		"one byte too many, streamed": {io.MultiReader(bytes.NewReader(make([]byte, limit+1))), nil, 413},
		"not accepted": {strings.NewReader("x"),
			func(api.Upload) error { return registry.NewProblem(422, "no") }, 422},
		"a fault": {strings.NewReader("x"), func(api.Upload) error { return errors.New("secret") }, 500},
		"unavailable": {strings.NewReader("x"),
			func(api.Upload) error { return fmt.Errorf("%w: gone", registry.ErrUnavailable) }, 503},
	} {
		s.Instead = c.instead
		answer, body := registrytest.Upload(t, url+"?version="+strings.ReplaceAll(name, " ", ""), c.body)
		if answer.StatusCode != c.status || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %s, want %d", name, answer.StatusCode, body, c.status)
		}
	}
	s.Instead = nil
	if len(s.Kept) > 0 {
		t.Errorf("kept %v", s.Kept)
	}
	if _, err := s.Blobs.Stat(context.Background(), digest.FromBytes([]byte("x"))); !errors.Is(err,
		registry.ErrNotFound) {
		t.Errorf("a refused blob: %v", err)
	}
	if answer, body := registrytest.Upload(t, url+"?version=limit",
		bytes.NewReader(make([]byte, limit))); answer.StatusCode != 201 {
		t.Errorf("at the limit: %d %s", answer.StatusCode, body)
	}
	left, err := os.ReadDir(s.Spool)
	if err != nil || len(left) > 0 {
		t.Errorf("spooled: %v, %v", left, err)
	}
}

// A body that ends early is no archive.
func TestArchiveTruncated(t *testing.T) {
	s := servertest.NewShelf(t, servertest.FileBlobs(t))
	f := servertest.ArchiveServer(t, s)
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v0/artifacts/a/versions?version=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nshort")
	conn.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(conn)
	// Whose connection ended half-way may be taken for gone.
	if err != nil || !bytes.Contains(answer, []byte(" 400 ")) && !bytes.Contains(answer, []byte(" 499 ")) {
		t.Errorf("%s, %v", answer, err)
	}
	if len(s.Kept) > 0 {
		t.Errorf("kept %v", s.Kept)
	}
}

// Authorize refuses before the body is read.
func TestArchiveUnauthorized(t *testing.T) {
	s := servertest.NewShelf(t, servertest.FileBlobs(t))
	s.Authorize = func(r *http.Request, name string) (*registry.Grant, error) {
		if r.Header.Get("Authorization") == "" || name != "@acme/notes" {
			return nil, registry.NewProblem(http.StatusUnauthorized, "publishing needs a token")
		}
		return nil, nil
	}
	f := servertest.ArchiveServer(t, s)
	read := make(chan struct{})
	body := readerFunc(func([]byte) (int, error) { <-read; return 0, io.EOF })
	go func() { time.Sleep(5 * time.Second); close(read) }() // lest the client waits for ever
	answer, text := registrytest.Upload(t, f.URL+"/v0/artifacts/@acme/notes/versions", body)
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	select {
	case <-read:
		t.Error("the body was waited for")
	default:
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// No more uploads are taken than Parallel; those too many are told to come back.
func TestArchiveParallel(t *testing.T) {
	s := servertest.NewShelf(t, servertest.FileBlobs(t))
	s.Parallel = 1
	entered, leave := make(chan struct{}), make(chan struct{})
	s.Instead = func(api.Upload) error { close(entered); <-leave; return nil }
	f := servertest.ArchiveServer(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { registrytest.Upload(t, f.URL+"/v0/artifacts/a/versions?version=1", strings.NewReader("x")) })
	<-entered
	answer, body := registrytest.Upload(t, f.URL+"/v0/artifacts/a/versions?version=2", strings.NewReader("x"))
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	close(leave)
	wg.Wait()
}

// Downloads may be sent to the bucket.
func TestArchivePresigned(t *testing.T) {
	blobs, err := blobs.OpenS3(context.Background(), s3.ForTest(t).URL("p"))
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.NewShelf(t, blobs)
	s.Presign = time.Minute
	f := servertest.ArchiveServer(t, s)
	registrytest.Upload(t, f.URL+"/v0/artifacts/a/versions?version=1", strings.NewReader("presigned"))
	url := f.URL + "/v0/artifacts/a/versions/1/archive"
	answer, _ := registrytest.Download(t, "GET", url)
	if answer.StatusCode != http.StatusTemporaryRedirect || answer.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
	followed, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer followed.Body.Close()
	if got, err := io.ReadAll(followed.Body); err != nil || string(got) != "presigned" {
		t.Errorf("%d %s %v", followed.StatusCode, got, err)
	}
	s = servertest.NewShelf(t, servertest.FileBlobs(t))
	s.Presign = time.Minute
	if err := mounted(&s.Archives); err == nil {
		t.Error("files have no URLs to send to")
	}
}

// A blob that ends early is not answered as if it were whole.
func TestArchiveBlobTruncated(t *testing.T) {
	s := servertest.NewShelf(t, truncated{servertest.FileBlobs(t)})
	f := servertest.ArchiveServer(t, s)
	registrytest.Upload(t, f.URL+"/v0/artifacts/a/versions?version=1", strings.NewReader("0123456789"))
	answer, err := http.Get(f.URL + "/v0/artifacts/a/versions/1/archive")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("%q was answered whole", got)
	}
}

type truncated struct{ registry.Blobs }

func (b truncated) Open(ctx context.Context, sum digest.Digest, offset, _ int64) (io.ReadCloser, error) {
	return b.Blobs.Open(ctx, sum, offset, 2) // and again when it goes on
}

// Health looks at blobs, too.
func TestHealthOfBlobs(t *testing.T) {
	blobs := &sickBlobs{Blobs: servertest.FileBlobs(t)}
	f := servertest.Serve(t, nil, func(c *api.Config) { c.Blobs = blobs })
	if answer, body := registrytest.Download(t, "GET", f.URL+"/v0/health"); answer.StatusCode != 200 {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	blobs.err = errors.New("secret")
	answer, body := registrytest.Download(t, "GET", f.URL+"/v0/health")
	if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" || !strings.Contains(body, "blobs") ||
		strings.Contains(body, "secret") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

type sickBlobs struct {
	registry.Blobs
	err error
}

func (b *sickBlobs) Check(context.Context) error { return b.err }

// A server is not started with a kind that lacks something.
func TestArchivesNeed(t *testing.T) {
	whole := servertest.NewShelf(t, servertest.FileBlobs(t)).Archives
	for name, change := range map[string]func(*api.Archives){
		"kind": func(a *api.Archives) { a.Kind = "" }, "plain kind": func(a *api.Archives) { a.Kind = "a/b" },
		"blobs":  func(a *api.Archives) { a.Blobs = nil },
		"accept": func(a *api.Archives) { a.Accept = nil }, "find": func(a *api.Archives) { a.Find = nil },
	} {
		a := whole
		change(&a)
		if err := mounted(&a); err == nil {
			t.Errorf("mounted without %s", name)
		}
	}
	if err := mounted(&whole); err != nil {
		t.Error(err)
	}
}

// mounted says whether a registry takes a kind of archives.
func mounted(a *api.Archives) error {
	s, err := api.New(
		api.Config{Records: struct{ registry.Records }{}, Validation: registry.Off, Further: []*api.Archives{a}})
	if err != nil {
		return err
	}
	return s.Mount(http.NewServeMux())
}
