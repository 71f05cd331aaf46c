package fetch

import (
	"context"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

// ecosystem is a place that packages come from: how a Ref of its kind is downloaded, what its
// registry says of a package, and which hosts are asked for that. An ecosystem is a value
// without state. Its files need only what stands below them: the Client, its downloads and
// [Config]. Nothing outside of the table depends on the kind of a Ref. Most ecosystems embed
// defaults.
type ecosystem interface {
	// kind returns the kind of the Refs that it fetches.
	kind() artifact.Kind

	// fetch downloads what a Ref names, hashes it under algs, and adds what the registry
	// claims of it.
	fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error)

	// files expands a Ref that stands for several files to one Ref for each.
	files(ctx context.Context, c *Client, ref artifact.Ref) ([]artifact.Ref, error)

	// description fetches the text in which a package may say which MCP server it is for.
	description(ctx context.Context, c *Client, ref artifact.Ref) (string, error)

	// configure sets in config what the user's own files say.
	configure(config *Config, user *userconfig.Reader) error

	// route returns how its hosts are reached; nil if shared says that.
	route(config Config, shared transfer.Route) *transfer.Route

	// registries returns URLs whose hosts may be asked without consent: of the public
	// registries, and of those that a configuration names in their place.
	registries(config Config) (public, configured []string)

	// packageHosts returns the hosts that a package is asked of. It sends nothing, and looks
	// up no variable.
	packageHosts(config Config, name string) []string

	// bases returns the base URL of the one registry that a package is asked of, in all its spellings; none if it may
	// be several. It sends nothing.
	bases(config Config, name string) ([]string, error)

	// namedHost returns the host that a Ref itself names, "" if it names none.
	namedHost(ref artifact.Ref) string
}

// ecosystems is the table of all that are fetched from.
var ecosystems = []ecosystem{npm{}, pypi{}, github{}, nuget{}, cargo{}, images{}, bundles{}}

// ecosystemOf returns the ecosystem of a Ref. The error is an [*wire.Error].
func ecosystemOf(ref artifact.Ref) (ecosystem, error) {
	if e := ecosystemOfKind(ref.Kind()); e != nil {
		return e, nil
	}
	return nil, unsupportedKindError(ref)
}

// ecosystemOfKind returns the ecosystem of a kind, nil for a kind that is not fetched.
func ecosystemOfKind(kind artifact.Kind) ecosystem {
	for _, e := range ecosystems {
		if e.kind() == kind {
			return e
		}
	}
	return nil
}
