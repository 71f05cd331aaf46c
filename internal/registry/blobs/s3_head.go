package blobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Heads keeps the checkpoint of a log that was signed last as the object PREFIX/log-head,
// for any number of registries that share the bucket. It is replaced with If-Match, which
// the server decides.
func (b *S3) Heads() registry.Heads { return s3Heads{b, b.prefix + "log-head"} }

type s3Heads struct {
	blobs *S3
	key   string
}

// String names the object.
func (h s3Heads) String() string { return h.key + " in the bucket " + h.blobs.bucket }

func (h s3Heads) fault(err error) error {
	if s := status(err); s == 0 || s >= 500 || s == http.StatusTooManyRequests || noBucket(err) {
		return fmt.Errorf("%w: log head: %w", registry.ErrUnavailable, err)
	}
	return fmt.Errorf("log head: %w", err)
}

// Load implements [registry.Heads].
func (h s3Heads) Load(ctx context.Context) ([]byte, string, error) {
	out, err := h.blobs.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &h.blobs.bucket, Key: &h.key})
	if status(err) == http.StatusNotFound && !noBucket(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", h.fault(err)
	}
	defer out.Body.Close()
	note, err := io.ReadAll(io.LimitReader(out.Body, ledger.MaxCheckpoint+1))
	if err != nil {
		return nil, "", h.fault(err)
	}
	if out.ETag == nil {
		return nil, "", errors.New("log head: the server gives no ETag")
	}
	return note, *out.ETag, nil
}

// Swap implements [registry.Heads].
func (h s3Heads) Swap(ctx context.Context, tag string, note []byte) (string, error) {
	in := &s3.PutObjectInput{Bucket: &h.blobs.bucket, Key: &h.key, Body: bytes.NewReader(note),
		ContentLength: aws.Int64(int64(len(note))), ContentType: aws.String("text/plain; charset=utf-8")}
	if tag == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &tag
	}
	out, err := h.blobs.client.PutObject(ctx, in)
	switch s := status(err); {
	case noBucket(err):
		return "", h.fault(err)
	case s == http.StatusPreconditionFailed, s == http.StatusConflict, s == http.StatusNotFound:
		return "", registry.ErrMoved
	}
	if err != nil {
		return "", h.fault(err)
	}
	if out.ETag == nil {
		return "", errors.New("log head: the server gives no ETag")
	}
	return *out.ETag, nil
}
