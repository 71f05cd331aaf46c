package facets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// declare adds a facet to hallmark.toml, of which text is what it was. A name that its publisher chose takes the place
// of no facet from elsewhere.
func (r *facetRequest) declare(ctx context.Context, w *workspace.Workspace, f *project.Facet, text []byte,
	o Options) ([]byte, error) {
	if err := f.Check(); err != nil { // before any request
		return nil, evidence.Errorf(evidence.Validation, cmp.Or(f.Name, f.Git, f.Path), "", err)
	}
	found := r.found
	if f.Name == "" {
		found = true
		var err error
		if f.Name, err = obtain.FindName(ctx, w, *f, o.Offline); err != nil {
			return nil, err
		}
	}
	if mine, ok := w.Config.Facets[f.Name]; ok && found && !sameOrigin(mine, *f) {
		hint := "give it another name: 'hallmark add NAME' with the same --git or --path; or remove the other one"
		if r.adopt != nil {
			hint = "rename its directory, or remove the other one: 'hallmark remove NAME'"
		}
		return nil, evidence.Errorf(evidence.Refused, f.Name, hint,
			fmt.Errorf("is declared by %s line %d as %s already",
				project.ConfigFile, mine.Line, surface.Escape(mine.String())))
	}
	if mine, ok := w.Config.Facets[f.Name]; ok && sameOrigin(mine, *f) { // what is wanted of it stays
		f.Prefix, f.Parts = cmp.Or(f.Prefix, mine.Prefix), slices.Clone(f.Parts)
		if len(f.Parts) == 0 {
			f.Parts = mine.Parts
		}
	}
	if o.Prefixed {
		f.Prefix = ownName(f.Name)
	}
	next := *f
	if next.Kind().HasVersions() && next.Requirement.String() == "" {
		next.Requirement, _ = artifact.ParseRequirement("*")
	}
	return workspace.SetFacet(text, next)
}

// ownName is the name of a facet without its scope.
func ownName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// sameOrigin reports whether two declarations name one directory or repository, whatever the revision.
func sameOrigin(a, b project.Facet) bool {
	return a.Git == b.Git && a.Sub == b.Sub && a.Path == b.Path
}

// declareRegistry returns the text of hallmark.toml with the registry that a person named, or as it is.
func declareRegistry(w *workspace.Workspace, o Options) ([]byte, error) {
	named := project.Registry{URL: o.Registry}
	switch declared := w.Config.Registry; {
	case o.Registry == "":
		return w.Text, nil
	case declared.URL == "":
		text, err := workspace.AddRegistry(w.Text, o.Registry, o.Log.Key)
		if err != nil {
			return nil, err
		}
		w.Config, err = project.ParseConfig(text)
		return text, err
	case declared.Name() != named.Name():
		return nil, evidence.Errorf(evidence.Refused, o.Registry,
			"leave --registry out, or edit "+project.ConfigFile+": what is locked is of the other one",
			fmt.Errorf("is not the registry of this project, which is %s", surface.Escape(declared.URL)))
	}
	return w.Text, nil
}
