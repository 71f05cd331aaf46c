package fetch

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// interruptedError is the error of a fetch whose context has ended.
func interruptedError(ctx context.Context, ref artifact.Ref) error {
	return fmt.Errorf("%s: fetch interrupted: %w", wire.Name(ref.String()), ctx.Err())
}

// unsupportedKindError is the error for a Ref of a kind that is not fetched, or not in the way
// that was asked for.
func unsupportedKindError(ref artifact.Ref) *wire.Error {
	kind := string(ref.Kind())
	kind = cmp.Or(kind, "empty")
	return &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
		Err: fmt.Errorf("%s refs cannot be fetched", kind)}
}
