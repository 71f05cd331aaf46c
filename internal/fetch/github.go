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

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// github has the assets of releases, on the public GitHub or an enterprise's.
type github struct{ defaults }

func (github) kind() artifact.Kind { return artifact.GitHub }

func (github) configure(config *Config, user *userconfig.Reader) error {
	config.GitHub = user.GitHub()
	return nil
}

func (github) registries(config Config) (public, configured []string) {
	return []string{model.RegistryURLGitHub, apiURL(userconfig.GitHub{})},
		[]string{siteURL(config.GitHub), apiURL(config.GitHub)}
}

// siteURL returns the base URL of the site.
func siteURL(g userconfig.GitHub) string { return cmp.Or(g.Base, model.RegistryURLGitHub) }

// apiURL returns the base URL of the API.
func apiURL(g userconfig.GitHub) string {
	if g.API != "" {
		return g.API
	}
	scheme, rest, _ := strings.Cut(siteURL(g), "://")
	return scheme + "://api." + rest
}

// gitHubAuthorization gives the Authorization header of the user's token. It is for the API's
// URLs alone.
func gitHubAuthorization(g userconfig.GitHub) func(*url.URL) (string, error) {
	return func(*url.URL) (string, error) { return userconfig.Bearer(g.Token, "the GitHub token") }
}

// gitHubAsset is what the API says of an asset.
type gitHubAsset struct {
	id     string // decimal
	digest string // as "sha256:hex"; old assets have none
	url    string // of the site
}

// fetch downloads a release's asset. If the API refuses to answer, the asset comes from the
// site, and nobody claims anything of it.
func (github) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	g := c.config.GitHub
	owner, repo, _ := strings.Cut(ref.Name(), "/")
	site, err := joinURL(siteURL(g), owner, repo, "releases", "download", ref.Version(), ref.Filename())
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: fmt.Errorf("GitHub: %w", err)}
	}
	r := transfer.Request{URL: site, By: wire.ByConfig, Authorization: c.addCredentials(nil)}
	asset, err := c.fetchGitHubAsset(ctx, ref)
	if e, ok := errors.AsType[*wire.Error](err); ok && (e.Status == http.StatusForbidden ||
		e.Status == http.StatusTooManyRequests) {
		return c.fetchUnasked(ctx, ref, r, algs, e.Status)
	}
	if err != nil {
		return nil, err
	}
	auth := c.addCredentials(gitHubAuthorization(g))
	at, err := joinURL(apiURL(g), "repos", owner, repo, "releases", "assets", asset.id)
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: fmt.Errorf("GitHub API: %w", err)}
	}
	header, err := auth(at)
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: err}
	}
	if header != "" && asset.id != "" {
		// Only the API gives out the assets of a private repository.
		r = transfer.Request{URL: at, By: wire.ByConfig, Accept: "application/octet-stream", Authorization: auth}
	} else if u, err := fileURL(site, asset.url); err == nil && asset.url != "" && wire.SameHost(u, site) {
		r.URL = u
	}
	var claims []evidence.Claim
	var bad evidence.Report
	if asset.digest != "" {
		claims, bad = registryClaim(ref, "the GitHub API, digest", asset.digest)
	}
	d, err := c.download(ctx, ref, r, addAlgorithms(algs, claims))
	if err != nil {
		return nil, err
	}
	d.Claims, d.Unverifiable = claims, bad
	return d, nil
}

// fetchUnasked downloads an asset of which the API, which answered with a status, says nothing.
func (c *Client) fetchUnasked(ctx context.Context, ref artifact.Ref, r transfer.Request, algs []digest.Algorithm,
	status int) (*Download, error) {
	d, err := c.download(ctx, ref, r, algs)
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("the GitHub API %s, so that its own digest of this asset was not compared",
		transfer.StatusError(status))
	if c.config.GitHub.Token == "" {
		note += "; a token in GITHUB_TOKEN raises its limit of requests"
	}
	d.Notes = append(d.Notes, note)
	c.log.Warn(note, "ref", wire.Name(ref.String()))
	return d, nil
}

// fetchGitHubAsset asks the API for the asset that ref names.
func (c *Client) fetchGitHubAsset(ctx context.Context, ref artifact.Ref) (gitHubAsset, error) {
	g := c.config.GitHub
	fail := func(cause evidence.Cause, u *url.URL, err error) (gitHubAsset, error) {
		return gitHubAsset{}, &wire.Error{Ref: ref.String(), Cause: cause, URL: wire.ShowURL(u), Err: err}
	}
	owner, repo, _ := strings.Cut(ref.Name(), "/")
	u, err := joinURL(apiURL(g), "repos", owner, repo, "releases", "tags", ref.Version())
	if err != nil {
		return fail(evidence.Unsupported, nil, fmt.Errorf("GitHub API: %w", err))
	}
	data, err := c.document(ctx, ref, transfer.Request{
		URL: u, By: wire.ByConfig, Accept: "application/vnd.github+json", Final429: true,
		Authorization: c.addCredentials(gitHubAuthorization(g))})
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Hint == "" && e.Cause == evidence.NotFound && g.Token == "" {
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
		return fail(evidence.NotFound, u, fmt.Errorf("the answer is for tag %s", wire.Quoted(tag)))
	}
	assets := doc.list("assets")
	i := slices.IndexFunc(assets, func(a object) bool { return a.text("name") == ref.Filename() })
	if i < 0 {
		var names []string
		for _, a := range assets {
			names = append(names, wire.Quoted(a.text("name")))
		}
		return fail(evidence.NotFound, u, fmt.Errorf("the release has no such asset, it has %s",
			cmp.Or(strings.Join(names, ", "), "none")))
	}
	a := assets[i]
	return gitHubAsset{id: a.integer("id"), digest: a.text("digest"), url: a.text("browser_download_url")}, nil
}
