package registry

import (
	"cmp"
	"strings"

	"golang.org/x/mod/semver"
)

// newer orders the versions of one name; the greatest is the latest. The rules are
// those of the official registry, made a total order:
//
//	a semantic version is above any other text
//	two semantic versions compare by precedence
//	otherwise, and where precedence is equal, by time of publishing
//	and at the same microsecond by bytes
//
// As the order is total the latest does not depend on the order of inserting.
func newer(a, b Record) int {
	va, oka := semantic(a.Version)
	vb, okb := semantic(b.Version)
	switch {
	case oka && !okb:
		return 1
	case !oka && okb:
		return -1
	case oka && okb:
		if c := semver.Compare(va, vb); c != 0 {
			return c
		}
	}
	if c := a.PublishedAt.Compare(b.PublishedAt); c != 0 {
		return c
	}
	return cmp.Compare(a.Version, b.Version)
}

// semantic returns version in the form that package semver reads. A leading "v" is
// allowed; "1" and "1.2", which that package takes, are no semantic versions.
func semantic(version string) (string, bool) {
	v := "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(v) {
		return "", false
	}
	core, _, _ := strings.Cut(v, "-")
	core, _, _ = strings.Cut(core, "+")
	return v, strings.Count(core, ".") == 2
}
