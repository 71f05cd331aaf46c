package obtain

import (
	"context"

	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// FindRefs is which of the references with these full names a repository has, with the id of each.
func FindRefs(ctx context.Context, w *workspace.Workspace, url string, names []string) (map[string]string, error) {
	found, err := repository(w, project.Facet{Git: url}).FindRefs(ctx, names...)
	if err != nil {
		return nil, gitError(url, err)
	}
	return found, nil
}
