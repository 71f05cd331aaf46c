package plugin

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// maxChecksums is the largest number of checksums in a manifest, as the schema has it.
const maxChecksums = 2000

// WriteHash returns the bundle's manifest with dist.hash under a profile, the framed
// hash, counts and, up to 2,000 files, checksums of all. Signatures that no longer fit
// are taken out. What else it says keeps its place.
func (b *Bundle) WriteHash(ctx context.Context, m *Manifest, p tree.Profile) ([]byte, error) {
	hash, err := b.Hash(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("%s/: %w", DistDir, err)
	}
	framed, err := b.Tree(ctx)
	if err != nil {
		return nil, err
	}
	sums, err := b.listChecksums(ctx)
	if err != nil {
		return nil, err
	}
	hashed := p.SelectFiles(b.Files)
	dist := append([]member{
		{"hash", hash.String()},
		{"hashes", []Hash{{FramedAlg, framed.String()}}},
		{"fileCount", len(hashed)},
		{"totalBytes", totalSize(hashed)},
	}, sums...)
	profile := member{"x-hash-profile", nil}
	if p != tree.Guide {
		profile.value = p
	}
	top := []member{profile}
	if m.Dist.Hash != hash.String() {
		top = append(top, member{"signatures", nil})
	}
	out, err := setMembers(m.Raw, top, dist)
	if err != nil {
		return nil, err
	}
	now, err := Parse(out)
	if err != nil {
		return nil, err
	}
	before, err := m.Statement()
	if err != nil {
		return nil, err
	}
	if after, err := now.Statement(); err != nil || bytes.Equal(before, after) {
		return out, err
	}
	return setMembers(out, []member{{"x-hallmark-signatures", nil}}, nil)
}

// listChecksums returns the members of dist with the checksums of all files; without them if there are too many.
func (b *Bundle) listChecksums(ctx context.Context) ([]member, error) {
	sums, err := b.sums(ctx)
	if err != nil {
		return nil, err
	}
	if len(b.Files) > maxChecksums {
		return []member{{"coverage", nil}, {"checksums", nil}}, nil
	}
	list := []checksumWire{}
	for _, f := range b.Files {
		list = append(list, checksumWire{DistDir + "/" + f.Path, sums[f.Path].Hex()})
	}
	return []member{{"coverage", "all"}, {"checksums", map[string]any{"files": list}}}, nil
}

// Sign returns the manifest with a signature over dist.hash and one over the whole
// manifest, by a key of the given id. Earlier ones under the id are replaced.
func (m *Manifest) Sign(key PrivateKey, id string, now time.Time) ([]byte, error) {
	if m.Dist.Hash == "" {
		return nil, evidence.Errorf(evidence.Integrity, ManifestFile, "run 'hallmark plugin hash --write' first",
			fmt.Errorf("there is no dist.hash to sign"))
	}
	statement, err := m.Statement()
	if err != nil {
		return nil, err
	}
	var top []member
	for _, s := range []struct {
		member  string
		there   []Signature
		message []byte
	}{{"signatures", m.Signatures, []byte(m.Dist.Hash)}, {"x-hallmark-signatures", m.Statements, statement}} {
		raw, err := key.Sign(s.message)
		if err != nil {
			return nil, err
		}
		list := slices.DeleteFunc(slices.Clone(s.there), func(s Signature) bool { return s.KeyID == id })
		list = append(list, Signature{string(key.Public().Algorithm()), base64.StdEncoding.EncodeToString(raw), id,
			now.UTC().Format(time.RFC3339)})
		top = append(top, member{s.member, list})
	}
	out, err := setMembers(m.Raw, top, nil)
	if err != nil {
		return nil, err
	}
	_, err = Parse(out) // too many signatures, an id that is too long
	return out, err
}

// DropSignatures removes the signatures by the key of an id, which [Manifest.Sign] then does not write. It reports
// whether there were any.
func (m *Manifest) DropSignatures(id string) bool {
	before := len(m.Signatures) + len(m.Statements)
	byKey := func(s Signature) bool { return s.KeyID == id }
	m.Signatures = slices.DeleteFunc(slices.Clone(m.Signatures), byKey)
	m.Statements = slices.DeleteFunc(slices.Clone(m.Statements), byKey)
	return len(m.Signatures)+len(m.Statements) < before
}
