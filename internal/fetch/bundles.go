package fetch

import (
	"context"
	"fmt"
	"net/url"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// bundles are files that a plain https URL names.
type bundles struct{ defaults }

func (bundles) kind() artifact.Kind { return artifact.HTTPS }

func (bundles) registries(Config) (public, configured []string) {
	return []string{model.RegistryURLGitLab}, nil // it keeps releases, as GitHub does
}

func (bundles) namedHost(ref artifact.Ref) string { return wire.HostOfText(ref.URL()) }

// fetch downloads the body of a URL. It sends no credentials but an operator's; nobody claims
// anything of the file.
func (bundles) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	u, err := url.Parse(ref.URL())
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: fmt.Errorf("it holds no URL")}
	}
	u.Fragment, u.RawFragment = "", ""
	return c.download(ctx, ref, transfer.Request{URL: u, Authorization: c.addCredentials(nil)}, algs)
}
