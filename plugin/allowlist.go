package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/hallmark-mcp/hallmark/surface"
)

// AllowlistFile is where a host keeps its allowlist if it names no other file.
const AllowlistFile = "tools/plugins/allowlist-deps.json"

// MaxAllowlist is the largest allowlist, in bytes.
const MaxAllowlist = 1 << 20

// Allowlist is the set of external packages that a host allows.
type Allowlist struct {
	packages map[string][]string // versions; none means any
}

// Allows reports whether the package name, or one of its subpaths, is allowed at version.
func (a *Allowlist) Allows(name, version string) bool {
	versions, ok := a.packages[packageOf(name)]
	return ok && (len(versions) == 0 || slices.Contains(versions, version))
}

// lacks says what the list has in place of a version of a package that it does not allow.
func (a *Allowlist) lacks(name string) string {
	if versions := a.packages[packageOf(name)]; len(versions) > 0 {
		return "the allowlist has it at " + strings.Join(versions, ", ") + " only"
	}
	return "it is not on the allowlist"
}

// Len is the number of packages.
func (a *Allowlist) Len() int { return len(a.packages) }

// ParseAllowlist reads an allowlist in one of its forms:
//
//	["name", …]
//	{"allow": ["name", …]}
//	{"dependencies": {"name": "1.2.3" or ["1.2.3", …] or "*"}}
//
// A further member that is a text is a remark, as is any that begins with "_" or "x-". A list that cannot be read is an
// error, never an empty list.
func ParseAllowlist(data []byte) (*Allowlist, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxAllowlist, Depth: 8}); err != nil {
		return nil, fmt.Errorf("allowlist: %w", err)
	}
	a := &Allowlist{packages: map[string][]string{}}
	if err := a.parse(data); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Allowlist) parse(data []byte) error {
	var names []string
	if json.Unmarshal(data, &names) == nil && names != nil {
		return a.addNames(names)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil || top["allow"] == nil && top["dependencies"] == nil {
		return fmt.Errorf(`allowlist: neither a list of names nor an object with "allow" or "dependencies"`)
	}
	// In one order: a package that is in both is an error, whichever comes first.
	for _, member := range slices.Sorted(maps.Keys(top)) {
		raw := top[member]
		switch {
		case member == "allow":
			if err := json.Unmarshal(raw, &names); err != nil || names == nil {
				return fmt.Errorf("allowlist: allow is not a list of names")
			}
			if err := a.addNames(names); err != nil {
				return err
			}
		case member == "dependencies":
			if err := a.addVersions(raw); err != nil {
				return err
			}
		case strings.HasPrefix(member, "_"), strings.HasPrefix(member, "x-"), raw[0] == '"': // a remark
		default:
			return fmt.Errorf("allowlist: unknown member %+q", clip(member))
		}
	}
	return nil
}

func (a *Allowlist) addNames(names []string) error {
	for _, name := range names {
		if name == "" || packageOf(name) != name {
			return fmt.Errorf("allowlist: %+q is no name of a package", clip(name))
		}
		a.packages[name] = nil
	}
	return nil
}

func (a *Allowlist) addVersions(raw json.RawMessage) error {
	var list []string
	if json.Unmarshal(raw, &list) == nil && list != nil {
		return a.addNames(list)
	}
	var by map[string]json.RawMessage
	if err := json.Unmarshal(raw, &by); err != nil {
		return fmt.Errorf("allowlist: dependencies is neither an object nor a list")
	}
	for name, raw := range by {
		if _, twice := a.packages[name]; twice {
			return fmt.Errorf("allowlist: %+q is there twice", clip(name))
		}
		if err := a.addNames([]string{name}); err != nil {
			return err
		}
		var one string
		var many []string
		switch {
		case json.Unmarshal(raw, &one) == nil && one == "*":
		case json.Unmarshal(raw, &one) == nil && isExactVersion(one):
			a.packages[name] = []string{one}
		case json.Unmarshal(raw, &many) == nil && len(many) > 0 &&
			!slices.ContainsFunc(many, func(v string) bool { return !isExactVersion(v) }):
			a.packages[name] = many
		default:
			return fmt.Errorf("allowlist: versions of %+q are exact versions, or \"*\"", clip(name))
		}
	}
	return nil
}

// isExactVersion reports whether v is one semantic version, and not a range.
func isExactVersion(v string) bool {
	v = "v" + v
	return semver.Canonical(v)+semver.Build(v) == v
}
