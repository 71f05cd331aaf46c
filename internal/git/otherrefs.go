package git

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

const (
	maxNear    = 5   // names that a hint shows
	maxRefName = 100 // bytes of one that is compared and shown
)

// otherRefs is the hint for a reference that the repository does not have: those that it has, the nearest first.
func (r Repository) otherRefs(ctx context.Context, wanted Ref) string {
	all, err := r.listRefs(ctx)
	if err != nil {
		return ""
	}
	var tags, branches []string
	for name := range all {
		if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok && !strings.HasSuffix(tag, "^{}") {
			tags = append(tags, tag)
		} else if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			branches = append(branches, branch)
		}
	}
	name := cmp.Or(wanted.Tag, wanted.Branch)
	isTag, isBranch := slices.Contains(tags, name), slices.Contains(branches, name)
	switch tags, branches := near(name, "tags", tags), near(name, "branches", branches); {
	case isBranch: // wanted as a tag
		return fmt.Sprintf("it is a branch: give --branch %s, or in hallmark.toml branch in place of tag", name)
	case isTag:
		return fmt.Sprintf("it is a tag: give --tag %s, or in hallmark.toml tag in place of branch", name)
	case len(all) == 0:
		return "the repository is empty: push a commit to it, or give the URL of another one"
	case wanted.Tag != "":
		return tags + branches + r.listing()
	default:
		return branches + tags + r.listing()
	}
}

// listing is the end of a hint, with the command that lists all references.
func (r Repository) listing() string {
	return "name one that is there, with --tag or --branch or in hallmark.toml; 'git ls-remote " +
		surface.Escape(artifact.RedactURLs(r.URL)) + "' lists all"
}

// near says which names there are of a kind, those that are spelled most like one first.
func near(name, kind string, there []string) string {
	there = slices.DeleteFunc(there, func(s string) bool { return len(s) > maxRefName })
	if len(there) == 0 {
		return kind + ": none; "
	}
	distance := func(s string) int { return spelling.Distance(name[:min(len(name), maxRefName)], s) }
	slices.SortFunc(there, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b))
	})
	more := ""
	if n := len(there) - maxNear; n > 0 {
		there, more = there[:maxNear], fmt.Sprintf(" and %s more", evidence.Group(int64(n)))
	}
	return kind + ": " + surface.Escape(strings.Join(there, ", ")) + more + "; "
}
