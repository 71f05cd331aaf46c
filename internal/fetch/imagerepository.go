package fetch

import (
	"errors"
	"net/url"
	"strings"

	ociname "github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// ociRepository is where the manifests and blobs of an oci: Ref are, and how it is asked.
type ociRepository struct {
	name   ociname.Repository
	base   *url.URL // of the API: scheme and host
	plain  bool     // base is plain http
	header string   // Authorization, "" for none
}

// parseRepository returns the repository of an oci: Ref, before its registry was asked
// anything.
func parseRepository(ref artifact.Ref) (*ociRepository, error) {
	repo, err := ociname.NewRepository(ref.Name())
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: errors.New("it names no repository that can be asked for")}
	}
	return &ociRepository{name: repo, base: &url.URL{Scheme: "https", Host: repo.RegistryStr()}}, nil
}

// RepositoryHost returns the host of a repository "host/name" of images, "" if it is none.
func RepositoryHost(repository string) string {
	repo, err := ociname.NewRepository(repository)
	if err != nil {
		return ""
	}
	return wire.HostPort(&url.URL{Host: repo.RegistryStr()})
}

// request returns the request for one of "manifests" or "blobs" by its tag or digest.
func (r *ociRepository) request(c *Client, what, reference string) transfer.Request {
	u := *r.base
	u.Path = "/v2/" + r.name.RepositoryStr() + "/" + what + "/" + reference
	q := transfer.Request{URL: &u, Most: c.limits.DocumentSize, Authorization: func(*url.URL) (string, error) {
		return r.header, nil // it is called for the registry's host alone
	}}
	if what == "manifests" {
		q.Accept, q.Most = ociAccept, min(maxManifest, c.limits.DocumentSize)
	}
	if r.plain {
		q.PlainHost = r.base.Host
	}
	return q
}

// ociAccept are the media types of manifests that are asked for: of images and of indexes, as
// OCI and as docker write them. A registry with none of these must not convert another.
var ociAccept = strings.Join([]string{
	string(types.OCIImageIndex), string(types.DockerManifestList),
	string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
}, ", ")

// maxManifest is the size in bytes up to which a registry has to accept a manifest, by the
// specification of distribution; larger ones are refused here.
const maxManifest = 4 << 20

// ociReference returns what is asked for: the digest of ref, or its tag if it has no digest.
func ociReference(ref artifact.Ref) string {
	if d := ref.Digest(); !d.IsZero() {
		return d.String()
	}
	return ref.Version()
}
