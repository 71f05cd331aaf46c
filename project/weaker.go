package project

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Weakening is one thing that a launch line demanded and another does not.
type Weakening struct {
	Key string `json:"key"` // of hallmark.toml: "verify", "on_drift", …
	Was string `json:"was"` // what was demanded
	Now string `json:"now"` // what is now
}

// String says what was demanded, and what is demanded now.
func (w Weakening) String() string { return fmt.Sprintf("%s was %s, and is %s", w.Key, w.Was, w.Now) }

// strength are the values of keys that say how much is refused, the weakest first.
var strength = map[string][]string{
	"on_drift":        {"warn", "withhold", "block"},
	"server_requests": {"allow", "log", "deny"},
	"extra_arguments": {"any", "approved"},
}

// Weaker returns what l demanded and now does not: a digest of the verify block, a stricter
// rule, a kind of surface items that was watched, the record of a registry. Another digest or
// another command is a different demand, not a weaker one.
func (l LaunchLock) Weaker(now LaunchLock) (all []Weakening) {
	for _, c := range []struct{ key, was, is string }{
		{"on_drift", l.OnDrift, now.OnDrift},
		{"server_requests", cmp.Or(l.Requests, "allow"), cmp.Or(now.Requests, "allow")},
		{"extra_arguments", cmp.Or(l.Extra, "approved"), cmp.Or(now.Extra, "approved")},
	} {
		if slices.Index(strength[c.key], c.is) < slices.Index(strength[c.key], c.was) {
			all = append(all, Weakening{c.key, c.was, c.is})
		}
	}
	if !l.Unlocked && now.Unlocked {
		all = append(all, Weakening{"unlocked", "false", "true"})
	}
	if record := cmp.Or(l.Server, l.Source); record != "" && cmp.Or(now.Server, now.Source) == "" {
		all = append(all, Weakening{"server", record + " of the registry", "what no registry says anything about"})
	}
	before, after := Server{Kinds: l.Kinds}.Excluded(), Server{Kinds: now.Kinds}.Excluded()
	var gone []string
	for kind := range after {
		if !before[kind] {
			gone = append(gone, string(kind))
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		all = append(all, Weakening{"surface_kinds", "with " + strings.Join(gone, ", "), "without"})
	}
	if l.Tree != "" && (now.Tree == "" || !holds(now.Tree, l.Tree)) {
		all = append(all, Weakening{"tree", l.Tree, cmp.Or(now.Tree, "no directory")})
	}
	for _, name := range now.Data {
		if l.Tree != "" && !slices.Contains(l.Data, name) {
			all = append(all, Weakening{"data", "without " + name, "with it"})
		}
	}
	return append(all, l.Verify.weaker(now.Verify)...)
}

// weaker returns which digests v demanded and now does not, or by a weaker algorithm. Either may be nil.
func (v *VerifyLock) weaker(now *VerifyLock) (all []Weakening) {
	if v == nil {
		return nil
	}
	if now == nil {
		now = &VerifyLock{}
	}
	for _, path := range slices.Sorted(maps.Keys(v.Files)) {
		was, is := v.Files[path], now.Files[path]
		demand := fmt.Sprintf("%s of %s", was, cmp.Or(path, "the command"))
		switch {
		case is.IsZero():
			all = append(all, Weakening{"verify", demand, "nothing"})
		case is.Weak() && !was.Weak():
			all = append(all, Weakening{"verify", demand, is.String()})
		}
	}
	return all
}

// holds reports whether a directory, as hallmark.toml names it, is another one or holds it.
func holds(dir, other string) bool {
	dir, other = path.Clean(dir), path.Clean(other)
	return dir == other || strings.HasPrefix(other, dir+"/") ||
		dir == "." && !path.IsAbs(other) && !strings.HasPrefix(other+"/", "../")
}
