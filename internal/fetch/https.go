package fetch

import (
	"context"
	"fmt"
	"net/url"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// fetchHTTPS downloads the body of a URL. No credentials are sent save an
// operator's, and nobody claims anything of it.
func (c *Client) fetchHTTPS(ctx context.Context, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	u, err := url.Parse(ref.URL())
	if err != nil {
		return nil, &Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: fmt.Errorf("it holds no URL")}
	}
	u.Fragment, u.RawFragment = "", ""
	return c.download(ctx, ref, c.plain, request{url: u, authorization: c.authorized(nil)}, algs)
}
