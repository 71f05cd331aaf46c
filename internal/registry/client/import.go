package client

import (
	"context"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Changes returns one page of everything that changed at or after since, deleted records
// too; a zero since is everything. The official registry answers it as well.
func (c *Client) Changes(ctx context.Context, cursor string, since time.Time) (*registry.Page, error) {
	return c.List(ctx, registry.Query{Deleted: true, Limit: registry.MaxLimit, Cursor: cursor,
		UpdatedSince: since.Truncate(time.Second)})
}
