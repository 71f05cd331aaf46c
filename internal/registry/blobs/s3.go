package blobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// S3 keeps [registry.Blobs] as objects PREFIX/sha256/ab/abcd… of one bucket. An object is
// put with If-None-Match: *, which the server decides, so that none is replaced. Any
// number of registries share a bucket.
type S3 struct {
	client         *s3.Client
	writing        aws.HTTPClient // for puts, whose answers take longer
	wait           time.Duration  // for the beginning of an answer, and for each part of a blob
	presign        *s3.PresignClient
	bucket, prefix string
}

// Timeouts for an answer of the server. An answer of ours has time for three attempts with
// their pauses. A put is answered when the server has the object on its disks.
const (
	s3Wait    = 10 * time.Second
	s3PutWait = 3 * s3Wait
)

// OpenS3 connects to s3://BUCKET/PREFIX. The parameters of the URL are endpoint
// (a URL, if the server is not the region's own), region, and path-style=true for
// servers that have buckets in paths instead of host names. Credentials come from
// where the tools of AWS look for them: the environment, files, the machine's role.
func OpenS3(ctx context.Context, rawURL string) (*S3, error) {
	return openS3(ctx, rawURL, s3Wait, s3PutWait)
}

func openS3(ctx context.Context, rawURL string, wait, putWait time.Duration) (*S3, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, evidence.Errorf(evidence.Validation, "blobs", "",
			errors.New("not a URL of the form s3://bucket/prefix?endpoint=…"))
	}
	b := &S3{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), wait: wait, writing: s3Client(putWait)}
	if b.prefix != "" {
		b.prefix += "/"
	}
	server, err := parseS3Server(u.Query())
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "", "", err)
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(s3Client(wait)),
		config.WithRegion(server.region))
	if err != nil {
		return nil, fmt.Errorf("blobs: %w", err)
	}
	settings.Region = cmp.Or(settings.Region, "us-east-1") // a signature needs one; other servers ignore it
	b.client = s3.NewFromConfig(settings, func(o *s3.Options) {
		o.UsePathStyle = server.pathStyle
		if server.endpoint != "" {
			o.BaseEndpoint = aws.String(server.endpoint)
		}
		// Each object is sent with a checksum of ours; some servers refuse further ones.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	b.presign = s3.NewPresignClient(b.client)
	return b, nil
}

// s3Server is what the parameters of a URL say of the server.
type s3Server struct {
	endpoint, region string // "" is what the configuration says
	pathStyle        bool
}

// parseS3Server reads the parameters of a URL.
func parseS3Server(query url.Values) (s s3Server, err error) {
	for name, values := range query {
		value := values[len(values)-1]
		switch name {
		case "endpoint":
			e, err := url.Parse(value)
			if err != nil || e.Host == "" || e.Scheme != "https" && e.Scheme != "http" {
				return s, fmt.Errorf("blobs: endpoint %+q is not a URL", value)
			}
			s.endpoint = value
		case "region":
			s.region = value
		case "path-style":
			if s.pathStyle, err = strconv.ParseBool(value); err != nil {
				return s, fmt.Errorf("blobs: path-style %+q is neither true nor false", value)
			}
		default:
			return s, fmt.Errorf("blobs: unknown parameter %+q", name)
		}
	}
	return s, nil
}

// s3Client is the library's own client, except that it does not wait for ever for the
// beginning of an answer.
func s3Client(wait time.Duration) aws.HTTPClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = wait })
}

// status is the HTTP status of an answer that is an error, 0 if there was none.
func status(err error) int {
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}

// noBucket reports whether err says that there is no such bucket. A server may say so before it
// has mounted its disks, so that this does not mean that the blobs are gone.
func noBucket(err error) bool {
	answer, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err)
	return ok && answer.ErrorCode() == "NoSuchBucket"
}

// fault names a blob in err, and marks temporary errors. A timeout of ours looks like the end
// of a context, so fault asks ctx whether it ended.
func (b *S3) fault(ctx context.Context, sum digest.Digest, err error) error {
	switch s := status(err); {
	case s == http.StatusNotFound && !noBucket(err):
		return registry.ErrNotFound
	case ctx.Err() != nil:
		return err
	case s == 0, s >= 500, s == http.StatusTooManyRequests, noBucket(err):
		return fmt.Errorf("%w: blob %s: %w", registry.ErrUnavailable, sum, err)
	}
	return fmt.Errorf("blob %s: %w", sum, err)
}

func (b *S3) key(sum digest.Digest) (*string, error) {
	name, err := blobName(sum)
	return aws.String(b.prefix + name), err
}

// Put implements [registry.Blobs].
func (b *S3) Put(ctx context.Context, sum digest.Digest, size int64, r io.ReaderAt) (stored bool, err error) {
	key, err := b.key(sum)
	if err != nil {
		return false, err
	}
	there, err := b.Stat(ctx, sum)
	switch {
	case err == nil && there != size:
		return false, fmt.Errorf("%w: blob %s has %d bytes, not %d", registry.ErrBlobDiffers, sum, there, size)
	case !errors.Is(err, registry.ErrNotFound):
		return false, err
	}
	// Not every server checks the checksum: verify the bytes before any of them is sent.
	if _, err := io.Copy(io.Discard, registry.ContextReader(ctx, content(r, sum, size))); err != nil {
		return false, fmt.Errorf("blob %s: %w", sum, err)
	}
	for try := 0; ; try++ {
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &b.bucket, Key: key, Body: io.NewSectionReader(r, 0, size), ContentLength: &size,
			ContentType: aws.String("application/octet-stream"), IfNoneMatch: aws.String("*"),
			ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum.Bytes())),
		}, func(o *s3.Options) { o.HTTPClient = b.writing })
		switch status(err) {
		case http.StatusPreconditionFailed:
			return false, nil
		case http.StatusConflict: // another put is under way, and may fail
			if try < 5 {
				select {
				case <-ctx.Done():
					return false, ctx.Err()
				case <-time.After(100 * time.Millisecond << try):
				}
				continue
			}
		}
		if err != nil {
			return false, b.fault(ctx, sum, err)
		}
		return true, nil
	}
}

// Open implements [registry.Blobs].
func (b *S3) Open(ctx context.Context, sum digest.Digest, offset, length int64) (io.ReadCloser, error) {
	key, err := b.key(sum)
	if err != nil {
		return nil, err
	}
	in := &s3.GetObjectInput{Bucket: &b.bucket, Key: key}
	switch {
	case length == 0:
		_, err := b.Stat(ctx, sum)
		return io.NopCloser(bytes.NewReader(nil)), err
	case length > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	case offset > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	reading, cancel := context.WithCancelCause(ctx)
	out, err := b.client.GetObject(reading, in)
	if err != nil {
		cancel(nil)
		if status(err) == http.StatusRequestedRangeNotSatisfiable { // nothing lies beyond the end
			return io.NopCloser(bytes.NewReader(nil)), nil
		}
		return nil, b.fault(ctx, sum, err)
	}
	return &promptBody{ctx: reading, cancel: cancel, body: out.Body, wait: b.wait}, nil
}

// promptBody is a body that fails with a temporary error if its next part does not arrive
// within wait.
type promptBody struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	wait   time.Duration
}

var errSilent = errors.New("the server sends no more")

func (p *promptBody) Read(buf []byte) (int, error) {
	watch := time.AfterFunc(p.wait, func() { p.cancel(errSilent) })
	n, err := p.body.Read(buf)
	watch.Stop()
	if err != nil && context.Cause(p.ctx) == errSilent {
		err = fmt.Errorf("%w: %w", registry.ErrUnavailable, errSilent)
	}
	return n, err
}

func (p *promptBody) Close() error {
	p.cancel(nil)
	return p.body.Close()
}

// Stat implements [registry.Blobs].
func (b *S3) Stat(ctx context.Context, sum digest.Digest) (int64, error) {
	key, err := b.key(sum)
	if err != nil {
		return 0, err
	}
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.bucket, Key: key})
	if err != nil {
		return 0, b.fault(ctx, sum, err)
	}
	return aws.ToInt64(out.ContentLength), nil
}

// Check implements [registry.Blobs].
func (b *S3) Check(ctx context.Context) error {
	if _, err := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.bucket}); err != nil {
		return fmt.Errorf("bucket %s: %w", b.bucket, err)
	}
	return nil
}

// Presign implements [registry.Presigner].
func (b *S3) Presign(ctx context.Context, sum digest.Digest, d time.Duration) (string, error) {
	key, err := b.key(sum)
	if err != nil {
		return "", err
	}
	request, err := b.presign.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: key},
		s3.WithPresignExpires(d))
	if err != nil {
		return "", b.fault(ctx, sum, err)
	}
	return request.URL, nil
}
