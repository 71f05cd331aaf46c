package fetch

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Hosts are the hosts that a package is asked of, as c is configured; none for a kind that
// has no registry. Nobody is asked, and no variable is looked up.
func (c *Client) Hosts(kind artifact.Kind, name string) []string {
	var addresses []string
	switch kind {
	case artifact.NPM:
		n := c.config.NPM
		key := "registry"
		if scope, _, ok := strings.Cut(name, "/"); ok && (n.Setting(scope+":registry") != "" || len(n.project.templates[scope+":registry"].uses) > 0) {
			key = scope + ":registry"
		}
		if t, ok := n.project.templates[key]; ok && n.Setting(key) == "" {
			return []string{t.uses[0].Host}
		}
		base, err := n.registry(name)
		if err != nil {
			return nil
		}
		addresses = []string{base}
	case artifact.PyPI:
		if addresses = c.config.PyPI.Indexes; len(addresses) == 0 {
			addresses = []string{c.config.PyPI.Base}
			if c.config.PyPI.Base == "" {
				addresses = []string{defaultIndex}
			}
		}
	case artifact.OCI:
		host, _, _ := strings.Cut(name, "/")
		return []string{host}
	}
	var hosts []string
	for _, a := range addresses {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			hosts = append(hosts, hostPort(u))
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
