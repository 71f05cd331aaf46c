package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// npm is npm's registry, or those that a user has configured instead.
type npm struct{ defaults }

func (npm) kind() artifact.Kind { return artifact.NPM }

func (npm) configure(config *Config, user *userconfig.Reader) (err error) {
	config.NPM, err = user.NPM()
	return err
}

// route returns a route of npm's own if its configuration has authorities or a proxy.
func (npm) route(config Config, shared transfer.Route) *transfer.Route {
	own := shared
	own.Authorities = config.NPM.Authorities
	if config.NPM.Proxy != nil {
		own.Proxy = config.NPM.Proxy
	}
	if config.NPM.Authorities == nil && config.NPM.Proxy == nil {
		return nil
	}
	return &own
}

func (npm) registries(config Config) (public, configured []string) {
	return []string{model.RegistryURLNPM}, []string{config.NPM.Value("registry")}
}

func (npm) packageHosts(config Config, name string) []string { return config.NPM.Hosts(name) }

func (npm) bases(config Config, name string) ([]string, error) {
	base, err := config.NPM.Registry(name)
	return []string{base}, err
}

// NPM fetches the document of the version that ref names.
func (c *Client) NPM(ctx context.Context, ref artifact.Ref) (*NPMVersion, error) {
	if ref.Kind() != artifact.NPM {
		return nil, unsupportedKindError(ref)
	}
	return asking(ctx, c, ref, func(ctx context.Context, c *Client) (*NPMVersion, error) {
		return c.fetchNPMVersion(ctx, ref)
	})
}

// fetch downloads a version's tarball from the URL in its document.
func (npm) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	v, err := c.fetchNPMVersion(ctx, ref)
	if err != nil {
		return nil, err
	}
	u, base, err := tarballURL(c.config.NPM, v)
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: v.From, Err: err}
	}
	claims, bad := v.claims(ref)
	d, err := c.download(ctx, ref, transfer.Request{URL: u, Base: base, By: wire.ByAnswer,
		Authorization: c.addCredentials(c.config.NPM.Authorization)}, addAlgorithms(algs, claims))
	if err != nil {
		return nil, err
	}
	d.Claims, d.Unverifiable, d.NPM = claims, bad, v
	return d, nil
}

// fetchNPMVersion fetches the document of the version that ref names: from where a registry keeps
// those of single versions, or else from the document of the whole package.
func (c *Client) fetchNPMVersion(ctx context.Context, ref artifact.Ref) (*NPMVersion, error) {
	base, err := c.config.NPM.Registry(ref.Name())
	if err != nil {
		return nil, err
	}
	v, err := c.fetchVersionDocument(ctx, ref, base)
	if lacksVersionDocuments(err) {
		missing, _ := errors.AsType[*wire.Error](err)
		v, err = c.fetchFromPackument(ctx, ref, base)
		if isNotFound(err) && isNotFound(missing) {
			if e, _ := errors.AsType[*wire.Error](err); e.Status == 0 { // there is a packument
				missing.Err = fmt.Errorf("%w; %w", missing.Err, e.Err)
			}
			err = missing
		}
	}
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound && e.Hint == "" {
		e.Hint = "is this version published, and to this registry?"
	}
	return v, err
}

// isNotFound reports whether err says that a registry has no such thing.
func isNotFound(err error) bool {
	e, ok := errors.AsType[*wire.Error](err)
	return ok && e.Cause == evidence.NotFound
}

// fetchVersionDocument fetches the document of a single version.
func (c *Client) fetchVersionDocument(ctx context.Context, ref artifact.Ref, base string) (*NPMVersion, error) {
	u, err := npmURL(base, ref.Name(), ref.Version())
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: err,
			Hint: "set a URL of https, or one of localhost: npm config set registry URL"}
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, Base: u, By: wire.ByConfig,
		Accept: "application/json", Authorization: c.addCredentials(c.config.NPM.Authorization)})
	if err != nil {
		return nil, err
	}
	v, cause, err := parseNPMVersion(data, ref.Name(), ref.Version())
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: cause, URL: wire.ShowURL(u), Err: err}
	}
	v.From = wire.ShowURL(u)
	return v, nil
}

// tarballURL returns the URL of the tarball, and that of the registry. If the registry passes on
// documents of the public one unchanged, the tarball is asked of the registry too, as npm does.
func tarballURL(n userconfig.NPM, v *NPMVersion) (u, base *url.URL, err error) {
	const most = 2048
	if len(v.Tarball) > most {
		return nil, nil, fmt.Errorf("dist.tarball is longer than %d bytes", most)
	}
	u, err = url.Parse(v.Tarball)
	if err != nil {
		return nil, nil, errors.New("dist.tarball is not a URL")
	}
	u.Fragment, u.RawFragment = "", ""
	registry, err := n.Registry(v.Name)
	if err != nil {
		return nil, nil, err
	}
	base, err = url.Parse(registry)
	if err != nil {
		return nil, nil, errors.New("the npm registry's URL cannot be parsed")
	}
	replace := cmp.Or(n.Value("replace-registry-host"), "npmjs")
	if replace == "npmjs" {
		replace = strings.TrimPrefix(model.RegistryURLNPM, "https://")
	}
	if !wire.SameHost(u, base) && (replace == "always" || replace == wire.HostPort(u)) {
		u = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: u.Path, RawPath: u.RawPath}
	}
	if err := transfer.CheckURLFrom(u, base); err != nil {
		return nil, nil, fmt.Errorf("dist.tarball %s: %w", wire.ShowURL(u), err)
	}
	return u, base, nil
}

// NPMRegistry returns the URL of the registry that the user's npm configuration gives for a package.
func (c *Client) NPMRegistry(name string) (string, error) {
	return ofTool(c, artifact.NPM, func(c *Client) (string, error) { return c.config.NPM.Registry(name) })
}

// NPMSetting returns the value of a key of the user's npm configuration, "" if unset or if it cannot
// be read, which [Client.NPMFiles] reports.
func (c *Client) NPMSetting(key string) string {
	c, err := c.withTool(artifact.NPM)
	if err != nil {
		return ""
	}
	return c.config.NPM.Value(key)
}

// NPMFiles returns the texts of the files that npm is to read in place of those of the user
// and of the checkout: see [userconfig.NPM.Files].
func (c *Client) NPMFiles() (user, checkout string, err error) {
	if c, err = c.withTool(artifact.NPM); err != nil {
		return "", "", err
	}
	return c.config.NPM.Files(c.hosts)
}

func (npm) owner(name string, _ artifact.Ref, limit int64) (Owner, error) {
	return readNPMOwner(name, limit)
}

func (npm) summary(name string, _ artifact.Ref, limit int64) (string, error) {
	data, err := ReadNPMManifest(name, limit)
	if err != nil {
		return "", err
	}
	members, err := textsOf(data)
	return members["description"], err
}
