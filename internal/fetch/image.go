package fetch

import (
	"context"
	"errors"
	"net/http"
	"strings"

	ociname "github.com/google/go-containerregistry/pkg/name"
	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// images is the ecosystem of container images and indexes of them. A Ref names its registry.
type images struct{ defaults }

func (images) kind() artifact.Kind { return artifact.OCI }

func (images) configure(config *Config, user *userconfig.Reader) error {
	config.OCI.Keychain = user.Keychain()
	config.OCI.PlainHTTP = true // as docker and containerd do
	return nil
}

func (images) registries(Config) (public, configured []string) {
	return []string{"https://" + ociname.DefaultRegistry, model.RegistryURLQuay}, nil
}

func (images) packageHosts(_ Config, name string) []string {
	host, _, _ := strings.Cut(name, "/")
	return []string{host}
}

func (images) namedHost(ref artifact.Ref) string {
	repo, err := parseRepository(ref)
	if err != nil {
		return ""
	}
	return wire.HostOf(repo.base)
}

// fetch downloads the manifest of an image or index that the Ref names.
func (images) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	return c.fetchManifest(ctx, ref, ociReference(ref), algs)
}

// fetchManifest downloads the manifest of an image or index, as served. The digest in the Ref
// is a claim about it, and so is the one that the registry sends in a header.
func (c *Client) fetchManifest(ctx context.Context, ref artifact.Ref, reference string,
	algs []digest.Algorithm) (*Download, error) {
	repo, err := c.openRepository(ctx, ref)
	if err != nil {
		return nil, err
	}
	var sent string
	r := repo.request(c, "manifests", reference)
	r.Head = func(resp *http.Response) { sent = resp.Header.Get("Docker-Content-Digest") }
	// The algorithm of the header is known only when the reply comes.
	algs = append(algs, digest.SHA512)
	d, err := c.download(ctx, ref, r, algs)
	if err != nil {
		return nil, err
	}
	if !ref.Digest().IsZero() && reference == ref.Digest().String() {
		d.Claims = append(d.Claims, evidence.Claim{Subject: ref.String(), Scheme: evidence.File,
			Authority: evidence.Registry,
			Want:      []digest.Digest{ref.Digest()}, Where: "the digest in the reference"})
	}
	if sent != "" {
		claims, bad := registryClaim(ref, "the image registry, Docker-Content-Digest", sent)
		d.Claims, d.Unverifiable = append(d.Claims, claims...), bad
	}
	return d, nil
}

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
	d, err := asking(ctx, c, ref, func(ctx context.Context, c *Client) (*Download, error) {
		return c.fetchManifest(ctx, ref, tag, []digest.Algorithm{digest.SHA256})
	})
	if e, ok := errors.AsType[*wire.Error](err); ok {
		e.Ref = shown
	}
	return d, err
}

// FetchBlob downloads the blob of ref's repository that has ref's digest.
func (c *Client) FetchBlob(ctx context.Context, ref artifact.Ref) (*Download, error) {
	if ref.Kind() != artifact.OCI || ref.Digest().IsZero() {
		return nil, unsupportedKindError(ref)
	}
	return asking(ctx, c, ref, func(ctx context.Context, c *Client) (*Download, error) {
		repo, err := c.openRepository(ctx, ref)
		if err != nil {
			return nil, err
		}
		r := repo.request(c, "blobs", ref.Digest().String())
		r.Most = 0 // Limits.FileSize counts
		return c.download(ctx, ref, r, []digest.Algorithm{digest.SHA256})
	})
}
