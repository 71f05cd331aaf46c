package plugin

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/gowebpki/jcs"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// statementDomain begins what a statement signs. dist.hash begins otherwise, so that a
// signature over one is never one over the other.
const statementDomain = "hallmark-plugin-manifest-v1\n"

// statementMembers are the members of a manifest that a statement does not cover: the
// signatures themselves.
var statementMembers = []string{"signatures", "x-hallmark-signatures"}

// Statement is what a signature over the whole manifest signs.
func (m *Manifest) Statement() ([]byte, error) {
	var members []member
	for _, name := range statementMembers {
		members = append(members, member{name, nil})
	}
	plain, err := setMembers(m.Raw, members, nil)
	if err != nil {
		return nil, err
	}
	// jcs rounds integers beyond ±2^53 without a word; the statement of another manifest
	// would be the same.
	if err := surface.CheckNumbers(plain); err != nil {
		return nil, err
	}
	canonical, err := jcs.Transform(plain)
	if err != nil {
		return nil, err
	}
	return append([]byte(statementDomain), canonical...), nil
}

// signatureEvidence verifies every signature and returns those of dist.hash that trusted
// keys made.
func (c *check) signatureEvidence() (signers []Signer) {
	hash := []byte(c.m.Dist.Hash)
	overHash := func(where string, s Signature) {
		if by := c.verifySignature(evidence.Signed, where, s, hash); by != "" {
			signers = append(signers, Signer{by, s.Signature})
		}
	}
	for i, s := range c.m.Signatures {
		overHash(fmt.Sprintf("%s, signatures[%d]", ManifestFile, i), s)
	}
	if c.b.Signature != nil {
		s, err := parseSignatureFile(c.b.Signature)
		if err != nil {
			c.add(evidence.Evidence{Claim: c.claim(evidence.Signed, SignatureFile), Outcome: evidence.Mismatch,
				Reason: err.Error()})
		} else {
			overHash(SignatureFile, s)
		}
	}
	statedBy := c.statementEvidence()
	signedBy := ""
	if len(signers) > 0 {
		signedBy = signers[0].KeyID
	}
	c.trustEvidence(evidence.Signed, signedBy, "no trusted key signed dist.hash")
	c.trustEvidence(evidence.Statement, statedBy, "no trusted key signed the whole manifest")
	return signers
}

// statementEvidence verifies every signature of the whole manifest, and returns the trusted key that made one; "" if
// none did.
func (c *check) statementEvidence() (statedBy string) {
	var statement []byte
	var err error
	if len(c.m.Statements) > 0 {
		statement, err = c.m.Statement()
	}
	for i, s := range c.m.Statements {
		where := fmt.Sprintf("%s, x-hallmark-signatures[%d]", ManifestFile, i)
		if err != nil {
			c.add(evidence.Evidence{Claim: c.claim(evidence.Statement, where), Outcome: evidence.Mismatch,
				Reason: err.Error()})
			continue
		}
		if by := c.verifySignature(evidence.Statement, where, s, statement); statedBy == "" {
			statedBy = by
		}
	}
	return statedBy
}

// verifySignature verifies a signature, and returns the trusted key that made it; "" if none did.
func (c *check) verifySignature(scheme evidence.Scheme, where string, s Signature, message []byte) string {
	keys := c.host.Keys
	if keys == nil {
		keys = new(TrustedKeys)
	}
	claim := c.claim(scheme, where)
	claim.Text = s.Alg
	if s.KeyID != "" {
		claim.Text += " by " + s.KeyID
	}
	k, err := s.verify(keys, message, c)
	switch {
	case errors.Is(err, ErrUnknown), errors.Is(err, errUnknownAlg):
		c.add(evidence.CannotVerify(claim, evidence.Untrusted, err.Error()))
	case err != nil:
		c.add(evidence.Evidence{Claim: claim, Outcome: evidence.Mismatch, Reason: err.Error()})
	default:
		e := evidence.Evidence{Claim: claim, Outcome: evidence.Match}
		e.Observed.Text = string(k.Public.Algorithm()) + " by " + k.ID
		c.add(e)
		return k.ID
	}
	return ""
}

// trustEvidence states whether a key that this machine trusts made a signature.
func (c *check) trustEvidence(scheme evidence.Scheme, by, why string) {
	claim := c.claim(scheme, "the trusted keys of this machine")
	claim.Authority, claim.Text = evidence.Machine, by
	e := evidence.Fact(claim, by)
	if by == "" {
		e.Reason = why
	}
	c.add(e)
}

// errUnknownAlg is the error for an algorithm that this program cannot verify.
var errUnknownAlg = errors.New("unknown algorithm")

// verify returns the trusted key that made the signature over message.
func (s Signature) verify(keys *TrustedKeys, message []byte, c *check) (TrustedKey, error) {
	raw, err := base64.StdEncoding.DecodeString(s.Signature)
	if err != nil {
		return TrustedKey{}, errors.New("the signature is not base64")
	}
	if len(message) == 0 {
		return TrustedKey{}, errors.New("there is no dist.hash to verify it with")
	}
	if alg := SignatureAlgorithmOf(s.Alg); alg != "" {
		if err := CheckSignatureShape(alg, raw); err != nil {
			return TrustedKey{}, err
		}
		if !alg.Known() && s.KeyID == "" {
			return TrustedKey{}, fmt.Errorf("%w %+q", errUnknownAlg, clip(s.Alg))
		}
		return keys.Verify(alg, s.KeyID, message, raw, c.host.Now)
	}
	// A file of base64 alone states nothing: each key is tried under its own algorithm.
	if !slices.ContainsFunc(SignatureAlgorithms(), func(a SignatureAlgorithm) bool {
		return CheckSignatureShape(a, raw) == nil
	}) {
		return TrustedKey{}, fmt.Errorf("%w of any algorithm that is known", ErrShape)
	}
	for _, alg := range SignatureAlgorithms() {
		k, failed := keys.Verify(alg, s.KeyID, message, raw, c.host.Now)
		if failed == nil || errors.Is(failed, ErrRevoked) || errors.Is(failed, ErrValidity) {
			return k, failed
		}
		err = failed
	}
	return TrustedKey{}, err
}

// parseSignatureFile reads an mcp-plugin.sig in any of its forms.
func parseSignatureFile(data []byte) (Signature, error) {
	text := bytes.TrimSpace(data)
	switch {
	case len(text) > 16<<10:
		return Signature{}, errors.New("more than 16 KiB")
	case bytes.HasPrefix(text, []byte("untrusted comment:")):
		return Signature{Alg: string(Minisign), Signature: base64.StdEncoding.EncodeToString(data)}, nil
	case bytes.HasPrefix(text, []byte("{")):
		if err := surface.CheckJSON(text, surface.Limits{Size: 16 << 10, Depth: 4}); err != nil {
			return Signature{}, err
		}
		var s struct {
			Signature
			Sig string `json:"sig"`
		}
		if err := surface.DecodeKnown(text, &s); err != nil {
			return Signature{}, err
		}
		s.Signature.Signature = cmp.Or(s.Signature.Signature, s.Sig)
		if s.Signature.Signature == "" {
			return Signature{}, errors.New("there is no signature in it")
		}
		return s.Signature, nil
	}
	if _, err := base64.StdEncoding.DecodeString(string(text)); err != nil || len(text) < 16 {
		return Signature{}, errors.New("neither a minisign signature, nor JSON, nor base64")
	}
	return Signature{Signature: string(text)}, nil
}
