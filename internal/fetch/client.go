package fetch

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
)

// Client fetches artifacts. It is safe for concurrent use.
type Client struct {
	config Config
	limits Limits
	log    *slog.Logger
	slots  chan struct{}                       // one for each fetch under way
	held   *transfer.Budget                    // of files on this machine
	shared *transfer.Network                   // of all that have none of their own
	own    map[artifact.Kind]*transfer.Network // of ecosystems with authorities or a proxy of their own
	hosts  consent.Hosts                       // which may be asked

	operator    *atomic.Pointer[[]HostCredential]
	credentials []HostCredential // of this view, as they were when it was made
	namespace   string           // that they are for, "" for none
	together    *transfer.Budget // of all that this view fetches
}

// Limits are those that c works by, with defaults for what was not set.
func (c *Client) Limits() Limits { return c.limits }

// network is that over which Refs of a kind are fetched.
func (c *Client) network(kind artifact.Kind) *transfer.Network {
	if own := c.own[kind]; own != nil {
		return own
	}
	return c.shared
}

// CloseIdleConnections closes connections that are kept for reuse.
func (c *Client) CloseIdleConnections() {
	c.shared.CloseIdleConnections()
	for _, n := range c.own {
		n.CloseIdleConnections()
	}
}

// Ignored returns, the first time, what the files of the checkout say to resolvers and is
// not taken from them.
func (c *Client) Ignored() []string { return c.config.ignored.Lines() }

// begin waits for a slot and starts the clock.
func (c *Client) begin(ctx context.Context, ref artifact.Ref) (context.Context, context.CancelFunc, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, interrupted(ctx, ref)
	}
	if ctx.Err() != nil { // select chooses at random
		<-c.slots
		return nil, nil, interrupted(ctx, ref)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.FileTime, transfer.ErrTimeUp)
	return ctx, func() { cancel(); <-c.slots }, nil
}
