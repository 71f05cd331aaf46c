package fetch

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// cargo is the registry of crates, or the sparse index that a user has configured instead.
type cargo struct{ defaults }

func (cargo) kind() artifact.Kind { return artifact.Cargo }

func (cargo) configure(config *Config, user *userconfig.Reader) (err error) {
	config.Cargo, err = user.Cargo()
	return err
}

func (cargo) registries(config Config) (public, configured []string) {
	return []string{model.RegistryURLCrates, indexURL(userconfig.Cargo{})}, []string{config.Cargo.Index}
}

func (cargo) bases(config Config, _ string) ([]string, error) {
	return []string{indexURL(config.Cargo), "sparse+" + indexURL(config.Cargo)}, nil
}

// indexURL returns the root of the sparse index.
func indexURL(g userconfig.Cargo) string {
	if g.Index != "" {
		return strings.TrimPrefix(g.Index, "sparse+")
	}
	scheme, host, _ := strings.Cut(model.RegistryURLCrates, "://")
	return scheme + "://index." + host
}

// crate is what a line of the index says.
type crate struct {
	name, version string
	checksum      string // sha256 in hex
	yanked        bool
}

// fetchCargoConfig fetches the index's configuration, which has "dl", a template for the URLs
// of crates, and "api". It also returns its URL.
func (c *Client) fetchCargoConfig(ctx context.Context, ref artifact.Ref) (object, *url.URL, error) {
	u, err := joinURL(indexURL(c.config.Cargo), "config.json")
	if err == nil {
		err = transfer.CheckURL(u)
	}
	if err != nil {
		return nil, nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err:  fmt.Errorf("the crates index: %w", err),
			Hint: "crates come from a sparse index over https; see [source] in cargo's config.toml"}
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, By: wire.ByConfig,
		Authorization: c.addCredentials(nil)})
	if err != nil {
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound {
			e.Cause = evidence.Unreachable // without the index nothing is known of the crate
		}
		return nil, nil, err
	}
	config := parseObject(data)
	if config.text("dl") == "" {
		return nil, nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unreachable, URL: wire.ShowURL(u),
			Err: errors.New("the answer is not the configuration of an index")}
	}
	return config, u, nil
}

// fetch downloads a .crate.
func (cargo) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	config, from, err := c.fetchCargoConfig(ctx, ref)
	if err != nil {
		return nil, err
	}
	line, err := c.fetchCargoLine(ctx, ref)
	if err != nil {
		return nil, err
	}
	u, err := line.downloadURL(from, config.text("dl"))
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: wire.ShowURL(from), Err: err}
	}
	var claims []evidence.Claim
	var bad evidence.Report
	if line.checksum != "" {
		claims, bad = registryClaim(ref, "the crates index, cksum", "sha256:"+line.checksum)
	}
	d, err := c.download(ctx, ref, transfer.Request{URL: u, By: wire.ByAnswer,
		Authorization: c.addCredentials(nil)}, addAlgorithms(algs, claims))
	if err != nil {
		return nil, err
	}
	d.Claims, d.Unverifiable = claims, bad
	if line.yanked {
		d.Yanked = yankReason("") // an index has no room for a reason
	}
	return d, nil
}

// fetchCargoLine fetches what the index says of the crate.
func (c *Client) fetchCargoLine(ctx context.Context, ref artifact.Ref) (crate, error) {
	u, err := joinURL(indexURL(c.config.Cargo), indexPath(ref.Name())...)
	if err != nil {
		return crate{}, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: fmt.Errorf("the crates index: %w", err)}
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, By: wire.ByConfig,
		Authorization: c.addCredentials(nil)})
	if err != nil {
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound {
			e.Hint = "is this crate published, and to this registry?"
		}
		return crate{}, err
	}
	line, cause, err := parseIndexLines(data, ref.Name(), ref.Version())
	if err != nil {
		return crate{}, &wire.Error{Ref: ref.String(), Cause: cause, URL: wire.ShowURL(u), Err: err}
	}
	return line, nil
}

// indexPath returns where an index keeps a crate: by the length of its name, in lower case.
func indexPath(name string) []string {
	name = strings.ToLower(name)
	switch len(name) {
	case 0, 1, 2:
		return []string{strconv.Itoa(len(name)), name}
	case 3:
		return []string{"3", name[:1], name}
	}
	return []string{name[:2], name[2:4], name}
}

// parseIndexLines finds a version in an index's file, which has a JSON object in each
// line. The cause belongs to the error.
func parseIndexLines(data []byte, name, version string) (crate, evidence.Cause, error) {
	var found *crate
	for text := range bytes.Lines(data) {
		line := parseObject(text)
		if !strings.EqualFold(line.text("name"), name) || line.text("vers") != version {
			continue
		}
		if schema := line.integer("v"); schema != "" && schema != "1" && schema != "2" {
			continue // a form for newer programs, which cargo skips too
		}
		one := crate{line.text("name"), version, line.text("cksum"), line.isTrue("yanked")}
		if found != nil && *found != one {
			return crate{}, evidence.Ambiguous,
				errors.New("the index lists this version twice, with different contents")
		}
		found = &one
	}
	if found == nil {
		return crate{}, evidence.NotFound, errors.New("the index has no such version of this crate")
	}
	return *found, "", nil
}

// downloadURL fills the template of an index's configuration, which was read at from. A
// template without markers is the beginning of a URL.
func (k crate) downloadURL(from *url.URL, template string) (*url.URL, error) {
	markers := []string{"{crate}", "{version}", "{prefix}", "{lowerprefix}", "{sha256-checksum}"}
	if !slices.ContainsFunc(markers, func(m string) bool { return strings.Contains(template, m) }) {
		template = strings.TrimRight(template, "/") + "/{crate}/{version}/download"
	}
	if _, err := hex.DecodeString(k.checksum); err != nil {
		return nil, errors.New("the index's checksum is not hex")
	}
	lower := indexPath(k.name)
	prefix := []string{k.name[:min(2, len(k.name))]}
	if len(k.name) < 4 {
		prefix = []string{lower[0]}
		if len(k.name) == 3 {
			prefix = append(prefix, k.name[:1])
		}
	} else {
		prefix = append(prefix, k.name[2:4])
	}
	u, err := fileURL(from, strings.NewReplacer(
		"{crate}", url.PathEscape(k.name),
		"{version}", url.PathEscape(k.version),
		"{prefix}", strings.Join(prefix, "/"),
		"{lowerprefix}", strings.Join(lower[:len(lower)-1], "/"),
		"{sha256-checksum}", k.checksum).Replace(template))
	if err != nil {
		return nil, err
	}
	if err := transfer.CheckURL(u); err != nil {
		return nil, fmt.Errorf("dl of the index's configuration, %s: %w", wire.ShowURL(u), err)
	}
	return u, nil
}

// description fetches a crate's readme as its registry shows it. The API says where it is,
// which must be the API's host or the one that crates come from.
func (cargo) description(ctx context.Context, c *Client, ref artifact.Ref) (string, error) {
	api := c.config.Cargo.API
	config, from, err := c.fetchCargoConfig(ctx, ref)
	if err != nil {
		return "", err
	}
	if api == "" {
		api = config.text("api")
	}
	refuse := func(cause evidence.Cause, err error) (string, error) {
		return "", &wire.Error{Ref: ref.String(), Cause: cause, URL: wire.ShowURL(from), Err: err}
	}
	if api == "" {
		return refuse(evidence.Unsupported, errors.New("the index names no API, so that there are no readmes"))
	}
	u, err := joinURL(api, "api", "v1", "crates", ref.Name(), ref.Version(), "readme")
	if err != nil {
		return refuse(evidence.Unsupported, fmt.Errorf("the crates API: %w", err))
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, By: wire.ByAnswer, Accept: "application/json",
		Authorization: c.addCredentials(nil)})
	if err != nil {
		return "", err
	}
	text := parseObject(data).text("url")
	if text == "" {
		return refuse(evidence.NotFound, errors.New("the crates API names no readme"))
	}
	at, err := fileURL(u, text)
	if err != nil {
		return refuse(evidence.Unsupported, err)
	}
	crates, err := crate{name: ref.Name(), version: ref.Version()}.downloadURL(from, config.text("dl"))
	if err != nil {
		return refuse(evidence.Unsupported, err)
	}
	if !wire.SameHost(at, u) && !wire.SameHost(at, crates) {
		return refuse(evidence.Unsupported,
			fmt.Errorf("the readme is said to be at %s, a host that is not the registry's", wire.ShowURL(at)))
	}
	page, err := c.document(ctx, ref, transfer.Request{URL: at, By: wire.ByAnswer, Accept: "text/html",
		Authorization: c.addCredentials(nil)})
	if e, ok := errors.AsType[*wire.Error](err); ok && (e.Status == http.StatusForbidden ||
		e.Status == http.StatusNotFound) {
		// The public host of readmes answers 403 for what it does not have.
		e.Cause, e.Hint = evidence.NotFound, "does this version exist, and has it a readme?"
	}
	return string(page), err
}

func (cargo) owner(name string, _ artifact.Ref, limit int64) (Owner, error) {
	return readCargoOwner(name, limit)
}

func (cargo) summary(string, artifact.Ref, int64) (string, error) { return "", nil }
