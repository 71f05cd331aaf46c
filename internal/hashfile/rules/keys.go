package rules

import (
	"regexp"
	"strings"
	"sync"
)

// What a key looks like in YAML, and in TOML: what may stand before it, and its text, which is group 1.
const (
	beforeKey = `[\s\pZ\pC]*(?:[-?:]\s+|[!&]\S*\s+)*`
	keyText   = `["']?([\pL\pM\pN\p{Cf}_ -]{1,64}?)["']?`
)

var (
	// memberKey matches a key in a line: at its beginning or in brackets, or in the form of TOML.
	memberKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[\[{,\x{85}\x{2028}\x{2029}\v\f])` + beforeKey + keyText + `\s*[:=]`)
	})
	// explicitKey matches a key in a line of its own, or one that only a YAML parser can resolve.
	explicitKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:\?\s+["']?([^"':]+?)["']?\s*$|(?:-\s+)*(\*[^\s*]+\s+:|"[^"]*\\.*"\s*:))`)
	})
)

// listOf returns the list that a key fills, nil if it is none of the three names.
func (s *Set) listOf(key string) *[]Glob {
	switch strings.ToLower(strings.ReplaceAll(key, "-", "_")) {
	case "forbidden":
		return &s.forbidden
	case "read_only", "readonly":
		return &s.readOnly
	case "ignore":
		return &s.ignore
	}
	return nil
}

// plainKey returns a key in lower case, without hyphens, underscores and blanks.
func plainKey(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(key))
}

// resemblingKey returns the first key in a line that resembles one of the three names, "" if there is none: see
// resembles. A key that only a YAML parser can resolve may be any of them, and is returned too.
func resemblingKey(line string) string {
	if !strings.ContainsAny(line, "?:=") {
		return ""
	}
	if found := explicitKey().FindStringSubmatch(line); found != nil && (found[2] != "" || resembles(found[1])) {
		return found[1] + found[2]
	}
	for _, found := range memberKey().FindAllStringSubmatch(line, -1) {
		if resembles(found[1]) {
			return found[1]
		}
	}
	return ""
}

// resembles reports whether a key differs from one of the three names in two letters at most, or continues one of
// them, as forbidden_paths does.
func resembles(key string) bool {
	plain := plainKey(key)
	for _, name := range []string{"forbidden", "readonly", "ignore"} {
		if isNear([]rune(plain), []rune(name), 2) {
			return true
		}
	}
	return !strings.Contains(key, " ") && (strings.HasPrefix(plain, "forbid") || strings.HasPrefix(plain, "readonly"))
}

// isNear reports whether a becomes b by inserting, removing or changing n letters at most.
func isNear(a, b []rune, n int) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a)+len(b) <= n
	case n == 0:
		return false
	}
	return isNear(a[1:], b[1:], n-1) || isNear(a[1:], b, n-1) || isNear(a, b[1:], n-1)
}
