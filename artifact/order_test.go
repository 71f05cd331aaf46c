package artifact

import (
	"slices"
	"testing"
)

// Each list is in ascending order; each version is older than all that follow it.
func TestOlder(t *testing.T) {
	for _, c := range []struct {
		kind     Kind
		versions []string
	}{
		{NPM, []string{"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0", "1.2.0", "1.10.0",
			"2025.4.25", "18446744073709551617.0.0"}},
		{Go, []string{"v0.0.0-20250101000000-0123456789ab", "v1.0.0", "v1.1.0"}},
		{"", []string{"0.9.0", "v1.0.0", "1.0.1"}},
		{PyPI, []string{"2024.12", "1!0.dev1", "1!0a1.dev2", "1!0a1", "1!0alpha2.post1.dev1", "1!0a2.post1", "1!0b1",
			"1!0rc1", "1!0", "1!0.0.post1.dev3", "1!0-1",
			"1!0.post2", "1!0.1", "1!0.9", "1!0.10.0", "1!99999999999999999999", "1!100000000000000000000"}},
	} {
		for i, old := range c.versions {
			for j, new := range c.versions {
				if got := IsOlder(c.kind, old, new); got != (i < j) {
					t.Errorf("%s: %s is older than %s: %v", c.kind, old, new, got)
				}
			}
		}
	}
	for _, same := range [][3]string{{"pypi", "1.0", "1.0.0"}, {"pypi", "1.0c1", "1.0rc1"}, {"pypi", "1.0+a", "1.0+b"},
		{"npm", "1.0.0+a", "1.0.0+b"}} {
		if IsOlder(Kind(same[0]), same[1], same[2]) || IsOlder(Kind(same[0]), same[2], same[1]) {
			t.Errorf("%q", same)
		}
	}
	for _, none := range []string{"latest", "sha256:00", "", "^1"} {
		for _, kind := range slices.Concat([]Kind{""}, []Kind{NPM, PyPI}) {
			if IsOlder(kind, none, "1.0.0") || IsOlder(kind, "1.0.0", none) {
				t.Errorf("%s: %q is ordered", kind, none)
			}
		}
	}
}
