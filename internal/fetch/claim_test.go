package fetch

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestHashClaim: the claim is of the strongest hash that can be computed. If none can be, there
// is evidence of that.
func TestHashClaim(t *testing.T) {
	ref := mustRef(t, "pypi:a==1/f.zip")
	for name, tt := range map[string]struct {
		hashes map[string]string
		alg    digest.Algorithm
		where  string
		bad    evidence.Cause
	}{
		"nothing": {nil, "", "", ""},
		"all": {map[string]string{"md5": "00", "sha1": shasum("x"), "sha256": sha("x"),
			"sha512": strings.Repeat("0", 128)}, digest.SHA256, "i.sha256", ""},
		"no sha256": {map[string]string{"md5": "00", "sha1": shasum("x"), "sha512": strings.Repeat("0", 128)},
			digest.SHA512, "i.sha512", ""},
		"sha1":    {map[string]string{"blake2b_256": "00", "sha1": shasum("x")}, digest.SHA1, "i.sha1", ""},
		"unknown": {map[string]string{"md5": "00", "blake2b_256": "00"}, "", "", evidence.Unsupported},
		"malformed": {map[string]string{"sha256": "12", "sha512": strings.Repeat("0", 128)}, "", "",
			evidence.Malformed},
	} {
		claims, bad := strongestClaim(ref, "i", tt.hashes)
		switch {
		case tt.alg != "" &&
			(len(claims) != 1 || len(bad) != 0 || claims[0].Want[0].Algorithm() != tt.alg ||
				claims[0].Where != tt.where):
			t.Errorf("%s: %+v, %+v", name, claims, bad)
		case tt.alg == "" && len(claims) != 0:
			t.Errorf("%s: %+v", name, claims)
		case tt.bad != "" && (len(bad) != 1 || bad[0].Cause != tt.bad || bad[0].Outcome != evidence.Unverifiable):
			t.Errorf("%s: %+v", name, bad)
		}
	}
}
