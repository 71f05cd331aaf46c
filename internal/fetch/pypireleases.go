package fetch

import (
	"cmp"
	"context"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// releases reads the documents of releases, of the first index that has any.
func (pypi) releases(ctx context.Context, c *Client, refs []artifact.Ref) ([]Release, error) {
	var all []Release
	for _, ref := range refs {
		r := Release{Ref: ref}
		whole, err := artifact.NewPyPI(ref.Name(), ref.Version(), "") // a release is withdrawn with all its files
		if err != nil {
			return nil, err
		}
		files, err := c.findPyPIFiles(ctx, whole)
		switch {
		case isNotFound(err):
			r.Gone = true
		case err != nil:
			return nil, err
		}
		for _, f := range files {
			if ref.Filename() == "" || f.name == ref.Filename() {
				r.Withdrawn = cmp.Or(r.Withdrawn, f.yanked)
			}
			if r.Published.IsZero() || !f.uploaded.IsZero() && f.uploaded.Before(r.Published) {
				r.Published = f.uploaded
			}
		}
		all = append(all, r)
	}
	return all, nil
}
