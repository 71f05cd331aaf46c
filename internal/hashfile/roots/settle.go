package roots

import (
	"errors"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/names"
)

// errLedElsewhere says why an allowed directory is not used: see settle.
var errLedElsewhere = errors.New("its path goes through a link that was not there when it was named, or that is content of a checkout, and leads elsewhere than it did then; start the server again to agree to that")

// settleRoots looks up where named directories lead now. Whoever names a path with a link in it
// agrees to what that leads to, also later, as links are there to be changed. But what was a
// directory and is a link now is not what was named; and a link that lies in another of these
// directories, or in the work tree of a repository, is content, which a checkout may have
// brought along. Neither may make an allowed directory of what nobody named: such a link is
// believed only as far as it leads where the path did when it was named.
func settle(named []*Named) (roots []*Root, absent []absence) {
	var links [][]string
	var found []*Root
	for _, n := range named {
		path, through, err := followPath(n.given)
		if err != nil {
			absent = append(absent, absence{n.given, err})
			continue
		}
		found, links = append(found, &Root{given: n.given, Path: path, name: n}), append(links, through)
	}
	for i, r := range found {
		content := func(link string) bool {
			return !slices.Contains(r.name.through, link) || names.InWorkTree(link) ||
				slices.ContainsFunc(found, func(other *Root) bool {
					rel, ok := CutDir(other.Path, link)
					return ok && rel != "." && other != r
				})
		}
		if r.Path != r.name.agreed && slices.ContainsFunc(links[i], content) {
			absent = append(absent, absence{r.given, errLedElsewhere})
			continue
		}
		roots = append(roots, r)
	}
	return roots, absent
}
