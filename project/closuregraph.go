package project

import (
	"fmt"
	"slices"
	"strings"
)

// A need is a package of a closure that another needs, or can do without.
type need struct {
	of       int // index in Closure.Packages
	optional bool
}

// Needs returns for each of c.Packages the indexes of those that it needs, as node finds them, sorted. It is nil if the
// stored form does not say which package needs which, as those of Python and Go.
func (c *Closure) Needs() ([][]int, error) {
	all, err := c.needs()
	if all == nil || err != nil {
		return nil, err
	}
	indexes := make([][]int, len(all))
	for i, needs := range all {
		for _, n := range needs {
			indexes[i] = append(indexes[i], n.of)
		}
		slices.Sort(indexes[i])
		indexes[i] = slices.Compact(indexes[i])
	}
	return indexes, nil
}

// needs is [Closure.Needs], and says which are optional.
func (c *Closure) needs() ([][]need, error) {
	if c.raw == nil {
		return nil, nil
	}
	at := make(map[string]int, len(c.Packages))
	for i, p := range c.Packages {
		at[p.Path] = i
	}
	all := make([][]need, len(c.Packages))
	for i, p := range c.Packages {
		var optionalPeers map[string]struct{ Optional bool }
		if err := decodeMember(c.raw[p.Path], "peerDependenciesMeta", &optionalPeers); err != nil {
			return nil, err
		}
		named := map[string]bool{} // of several members the first that npm looks at counts
		for _, member := range []string{"optionalDependencies", "dependencies", "peerDependencies"} {
			var asked map[string]string
			if err := decodeMember(c.raw[p.Path], member, &asked); err != nil {
				return nil, err
			}
			for name := range asked {
				found, ok := c.lookUp(p.Path, name)
				if !ok || named[name] || at[found] == i {
					continue
				}
				named[name] = true
				all[i] = append(all[i], need{at[found], member == "optionalDependencies" ||
					member == "peerDependencies" && optionalPeers[name].Optional})
			}
		}
	}
	return all, nil
}

// For returns the packages that npm installs on a platform: of optional ones that are for others it leaves out those,
// what cannot be without them, and what only these need. A package that is for others and not optional is an error.
// Python's and Go's packages are all returned.
func (c *Closure) For(on NodePlatform) (installed []ClosurePackage, err error) {
	needs, err := c.needs()
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(c.Packages)) // those that are left out
	for i, p := range c.Packages {
		out[i] = p.Optional && !p.fits(on)
	}
	leaveOutDependents(needs, out)
	reached := c.reach(needs, out)
	for i, p := range c.Packages {
		if !p.Optional && !p.Ref.IsZero() && (out[i] || reached[i] && !p.fits(on)) {
			return nil, fmt.Errorf("%s is not for %s %s, and cannot be left out", p.Ref, on.OS, on.CPU)
		}
		if reached[i] {
			installed = append(installed, p)
		}
	}
	return installed, nil
}

// leaveOutDependents adds what cannot be without those of out.
func leaveOutDependents(needs [][]need, out []bool) {
	for again := true; again; {
		again = false
		for i := range needs {
			if !out[i] && slices.ContainsFunc(needs[i], func(n need) bool { return !n.optional && out[n.of] }) {
				out[i], again = true, true
			}
		}
	}
}

// reach returns which packages the root needs, through others, where those of out are not there. Without needs it needs
// all.
func (c *Closure) reach(needs [][]need, out []bool) []bool {
	reached := make([]bool, len(c.Packages))
	var next []int
	for i, p := range c.Packages {
		if needs == nil || c.isDirect(p) {
			next = append(next, i)
		}
	}
	for len(next) > 0 {
		i := next[len(next)-1]
		if next = next[:len(next)-1]; out[i] || reached[i] {
			continue
		}
		reached[i] = true
		if needs != nil {
			for _, n := range needs[i] {
				next = append(next, n.of)
			}
		}
	}
	return reached
}

// Bundled returns the name and version of a package inside another's tarball, which has no Ref, and the path of that
// other one. The version is "" if npm did not write it down.
func (c *Closure) Bundled(p ClosurePackage) (name, version, in string) {
	in, name = splitPath(p.Path)
	// What does not decode here is no version.
	_ = decodeMember(c.raw[p.Path], "version", &version)
	return name, version, in
}

// splitPath splits the path of an installed package into that of the package that it lies in and its name.
func splitPath(p string) (in, name string) {
	const dir = "node_modules/"
	i := max(0, strings.LastIndex(p, dir))
	return strings.TrimSuffix(p[:i], "/"), strings.TrimPrefix(p[i:], dir)
}
