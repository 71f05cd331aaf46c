package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Document reads a document of at most limit bytes that is at a URL, which need not be of a registry. Redirects stay on
// its host.
func Document(ctx context.Context, address string, limit int) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "", "", errors.New("the URL cannot be parsed"))
	}
	base := &url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}
	c := &Client{Base: base.String()}
	r := request{method: http.MethodGet, path: u.EscapedPath(), rawQuery: u.RawQuery}
	text, _, err := c.send(ctx, r, sending{wait: c.wait(r.path), header: http.Header{"Accept": {"application/json"}},
		limit: limit})
	return text, err
}
