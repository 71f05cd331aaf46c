package serverjson

import (
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// checkFileSHA256 checks the member fileSha256 of a package against file_hashes.
func (v *validation) checkFileSHA256(p Package, ref artifact.Ref) {
	at := p.Pointer + "/fileSha256"
	switch {
	case p.FileSHA256 == "" && p.RegistryType == model.RegistryTypeMCPB:
		v.warn(at, "file-sha256-missing", "the official registry demands fileSha256 for mcpb packages")
		return
	case p.FileSHA256 == "":
		return
	case p.RegistryType != model.RegistryTypeMCPB:
		v.warn(at, "file-sha256-not-mcpb", "the official registry refuses fileSha256 for %s packages; use file_hashes",
			p.RegistryType)
	}
	own, err := digest.ParseHex(digest.SHA256, p.FileSHA256)
	if err != nil {
		return // reported as pattern
	}
	for _, h := range v.hashes[ref.Normal()] {
		if disagrees(own, h.Value) {
			v.fail(at, "hashes-disagree", "is not the digest that %s gives for the same file", h.Pointer)
		}
	}
}

// disagrees reports whether text is a digest under d's algorithm and another than d.
func disagrees(d digest.Digest, text string) bool {
	c, _, ok := evidence.ParseClaim(evidence.Claim{}, text)
	return ok && evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{d}}).Outcome == evidence.Mismatch
}

// checkFileHashes checks the entries of file_hashes.
func (v *validation) checkFileHashes(d *Document) {
	given, seen := d.givenRefs(), map[artifact.Ref]bool{}
	strangers := map[artifact.Ref]int{} // files with a hash, by the release that no package gives
	for _, h := range d.FileHashes {
		claimed, err := digest.Parse(h.Value)
		if unknown, ok := errors.AsType[*digest.UnknownAlgorithmError](err); ok {
			v.warn(h.Pointer, "hash-algorithm-unknown", "%v: the claim cannot be verified", unknown)
		} else if err != nil {
			v.fail(h.Pointer, "hash-malformed", "%v", err)
		} else if claimed.Algorithm() != digest.SHA256 {
			v.fail(h.Pointer, "hash-not-sha256", "file_hashes holds sha256 digests, not %s", claimed.Algorithm())
		}
		if h.Ref.IsZero() {
			_, err := artifact.Parse(h.Key)
			v.fail(h.Pointer, "hash-key-invalid", "%v", err)
			continue
		}
		if release := h.Ref.Release(); !given[release] {
			if strangers[release]++; strangers[release] > 1 {
				continue // was said of the first file of the release
			}
			v.fail(h.Pointer, "hash-key-stranger", "no package of the document gives %+q%s: it may be of an older "+
				"version",
				clip(h.Key), d.othersOf(release))
		}
		ref := h.Ref.Normal()
		first := v.hashes[ref][0]
		switch {
		case !seen[ref]:
			seen[ref] = true
		case strings.HasPrefix(first.Pointer, metaPointer) == strings.HasPrefix(h.Pointer, metaPointer):
			v.fail(h.Pointer, "hash-key-duplicate", "the same file as %s", first.Pointer)
		case err == nil && disagrees(claimed, first.Value):
			v.fail(h.Pointer, "hashes-disagree", "is not the digest that %s gives for the same file", first.Pointer)
		}
	}
}

// othersOf says how many more entries of file_hashes are of a release.
func (d *Document) othersOf(release artifact.Ref) string {
	n := -1
	for _, h := range d.FileHashes {
		if !h.Ref.IsZero() && h.Ref.Release() == release {
			n++
		}
	}
	if n <= 0 {
		return ""
	}
	return " and " + evidence.Count(n, "other file") + " of its release"
}

// Claims returns a claim for each entry of file_hashes and each fileSha256, and
// evidence for those that cannot be verified as they are written: because they are no
// digest or no Ref, or name a file that no package of the document gives, which is not
// fetched. where names the document in messages, such as "server.json".
func (d *Document) Claims(where string) ([]evidence.Claim, evidence.Report) {
	var (
		claims []evidence.Claim
		cannot evidence.Report
	)
	given := d.givenRefs()
	for _, h := range d.FileHashes {
		c := evidence.Claim{
			Subject: h.Key, Scheme: evidence.File, Text: h.Value,
			Authority: evidence.Publisher, Where: where + ", file_hashes",
		}
		if strings.HasPrefix(h.Pointer, metaPointer) {
			c.Where = where + ", _meta file_hashes"
		}
		if h.Ref.IsZero() {
			_, err := artifact.Parse(h.Key)
			cannot = append(cannot, evidence.CannotVerify(c, evidence.Malformed, err.Error()))
			continue
		}
		if !given[h.Ref.Release()] {
			cannot = append(cannot, evidence.CannotVerify(c, evidence.Malformed,
				"no package of the document gives this file"))
			continue
		}
		if c, bad, ok := evidence.ParseClaim(c, h.Value); ok {
			claims = append(claims, c)
		} else {
			cannot = append(cannot, bad)
		}
	}
	for _, p := range d.Packages {
		if p.FileSHA256 == "" {
			continue
		}
		if c, err := d.claimOf(p, where); err != nil {
			cannot = append(cannot, evidence.CannotVerify(c, evidence.Malformed, err.Error()))
		} else {
			claims = append(claims, c)
		}
	}
	return claims, cannot
}

// claimOf is the claim of a package's fileSha256, or an error if that or the package's identifier cannot be read.
func (d *Document) claimOf(p Package, where string) (evidence.Claim, error) {
	c := evidence.Claim{
		Subject: p.Identifier, Scheme: evidence.File, Text: p.FileSHA256,
		Authority: evidence.Publisher, Where: where + ", fileSha256",
	}
	ref, err := p.Ref()
	if err != nil {
		return c, err
	}
	c.Subject = ref.String()
	if i := slices.IndexFunc(d.FileHashes, func(h FileHash) bool {
		return h.Ref.Normal() == ref.Normal()
	}); i >= 0 {
		c.Subject = d.FileHashes[i].Key // one file has one name, as in "github:" for a URL
	}
	want, err := digest.ParseHex(digest.SHA256, p.FileSHA256)
	if err == nil {
		c.Want = []digest.Digest{want}
	}
	return c, err
}
