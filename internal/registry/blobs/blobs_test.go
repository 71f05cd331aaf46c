package blobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/s3"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

func TestFileBlobs(t *testing.T) {
	dir := t.TempDir()
	testBlobs(t, func(t *testing.T) registry.Blobs {
		b, err := OpenFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	left, err := os.ReadDir(filepath.Join(dir, "incoming"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestS3Blobs(t *testing.T) {
	server := s3.ForTest(t)
	testBlobs(t, func(t *testing.T) registry.Blobs {
		b, err := OpenS3(context.Background(), server.URL("a/b"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

// testBlobs is the conformance suite. Every open gives the same blobs.
func testBlobs(t *testing.T, open func(*testing.T) registry.Blobs) {
	ctx := context.Background()
	text := []byte("0123456789")
	sum := digest.FromBytes(text)
	read := func(t *testing.T, b registry.Blobs, sum digest.Digest, offset, length int64) string {
		t.Helper()
		r, err := b.Open(ctx, sum, offset, length)
		if err != nil {
			t.Fatalf("open %d, %d: %v", offset, length, err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatalf("read %d, %d: %v", offset, length, err)
		}
		return string(got)
	}

	t.Run("put and read", func(t *testing.T) {
		a, b := open(t), open(t)
		if err := a.Check(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Stat(ctx, sum); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("stat of nothing: %v", err)
		}
		for _, length := range []int64{-1, 0, 4} {
			if _, err := a.Open(ctx, sum, 0, length); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("open of nothing: %v", err)
			}
		}
		if stored, err := a.Put(ctx, sum, 10, bytes.NewReader(text)); err != nil || !stored {
			t.Fatalf("stored %t, error %v", stored, err)
		}
		// The bytes are not even looked at.
		if stored, err := b.Put(ctx, sum, 10, unreadable{}); err != nil || stored {
			t.Errorf("again: stored %t, error %v", stored, err)
		}
		if _, err := b.Put(ctx, sum, 9, bytes.NewReader(text)); !errors.Is(err, registry.ErrBlobDiffers) {
			t.Errorf("with another size: %v", err)
		}
		if size, err := b.Stat(ctx, sum); err != nil || size != 10 {
			t.Errorf("size %d, error %v", size, err)
		}
		for _, c := range []struct {
			offset, length int64
			want           string
		}{{0, -1, "0123456789"}, {0, 10, "0123456789"}, {3, -1, "3456789"}, {3, 4, "3456"}, {9, 1, "9"}, {8, 100, "89"},
			{0, 0, ""}, {10, -1, ""}, {10, 5, ""}, {0, 1, "0"}} {
			if got := read(t, b, sum, c.offset, c.length); got != c.want {
				t.Errorf("from %d, %d bytes: %q, want %q", c.offset, c.length, got, c.want)
			}
		}
	})

	t.Run("empty", func(t *testing.T) {
		b := open(t)
		none := digest.FromBytes(nil)
		if stored, err := b.Put(ctx, none, 0, bytes.NewReader(nil)); err != nil || !stored {
			t.Fatalf("stored %t, error %v", stored, err)
		}
		if got := read(t, b, none, 0, -1); got != "" {
			t.Errorf("read %q", got)
		}
	})

	t.Run("only what has the digest", func(t *testing.T) {
		b := open(t)
		want := digest.FromBytes([]byte("wanted bytes"))
		for name, bytesOf := range map[string]string{"other bytes": "wanted bytez", "too few": "wanted byte",
			"none": ""} {
			if stored, err := b.Put(ctx, want, 12, bytes.NewReader([]byte(bytesOf))); !errors.Is(err,
				registry.ErrBlobDiffers) || stored {
				t.Errorf("%s: stored %t, error %v", name, stored, err)
			}
		}
		if _, err := b.Stat(ctx, want); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("kept: %v", err)
		}
		for _, bad := range []digest.Digest{{}, mustDigest(t, "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709")} {
			if _, err := b.Put(ctx, bad, 0, bytes.NewReader(nil)); err == nil {
				t.Errorf("put under %q", bad)
			}
			if _, err := b.Stat(ctx, bad); err == nil || errors.Is(err, registry.ErrNotFound) {
				t.Errorf("stat of %q: %v", bad, err)
			}
		}
	})

	t.Run("one of many stores", func(t *testing.T) {
		large := bytes.Repeat([]byte("abcdefgh"), 1<<17)
		sum := digest.FromBytes(large)
		var (
			wg     sync.WaitGroup
			stores atomic.Int32
		)
		for range 8 {
			b := open(t)
			wg.Go(func() {
				stored, err := b.Put(ctx, sum, int64(len(large)), bytes.NewReader(large))
				if err != nil {
					t.Error(err)
				}
				if stored {
					stores.Add(1)
				}
			})
		}
		wg.Wait()
		if n := stores.Load(); n != 1 {
			t.Errorf("%d puts stored", n)
		}
		if got := read(t, open(t), sum, 0, -1); got != string(large) {
			t.Errorf("%d bytes, others", len(got))
		}
	})

	t.Run("cancelled", func(t *testing.T) {
		gone, cancel := context.WithCancel(ctx)
		cancel()
		b := open(t)
		other := digest.FromBytes([]byte("cancelled"))
		if _, err := b.Put(gone, other, 9, bytes.NewReader([]byte("cancelled"))); !errors.Is(err, context.Canceled) {
			t.Errorf("put: %v", err)
		}
		if _, err := b.Stat(ctx, other); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("kept: %v", err)
		}
	})

	presigner, ok := open(t).(registry.Presigner)
	if !ok { // these blobs have no URLs
		return
	}
	t.Run("presigned", func(t *testing.T) {
		url, err := presigner.Presign(ctx, sum, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if got, err := io.ReadAll(answer.Body); err != nil || string(got) != string(text) {
			t.Errorf("status %d: %.200q, %v", answer.StatusCode, got, err)
		}
	})
}

// unreadable fails a test that reads it.
type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errors.New("was read") }

func mustDigest(t *testing.T, s string) digest.Digest {
	t.Helper()
	d, err := digest.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What a killed process left is removed a day later; what is being put stays.
func TestFileBlobsLeftovers(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFiles(dir); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(dir, "incoming", "old"), filepath.Join(dir, "incoming", "young")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, []byte("part"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-abandonedAge - time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFiles(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("old: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
}

func TestS3URLs(t *testing.T) {
	for _, bad := range []string{"", "s3:", "s3:///prefix", "https://bucket/x", "s3://user@bucket/",
		"s3://b/p?endpoint=x", "s3://b/p?endpoint=ftp://h",
		"s3://b/p?path-style=maybe", "s3://b/p?Region=x", "s3://b/p#f"} {
		if _, err := OpenS3(context.Background(), bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for _, c := range []struct{ url, bucket, prefix string }{
		{"s3://b", "b", ""}, {"s3://b/", "b", ""}, {"s3://b/p", "b", "p/"}, {"s3://b/p/q/?region=eu-1", "b", "p/q/"},
	} {
		got, err := OpenS3(context.Background(), c.url)
		if err != nil || got.bucket != c.bucket || got.prefix != c.prefix {
			t.Errorf("%s: %v, %v", c.url, fmt.Sprintf("%+v", got), err)
		}
	}
}

// A server that is away is an error that passes, and is there again afterwards.
func TestS3Away(t *testing.T) {
	server := s3.ForTest(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	ctx := context.Background()
	b, err := OpenS3(ctx, server.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("kept")
	sum := digest.FromBytes(text)
	if _, err := b.Put(ctx, sum, 4, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Stat(ctx, sum); !errors.Is(err, registry.ErrUnavailable) {
		t.Errorf("stat: %v", err)
	}
	if err := b.Check(ctx); err == nil {
		t.Error("a server that is away passes the check")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if size, err := b.Stat(ctx, sum); err != nil || size != 4 {
		t.Errorf("size %d, error %v", size, err)
	}
}
