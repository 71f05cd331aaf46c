package artifact

import (
	"cmp"
	"strings"

	xsemver "golang.org/x/mod/semver"
)

// IsOlder reports whether version is an older one than another of the same name, by the
// order of its kind: PEP 440 for PyPI, for every other Semantic Versioning, where a
// leading "v" may stand. It is false where either is no such version, so that there is
// no order: of digests, tags and commits.
func IsOlder(kind Kind, version, than string) bool {
	if kind == PyPI {
		a, b := pep440().FindStringSubmatch(strings.ToLower(version)), pep440().FindStringSubmatch(strings.ToLower(than))
		return a != nil && b != nil && comparePEP440(a, b) < 0
	}
	a, b := "v"+strings.TrimPrefix(version, "v"), "v"+strings.TrimPrefix(than, "v")
	return xsemver.IsValid(a) && xsemver.IsValid(b) && xsemver.Compare(a, b) < 0
}

// comparePEP440 orders two versions, as the grammar splits them. What is behind a "+" is
// no part of the order here: it names builds of one version.
func comparePEP440(a, b []string) int {
	release := func(m []string, i int) string {
		if numbers := strings.Split(m[2], "."); i < len(numbers) {
			return numbers[i]
		}
		return ""
	}
	order := compareNumbers(a[1], b[1])
	for i := 0; order == 0 && i <= max(strings.Count(a[2], "."), strings.Count(b[2], ".")); i++ {
		order = compareNumbers(release(a, i), release(b, i))
	}
	return cmp.Or(order,
		cmp.Compare(phase(a), phase(b)), compareNumbers(a[4], b[4]),
		cmp.Compare(posts(a), posts(b)), compareNumbers(a[5]+a[7], b[5]+b[7]),
		cmp.Compare(finals(a), finals(b)), compareNumbers(a[9], b[9]))
}

// phase is 0 for a development version of what follows, then alpha, beta and candidate,
// and 4 for the release.
func phase(m []string) int {
	switch m[3] {
	case "":
		if m[8] != "" && posts(m) == 0 {
			return 0
		}
		return 4
	case "alpha", "a":
		return 1
	case "beta", "b":
		return 2
	}
	return 3
}

func posts(m []string) int {
	if m[5] != "" || m[6] != "" {
		return 1
	}
	return 0
}

func finals(m []string) int {
	if m[8] != "" {
		return 0
	}
	return 1
}

// compareNumbers compares decimal numbers of any length; "" is 0.
func compareNumbers(a, b string) int {
	a, b = trimZeros(a), trimZeros(b)
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
