package blobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

// A wait of ours that is over is an error that passes; the end of the caller's context is
// that.
func TestS3Waits(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	h := new(registrytest.HostileS3)
	h.Mode.Store("silent")
	proxy := httptest.NewServer(h)
	defer proxy.Close()
	b, err := openS3(t.Context(), fmt.Sprintf("s3://b/?endpoint=%s&path-style=true", url.QueryEscape(proxy.URL)),
		50*time.Millisecond, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.FromBytes([]byte("x"))
	if _, err := b.Stat(t.Context(), sum); !errors.Is(err, registry.ErrUnavailable) {
		t.Errorf("stat: %v", err)
	}
	if _, err := b.Open(t.Context(), sum, 0, -1); !errors.Is(err, registry.ErrUnavailable) {
		t.Errorf("open: %v", err)
	}
	b.wait, b.client = time.Hour, func() *S3 {
		patient, err := openS3(t.Context(),
			fmt.Sprintf("s3://b/?endpoint=%s&path-style=true", url.QueryEscape(proxy.URL)), time.Hour, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return patient
	}().client
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Stat(ctx, sum); errors.Is(err, registry.ErrUnavailable) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's end: %v", err)
	}
}

// A bucket that is not there for now, as where a server has not mounted its disks, has lost
// nothing: neither a blob nor what was signed last.
func TestS3WithoutItsBucket(t *testing.T) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
		"AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE":           "none", "AWS_SHARED_CREDENTIALS_FILE": "none"} {
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
	b, err := OpenS3(ctx, "s3://bucket/prefix?path-style=true&endpoint="+url.QueryEscape(srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	heads, sum := b.Heads(), digest.FromBytes(nil)

	code.Store("NoSuchBucket")
	if _, _, err := heads.Load(ctx); !errors.Is(err, registry.ErrUnavailable) {
		t.Errorf("load: %v", err)
	}
	for _, tag := range []string{"", "tag"} {
		if _, err := heads.Swap(ctx, tag, []byte("note")); !errors.Is(err, registry.ErrUnavailable) ||
			errors.Is(err, registry.ErrMoved) {
			t.Errorf("swap of %q: %v", tag, err)
		}
	}
	if _, err := b.Open(ctx, sum, 0, -1); !errors.Is(err, registry.ErrUnavailable) ||
		errors.Is(err, registry.ErrNotFound) {
		t.Errorf("open: %v", err)
	}

	code.Store("NoSuchKey")
	if note, tag, err := heads.Load(ctx); note != nil || tag != "" || err != nil {
		t.Errorf("load of nothing: %q %q %v", note, tag, err)
	}
	if _, err := heads.Swap(ctx, "tag", []byte("note")); !errors.Is(err, registry.ErrMoved) {
		t.Errorf("swap of nothing: %v", err)
	}
	if _, err := b.Open(ctx, sum, 0, -1); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("open of nothing: %v", err)
	}
}
