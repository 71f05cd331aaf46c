package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	ociname "github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// OCIConfig says how image registries are reached. Their hosts are in the Refs.
type OCIConfig struct {
	// Keychain gives credentials for a repository; nil means anonymous.
	Keychain authn.Keychain

	// PlainHTTP allows plain http to registries on this machine's loopback, for
	// those that are developed or tested here.
	PlainHTTP bool
}

// images are images of containers and indexes of them. Their registry is in the Ref.
type images struct{ ordinary }

func (images) kind() artifact.Kind { return artifact.OCI }

func (images) configure(config *Config, user *userconfig.Reader) error {
	config.OCI.Keychain = user.Keychain()
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

// RepositoryHost is the host that a repository "host/name" of images is at.
func RepositoryHost(repository string) string {
	repo, err := ociname.NewRepository(repository)
	if err != nil {
		return ""
	}
	return wire.HostPort(&url.URL{Host: repo.RegistryStr()})
}

// ociAccept are the manifests that are asked for: of images and of indexes, as OCI
// and as docker writes them. A registry that has none of these must not convert.
var ociAccept = strings.Join([]string{
	string(types.OCIImageIndex), string(types.DockerManifestList),
	string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
}, ", ")

// maxManifest is the largest manifest in bytes that a registry has to take, by the
// specification of distribution; larger ones are refused here.
const maxManifest = 4 << 20

// ociRepository is where the manifests and blobs of an oci: Ref are.
type ociRepository struct {
	name   ociname.Repository
	base   *url.URL // of the API: scheme and host
	plain  bool     // base is plain http
	header string   // Authorization, "" for none
}

// parseRepository is the repository of an oci: Ref, before its registry was asked
// anything.
func parseRepository(ref artifact.Ref) (*ociRepository, error) {
	repo, err := ociname.NewRepository(ref.Name())
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: errors.New("it names no repository that can be asked for")}
	}
	return &ociRepository{name: repo, base: &url.URL{Scheme: "https", Host: repo.RegistryStr()}}, nil
}

// ociRepository logs in to the repository of ref.
func (c *Client) ociRepository(ctx context.Context, ref artifact.Ref) (*ociRepository, error) {
	r, err := parseRepository(ref)
	if err != nil {
		return nil, err
	}
	r.plain = c.config.OCI.PlainHTTP && artifact.IsLoopback(r.base.Hostname()) // may be; the login finds out
	if err := c.ociLogin(ctx, ref, r); err != nil {
		return nil, err
	}
	return r, nil
}

// get asks for one of "manifests" or "blobs" by its tag or digest.
func (r *ociRepository) get(c *Client, what, reference string) transfer.Request {
	u := *r.base
	u.Path = "/v2/" + r.name.RepositoryStr() + "/" + what + "/" + reference
	q := transfer.Request{URL: &u, Most: c.limits.DocumentSize, Authorization: func(*url.URL) (string, error) {
		return r.header, nil // asked for the registry's host alone
	}}
	if what == "manifests" {
		q.Accept, q.Most = ociAccept, min(maxManifest, c.limits.DocumentSize)
	}
	if r.plain {
		q.PlainHost = r.base.Host
	}
	return q
}

// ociReference is what is asked for: the digest if there is one, whatever the tag is.
func ociReference(ref artifact.Ref) string {
	if d := ref.Digest(); !d.IsZero() {
		return d.String()
	}
	return ref.Version()
}

// fetch downloads the manifest of an image or index that the Ref names.
func (images) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	return c.fetchManifest(ctx, ref, ociReference(ref), algs)
}

// fetchManifest downloads the manifest of an image or index, as served. The digest in the
// Ref is a claim about it, and so is the one that the registry sends along.
func (c *Client) fetchManifest(ctx context.Context, ref artifact.Ref, reference string,
	algs []digest.Algorithm) (*Download, error) {
	repo, err := c.ociRepository(ctx, ref)
	if err != nil {
		return nil, err
	}
	var sent string
	r := repo.get(c, "manifests", reference)
	r.Head = func(resp *http.Response) { sent = resp.Header.Get("Docker-Content-Digest") }
	// Which algorithm the reply's header is under is known only afterwards.
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
