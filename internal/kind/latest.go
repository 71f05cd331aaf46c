package kind

import (
	"context"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// Latest asks the ecosystem's own resolver. If the declaration has an exact version, a newer one
// replaces it; a range or a tag stays, and is resolved again.
func (k ecosystem) Latest(ctx context.Context, q Query) (Latest, error) {
	out, t := Latest{Next: q.Server}, launcher.Parse(q.Server.Command, q.Server.Arguments)
	newest := func(of choice) (string, error) {
		defer q.Workspace.Host.Announce("asking %s for the newest version of %s", k.resolver, q.Server.Name)()
		return k.newest(ctx, q, t, of)
	}
	exact := t.Packages[0].Pinned() || q.Version != ""
	var err error
	if out.Wanted = q.Version; out.Wanted == "" {
		of := asDeclared
		if t.Packages[0].Pinned() {
			if of, err = k.chooseFrom(ctx, q, t.Packages[0].Ref); err != nil {
				return out, err
			}
		}
		if of == declaredAlone {
			out.Wanted = t.Packages[0].Ref.Version()
		} else if out.Wanted, err = newest(of); err != nil {
			return out, err
		}
	}
	if out.Newest = out.Wanted; !exact {
		out.Newest, err = newest(anyVersion)
		return out, err
	}
	versions := make([]string, len(t.Packages))
	versions[0] = out.Wanted
	arguments, ok := t.Spell(versions...)
	if !ok {
		return out, evidence.Errorf(evidence.Refused, q.Server.Name, "",
			fmt.Errorf("its command line cannot name the version %+q", out.Wanted))
	}
	out.Next.Arguments = arguments
	return out, nil
}

// chooseFrom says which versions may take the place of one that is declared exactly. What its publisher took back is
// no floor, so that an upgrade goes back to what it left. Where a version is younger than min_age allows, newer ones
// are too.
func (k ecosystem) chooseFrom(ctx context.Context, q Query, declared artifact.Ref) (choice, error) {
	if k.releases == nil {
		return declaredOrNewer, nil
	}
	now, err := k.releases(ctx, q.Workspace.Host, declared)
	if unread := new(wire.Error); errors.As(err, &unread) {
		return declaredOrNewer, nil // the resolver says what it cannot reach
	}
	if err != nil {
		return asDeclared, err
	}
	cutoff := q.Workspace.Cutoff()
	switch {
	case now[0].TakenBack():
		return anyVersion, nil
	case !cutoff.IsZero() && now[0].Published.After(cutoff):
		return declaredAlone, nil
	}
	return declaredOrNewer, nil
}
