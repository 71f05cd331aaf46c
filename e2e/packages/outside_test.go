//go:build unix

package packages

import (
	"archive/zip"
	"bytes"
	"cmp"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// The hosts of this test besides those of the public registries.
const (
	imageHost = "images.example.com" // a registry of e2e/images
	fileHost  = "files.example.com"
)

// outside is what is reached by the proxy that programs of this test use: pages of its own, an image registry, and for
// all else the public registries, which are asked once for each page.
type outside struct {
	proxy  *url.URL
	images *imageRegistry
	world  *world.World

	mu     sync.Mutex
	hosts  map[string]bool
	pages  map[string][]byte // by URL; nil is not found
	lost   map[string]int    // by the digest of what is asked for, the status that is answered instead
	passed map[string]*passedPage
}

type passedPage struct {
	status int
	header http.Header
	body   []byte
}

func newOutside(t *testing.T) *outside {
	w := world.New(t)
	o := &outside{images: startImages(t, w, false), world: w, hosts: map[string]bool{}, pages: map[string][]byte{},
		lost: map[string]int{}, passed: map[string]*passedPage{}}
	proxy := httptest.NewServer(http.HandlerFunc(o.connect))
	t.Cleanup(proxy.Close)
	o.proxy, _ = url.Parse(proxy.URL)
	return o
}

// keep serves a zip of files at a URL.
func (o *outside) keep(ref, at string, files map[string]string) file {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, _ := z.Create(name)
		io.WriteString(f, files[name])
	}
	z.Close()
	o.pages[at] = b.Bytes()
	return file{ref, sumOf(b.Bytes()), int64(b.Len()), at}
}

// connect answers the method CONNECT by a connection to the world.
func (o *outside) connect(out http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil {
		http.Error(out, "CONNECT alone is answered", http.StatusMethodNotAllowed)
		return
	}
	o.mu.Lock()
	if !o.hosts[host] {
		o.hosts[host] = true
		o.world.Host(host, o.serve)
	}
	o.mu.Unlock()
	to, err := net.Dial("tcp", "127.0.0.1:"+o.world.Port)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadGateway)
		return
	}
	defer to.Close()
	from, sent, err := http.NewResponseController(out).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		io.Copy(to, sent) // with what was read already
		to.Close()
	}()
	io.Copy(from, to)
}

func (o *outside) serve(out http.ResponseWriter, r *http.Request) {
	host := strings.TrimSuffix(r.Host, ":443")
	o.mu.Lock()
	body, ok := o.pages["https://"+host+r.URL.EscapedPath()]
	o.mu.Unlock()
	page := &passedPage{http.StatusOK, http.Header{}, body}
	switch {
	case ok && body == nil:
		page.status = http.StatusNotFound
	case !ok:
		var err error
		if page, err = o.pass(host, r); err != nil {
			http.Error(out, err.Error(), http.StatusBadGateway)
			return
		}
	}
	o.mu.Lock()
	lost := cmp.Or(o.lost[sumOf(page.body)], o.lost[page.header.Get("Docker-Content-Digest")])
	o.mu.Unlock()
	if lost != 0 {
		out.Header().Set("Retry-After", "0")
		http.Error(out, http.StatusText(lost), lost)
		return
	}
	maps.Copy(out.Header(), page.header)
	out.WriteHeader(page.status)
	out.Write(page.body)
}

// pass asks the image registry, or a public one.
func (o *outside) pass(host string, r *http.Request) (*passedPage, error) {
	client := direct
	if host == imageHost {
		host, client = o.images.Host, &http.Client{Transport: o.images.Transport(), Timeout: hang.Long}
		defer client.CloseIdleConnections()
	}
	at, accept := "https://"+host+r.URL.RequestURI(), strings.Join(r.Header["Accept"], ",")
	key := r.Method + " " + at + " " + accept
	o.mu.Lock()
	page := o.passed[key]
	o.mu.Unlock()
	if page != nil {
		return page, nil
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	answer, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	page = &passedPage{status: answer.StatusCode, header: http.Header{}}
	if page.body, err = io.ReadAll(answer.Body); err != nil {
		return nil, err
	}
	for _, name := range []string{"Content-Type", "Docker-Content-Digest"} {
		if v := answer.Header.Get(name); v != "" {
			page.header.Set(name, v)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.passed[key] = page
	return page, nil
}

// lose lets a status be answered wherever a file is asked for.
func (o *outside) lose(f file, status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost[f.digest] = status
}
