package fetch

import (
	"errors"
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// fileURL parses the URL of a file in a registry's document, relative to base, the URL of the
// document. It has no fragment.
func fileURL(base *url.URL, text string) (*url.URL, error) {
	const most = 2048
	if len(text) > most {
		return nil, errors.New("the file's URL is longer than 2048 bytes")
	}
	u, err := base.Parse(text)
	if err != nil {
		return nil, errors.New("the file's URL cannot be parsed")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// joinURL returns base with segments appended, each escaped, and without its query.
func joinURL(base string, segments ...string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("the base URL cannot be parsed")
	}
	escaped, clear := strings.TrimRight(u.EscapedPath(), "/"), strings.TrimRight(u.Path, "/")
	for _, s := range segments {
		escaped += "/" + url.PathEscape(s)
		clear += "/" + s
	}
	return &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: clear, RawPath: escaped}, nil
}

// hostsOf returns the hosts of URLs, without those of URLs that have none.
func hostsOf(addresses ...string) (hosts []string) {
	for _, a := range addresses {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			hosts = append(hosts, wire.HostPort(u))
		}
	}
	return hosts
}
