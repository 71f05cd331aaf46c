package place

import (
	"errors"
	"slices"
)

// errLedElsewhere is the reason for which settle does not use an allowed directory.
var errLedElsewhere = errors.New(
	"its path goes through a link that was not there when it was named, or that is content of a checkout, and leads " +
		"elsewhere than it did then; start the server again to agree to that")

// settle looks up where named directories lead now.
//
// A user who names a path with a link in it agrees to what the link leads to, also later, because links are meant to
// be changed. Two kinds of links were not agreed to: a link that replaced a directory after the path was named, and a
// link that lies in another allowed directory or in the work tree of a repository, because a checkout may have brought
// it along. If the path leads through one of these, it is used only if it leads to the same real path as when it was
// named.
func settle(named []*Named) (roots []*Root, absent []Absence) {
	var found []*Root
	for _, n := range named {
		path, through, err := FollowPath(n.given)
		if err != nil {
			absent = append(absent, Absence{n.given, err})
			continue
		}
		found = append(found, &Root{given: n.given, Path: path, links: through, name: n})
	}
	for _, r := range found {
		content := func(link string) bool {
			return !slices.Contains(r.name.through, link) || inWorkTree(link) ||
				slices.ContainsFunc(found, func(other *Root) bool {
					rel, ok := CutDir(other.Path, link)
					return ok && rel != "." && other != r
				})
		}
		if r.Path != r.name.agreed && slices.ContainsFunc(r.links, content) {
			absent = append(absent, Absence{r.given, errLedElsewhere})
			continue
		}
		roots = append(roots, r)
	}
	return roots, absent
}
