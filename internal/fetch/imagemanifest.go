package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// FetchTag downloads the manifest that a tag of the repository "host/name" leads to now.
// Unlike in a Ref the tag may be latest.
func (c *Client) FetchTag(ctx context.Context, repository, tag string) (*Download, error) {
	shown := "oci:" + repository + ":" + tag
	ref, err := artifact.Parse(shown)
	if err != nil { // for latest, which is no exact Ref: only the repository of this one is used
		if ref, err = artifact.Parse("oci:" + repository + "@" + digest.FromBytes(nil).String()); err != nil {
			return nil, err
		}
	}
	ctx, release, err := c.begin(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	d, err := c.fetchManifest(ctx, ref, tag, []digest.Algorithm{digest.SHA256})
	if e, ok := errors.AsType[*wire.Error](err); ok {
		e.Ref = shown
	}
	return d, err
}

// FetchBlob downloads the blob of ref's repository that has ref's digest.
func (c *Client) FetchBlob(ctx context.Context, ref artifact.Ref) (*Download, error) {
	if ref.Kind() != artifact.OCI || ref.Digest().IsZero() {
		return nil, unsupportedKind(ref)
	}
	ctx, release, err := c.begin(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	repo, err := c.ociRepository(ctx, ref)
	if err != nil {
		return nil, err
	}
	r := repo.get(c, "blobs", ref.Digest().String())
	r.Most = 0 // as large as a file may be
	return c.download(ctx, ref, r, []digest.Algorithm{digest.SHA256})
}

// Image is what a manifest says: of an index its images, of an image its blobs.
type Image struct {
	MediaType string
	Platforms map[string]digest.Digest // of an index: manifests by platform, "linux/arm64/v8"
	Children  []digest.Digest          // of an index: every manifest, also those that are no image
	Config    digest.Digest            // of an image
	Blobs     []digest.Digest          // of an image: its configuration and its layers
}

// maxDescriptors bounds what a manifest lists.
const maxDescriptors = 1000

// ReadImage reads a manifest.
func ReadImage(data []byte) (*Image, error) {
	sha256 := func(h v1.Hash) (digest.Digest, error) {
		d, err := digest.Parse(h.String())
		if err == nil && d.Algorithm() != digest.SHA256 {
			err = fmt.Errorf("the digest %s of a descriptor is no sha256", wire.Quoted(h.String()))
		}
		return d, err
	}
	if index, err := v1.ParseIndexManifest(bytes.NewReader(data)); err == nil && index.MediaType.IsIndex() {
		if len(index.Manifests) == 0 || len(index.Manifests) > maxDescriptors {
			return nil, fmt.Errorf("is an index of %d images", len(index.Manifests))
		}
		m := &Image{MediaType: string(index.MediaType), Platforms: map[string]digest.Digest{}}
		for _, d := range index.Manifests {
			sum, err := sha256(d.Digest)
			if err != nil {
				return nil, err
			}
			m.Children = append(m.Children, sum)
			if d.Platform == nil || d.Platform.OS == "unknown" || !d.MediaType.IsImage() {
				continue
			}
			platform := d.Platform.OS + "/" + d.Platform.Architecture
			if d.Platform.Variant != "" {
				platform += "/" + d.Platform.Variant
			}
			if _, ok := m.Platforms[platform]; !ok { // engines take the first that fits
				m.Platforms[platform] = sum
			}
		}
		return m, nil
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(data))
	if err != nil || manifest.Config.Digest.Hex == "" {
		return nil, errors.New("is no manifest of an image")
	}
	if len(manifest.Layers) > maxDescriptors {
		return nil, fmt.Errorf("is an image of %d layers", len(manifest.Layers))
	}
	m := &Image{MediaType: string(manifest.MediaType)}
	if m.Config, err = sha256(manifest.Config.Digest); err != nil {
		return nil, err
	}
	m.Blobs = append(m.Blobs, m.Config)
	for _, l := range manifest.Layers {
		if len(l.URLs) > 0 {
			return nil, errors.New("has a layer that is kept elsewhere than in its registry")
		}
		d, err := sha256(l.Digest)
		if err != nil {
			return nil, err
		}
		m.Blobs = append(m.Blobs, d)
	}
	return m, nil
}
