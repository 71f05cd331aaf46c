package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/tree"
)

// PackFacet returns the archive of files.
func PackFacet(t testing.TB, files map[string]string) ([]byte, *facet.Packed) {
	t.Helper()
	var list []tree.File
	for path, content := range files {
		list = append(list, tree.File{Path: path, Size: int64(len(content))})
	}
	var out bytes.Buffer
	p, err := facet.Pack(context.Background(), &out, list, func(path string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files[path])), nil
	}, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), p
}

// NewFacet packs a facet with one agent.
func NewFacet(t testing.TB, name, version, text string) ([]byte, *facet.Packed) {
	return PackFacet(t, map[string]string{
		"facet.json": fmt.Sprintf(
			`{"name": %q, "version": %q, "agents": {"critic": {"description": "Criticises"}}}`, name, version),
		"agents/critic.md": text,
	})
}

// NewServerArchive packs a server from source.
func NewServerArchive(t testing.TB, name, version string) ([]byte, *facet.Packed) {
	return PackFacet(t, map[string]string{
		"server.json": fmt.Sprintf(
			`{"name": %q, "version": %q, "runtime": "node", "entry": "main.js", "api_surface": "sha256:%s"}`, name,
			version, strings.Repeat("ab", 32)),
		"main.js": "0",
	})
}

// FacetServer is a registry of archives with a log.
func FacetServer(t *testing.T, change func(*api.Config)) (*Fixture, *ServedLog) {
	return ServeLog(t, func(c *api.Config) {
		c.Blobs, c.ArchiveRecords = FileBlobs(t), c.Records.(*sqlite.DB)
		c.Archives = slices.DeleteFunc(registry.ArchiveKinds(archive.Limits{}),
			func(k registry.ArchiveKind) bool { return k.Kind == ledger.Plugin })
		c.Transport = api.Archives{Limit: 1 << 20, Spool: t.TempDir()}
		if change != nil {
			change(c)
		}
	})
}

// Put publishes as the client does.
func Put(f *Fixture, kind ledger.Kind, name string, data []byte, token string) (registry.ArchiveRecord, error) {
	return f.PublishArchive(context.Background(), string(kind), name,
		client.Upload{Body: bytes.NewReader(data), Size: int64(len(data)), Token: token})
}

// RequireRefused demands a problem with a status, whose text has all of want.
func RequireRefused(t testing.TB, err error, status int, want ...string) *registry.Problem {
	t.Helper()
	var p *registry.Problem
	if !errors.As(err, &p) || p.Status != status {
		t.Fatalf("got %v; want %d", err, status)
	}
	for _, w := range want {
		if !strings.Contains(p.Error(), w) {
			t.Errorf("got %v; want %q in it", err, w)
		}
	}
	return p
}

// shelf is a kind of archives that takes everything, and remembers it in memory.
type shelf struct {
	api.Archives
	mu    sync.Mutex
	Kept  map[string]api.Archive
	Spool string
	// Instead, if it is set, is what Accept does before it keeps.
	Instead func(api.Upload) error
}

// NewShelf is an empty shelf over blobs.
func NewShelf(t *testing.T, blobs registry.Blobs) *shelf {
	s := &shelf{Kept: map[string]api.Archive{}, Spool: t.TempDir()}
	s.Archives = api.Archives{Kind: "artifacts", Blobs: blobs, Limit: 1 << 20, Spool: s.Spool,
		Accept: func(ctx context.Context, u api.Upload, keep func(context.Context) error) (int, any, error) {
			if s.Instead != nil {
				if err := s.Instead(u); err != nil {
					return 0, nil, err
				}
			}
			if err := keep(ctx); err != nil {
				return 0, nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			key := u.Name + "@" + u.Request.URL.Query().Get("version")
			if _, ok := s.Kept[key]; ok {
				return 0, nil, registry.NewProblem(http.StatusConflict, "published already")
			}
			s.Kept[key] = api.Archive{Digest: u.Digest, Name: "acme \"notes\".facet"}
			return http.StatusCreated, map[string]any{"content_hash": u.Digest, "size_bytes": u.Size, "name": u.Name},
				nil
		},
		Find: func(_ context.Context, name, version string) (api.Archive, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			a, ok := s.Kept[name+"@"+version]
			if !ok {
				return api.Archive{}, registry.ErrNotFound
			}
			if version == "deleted" {
				return api.Archive{}, registry.NewProblem(http.StatusGone, "this version was deleted")
			}
			return a, nil
		},
	}
	return s
}

// ArchiveServer serves a shelf.
func ArchiveServer(t *testing.T, s *shelf) *Fixture {
	return Serve(t, nil, func(c *api.Config) { c.Blobs, c.Further = s.Blobs, []*api.Archives{&s.Archives} })
}

// FileBlobs are blobs in a directory of the test.
func FileBlobs(t *testing.T) registry.Blobs {
	b, err := blobs.OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
