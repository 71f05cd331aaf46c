package artifact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNumber is the largest number of a version: those beyond are not exact in JSON.
const maxNumber = 1<<53 - 1

// exactVersion is the major, the minor and the patch of a version M.N.P.
type exactVersion [3]uint64

func (v exactVersion) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// compare is negative, zero or positive as v precedes, equals or follows other.
func (v exactVersion) compare(other exactVersion) int { return slices.Compare(v[:], other[:]) }

// parseVersion reads an exact version, M.N.P.
func parseVersion(s string) (v exactVersion, err error) {
	fields := strings.Split(s, ".")
	isExact := len(fields) == len(v)
	for i := 0; isExact && i < len(v); i++ {
		v[i], isExact = parseNumber(fields[i])
	}
	if !isExact {
		return exactVersion{}, fmt.Errorf("%+.100q is not an exact version M.N.P", s)
	}
	return v, nil
}

// parseNumber reads a number of a version, which has no leading zeros.
func parseNumber(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n <= maxNumber && strconv.FormatUint(n, 10) == s
}

// Requirement is what a project wants of a facet: an exact version, or the newest one
// of those that begin alike. It is one of
//
//	1.2.3   1.2.*   1.*   *   latest
//
// and no other range: what is installed is in the lock, so that a requirement only says
// how far an upgrade may go. The zero value matches nothing.
type Requirement struct {
	text   string
	prefix []uint64 // major, minor, patch as far as given
}

// ParseRequirement reads a requirement.
func ParseRequirement(s string) (Requirement, error) {
	r := Requirement{text: s}
	if s == "*" || s == "latest" {
		return r, nil
	}
	bad := func() (Requirement, error) {
		return Requirement{}, fmt.Errorf("%+.100q is not a version requirement: 1.2.3, 1.2.*, 1.*, * or latest", s)
	}
	fields := strings.Split(s, ".")
	if len(fields) > 3 || len(fields) < 2 {
		return bad()
	}
	for i, f := range fields {
		if f == "*" && i == len(fields)-1 && i > 0 {
			return r, nil
		}
		n, ok := parseNumber(f)
		if !ok {
			return bad()
		}
		r.prefix = append(r.prefix, n)
	}
	if len(fields) < 3 {
		return bad()
	}
	return r, nil
}

// String is what was parsed.
func (r Requirement) String() string { return r.text }

// Exact reports whether r names one version.
func (r Requirement) Exact() bool { return len(r.prefix) == 3 }

// Matches reports whether version is exact and satisfies r.
func (r Requirement) Matches(version string) bool {
	v, err := parseVersion(version)
	return err == nil && r.matches(v)
}

func (r Requirement) matches(v exactVersion) bool {
	return r.text != "" && slices.Equal(r.prefix, v[:len(r.prefix)])
}

// Newest is the newest of versions that satisfies r, if one does. Versions that are
// not exact are passed over.
func (r Requirement) Newest(versions []string) (string, bool) { return newest(versions, r.matches) }

// Floor is the lowest version of a server that a facet works with. It is satisfied up to
// the next major version. The zero value matches nothing.
type Floor struct{ v *exactVersion }

// ParseFloor reads a floor, an exact version.
func ParseFloor(s string) (Floor, error) {
	v, err := parseVersion(s)
	if err != nil {
		return Floor{}, err
	}
	return Floor{&v}, nil
}

// String is what was parsed.
func (f Floor) String() string {
	if f.v == nil {
		return ""
	}
	return f.v.String()
}

// Matches reports whether version is exact, not below f and below the next major.
func (f Floor) Matches(version string) bool {
	v, err := parseVersion(version)
	return err == nil && f.matches(v)
}

func (f Floor) matches(v exactVersion) bool {
	return f.v != nil && v[0] == f.v[0] && v.compare(*f.v) >= 0
}

// Newest is the newest of versions that satisfies f, if one does.
func (f Floor) Newest(versions []string) (string, bool) { return newest(versions, f.matches) }

func newest(versions []string, matches func(exactVersion) bool) (newest string, found bool) {
	var best exactVersion
	for _, s := range versions {
		if v, err := parseVersion(s); err == nil && matches(v) && (!found || v.compare(best) > 0) {
			newest, best, found = s, v, true
		}
	}
	return newest, found
}
