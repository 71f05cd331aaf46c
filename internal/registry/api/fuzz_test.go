package api

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// What a domain's owner writes into DNS is a key of a known form or refused.
func FuzzRecord(f *testing.F) {
	f.Add("v=MCPv1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32)))
	f.Add("v=MCPv1; k=ecdsap384; p=" + base64.StdEncoding.EncodeToString(append([]byte{2}, make([]byte, 48)...)))
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range record().FindAllStringSubmatch(text, maxRecords) {
			k, err := parseRecord(m[1], m[2])
			if err == nil &&
				(k.algorithm != registry.Ed25519 && k.algorithm != registry.ECDSAP384 ||
					k.algorithm == registry.ECDSAP384 && k.p384 == nil) {
				t.Errorf("%q is a key of %q", text, k.algorithm)
			}
		}
	})
}
