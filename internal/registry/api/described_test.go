package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/policy"
)

// DescriptionOf is how the registry that c describes is described to programs.
func DescriptionOf(c Config) (*huma.OpenAPI, error) {
	d, err := (&Server{Config: c}).routes(http.NewServeMux())
	if err != nil {
		return nil, err
	}
	return d.api, nil
}

// JudgeUnchecked judges a record while nothing is validated.
func JudgeUnchecked(ctx context.Context, rec registry.Record) (policy.Verdict, error) {
	verdict, _, err := (&Server{}).judge(ctx, Policy{Validation: registry.Off}, nil, rec, "")
	return verdict, err
}
