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

// acceptTags asks whether to follow the tags that were moved since they were locked, before anything of the new
// commits is started or written.
func (a *Assembly) acceptTags() error {
	var moved []Change
	for _, c := range a.changes() {
		if c.TagMoved() {
			moved = append(moved, c)
		}
	}
	if len(moved) == 0 || a.o.AcceptTag == nil {
		return nil // without AcceptTag the tag is evidence, which was judged
	}
	ok, err := a.o.AcceptTag(moved)
	if err != nil || ok || a.o.Dry {
		return err
	}
	var problems []error
	for _, c := range moved {
		next := "review what changed; 'hallmark upgrade " + c.Name + " --accept-tag --yes' follows the tag"
		if a.anew.Declared == c.Name {
			next = "review what changed; 'hallmark add --yes' for the same facet follows the tag"
		}
		problems = append(problems, evidence.Errorf(evidence.Drift, c.Before.Subject(c.Name), next,
			fmt.Errorf("tag %s was moved from commit %s to %s, and nobody agreed to follow it", c.After.Source.Tag,
				c.Before.Source.Commit, c.After.Source.Commit)))
	}
	return errors.Join(problems...)
}
