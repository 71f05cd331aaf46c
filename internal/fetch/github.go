package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/modelcontextprotocol/registry/pkg/model"
)

// GitHubConfig says where GitHub is.
type GitHubConfig struct {
	Base  string // of the site, "" is the public one
	API   string // base URL of its REST API; "" is "api." before the host of Base
	Token string // sent to the API's host alone; "" is none
}

func (g GitHubConfig) base() string { return cmp.Or(g.Base, model.RegistryURLGitHub) }

func (g GitHubConfig) api() string {
	if g.API != "" {
		return g.API
	}
	scheme, rest, _ := strings.Cut(g.base(), "://")
	return scheme + "://api." + rest
}

// authorization is asked for the API's URLs alone.
func (g GitHubConfig) authorization(*url.URL) (string, error) {
	return bearer(g.Token, "the GitHub token")
}

// gitHubAsset is what the API says of an asset.
type gitHubAsset struct {
	id     string // decimal
	digest string // as "sha256:hex"; old assets have none
	url    string // of the site
}

// fetchGitHub downloads a release's asset. Where the API does not let us ask, the
// asset comes from the site, and nobody claims anything of it.
func (c *Client) fetchGitHub(ctx context.Context, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	g := c.config.GitHub
	owner, repo, _ := strings.Cut(ref.Name(), "/")
	site, err := below(g.base(), owner, repo, "releases", "download", ref.Version(), ref.Filename())
	if err != nil {
		return nil, &Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: fmt.Errorf("GitHub: %w", err)}
	}
	r := request{url: site, by: byConfig, authorization: c.authorized(nil)}
	asset, err := c.gitHubAsset(ctx, ref)
	if e, ok := errors.AsType[*Error](err); ok && (e.Status == http.StatusForbidden || e.Status == http.StatusTooManyRequests) {
		d, err := c.download(ctx, ref, c.plain, r, algs)
		if err != nil {
			return nil, err
		}
		note := fmt.Sprintf("the GitHub API %s, so that its own digest of this asset was not compared", statusError(e.Status))
		if g.Token == "" {
			note += "; a token in GITHUB_TOKEN raises its limit of requests"
		}
		d.Notes = append(d.Notes, note)
		c.log.Warn(note, "ref", name(ref.String()))
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	auth := c.authorized(g.authorization)
	at, err := below(g.api(), "repos", owner, repo, "releases", "assets", asset.id)
	if err != nil {
		return nil, &Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: fmt.Errorf("GitHub API: %w", err)}
	}
	header, err := auth(at)
	if err != nil {
		return nil, &Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: err}
	}
	if header != "" && asset.id != "" {
		// The only way to an asset of a private repository.
		r = request{url: at, by: byConfig, accept: "application/octet-stream", authorization: auth}
	} else if u, err := fileURL(site, asset.url); err == nil && asset.url != "" && sameHost(u, site) {
		r.url = u
	}
	var claims []evidence.Claim
	var bad evidence.Report
	if asset.digest != "" {
		claims, bad = registryClaim(ref, "the GitHub API, digest", asset.digest)
	}
	d, err := c.download(ctx, ref, c.plain, r, needed(algs, claims))
	if err != nil {
		return nil, err
	}
	d.Claims, d.Unverifiable = claims, bad
	return d, nil
}

// gitHubAsset asks the API for the asset that ref names.
func (c *Client) gitHubAsset(ctx context.Context, ref artifact.Ref) (gitHubAsset, error) {
	g := c.config.GitHub
	fail := func(cause evidence.Cause, u *url.URL, err error) (gitHubAsset, error) {
		return gitHubAsset{}, &Error{Ref: ref.String(), Cause: cause, URL: show(u), Err: err}
	}
	owner, repo, _ := strings.Cut(ref.Name(), "/")
	u, err := below(g.api(), "repos", owner, repo, "releases", "tags", ref.Version())
	if err != nil {
		return fail(evidence.Unsupported, nil, fmt.Errorf("GitHub API: %w", err))
	}
	data, err := c.document(ctx, ref, c.plain, request{
		url: u, by: byConfig, accept: "application/vnd.github+json", final429: true, authorization: c.authorized(g.authorization)})
	if e, ok := errors.AsType[*Error](err); ok && e.Hint == "" && e.Cause == evidence.NotFound && g.Token == "" {
		e.Hint = "is there a release of this tag? if the repository is private, set GITHUB_TOKEN"
	}
	if err != nil {
		return gitHubAsset{}, err
	}
	doc := parseObject(data)
	if doc == nil {
		return fail(evidence.Unreachable, u, errors.New("the answer is not a release"))
	}
	if tag := doc.text("tag_name"); tag != ref.Version() {
		return fail(evidence.NotFound, u, fmt.Errorf("the answer is for tag %s", quoted(tag)))
	}
	assets := doc.list("assets")
	i := slices.IndexFunc(assets, func(a object) bool { return a.text("name") == ref.Filename() })
	if i < 0 {
		var names []string
		for _, a := range assets {
			names = append(names, quoted(a.text("name")))
		}
		return fail(evidence.NotFound, u, fmt.Errorf("the release has no such asset, it has %s", cmp.Or(strings.Join(names, ", "), "none")))
	}
	a := assets[i]
	return gitHubAsset{id: a.integer("id"), digest: a.text("digest"), url: a.text("browser_download_url")}, nil
}
