package fetch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// npm is npm's registry, or what a user has in its place.
type npm struct{ ordinary }

func (npm) kind() artifact.Kind { return artifact.NPM }

func (npm) configure(config *Config, user *userconfig.Reader) (err error) {
	config.NPM, err = user.NPM()
	return err
}

// route is npm's own where its configuration has authorities or a proxy of its own.
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
	if config.NPM.Setting != nil {
		configured = []string{config.NPM.Setting("registry")}
	}
	return []string{model.RegistryURLNPM}, configured
}

func (npm) packageHosts(config Config, name string) []string { return config.NPM.Hosts(name) }

// NPMVersion is what an npm registry says of one version of a package. All text is
// the publisher's.
type NPMVersion struct {
	Name       string
	Version    string
	MCPName    string            // mcpName: the MCP server that this package is for
	Bin        map[string]string // commands and their files, normalised as npm does; nil if none
	Tarball    string            // dist.tarball
	Integrity  string            // dist.integrity, subresource integrity
	Shasum     string            // dist.shasum, sha1 in hex
	Deprecated string            // the message, "" if it is not deprecated
	Raw        []byte            // the document as served
	From       string            // its URL
}

// NPM fetches the document of the version that ref names.
func (c *Client) NPM(ctx context.Context, ref artifact.Ref) (*NPMVersion, error) {
	if ref.Kind() != artifact.NPM {
		return nil, unsupportedKind(ref)
	}
	ctx, release, err := c.begin(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.npmVersion(ctx, ref)
}

// fetch downloads a version's tarball, from where its document says.
func (npm) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	v, err := c.npmVersion(ctx, ref)
	if err != nil {
		return nil, err
	}
	u, err := tarballURL(c.config.NPM, v)
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: v.From, Err: err}
	}
	claims, bad := v.claims(ref)
	d, err := c.download(ctx, ref, transfer.Request{URL: u, By: consent.ByAnswer,
		Authorization: c.addCredentials(c.config.NPM.Authorization)}, addAlgorithms(algs, claims))
	if err != nil {
		return nil, err
	}
	d.Claims, d.Unverifiable, d.NPM = claims, bad, v
	return d, nil
}

func (c *Client) npmVersion(ctx context.Context, ref artifact.Ref) (*NPMVersion, error) {
	base, err := c.config.NPM.Registry(ref.Name())
	if err != nil {
		return nil, err
	}
	u, err := npmVersionURL(base, ref.Name(), ref.Version())
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: err,
			Hint: "see 'registry' in your npm configuration"}
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, By: consent.ByConfig, Accept: "application/json",
		Authorization: c.addCredentials(c.config.NPM.Authorization)})
	if err != nil {
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound && e.Hint == "" {
			e.Hint = "is this version published, and to this registry?"
		}
		return nil, err
	}
	v, cause, err := parseNPMVersion(data, ref.Name(), ref.Version())
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: cause, URL: wire.ShowURL(u), Err: err}
	}
	v.From = wire.ShowURL(u)
	return v, nil
}

// npmVersionURL is where a registry keeps a version's document. The slash of a
// scoped name is escaped.
func npmVersionURL(base, name, version string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("the npm registry's URL cannot be parsed")
	}
	if err := transfer.CheckURL(u); err != nil {
		return nil, fmt.Errorf("the npm registry %s: %w", wire.ShowURL(u), err)
	}
	escaped := strings.TrimRight(u.EscapedPath(), "/") + "/" + url.PathEscape(name) + "/" + url.PathEscape(version)
	clear := strings.TrimRight(u.Path, "/") + "/" + name + "/" + version
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: clear, RawPath: escaped}, nil
}

// parseNPMVersion reads a version's document. Members are matched by their exact
// names; what is not of the expected type is as if it were missing. The cause
// belongs to the error.
func parseNPMVersion(data []byte, name, version string) (*NPMVersion, evidence.Cause, error) {
	var doc, dist map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil || doc == nil {
		return nil, evidence.Unreachable, errors.New("the answer is not a version's document")
	}
	v := &NPMVersion{
		Name:       text(doc["name"]),
		Version:    text(doc["version"]),
		MCPName:    text(doc["mcpName"]),
		Deprecated: text(doc["deprecated"]),
		Raw:        data,
	}
	if v.Name != name || v.Version != version {
		return nil, evidence.NotFound, fmt.Errorf("the answer is for %s version %s", wire.Quoted(v.Name),
			wire.Quoted(v.Version))
	}
	if string(bytes.TrimSpace(doc["deprecated"])) == "true" {
		v.Deprecated = "deprecated"
	}
	if json.Unmarshal(doc["dist"], &dist) == nil {
		v.Tarball, v.Integrity, v.Shasum = text(dist["tarball"]), text(dist["integrity"]), text(dist["shasum"])
	}
	if v.Tarball == "" {
		return nil, evidence.NotFound, errors.New("the version's document names no tarball (dist.tarball)")
	}
	v.Bin = npmBin(name, doc["bin"])
	return v, "", nil
}

// npmBin brings "bin" into one form: a single path is the command named as the
// package without its scope, a list gives commands named as their files. Names lose
// directories, paths become relative without "..".
func npmBin(name string, raw json.RawMessage) map[string]string {
	var (
		single  string
		list    []string
		members map[string]any
	)
	switch {
	case json.Unmarshal(raw, &single) == nil && single != "":
		members = map[string]any{name: single}
	case json.Unmarshal(raw, &list) == nil:
		members = make(map[string]any, len(list))
		for _, file := range list {
			members[path.Base(file)] = file
		}
	case json.Unmarshal(raw, &members) != nil:
		return nil
	}
	bin := make(map[string]string)
	for key, value := range members {
		file, ok := value.(string)
		base := path.Base(strings.NewReplacer(`\`, "/", ":", "/").Replace(key))
		file = strings.TrimPrefix(path.Join("/", strings.ReplaceAll(file, `\`, "/")), "/")
		if ok && file != "" && base != "." && base != ".." && base != "/" {
			bin[base] = file
		}
	}
	if len(bin) == 0 {
		return nil
	}
	return bin
}

// tarballURL is the URL to download. If the registry passes on documents of the public
// one unchanged, the tarball is asked of the registry too, as npm does.
func tarballURL(n userconfig.NPM, v *NPMVersion) (*url.URL, error) {
	const most = 2048
	if len(v.Tarball) > most {
		return nil, fmt.Errorf("dist.tarball is longer than %d bytes", most)
	}
	u, err := url.Parse(v.Tarball)
	if err != nil {
		return nil, errors.New("dist.tarball is not a URL")
	}
	u.Fragment, u.RawFragment = "", ""
	registry, err := n.Registry(v.Name)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(registry)
	if err != nil {
		return nil, errors.New("the npm registry's URL cannot be parsed")
	}
	replace := cmp.Or(n.Setting("replace-registry-host"), "npmjs")
	if replace == "npmjs" {
		replace = strings.TrimPrefix(model.RegistryURLNPM, "https://")
	}
	if !wire.SameHost(u, base) && (replace == "always" || replace == wire.HostPort(u)) {
		u = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: u.Path, RawPath: u.RawPath}
	}
	if err := transfer.CheckURL(u); err != nil {
		return nil, fmt.Errorf("dist.tarball %s: %w", wire.ShowURL(u), err)
	}
	return u, nil
}

// claims is what the registry says of the tarball: dist.integrity, and dist.shasum
// where that is missing or cannot be read. What cannot be read comes as evidence.
func (v *NPMVersion) claims(ref artifact.Ref) (claims []evidence.Claim, bad evidence.Report) {
	read := func(text, where string, parse func(string) ([]digest.Digest, error)) bool {
		claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.File, Text: text,
			Authority: evidence.Registry, Where: "the npm registry, " + where}
		want, err := parse(text)
		if err != nil {
			cause := evidence.Malformed
			if _, ok := errors.AsType[*digest.UnknownAlgorithmError](err); ok {
				cause = evidence.Unsupported
			}
			bad = append(bad, evidence.CannotVerify(claim, cause, err.Error()))
			return false
		}
		claim.Want = want
		claims = append(claims, claim)
		return true
	}
	if v.Integrity != "" && read(v.Integrity, "dist.integrity", digest.ParseSRI) {
		return claims, bad
	}
	if v.Shasum != "" {
		read(v.Shasum, "dist.shasum", func(s string) ([]digest.Digest, error) {
			d, err := digest.ParseHex(digest.SHA1, s)
			return []digest.Digest{d}, err
		})
	}
	return claims, bad
}

// NPMSetting is the value of a key of the user's npm configuration, "" if unset.
func (c *Client) NPMSetting(key string) string { return c.config.NPM.Setting(key) }

// NPMFiles are the texts of the files that npm is to read in place of those of the user and
// of the checkout: see [userconfig.NPM.Files].
func (c *Client) NPMFiles() (user, checkout string, err error) { return c.config.NPM.Files(c.hosts) }
