package artifact

import (
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

var (
	ociRepo = spelling.Form(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	ociTag  = spelling.Form(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
)

// NewOCI names a manifest by an image reference host/repo[:tag][@sha256:hex]. The
// host is never implied: a reference without one names different images in different
// places.
func NewOCI(identifier string) (Ref, error) { return Parse("oci:" + identifier) }

func parseOCI(s string) (Ref, error) {
	s, sum, hasDigest := strings.Cut(s, "@")
	host, repo, ok := strings.Cut(s, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return Ref{}, refuse(PartURL, "names no registry host; write oci:host/repository:tag")
	}
	if err := checkHost(host); err != nil {
		return Ref{}, err
	}
	repo, tag, hasTag := strings.Cut(repo, ":")
	r := Ref{kind: OCI, name: host + "/" + repo, version: tag}
	switch {
	case len(repo) > 255 || !ociRepo().MatchString(repo):
		return Ref{}, refuse(PartName, "malformed repository")
	case hasTag && !ociTag().MatchString(tag):
		return Ref{}, refuse(PartVersion, "malformed tag")
	case !hasTag && !hasDigest:
		return Ref{}, refuse(PartVersion, "has neither a tag nor a digest")
	case tag == "latest" && !hasDigest:
		return Ref{}, refuse(PartVersion, `the tag "latest" without a digest is not exact`)
	case !hasDigest:
		return r, nil
	}
	hex, ok := strings.CutPrefix(sum, "sha256:")
	if _, err := digest.ParseHex(digest.SHA256, hex); !ok || err != nil || hex != strings.ToLower(hex) {
		return Ref{}, refuse(PartDigest, "the digest is not sha256: and 64 lower-case hex digits")
	}
	r.sha256 = hex
	return r, nil
}

// normalRepository spells the default registry of image references, which goes by
// several names and has an implied first segment, in one way.
func normalRepository(s string) string {
	repo, err := name.NewRepository(s)
	if err != nil {
		return s
	}
	return repo.RegistryStr() + "/" + repo.RepositoryStr()
}
