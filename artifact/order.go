package artifact

import (
	"cmp"
	"strings"

	"golang.org/x/mod/semver"
)

// IsOlder reports whether version precedes than in the order of versions of its kind:
// PEP 440 for PyPI, Semantic Versioning with or without a leading "v" for every other kind.
// It is false if either text is no such version: digests, tags and commits have no order.
func IsOlder(kind Kind, version, than string) bool {
	order, ok := CompareVersions(kind, version, than)
	return ok && order < 0
}

// CompareVersions is negative, zero or positive as version precedes, equals or follows other in the order that
// [IsOlder] has. It is not ok if either text is no such version. Versions that only their builds tell apart are equal.
func CompareVersions(kind Kind, version, other string) (order int, ok bool) {
	if kind == PyPI {
		a, okA := parsePEP440(version)
		b, okB := parsePEP440(other)
		if !okA || !okB {
			return 0, false
		}
		return comparePEP440(a, b), true
	}
	a, b := "v"+strings.TrimPrefix(version, "v"), "v"+strings.TrimPrefix(other, "v")
	return semver.Compare(a, b), semver.IsValid(a) && semver.IsValid(b)
}

// comparePEP440 orders two versions as PEP 440 does, without the local part behind a "+":
// that names builds of one version.
func comparePEP440(a, b pep440Version) int {
	order := compareNumbers(a.epoch, b.epoch)
	for i := 0; order == 0 && i < max(len(a.release), len(b.release)); i++ {
		order = compareNumbers(numberAt(a.release, i), numberAt(b.release, i))
	}
	return cmp.Or(order,
		cmp.Compare(a.phase(), b.phase()), compareNumbers(a.preNumber, b.preNumber),
		cmp.Compare(rank(a.post), rank(b.post)), compareNumbers(a.postNumber, b.postNumber),
		cmp.Compare(rank(!a.dev), rank(!b.dev)), compareNumbers(a.devNumber, b.devNumber))
}

// phase is 0 for a development version of a release that is to come, 1 to 3 for an alpha, a
// beta and a release candidate, and 4 for the release itself.
func (v pep440Version) phase() int {
	switch {
	case v.pre == "a":
		return 1
	case v.pre == "b":
		return 2
	case v.pre == "rc":
		return 3
	case v.dev && !v.post:
		return 0
	}
	return 4
}

// rank is 1 for true and 0 for false: a version with the property is ordered after one without
// it.
func rank(has bool) int {
	if has {
		return 1
	}
	return 0
}

// numberAt is the number at place i, or "" behind the last one, which counts as 0.
func numberAt(numbers []string, i int) string {
	if i < len(numbers) {
		return numbers[i]
	}
	return ""
}

// compareNumbers compares decimal numbers of any length; "" is 0.
func compareNumbers(a, b string) int {
	a, b = trimZeros(a), trimZeros(b)
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
