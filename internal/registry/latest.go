package registry

import (
	"cmp"
	"strings"

	"golang.org/x/mod/semver"
)

// compareVersions orders the versions of one name; the greatest is the latest. The rules are
// those of the official registry, made a total order:
//
//	a semantic version is above any other text
//	two semantic versions compare by precedence
//	otherwise, and where precedence is equal, by time of publishing
//	and at the same microsecond by bytes
//
// As the order is total the latest does not depend on the order of inserting.
func compareVersions(a, b Record) int {
	va, oka := parseSemantic(a.Version)
	vb, okb := parseSemantic(b.Version)
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

// parseSemantic returns version in the form that package semver reads. A leading "v" is
// allowed; "1" and "1.2", which that package accepts, are not semantic versions.
func parseSemantic(version string) (string, bool) {
	v := "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(v) {
		return "", false
	}
	core, _, _ := strings.Cut(v, "-")
	core, _, _ = strings.Cut(core, "+")
	return v, strings.Count(core, ".") == 2
}

// Supersedes reports whether rec becomes the latest of its name in place of latest. A deleted
// version is the latest only while all are deleted.
func Supersedes(rec, latest Record) bool {
	if gone := latest.Status == Deleted; gone != (rec.Status == Deleted) {
		return gone
	}
	return compareVersions(rec, latest) > 0
}

// LatestOf returns the indexes of the record that is marked as the latest, -1 if none is, and
// of the record that must be.
func LatestOf(all []Record) (was, is int) {
	was, is = -1, -1
	for i, rec := range all {
		if rec.IsLatest {
			was = i
		}
		if is < 0 || Supersedes(rec, all[is]) {
			is = i
		}
	}
	return was, is
}
