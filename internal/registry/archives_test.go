package registry

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
	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
)

// shelf is a kind of archives that takes everything, and remembers it in memory.
type shelf struct {
	Archives
	mu    sync.Mutex
	kept  map[string]Archive
	spool string
	// instead, if it is set, is what Accept does before it keeps.
	instead func(Upload) error
}

func newShelf(t *testing.T, blobs Blobs) *shelf {
	s := &shelf{kept: map[string]Archive{}, spool: t.TempDir()}
	s.Archives = Archives{Kind: "artifacts", Blobs: blobs, Limit: 1 << 20, Spool: s.spool,
		Accept: func(ctx context.Context, u Upload, keep func(context.Context) error) (int, any, error) {
			if s.instead != nil {
				if err := s.instead(u); err != nil {
					return 0, nil, err
				}
			}
			if err := keep(ctx); err != nil {
				return 0, nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			key := u.Name + "@" + u.Request.URL.Query().Get("version")
			if _, ok := s.kept[key]; ok {
				return 0, nil, problem(http.StatusConflict, "published already")
			}
			s.kept[key] = Archive{Digest: u.Digest, Name: "acme \"notes\".facet"}
			return http.StatusCreated, map[string]any{"content_hash": u.Digest, "size_bytes": u.Size, "name": u.Name}, nil
		},
		Find: func(_ context.Context, name, version string) (Archive, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			a, ok := s.kept[name+"@"+version]
			if !ok {
				return Archive{}, ErrNotFound
			}
			if version == "deleted" {
				return Archive{}, problem(http.StatusGone, "this version was deleted")
			}
			return a, nil
		},
	}
	return s
}

// archiveServer serves a shelf.
func archiveServer(t *testing.T, s *shelf) *fixture {
	return serve(t, nil, func(c *Config) { c.Blobs, c.Further = s.Blobs, []*Archives{&s.Archives} })
}

func upload(t *testing.T, url string, body io.Reader) (*http.Response, string) {
	t.Helper()
	answer, err := http.Post(url, "application/octet-stream", body)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func download(t *testing.T, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func fileBlobs(t *testing.T) Blobs {
	b, err := OpenFileBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestArchives(t *testing.T) {
	for name, open := range map[string]func(*testing.T) Blobs{
		"files": fileBlobs,
		"s3": func(t *testing.T) Blobs {
			b, err := OpenS3Blobs(context.Background(), s3.ForTest(t).URL("p"))
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) { testArchives(t, open(t)) })
	}
}

func testArchives(t *testing.T, blobs Blobs) {
	s := newShelf(t, blobs)
	f := archiveServer(t, s)
	content := strings.Repeat("0123456789", 5000)
	sum := digest.FromBytes([]byte(content)).String()
	base := f.URL + "/v0/artifacts/"

	// A body of unknown length is streamed.
	answer, body := upload(t, base+"@acme/notes/versions?version=1.0.0", io.MultiReader(strings.NewReader(content)))
	if answer.StatusCode != http.StatusCreated || !strings.Contains(body, sum) || !strings.Contains(body, `"size_bytes":50000`) || !strings.Contains(body, `"@acme/notes"`) {
		t.Fatalf("upload: %d %s", answer.StatusCode, body)
	}
	if answer, body := upload(t, f.URL+"/v0.1/artifacts/@acme%2Fnotes/versions?version=1.0.0", strings.NewReader(content)); answer.StatusCode != http.StatusConflict {
		t.Errorf("again: %d %s", answer.StatusCode, body)
	}
	if answer, body := upload(t, base+"plain/versions?version=2", strings.NewReader("")); answer.StatusCode != http.StatusCreated {
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
		answer, body := download(t, c.method, c.path, c.header...)
		if answer.StatusCode != c.status || body != c.want {
			t.Errorf("%s %s %q: %d with %d bytes, want %d with %d", c.method, c.path, c.header, answer.StatusCode, len(body), c.status, len(c.want))
		}
		if c.status < 300 && c.path == url && (answer.Header.Get("ETag") != etag || !strings.Contains(answer.Header.Get("Cache-Control"), "immutable")) {
			t.Errorf("%s %q: headers %v", c.method, c.header, answer.Header)
		}
	}
	head, _ := download(t, "HEAD", url)
	for name, want := range map[string]string{"Content-Length": "50000", "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream",
		"Content-Disposition": `attachment; filename="acme__notes_.facet"`, "X-Content-Type-Options": "nosniff"} {
		if got := head.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for path, want := range map[string]int{
		"@acme/notes/versions/2.0.0/archive": 404, "@acme/notes/versions/1.0.0": 404, "@acme/versions": 404, "plain/archive": 404, "plain/versions": 405,
	} {
		if answer, body := download(t, "GET", base+path); answer.StatusCode != want {
			t.Errorf("GET %s: %d %s, want %d", path, answer.StatusCode, body, want)
		}
	}
	if answer, body := download(t, "DELETE", url); answer.StatusCode != 405 || answer.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE: %d %s", answer.StatusCode, body)
	}
}

func TestArchiveDeleted(t *testing.T) {
	s := newShelf(t, fileBlobs(t))
	f := archiveServer(t, s)
	upload(t, f.URL+"/v0/artifacts/a/versions?version=deleted", strings.NewReader("x"))
	if answer, body := download(t, "GET", f.URL+"/v0/artifacts/a/versions/deleted/archive"); answer.StatusCode != http.StatusGone {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

// What is refused leaves neither a blob nor a file.
func TestArchiveRefused(t *testing.T) {
	s := newShelf(t, fileBlobs(t))
	f := archiveServer(t, s)
	url := f.URL + "/v0/artifacts/a/versions"
	limit := int(s.Limit)
	for name, c := range map[string]struct {
		body    io.Reader
		instead func(Upload) error
		status  int
	}{
		"one byte too many, declared": {bytes.NewReader(make([]byte, limit+1)), nil, 413},
		"one byte too many, streamed": {io.MultiReader(bytes.NewReader(make([]byte, limit+1))), nil, 413},
		"not accepted":                {strings.NewReader("x"), func(Upload) error { return problem(422, "no") }, 422},
		"a fault":                     {strings.NewReader("x"), func(Upload) error { return errors.New("secret") }, 500},
		"unavailable":                 {strings.NewReader("x"), func(Upload) error { return fmt.Errorf("%w: gone", ErrUnavailable) }, 503},
	} {
		s.instead = c.instead
		answer, body := upload(t, url+"?version="+strings.ReplaceAll(name, " ", ""), c.body)
		if answer.StatusCode != c.status || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %s, want %d", name, answer.StatusCode, body, c.status)
		}
	}
	s.instead = nil
	if len(s.kept) > 0 {
		t.Errorf("kept %v", s.kept)
	}
	if _, err := s.Blobs.Stat(context.Background(), digest.FromBytes([]byte("x"))); !errors.Is(err, ErrNotFound) {
		t.Errorf("a refused blob: %v", err)
	}
	if answer, body := upload(t, url+"?version=limit", bytes.NewReader(make([]byte, limit))); answer.StatusCode != 201 {
		t.Errorf("at the limit: %d %s", answer.StatusCode, body)
	}
	left, err := os.ReadDir(s.spool)
	if err != nil || len(left) > 0 {
		t.Errorf("spooled: %v, %v", left, err)
	}
}

// A body that ends early is no archive.
func TestArchiveTruncated(t *testing.T) {
	s := newShelf(t, fileBlobs(t))
	f := archiveServer(t, s)
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
	if len(s.kept) > 0 {
		t.Errorf("kept %v", s.kept)
	}
}

// Authorize refuses before the body is read.
func TestArchiveUnauthorized(t *testing.T) {
	s := newShelf(t, fileBlobs(t))
	s.Authorize = func(r *http.Request, name string) (*auth.Grant, error) {
		if r.Header.Get("Authorization") == "" || name != "@acme/notes" {
			return nil, problem(http.StatusUnauthorized, "publishing needs a token")
		}
		return nil, nil
	}
	f := archiveServer(t, s)
	read := make(chan struct{})
	body := readerFunc(func([]byte) (int, error) { <-read; return 0, io.EOF })
	go func() { time.Sleep(5 * time.Second); close(read) }() // lest the client waits for ever
	answer, text := upload(t, f.URL+"/v0/artifacts/@acme/notes/versions", body)
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
	s := newShelf(t, fileBlobs(t))
	s.Parallel = 1
	entered, leave := make(chan struct{}), make(chan struct{})
	s.instead = func(Upload) error { close(entered); <-leave; return nil }
	f := archiveServer(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { upload(t, f.URL+"/v0/artifacts/a/versions?version=1", strings.NewReader("x")) })
	<-entered
	answer, body := upload(t, f.URL+"/v0/artifacts/a/versions?version=2", strings.NewReader("x"))
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	close(leave)
	wg.Wait()
}

// Downloads may be sent to the bucket.
func TestArchivePresigned(t *testing.T) {
	blobs, err := OpenS3Blobs(context.Background(), s3.ForTest(t).URL("p"))
	if err != nil {
		t.Fatal(err)
	}
	s := newShelf(t, blobs)
	s.Presign = time.Minute
	f := archiveServer(t, s)
	upload(t, f.URL+"/v0/artifacts/a/versions?version=1", strings.NewReader("presigned"))
	url := f.URL + "/v0/artifacts/a/versions/1/archive"
	answer, _ := download(t, "GET", url)
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
	s = newShelf(t, fileBlobs(t))
	s.Presign = time.Minute
	if err := mounted(&s.Archives); err == nil {
		t.Error("files have no URLs to send to")
	}
}

// A blob that ends early is not answered as if it were whole.
func TestArchiveBlobTruncated(t *testing.T) {
	s := newShelf(t, truncated{fileBlobs(t)})
	f := archiveServer(t, s)
	upload(t, f.URL+"/v0/artifacts/a/versions?version=1", strings.NewReader("0123456789"))
	answer, err := http.Get(f.URL + "/v0/artifacts/a/versions/1/archive")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("%q was answered whole", got)
	}
}

type truncated struct{ Blobs }

func (b truncated) Open(ctx context.Context, sum digest.Digest, offset, _ int64) (io.ReadCloser, error) {
	return b.Blobs.Open(ctx, sum, offset, 2) // and again when it goes on
}

// Health looks at blobs, too.
func TestHealthOfBlobs(t *testing.T) {
	blobs := &sickBlobs{Blobs: fileBlobs(t)}
	f := serve(t, nil, func(c *Config) { c.Blobs = blobs })
	if answer, body := download(t, "GET", f.URL+"/v0/health"); answer.StatusCode != 200 {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	blobs.err = errors.New("secret")
	answer, body := download(t, "GET", f.URL+"/v0/health")
	if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" || !strings.Contains(body, "blobs") || strings.Contains(body, "secret") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

type sickBlobs struct {
	Blobs
	err error
}

func (b *sickBlobs) Check(context.Context) error { return b.err }

// A server is not started with a kind that lacks something.
func TestArchivesNeed(t *testing.T) {
	whole := newShelf(t, fileBlobs(t)).Archives
	for name, change := range map[string]func(*Archives){
		"kind": func(a *Archives) { a.Kind = "" }, "plain kind": func(a *Archives) { a.Kind = "a/b" }, "blobs": func(a *Archives) { a.Blobs = nil },
		"accept": func(a *Archives) { a.Accept = nil }, "find": func(a *Archives) { a.Find = nil },
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
func mounted(a *Archives) error {
	s, err := newServer(Config{Records: struct{ Records }{}, Validation: Off, Further: []*Archives{a}})
	if err != nil {
		return err
	}
	return s.mountAPI(http.NewServeMux())
}
