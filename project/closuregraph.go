package project

import (
	"maps"
	"slices"
	"strings"
)

// Needs returns for each of c.Packages the indexes of those that it needs, as node finds them, sorted. It is nil if the
// stored form does not say which package needs which, as those of Python and Go.
func (c *Closure) Needs() ([][]int, error) {
	if c.raw == nil {
		return nil, nil
	}
	at := make(map[string]int, len(c.Packages))
	for i, p := range c.Packages {
		at[p.Path] = i
	}
	needs := make([][]int, len(c.Packages))
	for i, p := range c.Packages {
		for _, member := range []string{"dependencies", "optionalDependencies", "peerDependencies"} {
			var asked map[string]string
			if err := decodeMember(c.raw[p.Path], member, &asked); err != nil {
				return nil, err
			}
			for name := range maps.Keys(asked) {
				if found, ok := c.lookUp(p.Path, name); ok && at[found] != i {
					needs[i] = append(needs[i], at[found])
				}
			}
		}
		slices.Sort(needs[i])
		needs[i] = slices.Compact(needs[i])
	}
	return needs, nil
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
