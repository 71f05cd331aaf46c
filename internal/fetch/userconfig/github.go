package userconfig

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"
)

// GitHub says where GitHub is.
type GitHub struct {
	Base  string // of the site, "" is the public one
	API   string // base URL of its REST API; "" is the host of Base with "api." before it
	Token string // sent to the API's host alone; "" is none
}

// GitHub reads the variables of GitHub's command line.
func (r *Reader) GitHub() GitHub {
	env := r.Env
	public, _ := url.Parse(model.RegistryURLGitHub)
	host := strings.ToLower(env("GH_HOST"))
	token := cmp.Or(env("GH_TOKEN"), env("GITHUB_TOKEN"))
	switch {
	case host == "" || host == public.Host:
		return GitHub{Token: token}
	case strings.HasSuffix(host, ".ghe.com"): // an enterprise's part of the public service
		return GitHub{Base: "https://" + host, Token: token}
	}
	return GitHub{Base: "https://" + host, API: "https://" + host + "/api/v3",
		Token: cmp.Or(env("GH_ENTERPRISE_TOKEN"), env("GITHUB_ENTERPRISE_TOKEN"))}
}
