package fetch

import (
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// interrupted is the error of a fetch whose caller gave up.
func interrupted(ctx context.Context, ref artifact.Ref) error {
	return fmt.Errorf("%s: fetch interrupted: %w", wire.Name(ref.String()), ctx.Err())
}

func unsupportedKind(ref artifact.Ref) *wire.Error {
	kind := string(ref.Kind())
	if kind == "" {
		kind = "empty"
	}
	return &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
		Err: fmt.Errorf("%s refs cannot be fetched", kind)}
}
