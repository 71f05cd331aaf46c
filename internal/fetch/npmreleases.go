package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// releases reads the package's document, as that of a version does not say when it was published. A package of a scope
// may be private: registries deny that there is one to anyone who has not logged in, so that it need not be gone.
func (npm) releases(ctx context.Context, c *Client, refs []artifact.Ref) ([]Release, error) {
	all := make([]Release, len(refs))
	for i, ref := range refs {
		all[i] = Release{Ref: ref, Gone: true}
	}
	base, err := c.config.NPM.Registry(refs[0].Name())
	if err != nil {
		return nil, err
	}
	err = c.openPackument(ctx, refs[0], base, func(p *packument, from string) error {
		cause, err := p.read(map[string]func() error{
			"versions": func() error { return p.eachMember(func(v string) error { return p.noteVersion(all, v) }) },
			"time":     func() error { return p.eachMember(func(v string) error { return p.noteTime(all, v) }) },
		})
		if err != nil {
			return &wire.Error{Ref: refs[0].String(), Cause: cause, URL: from, Err: err}
		}
		return nil
	})
	if !isNotFound(err) {
		return all, err
	}
	if strings.HasPrefix(refs[0].Name(), "@") {
		return nil, &wire.Error{Ref: refs[0].String(), Cause: evidence.NotFound,
			Err: errors.New("the registry shows no such package: it was unpublished, or is seen after a login only")}
	}
	return all, nil // the package is gone, with all versions
}

// noteVersion reads from a version's document whether it is deprecated.
func (p *packument) noteVersion(all []Release, version string) error {
	if !slices.ContainsFunc(all, func(r Release) bool { return r.Ref.Version() == version }) {
		return p.skip()
	}
	var doc map[string]json.RawMessage // by their exact names
	if err := p.decode(&doc); err != nil {
		return err
	}
	for i := range all {
		if all[i].Ref.Version() == version {
			all[i].Gone, all[i].Withdrawn = false, deprecation(doc["deprecated"])
		}
	}
	return nil
}

// noteTime reads when a version was published.
func (p *packument) noteTime(all []Release, version string) error {
	var text any
	if err := p.decode(&text); err != nil {
		return err
	}
	s, _ := text.(string)
	for i := range all {
		if all[i].Ref.Version() == version {
			all[i].Published, _ = time.Parse(time.RFC3339, s) // what is no time is not known
		}
	}
	return nil
}
