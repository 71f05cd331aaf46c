package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// distMember names a member of dist as the place of a claim.
func distMember(member string) string { return ManifestFile + ", dist." + member }

// Hash is dist.hash of the bundle under a profile.
func (b *Bundle) Hash(ctx context.Context, p tree.Profile) (digest.Digest, error) {
	if b.open == nil {
		return tree.DistHeld(ctx, p, b.Files, b.Contents)
	}
	return tree.Dist(ctx, p, b.Files, b.open, 1)
}

// sums are the sha256 digests of all files below dist/, by path.
func (b *Bundle) sums(ctx context.Context) (map[string]digest.Digest, error) {
	if b.open == nil {
		return tree.DigestsHeld(ctx, b.Files, b.Contents)
	}
	return tree.Digests(ctx, b.Files, b.open, 0)
}

// Tree is the fingerprint hallmark-tree-v1 of all files below dist/. No file of it counts
// as executable: the permission is lost by zips and on Windows, and Node does not ask.
func (b *Bundle) Tree(ctx context.Context) (digest.Digest, error) {
	if b.open == nil {
		d, _, err := tree.V1Held(ctx, b.Files, b.Contents)
		return d, err
	}
	d, _, err := tree.V1(ctx, b.Files, b.open, 1)
	return d, err
}

// FindProfile returns the profile that the manifest names, else the one under which hash, which computes dist
// hashes, gives its dist.hash, else guide.
func (m *Manifest) FindProfile(hash func(tree.Profile) (digest.Digest, error)) tree.Profile {
	if m.Profile != "" {
		return m.Profile
	}
	want, err := digest.Parse(m.Dist.Hash)
	if err != nil {
		return tree.Guide
	}
	for _, p := range tree.Profiles() {
		if d, err := hash(p); err == nil && evidence.Same(d, want) {
			return p
		}
	}
	return tree.Guide
}

// distEvidence compares dist.hash and returns the profile that gave it, or the one that
// is expected if none did.
func (c *check) distEvidence(ctx context.Context) (tree.Profile, error) {
	claim := c.claim(evidence.Dist, distMember("hash"))
	profiles := tree.Profiles()
	switch {
	case c.m.Profile != "":
		profiles = []tree.Profile{c.m.Profile}
	case c.host.Strict:
		profiles = []tree.Profile{tree.Guide}
	}
	if c.m.Dist.Hash != "" {
		parsed, bad, ok := evidence.ParseClaim(claim, c.m.Dist.Hash)
		if ok && parsed.Want[0].Algorithm() != digest.SHA256 {
			bad, ok = evidence.CannotVerify(parsed, evidence.Malformed, "dist.hash is sha256: and 64 hex digits"), false
		}
		if !ok {
			c.add(bad)
			return profiles[0], nil
		}
		claim = parsed
	}
	var first *evidence.Evidence
	for _, p := range profiles {
		e, err := c.compareDist(ctx, p, claim)
		if err != nil {
			return "", err
		}
		if e.Outcome == evidence.Match {
			c.add(e)
			return p, nil
		}
		if first == nil {
			first = &e
		}
	}
	if first.Outcome == evidence.Mismatch {
		if err := c.explainDist(ctx, first, claim, profiles); err != nil {
			return "", err
		}
	}
	c.add(*first)
	return profiles[0], nil
}

// compareDist compares the hash of the files under a profile with the claimed one.
func (c *check) compareDist(ctx context.Context, p tree.Profile, claim evidence.Claim) (evidence.Evidence, error) {
	d, err := c.b.Hash(ctx, p)
	switch {
	case errors.Is(err, tree.ErrEmpty):
		return evidence.CannotVerify(claim, evidence.NotFound, DistDir+"/ has no file to hash"), nil
	case errors.Is(err, tree.ErrPath):
		return evidence.CannotVerify(claim, evidence.Unsupported, err.Error()), nil
	case err != nil:
		return evidence.Evidence{}, err
	}
	files := p.SelectFiles(c.b.Files)
	return evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{d}, Size: totalSize(files),
		From: fmt.Sprintf("%s/, %s, profile %s", DistDir, evidence.Count(len(files), "file"), p)}), nil
}

// explainDist says in e, a mismatch under all profiles that were tried, why that may be.
func (c *check) explainDist(ctx context.Context, e *evidence.Evidence, claim evidence.Claim,
	tried []tree.Profile) error {
	other, err := c.otherProfile(ctx, claim, tried)
	if err != nil {
		return err
	}
	switch {
	case other == "":
		e.Reason = c.explainLineEnds(ctx, claim, tried)
	case c.m.Profile == "": // strictly
		*e = evidence.CannotVerify(claim, evidence.Ambiguous,
			fmt.Sprintf("the files have this hash under profile %s; "+
				"with --strict only profile %s counts, or the one that x-hash-profile names", other, tree.Guide))
	default:
		e.Reason = fmt.Sprintf("the files have this hash under profile %s, and x-hash-profile names %s", other,
			c.m.Profile)
	}
	return nil
}

// otherProfile returns the profile under which the files have the claimed hash, though it is none of those that count;
// "" if there is none.
func (c *check) otherProfile(ctx context.Context, claim evidence.Claim, tried []tree.Profile) (tree.Profile, error) {
	for _, p := range tree.Profiles() {
		if slices.Contains(tried, p) {
			continue
		}
		d, err := c.b.Hash(ctx, p)
		if errors.Is(err, tree.ErrEmpty) || errors.Is(err, tree.ErrPath) {
			continue
		}
		if err != nil {
			return "", err
		}
		if evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{d}}).Outcome == evidence.Match {
			return p, nil
		}
	}
	return "", nil
}

func totalSize(files []tree.File) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}

// explainLineEnds says whether other line ends explain a mismatch: version control and
// archivers convert them, and a hash is of bytes.
func (c *check) explainLineEnds(ctx context.Context, claim evidence.Claim, profiles []tree.Profile) string {
	if c.b.open != nil {
		return ""
	}
	lf := func(p []byte) []byte { return bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")) }
	crlf := func(p []byte) []byte { return bytes.ReplaceAll(lf(p), []byte("\n"), []byte("\r\n")) }
	for _, with := range []struct {
		name    string
		convert func([]byte) []byte
	}{{"CRLF", crlf}, {"LF", lf}} {
		converted := map[string][]byte{}
		var files []tree.File
		for _, f := range c.b.Files {
			converted[f.Path] = with.convert(c.b.Contents[f.Path])
			files = append(files, tree.File{Path: f.Path, Size: int64(len(converted[f.Path]))})
		}
		for _, p := range profiles {
			d, err := tree.DistHeld(ctx, p, files, converted)
			if err == nil && evidence.Compare(claim,
				evidence.Observed{Digests: []digest.Digest{d}}).Outcome == evidence.Match {
				return fmt.Sprintf(
					"it matches with %s line ends (profile %s): a checkout or an archiver converted them", with.name, p)
			}
		}
	}
	return ""
}

// treeEvidence compares the framed hash. Hashes under other names are not computed.
func (c *check) treeEvidence() (framed bool, err error) {
	c.tree, err = c.treeOf()
	if err != nil {
		return false, err
	}
	claim := c.claim(evidence.Tree, distMember("hashes"))
	o := evidence.Observed{Digests: []digest.Digest{c.tree}, Size: c.b.Bytes(),
		From: fmt.Sprintf("%s/, %s", DistDir, evidence.Count(len(c.b.Files), "file"))}
	found := false
	for _, h := range c.m.Dist.Hashes {
		if h.Alg != FramedAlg {
			other := claim
			other.Text = h.Value
			c.add(evidence.CannotVerify(other, evidence.Unsupported,
				fmt.Sprintf("hashes of kind %+q are not computed", h.Alg)))
			continue
		}
		found = true
		parsed, _, ok := evidence.ParseClaim(claim, h.Value)
		e := evidence.Evidence{Claim: parsed, Observed: o, Outcome: evidence.Mismatch, Reason: "the claim is no digest"}
		if ok {
			e = evidence.Compare(parsed, o)
		}
		c.add(e)
		framed = e.Outcome == evidence.Match && !e.Weak
	}
	if !found {
		c.add(evidence.Compare(claim, o))
	}
	return framed, nil
}

// filesEvidence compares counts and checksums, and says what nothing covers.
func (c *check) filesEvidence(p tree.Profile, framed bool) error {
	hashed := p.SelectFiles(c.b.Files)
	c.extentEvidence("fileCount", c.m.Dist.FileCount, int64(len(hashed)))
	c.extentEvidence("totalBytes", c.m.Dist.Bytes, totalSize(hashed))

	sums, err := c.sumsOf()
	if err != nil {
		return err
	}
	sizes := make(map[string]int64, len(c.b.Files))
	for _, f := range c.b.Files {
		sizes[f.Path] = f.Size
	}
	complete := c.checksumEvidence(sums, sizes)
	complete = c.uncheckedEvidence(hashed, sums) && complete && c.m.Dist.All && len(c.m.Dist.Checksums) > 0
	cover := evidence.Evidence{Claim: c.claim(evidence.Coverage, distMember("hashes, dist.checksums")),
		Outcome: evidence.Absent,
		Reason:  "dist.hash alone is ambiguous; neither " + FramedAlg + " nor checksums of all files are there"}
	switch {
	case framed:
		cover.Outcome, cover.Observed.Text, cover.Reason = evidence.Match, FramedAlg, ""
	case complete:
		cover.Outcome, cover.Observed.Text, cover.Reason = evidence.Match, "checksums of all files", ""
	}
	c.add(cover)

	c.unhashedEvidence(hashed, framed)
	return nil
}

func checksumClaim(path string) evidence.Claim {
	return evidence.Claim{Subject: DistDir + "/" + path, Scheme: evidence.File, Authority: evidence.Manifest,
		Where: distMember("checksums")}
}

// checksumEvidence compares each checksum of the manifest, and reports whether all match.
func (c *check) checksumEvidence(sums map[string]digest.Digest, sizes map[string]int64) (complete bool) {
	complete = true
	c.report = slices.Grow(c.report, len(c.m.Dist.Checksums)) // moving evidence takes longer than making it
	for _, path := range slices.Sorted(maps.Keys(c.m.Dist.Checksums)) {
		cl := checksumClaim(path)
		want, err := digest.ParseHex(digest.SHA256, c.m.Dist.Checksums[path])
		if err != nil {
			c.add(evidence.CannotVerify(cl, evidence.Malformed, err.Error()))
			continue
		}
		cl.Want = []digest.Digest{want}
		if _, ok := sums[path]; !ok {
			c.add(evidence.CannotVerify(cl, evidence.NotFound, "the file is not there"))
			complete = false
			continue
		}
		e := evidence.Compare(cl, evidence.Observed{Digests: []digest.Digest{sums[path]}, Size: sizes[path],
			From: DistDir + "/" + path})
		complete = complete && e.Outcome == evidence.Match
		c.add(e)
	}
	return complete
}

// uncheckedEvidence states which files have no checksum though all are to have one, and reports whether there is none.
func (c *check) uncheckedEvidence(hashed []tree.File, sums map[string]digest.Digest) (complete bool) {
	if !c.m.Dist.All {
		return true
	}
	complete = true
	for _, f := range hashed {
		if _, ok := c.m.Dist.Checksums[f.Path]; !ok {
			e := evidence.Compare(checksumClaim(f.Path),
				evidence.Observed{Digests: []digest.Digest{sums[f.Path]}, Size: f.Size, From: DistDir + "/" +
					f.Path})
			e.Reason = "coverage is all, and there is no checksum of this file"
			c.add(e)
			complete = false
		}
	}
	return complete
}

// extentEvidence compares a number that the manifest may claim.
func (c *check) extentEvidence(member string, claimed, found int64) {
	claim := c.claim(evidence.Extent, distMember(member))
	if claimed < 0 {
		c.add(evidence.Compare(claim, evidence.Observed{Text: evidence.Group(found)}))
		return
	}
	claim.Text = evidence.Group(claimed)
	c.add(evidence.Fact(claim, evidence.Group(found)))
}

// unhashedEvidence reports each file that Node could load and no fingerprint covers.
func (c *check) unhashedEvidence(hashed []tree.File, framed bool) {
	name := func(subject, why string) {
		c.add(evidence.Evidence{
			Claim:   evidence.Claim{Subject: subject, Scheme: evidence.Unhashed, Authority: evidence.Manifest},
			Outcome: evidence.Absent, Reason: why,
		})
	}
	if !framed {
		in := map[string]bool{}
		for _, f := range hashed {
			in[f.Path] = true
		}
		for _, f := range c.b.Files {
			if _, listed := c.m.Dist.Checksums[f.Path]; !in[f.Path] && !listed {
				c.uncovered = append(c.uncovered, f.Path)
				name(DistDir+"/"+f.Path, "dist.hash leaves out dotfiles, and nothing else covers it")
			}
		}
	}
	for _, r := range c.b.Refused {
		name(r.Path, "it is "+r.Kind+", and not part of the plugin")
	}
	for _, path := range c.b.Beside {
		if !slices.Contains(c.host.Vouched, path) {
			name(path, "it lies outside of "+DistDir+"/")
		}
	}
}
