package plugin

import (
	"errors"
	"strings"
	"testing"
)

// What other programs call an algorithm means it, in any case of the letters, and nothing else does.
func TestAlgorithmOf(t *testing.T) {
	for name, want := range map[string]SignatureAlgorithm{"EdDSA": Ed25519, "eddsa": Ed25519, "RS256": RSASHA256, "ES256": ECDSAP256,
		"ES384": ECDSAP384, "Ed25519": "Ed25519", "minisign": "minisign", "HS256": "HS256", "none": "none", "": ""} {
		if got := SignatureAlgorithmOf(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"HS256", "none", "", "RS384", "PS256", "ES512", "RS1"} {
		if SignatureAlgorithmOf(name).Known() {
			t.Errorf("%q is taken for an algorithm of ours", name)
		}
	}
}

// A signature that was made has the shape of its algorithm, also one that does not hold, and of no other one; what
// was never made has none.
func TestCheckShape(t *testing.T) {
	v := readVectors(t)
	kindOf := func(a SignatureAlgorithm) SignatureAlgorithm {
		if strings.EqualFold(string(a), string(ECDSAP384)) { // has the shape of the other curve's
			return ECDSAP256
		}
		return a
	}
	tried := 0
	for _, c := range v.Signatures {
		if c.Error != "" {
			continue
		}
		for _, alg := range SignatureAlgorithms() {
			if alg == RSASHA256 && c.Alg != RSASHA256 {
				continue // as long as a key is, whatever the bytes are
			}
			tried++
			err := CheckSignatureShape(alg, c.Signature)
			if same := strings.EqualFold(string(kindOf(alg)), string(kindOf(c.Alg))); same != (err == nil) ||
				err != nil && !errors.Is(err, ErrShape) {
				t.Errorf("%s as %s: %v", c.Name, alg, err)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d shapes were tried", tried)
	}
	for _, junk := range []string{"", "junk", strings.Repeat("x", 63), strings.Repeat("x", 65), "\x30\x06\x02\x01\x00\x02\x01\x00",
		"\x30\x06\x02\x01\x01\x02\x01\x01x", "untrusted comment: x\n"} {
		for _, alg := range SignatureAlgorithms() {
			if err := CheckSignatureShape(alg, []byte(junk)); !errors.Is(err, ErrShape) {
				t.Errorf("%q as %s: %v", junk, alg, err)
			}
		}
		if err := CheckSignatureShape("other", []byte(junk)); err != nil {
			t.Errorf("%q under an algorithm that nobody knows: %v", junk, err)
		}
	}
}
