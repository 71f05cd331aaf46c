package fetch

import (
	"context"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

// ecosystem is a place that packages come from: how a Ref of its kind is downloaded, what its
// registry says of a package, and which hosts that takes. An ecosystem is a value without a
// state of its own; it stands in the table, and nothing else here asks for the kind of a Ref.
// Most embed ordinary, which has nothing but what every ecosystem has.
type ecosystem interface {
	// kind is that of the Refs that it fetches.
	kind() artifact.Kind

	// fetch downloads what a Ref names, hashes it under algs, and adds what the registry
	// claims of it.
	fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error)

	// files expands a Ref that stands for several files.
	files(ctx context.Context, c *Client, ref artifact.Ref) ([]artifact.Ref, error)

	// description fetches the text in which a package may say which MCP server it is for.
	description(ctx context.Context, c *Client, ref artifact.Ref) (string, error)

	// configure takes over what the user's own files say.
	configure(config *Config, user *userconfig.Reader) error

	// route is how its hosts are reached, nil if they are reached as shared says.
	route(config Config, shared transfer.Route) *transfer.Route

	// registries are URLs whose hosts may be asked without a question: of the public
	// registries, and of those that a configuration names in their place.
	registries(config Config) (public, configured []string)

	// packageHosts are the hosts that a package is asked of. Nobody is asked, and no
	// variable is looked up.
	packageHosts(config Config, name string) []string

	// namedHost is the host that a Ref itself names, "" if it names none.
	namedHost(ref artifact.Ref) string
}

// ecosystems are all that are fetched from. Their order is that in which configuration is
// read, and so that of its errors.
var ecosystems = []ecosystem{npm{}, pypi{}, github{}, nuget{}, cargo{}, images{}, bundles{}}

// ecosystemOf is the ecosystem of a Ref. The error is an [*wire.Error].
func ecosystemOf(ref artifact.Ref) (ecosystem, error) {
	if e := ecosystemOfKind(ref.Kind()); e != nil {
		return e, nil
	}
	return nil, unsupportedKind(ref)
}

// ecosystemOfKind is nil for a kind that is not fetched.
func ecosystemOfKind(kind artifact.Kind) ecosystem {
	for _, e := range ecosystems {
		if e.kind() == kind {
			return e
		}
	}
	return nil
}
