package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Both kinds are published, proven, listed and downloaded.
func TestFacetsPublish(t *testing.T) {
	ctx := context.Background()
	f, l := servertest.FacetServer(t, nil)
	for i, c := range []struct {
		kind ledger.Kind
		name string
		make func() ([]byte, *facet.Packed)
	}{
		{ledger.Facet, "@acme/review",
			func() ([]byte, *facet.Packed) { return servertest.NewFacet(t, "@acme/review", "1.0.0", "# Critic") }},
		{ledger.Artifact, "notes",
			func() ([]byte, *facet.Packed) { return servertest.NewServerArchive(t, "notes", "1.0.0") }},
	} {
		data, p := c.make()
		rec, err := servertest.Put(f, c.kind, c.name, data, "")
		if err != nil {
			t.Fatal(err)
		}
		if rec.ContentIntegrity.String() != p.Integrity.String() ||
			rec.ContentHash.String() != digest.FromBytes(data).String() || rec.Size != int64(len(data)) ||
			rec.Version != "1.0.0" || len(rec.Assets) != 2 || rec.Publisher != "anonymous" || !rec.IsLatest ||
			rec.Status != registry.Active || rec.Build != "1.2.3" {
			t.Errorf("got %s", registrytest.FormatArchive(t, rec))
		}
		for path, want := range p.Digests {
			if rec.Assets[path].String() != want.String() {
				t.Errorf("%s has %s", path, rec.Assets[path])
			}
		}
		if want := c.kind == ledger.Artifact; rec.APISurface.IsZero() == want {
			t.Errorf("api surface %s", rec.APISurface)
		}
		// The proof is of the fingerprint and of the manifest, not of the archive's bytes.
		proof, err := ledger.ParseProof(rec.Proof)
		if err != nil {
			t.Fatal(err)
		}
		proven, err := proof.Verify(l.Trust)
		document, _ := rec.Document()
		if err != nil || proven.Index != int64(i) || proven.Leaf.Kind != c.kind || proven.Leaf.Name != c.name ||
			proven.Leaf.ContentIntegrity.String() != p.Integrity.String() ||
			proven.Leaf.Document.String() != document.String() ||
			proven.Leaf.APISurface.String() != rec.APISurface.String() {
			t.Errorf("proven %+v, %v", proven.Leaf, err)
		}

		// The same again is 200 with the first record; other bytes are 409.
		answer, text := registrytest.Upload(t, f.URL+"/v0/"+registry.Plural(c.kind)+"/"+c.name+"/versions",
			bytes.NewReader(data))
		if answer.StatusCode != http.StatusOK || !strings.Contains(text, rec.PublishedAt.Format(time.RFC3339Nano)) ||
			!strings.Contains(text, `"proof":"c2sp.org/tlog-proof@v1`) {
			t.Errorf("again: %d %s", answer.StatusCode, text)
		}
		got, err := f.ArchiveRecord(ctx, string(c.kind), c.name, registry.Latest)
		if err != nil || registrytest.FormatArchive(t, got) != registrytest.FormatArchive(t, rec) ||
			!bytes.Equal(got.Proof, rec.Proof) && len(got.Proof) == 0 {
			t.Errorf("got %s, %v", registrytest.FormatArchive(t, got), err)
		}
		all, err := f.ArchiveVersions(ctx, string(c.kind), c.name)
		if err != nil || len(all) != 1 || registrytest.FormatArchive(t, all[0]) != registrytest.FormatArchive(t, rec) {
			t.Errorf("versions %v, %v", registrytest.ArchiveSubjects(all), err)
		}
		body, size, err := f.OpenArchive(ctx, string(c.kind), c.name, "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		back, err := io.ReadAll(body)
		body.Close()
		if err != nil || size != int64(len(data)) || !bytes.Equal(back, data) {
			t.Errorf("%d of %d bytes, %v", len(back), size, err)
		}
	}
	other, _ := servertest.NewFacet(t, "@acme/review", "1.0.0", "# Another critic")
	_, err := servertest.Put(f, ledger.Facet, "@acme/review", other, "")
	servertest.RequireRefused(t, err, http.StatusConflict, "a version cannot be published twice")
	if n := f.Counters.Published.Load(); n != 2 {
		t.Errorf("%d were published", n)
	}

	answer, text := registrytest.Download(t, "GET", f.URL+"/v0/facets/%40acme%2Freview/versions/1.0.0/archive")
	if answer.StatusCode != http.StatusOK ||
		answer.Header.Get("ETag") != `"`+digest.FromBytes([]byte(text)).String()+`"` ||
		answer.Header.Get("Content-Disposition") != `attachment; filename="acme-review-1.0.0.facet"` ||
		!strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
}

// A blob that was lost comes back when the same archive is published again.
func TestFacetsLostBlob(t *testing.T) {
	kept, err := blobs.OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, _ := servertest.FacetServer(t, func(c *api.Config) { c.Blobs = kept })
	data, _ := servertest.NewFacet(t, "notes", "1.0.0", "x")
	rec, err := servertest.Put(f, ledger.Facet, "notes", data, "")
	if err != nil {
		t.Fatal(err)
	}
	name, err := kept.Path(rec.ContentHash)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.OpenArchive(context.Background(), "facet", "notes", "1.0.0")
	servertest.RequireRefused(t, err, http.StatusInternalServerError, "publishing the same file again")
	if _, err := servertest.Put(f, ledger.Facet, "notes", data, ""); err != nil {
		t.Fatal(err)
	}
	body, _, err := f.OpenArchive(context.Background(), "facet", "notes", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	body.Close()
	if log := f.Log(); !strings.Contains(log, "archive missing") || !strings.Contains(log, "hallmark-registry reverify") ||
		strings.Contains(log, "internal error") {
		t.Errorf("log %s", log)
	}
}

// What forged archives claim is recomputed; each is refused with all that is wrong.
func TestFacetsForged(t *testing.T) {
	text, err := os.ReadFile("../../../spec/facet.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Archives []struct {
			Name, Gzip, Error string
			Mismatch          []string
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	f, _ := servertest.FacetServer(t, nil)
	forged := 0
	for _, v := range vectors.Archives {
		if v.Error == "" && v.Mismatch == nil {
			continue
		}
		forged++
		t.Run(v.Name, func(t *testing.T) {
			raw, err := base64.StdEncoding.DecodeString(v.Gzip)
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []ledger.Kind{ledger.Facet, ledger.Artifact} {
				_, err = servertest.Put(f, kind, "acme-review", data, "")
				p := servertest.RequireRefused(t, err, http.StatusUnprocessableEntity)
				if v.Error != "" && len(p.Errors) == 0 || kind == ledger.Artifact && v.Mismatch != nil {
					continue
				}
				var failed []string
				for id, h := range p.Details {
					_, member, _ := strings.Cut(id, "/")
					failed = append(failed, member)
					if h.Status != registry.HashMismatch || h.Expected == "" || h.Actual == "" ||
						h.Expected == h.Actual {
						t.Errorf("%s: %+v", id, h)
					}
				}
				if slices.Sort(failed); v.Mismatch != nil && !slices.Equal(failed, v.Mismatch) {
					t.Errorf("failed %q; want %q", failed, v.Mismatch)
				}
			}
		})
	}
	if forged < 20 {
		t.Errorf("only %d forged archives", forged)
	}
	page, _, err := f.Config.ArchiveRecords.ListArchives(context.Background(), ledger.Facet,
		registry.Query{Deleted: true})
	if err != nil || len(page) != 0 {
		t.Errorf("kept %v, %v", registrytest.ArchiveSubjects(page), err)
	}
	if state, err := f.Config.Records.(*sqlite.DB).LogState(context.Background()); err != nil || state.Size != 0 {
		t.Errorf("%d entries, %v", state.Size, err)
	}
}

// What is no archive of the kind, or of the name, is refused.
func TestFacetsRefused(t *testing.T) {
	f, _ := servertest.FacetServer(t, nil)
	good, _ := servertest.NewFacet(t, "notes", "1.0.0", "x")
	server, _ := servertest.NewServerArchive(t, "notes", "1.0.0")
	private, _ := servertest.PackFacet(t,
		map[string]string{
			"facet.json": `{"name": "notes", "version": "1.0.0", "private": true, "agents": {"a": {"description": ` +
				`"x"}}}`, "agents/a.md": "x"})
	number, _ := servertest.PackFacet(t,
		map[string]string{
			"facet.json": `{"name": "notes", "version": "1.0.0", "agents": {"a": {"description": "x", "adapters": ` +
				`{"n": {"x": 9007199254740993}}}}}`, "agents/a.md": "x"})
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for _, c := range []struct {
		what   string
		kind   ledger.Kind
		name   string
		data   []byte
		status int
		want   string
	}{
		{"another name", ledger.Facet, "other", good, http.StatusUnprocessableEntity, "the path names another archive"},
		{"a facet as a server", ledger.Artifact, "notes", good, http.StatusUnprocessableEntity,
			"published under facets"},
		{"a server as a facet", ledger.Facet, "notes", server, http.StatusUnprocessableEntity,
			"published under artifacts"},
		{"private", ledger.Facet, "notes", private, http.StatusUnprocessableEntity, "a private facet is not published"},
		{"no canonical form", ledger.Facet, "notes", number, http.StatusUnprocessableEntity, "9007199254740993"},
		{"empty", ledger.Facet, "notes", []byte{}, http.StatusUnprocessableEntity, ""},
		{"no archive", ledger.Facet, "notes", []byte("hello"), http.StatusUnprocessableEntity, ""},
		{"a flipped bit", ledger.Facet, "notes", flipped, http.StatusUnprocessableEntity, ""},
		{"truncated", ledger.Facet, "notes", good[:len(good)-512], http.StatusUnprocessableEntity, ""},
		{"too large", ledger.Facet, "notes", make([]byte, 1<<20+1), http.StatusRequestEntityTooLarge, ""},
	} {
		_, err := servertest.Put(f, c.kind, c.name, c.data, "")
		t.Log(c.what, err)
		servertest.RequireRefused(t, err, c.status, c.want)
	}
	if n := f.Counters.Published.Load(); n != 0 {
		t.Errorf("%d were published", n)
	}
	// All failures at once: the name beside the hashes.
	both := bytes.Clone(good)
	// of build-manifest.json, contents that no header has a checksum of
	i := bytes.Index(both, []byte("sha256:")) + len("sha256:")
	copy(both[i:], strings.Repeat("0", 64))
	_, err := servertest.Put(f, ledger.Facet, "other", both, "")
	p := servertest.RequireRefused(t, err, http.StatusUnprocessableEntity, "path.name", "did not match")
	if len(p.Details) != 1 || p.Failure != registry.HashFailed {
		t.Errorf("%+v", p)
	}
}

// Of 64 uploads of one version with different bytes one wins; the others are told so.
func TestFacetsConcurrently(t *testing.T) {
	f, _ := servertest.FacetServer(t, func(c *api.Config) { c.Transport.Parallel = 64 })
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	var won registry.ArchiveRecord
	for i := range 64 {
		data, _ := servertest.NewFacet(t, "notes", "1.0.0", fmt.Sprint("critic ", i))
		wg.Go(func() {
			rec, err := servertest.Put(f, ledger.Facet, "notes", data, "")
			mu.Lock()
			defer mu.Unlock()
			var p *registry.Problem
			switch {
			case err == nil:
				won = rec
				statuses[http.StatusOK]++
			case errors.As(err, &p):
				statuses[p.Status]++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if statuses[http.StatusOK] != 1 || statuses[http.StatusConflict] != 63 {
		t.Fatalf("%v", statuses)
	}
	got, err := f.ArchiveRecord(context.Background(), "facet", "notes", "1.0.0")
	if err != nil || registrytest.FormatArchive(t, got) != registrytest.FormatArchive(t, won) {
		t.Errorf("%s, %v; won %s", registrytest.FormatArchive(t, got), err, registrytest.FormatArchive(t, won))
	}
	if state, err := f.Config.Records.(*sqlite.DB).LogState(context.Background()); err != nil || state.Size != 1 {
		t.Errorf("%d entries, %v", state.Size, err)
	}
}

// Tokens are asked for before anything is read, and their rate is limited.
func TestFacetsAuthorized(t *testing.T) {
	f, _ := servertest.FacetServer(t, func(c *api.Config) {
		c.AllowAnonymous, c.Limits.Writes = false, api.Rate{PerSecond: 0.001, Burst: 3}
	})
	token := func(resource string) string { return servertest.NewToken(t, f, resource) }
	data, _ := servertest.NewFacet(t, "@acme/notes", "1.0.0", "x")
	_, err := servertest.Put(f, ledger.Facet, "@acme/notes", data, "")
	servertest.RequireRefused(t, err, http.StatusUnauthorized, "needs a token")
	_, err = servertest.Put(f, ledger.Facet, "@acme/notes", data, token("@other/*"))
	servertest.RequireRefused(t, err, http.StatusForbidden, "io.github.acme/*")
	_, err = servertest.Put(f, ledger.Facet, "@acme/notes", data, token("com.acme/*"))
	servertest.RequireRefused(t, err, http.StatusForbidden)
	mine := token("io.github.acme/*")
	if rec, err := servertest.Put(f, ledger.Facet, "@acme/notes", data, mine); err != nil ||
		!strings.HasPrefix(rec.Publisher, "token:") {
		t.Errorf("%+v, %v", rec, err)
	}
	for range 2 {
		if _, err := servertest.Put(f, ledger.Facet, "@acme/notes", data, mine); err != nil {
			t.Error(err)
		}
	}
	_, err = servertest.Put(f, ledger.Facet, "@acme/notes", data, mine)
	if p := servertest.RequireRefused(t, err, http.StatusTooManyRequests); p.RetryAfter == 0 {
		t.Error("no Retry-After")
	}
	// A page in a browser cannot publish without a token.
	r, _ := http.NewRequest("POST", f.URL+"/v0/facets/@acme/notes/versions", bytes.NewReader(data))
	r.Header.Set("Origin", "https://evil.example.com")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v, %v", answer, err)
	}
	answer.Body.Close()
}
