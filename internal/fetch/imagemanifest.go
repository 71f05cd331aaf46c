package fetch

import (
	"bytes"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Image is what a manifest lists: that of an index its images, that of an image its blobs.
type Image struct {
	MediaType string
	Platforms map[string]digest.Digest // of an index: manifests by platform, "linux/arm64/v8"
	Children  []digest.Digest          // of an index: all manifests, also those of no image
	Config    digest.Digest            // of an image
	Blobs     []digest.Digest          // of an image: its configuration and its layers
}

// maxDescriptors bounds what a manifest lists.
const maxDescriptors = 1000

// ReadImage reads the manifest of an image or of an index.
func ReadImage(data []byte) (*Image, error) {
	if index, err := v1.ParseIndexManifest(bytes.NewReader(data)); err == nil && index.MediaType.IsIndex() {
		return readIndex(index)
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(data))
	if err != nil || manifest.Config.Digest.Hex == "" {
		return nil, errors.New("is no manifest of an image")
	}
	if len(manifest.Layers) > maxDescriptors {
		return nil, fmt.Errorf("is an image of %d layers", len(manifest.Layers))
	}
	m := &Image{MediaType: string(manifest.MediaType)}
	if m.Config, err = parseSHA256(manifest.Config.Digest); err != nil {
		return nil, err
	}
	m.Blobs = append(m.Blobs, m.Config)
	for _, l := range manifest.Layers {
		if len(l.URLs) > 0 {
			return nil, errors.New("has a layer that is kept elsewhere than in its registry")
		}
		d, err := parseSHA256(l.Digest)
		if err != nil {
			return nil, err
		}
		m.Blobs = append(m.Blobs, d)
	}
	return m, nil
}

// readIndex reads the manifest of an index.
func readIndex(index *v1.IndexManifest) (*Image, error) {
	if len(index.Manifests) == 0 || len(index.Manifests) > maxDescriptors {
		return nil, fmt.Errorf("is an index of %d images", len(index.Manifests))
	}
	m := &Image{MediaType: string(index.MediaType), Platforms: map[string]digest.Digest{}}
	for _, d := range index.Manifests {
		sum, err := parseSHA256(d.Digest)
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
		if _, ok := m.Platforms[platform]; !ok { // engines take the first that matches
			m.Platforms[platform] = sum
		}
	}
	return m, nil
}

// parseSHA256 reads the digest of a descriptor, which must be a sha256.
func parseSHA256(h v1.Hash) (digest.Digest, error) {
	d, err := digest.Parse(h.String())
	if err == nil && d.Algorithm() != digest.SHA256 {
		err = fmt.Errorf("the digest %s of a descriptor is no sha256", wire.Quoted(h.String()))
	}
	return d, err
}
