package facets

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// TagMoved reports whether the change follows a tag of a git repository that names another commit than the
// one that was locked.
func (c Change) TagMoved() bool {
	if c.Before == nil || c.After == nil {
		return false
	}
	before, after := c.Before.Source, c.After.Source
	return after.Tag != "" && before.Tag == after.Tag && before.URL == after.URL && before.Commit != after.Commit
}

// movedTagsError is the error for tags that a command was to follow and that nobody agreed to follow; nil if
// none of the changes follows one.
func (r *facetRequest) movedTagsError(all []Change) error {
	var problems []error
	for _, c := range all {
		if !c.TagMoved() {
			continue
		}
		next := "review what changed; 'hallmark upgrade " + c.Name + " --accept-tag --yes' follows the tag"
		if len(r.add) > 0 {
			next = "review what changed; 'hallmark add --yes' for the same facet follows the tag"
		}
		problems = append(problems, evidence.Errorf(evidence.Drift, c.Before.Subject(c.Name), next,
			fmt.Errorf("tag %s was moved from commit %s to %s, and nobody agreed to follow it", c.After.Source.Tag,
				c.Before.Source.Commit, c.After.Source.Commit)))
	}
	return errors.Join(problems...)
}
