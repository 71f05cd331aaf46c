package fetch

import (
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// registryClaim makes a claim of a package's own registry from the text of a digest. If the
// text cannot be read, bad says so.
func registryClaim(ref artifact.Ref, where, text string) (claims []evidence.Claim, bad evidence.Report) {
	const most = 300 // bytes; the longest digest has half of that
	claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Registry, Where: where}
	text = wire.Plain(text, most)
	claim, e, ok := evidence.ParseClaim(claim, text)
	if !ok {
		return nil, evidence.Report{e}
	}
	return []evidence.Claim{claim}, nil
}

// strongestClaim makes a claim of the strongest of several hashes, which are in hex by the
// name of their algorithm. If none of them can be computed, the report says so for the
// first; without hashes there is no claim.
func strongestClaim(ref artifact.Ref, where string, hashes map[string]string) ([]evidence.Claim, evidence.Report) {
	for _, a := range []digest.Algorithm{digest.SHA256, digest.SHA512, digest.SHA1} {
		if hex := hashes[string(a)]; hex != "" {
			return registryClaim(ref, where+"."+string(a), string(a)+":"+hex)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		return registryClaim(ref, where+"."+wire.Plain(name, 32), name+":"+hashes[name])
	}
	return nil, nil
}

// addAlgorithms appends the algorithms of the digests in claims.
func addAlgorithms(algs []digest.Algorithm, claims []evidence.Claim) []digest.Algorithm {
	for _, c := range claims {
		for _, want := range c.Want {
			algs = append(algs, want.Algorithm())
		}
	}
	return algs
}

// yankReason returns why a version was withdrawn, also if its publisher gave no reason.
func yankReason(reason string) string {
	if strings.TrimSpace(reason) == "" {
		return "no reason given"
	}
	return reason
}
