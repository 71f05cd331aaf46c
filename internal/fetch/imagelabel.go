package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// OCILabel fetches a label of an image's configuration, "" if it has none of that
// name. Of an index the image for linux/amd64 is asked, as the official MCP registry
// does, or its first if there is none for that. Every document on the way is checked
// against the digest that led to it; the label is the publisher's text.
func (c *Client) OCILabel(ctx context.Context, ref artifact.Ref, label string) (string, error) {
	if ref.Kind() != artifact.OCI {
		return "", unsupportedKindError(ref)
	}
	c, err := c.withTool(ref.Kind())
	if err != nil {
		return "", err
	}
	ctx, release, err := c.begin(ctx, ref)
	if err != nil {
		return "", err
	}
	defer release()
	repo, err := c.openRepository(ctx, ref)
	if err != nil {
		return "", err
	}
	fail := func(cause evidence.Cause, err error) (string, error) {
		return "", &wire.Error{Ref: ref.String(), Cause: cause, URL: wire.ShowURL(repo.base), Err: err}
	}
	data, err := c.fetchContent(ctx, ref, repo, ociContent{"manifests", ociReference(ref), ref.Digest(), -1})
	if err != nil {
		return "", err
	}
	if index, err := v1.ParseIndexManifest(bytes.NewReader(data)); err == nil && len(index.Manifests) > 0 {
		child, ok := chooseImage(index.Manifests)
		if !ok {
			return fail(evidence.Unsupported, errors.New("the index has no image"))
		}
		if data, err = c.fetchDescribed(ctx, ref, repo, "manifests", child); err != nil {
			return "", err
		}
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(data))
	if err != nil || manifest.Config.Digest.Hex == "" {
		return fail(evidence.Unsupported, errors.New("the manifest is not that of an image with a configuration"))
	}
	if data, err = c.fetchDescribed(ctx, ref, repo, "blobs", manifest.Config); err != nil {
		return "", err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(data))
	if err != nil {
		return fail(evidence.Unsupported, errors.New("the image's configuration cannot be parsed"))
	}
	return config.Config.Labels[label], nil
}

// chooseImage returns the image for linux/amd64, or the first one. It skips what is no image,
// such as attestations, whose platform is "unknown".
func chooseImage(all []v1.Descriptor) (v1.Descriptor, bool) {
	var first *v1.Descriptor
	for _, d := range all {
		if !d.MediaType.IsImage() || d.Platform != nil && d.Platform.OS == "unknown" {
			continue
		}
		if d.Platform != nil && d.Platform.OS == "linux" && d.Platform.Architecture == "amd64" {
			return d, true
		}
		if first == nil {
			first = &d
		}
	}
	if first == nil {
		return v1.Descriptor{}, false
	}
	return *first, true
}

// fetchDescribed fetches what a descriptor describes.
func (c *Client) fetchDescribed(ctx context.Context, ref artifact.Ref, repo *ociRepository, what string,
	d v1.Descriptor) ([]byte, error) {
	want, err := digest.Parse(d.Digest.String())
	if err != nil || want.Weak() {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: wire.ShowURL(repo.base),
			Err: fmt.Errorf("the digest %s of a descriptor cannot be used", wire.Quoted(d.Digest.String()))}
	}
	return c.fetchContent(ctx, ref, repo, ociContent{what, want.String(), want, d.Size})
}

// ociContent is what is asked of a repository.
type ociContent struct {
	what      string        // "manifests" or "blobs"
	reference string        // tag or digest
	want      digest.Digest // of the content; zero is any
	size      int64         // of the content; -1 is any
}

// fetchContent fetches a manifest or blob into memory, and checks its digest and size.
func (c *Client) fetchContent(ctx context.Context, ref artifact.Ref, repo *ociRepository,
	o ociContent) ([]byte, error) {
	r := repo.request(c, o.what, o.reference)
	data, err := c.document(ctx, ref, r)
	if err != nil || o.want.IsZero() {
		return data, err
	}
	if _, err := io.Copy(io.Discard, digest.NewVerifier(bytes.NewReader(data), o.want, o.size)); err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unreachable, URL: wire.ShowURL(r.URL),
			Err: fmt.Errorf("the registry gave something else than was asked for: %w", err)}
	}
	return data, nil
}
