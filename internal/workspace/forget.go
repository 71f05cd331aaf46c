package workspace

import (
	"context"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// Forget removes what this machine remembers about servers and facets of the project in dir:
// approvals, installations and noted drift. Their lock entries are not expected on this machine any
// more. The project's files stay as they are. It fails, and writes nothing, if nothing is remembered about one of
// them.
func Forget(ctx context.Context, h *host.Host, dir string, names []string) error {
	w, done, err := OpenOrBegin(ctx, h, dir, true, true)
	if err != nil {
		return err
	}
	defer done()
	return w.forget(ctx, names)
}

// ForgetAll is [Forget] of everything that this machine remembers about the project, whose names it returns.
func ForgetAll(ctx context.Context, h *host.Host, dir string) ([]string, error) {
	w, done, err := OpenOrBegin(ctx, h, dir, true, true)
	if err != nil {
		return nil, err
	}
	defer done()
	names := w.Approvals.Names()
	return names, w.forget(ctx, names)
}

func (w *Workspace) forget(ctx context.Context, names []string) error {
	names, remembered := slices.Clone(names), w.Approvals.Names()
	slices.Sort(names)
	var files []durable.File
	for _, name := range slices.Compact(names) {
		_, server := w.Approvals.Servers[name]
		if !w.Approvals.Forget(name) {
			return project.NoSuch("server or facet", "what this machine remembers of this project", name, remembered)
		}
		if server {
			files = append(files, durable.File{Path: w.DriftPath(name), Remove: true})
		}
	}
	_, err := w.Commit(ctx, files)
	return err
}
