package registrytest

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Document is a valid server.json.
func Document(name, version string) []byte {
	return fmt.Appendf(nil, `{
  "$schema": "%s",
  "name": %q,
  "version": %q,
  "description": "reads <notes> & more",
  "packages": [
    {"registryType": "npm", "identifier": "@example/server", "version": "1.0.0", "transport": {"type": "stdio"}}
  ],
  "file_hashes": {"npm:@example/server@1.0.0": "sha256:%s"}
}
`, serverjson.CurrentSchema, name, version, strings.Repeat("ab", 32))
}

const (
	// NpmID is the identifier of the package that the evidence is about.
	NpmID = "npm:@example/server@1.0.0"
	where = "server.json, file_hashes"
)

// Sum is the sha256 digest of text.
func Sum(text string) digest.Digest { return digest.FromBytes([]byte(text)) }

// claim says that subject has the digest of text.
func claim(subject, text string) evidence.Claim {
	return evidence.Claim{Subject: subject, Scheme: evidence.File, Authority: evidence.Publisher, Where: where,
		Want: []digest.Digest{Sum(text)}}
}

// Observe returns what text was found to be.
func Observe(text string) evidence.Observed {
	return evidence.Observed{Digests: []digest.Digest{Sum(text)}, Size: int64(len(text)),
		From: "https://npm.example.com/server-1.0.0.tgz?a=1&b=2"}
}

// Matching is evidence of a claim that holds.
func Matching(subject string) evidence.Evidence {
	return evidence.Compare(claim(subject, "bytes"), Observe("bytes"))
}

// Mismatching is evidence of a claim that does not hold.
func Mismatching(subject string) evidence.Evidence {
	return evidence.Compare(claim(subject, "claimed"), Observe("actual"))
}

// Unverifiable is evidence of a claim that could not be looked at.
func Unverifiable(subject string, cause evidence.Cause) evidence.Evidence {
	return evidence.CannotVerify(claim(subject, "claimed"), cause, "because of "+string(cause))
}

// Owner is evidence of whom a package belongs to.
func Owner(found string) evidence.Evidence {
	return evidence.Fact(evidence.Claim{Subject: NpmID, Scheme: evidence.Ownership, Authority: evidence.Registry,
		Where: "package.json, mcpName", Text: "io.github.o/notes"}, found)
}
