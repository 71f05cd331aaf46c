package kind

import (
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
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
		if exact {
			of = declaredOrNewer
		}
		if out.Wanted, err = newest(of); err != nil {
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
