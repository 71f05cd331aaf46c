package fetch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Client fetches artifacts. It is safe for concurrent use.
type Client struct {
	config  Config
	limits  Limits
	log     *slog.Logger
	slots   chan struct{}     // holds one value for each fetch that runs
	patient time.Time         // until when what is not there yet is asked for again: see Limits.Wait
	held    *transfer.Budget  // for the files on this machine
	network *transfer.Network // of the ecosystems without one of their own; in a view for one, of that
	hosts   wire.Hosts        // those that may be asked

	tools map[artifact.Kind]func() (*tool, error) // by the kind of their packages; shared by all views
	idle  *connections                            // shared by all views

	operator    *atomic.Pointer[[]HostCredential] // see SetCredentials; shared by all views
	credentials []HostCredential                  // the operator's when this view was made
	namespace   string                            // which of them this view may use; "" is none
	together    *transfer.Budget                  // for all that this view fetches

	local map[artifact.Ref]string // files on this machine by the normal form of what they stand for
}

// Limits returns the limits of c, with defaults for what was not set.
func (c *Client) Limits() Limits { return c.limits }

// CloseIdleConnections closes connections that are kept for reuse.
func (c *Client) CloseIdleConnections() { c.idle.close() }

// IgnoredSettings returns, when it is first called, the settings for packages of a kind in the files
// of the checkout that are ignored.
func (c *Client) IgnoredSettings(kind artifact.Kind) []string {
	c, err := c.withTool(kind)
	if err != nil {
		return nil // the fetch reports it
	}
	return c.config.ignored.Lines()
}

// begin waits until ref may be fetched, and gives its fetch Limits.FileTime from then on. The
// caller calls the function that it returns when the fetch is over.
func (c *Client) begin(ctx context.Context, ref artifact.Ref) (context.Context, context.CancelFunc, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, interruptedError(ctx, ref)
	}
	if ctx.Err() != nil { // select chooses at random
		<-c.slots
		return nil, nil, interruptedError(ctx, ref)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.FileTime, transfer.ErrTimeUp)
	return ctx, func() { cancel(); <-c.slots }, nil
}

// asking runs ask for ref with the configuration of its ecosystem, once ref may be fetched.
func asking[T any](
	ctx context.Context, c *Client, ref artifact.Ref, ask func(context.Context, *Client) (T, error),
) (none T, err error) {
	if c, err = c.withTool(ref.Kind()); err != nil {
		return none, err
	}
	ctx, release, err := c.begin(ctx, ref)
	if err != nil {
		return none, err
	}
	defer release()
	return ask(ctx, c)
}
