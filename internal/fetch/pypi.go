package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
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

// pypi is the Python package index, or the indexes that a user has in its place.
type pypi struct{ ordinary }

func (pypi) kind() artifact.Kind { return artifact.PyPI }

func (pypi) configure(config *Config, user *userconfig.Reader) (err error) {
	config.PyPI, err = user.PyPI()
	return err
}

// route is pip's own where its configuration has authorities of its own.
func (pypi) route(config Config, shared transfer.Route) *transfer.Route {
	if config.PyPI.Authorities == nil {
		return nil
	}
	shared.Authorities = config.PyPI.Authorities
	return &shared
}

func (pypi) registries(config Config) (public, configured []string) {
	return []string{model.RegistryURLPyPI}, append(slices.Clone(config.PyPI.Indexes), config.PyPI.Base)
}

func (pypi) packageHosts(config Config, _ string) []string {
	var addresses []string
	for _, ix := range pypiSources(config.PyPI) {
		addresses = append(addresses, ix.simple)
	}
	return hostsOf(addresses...)
}

// pypiFile is what an index says of one file of a release.
type pypiFile struct {
	name   string
	url    *url.URL
	hashes map[string]string // hex, by the name of the algorithm
	where  string            // what says so
	yanked string            // why; "" if it was not
}

func (f pypiFile) same(g pypiFile) bool {
	return f.url.String() == g.url.String() && fmt.Sprint(f.hashes) == fmt.Sprint(g.hashes)
}

// files expands a release to one Ref for each of its files, by name. Those of a yanked
// release are included.
func (pypi) files(ctx context.Context, c *Client, ref artifact.Ref) ([]artifact.Ref, error) {
	if ref.Filename() != "" {
		return []artifact.Ref{ref}, nil
	}
	ctx, release, err := c.begin(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer release()
	files, err := c.pypiFiles(ctx, ref)
	if err != nil {
		return nil, err
	}
	refs := make([]artifact.Ref, len(files))
	for i, f := range files {
		refs[i], err = artifact.NewPyPI(ref.Name(), ref.Version(), f.name)
		if err != nil {
			return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
				Err: fmt.Errorf("the release has a file that no Ref can name: %s", wire.Quoted(f.name))}
		}
	}
	return refs, nil
}

// fetch downloads the file that ref names, or the only one of its release.
func (pypi) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	files, err := c.pypiFiles(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(files) > 1 {
		e := &wire.Error{Ref: ref.String(), Cause: evidence.Ambiguous,
			Hint: "name one of the files: " + wire.Name(ref.String()) + "/" + files[0].name}
		for _, f := range files {
			e.Files = append(e.Files, wire.Plain(f.name, 255))
		}
		e.Err = fmt.Errorf("the release has %d files: %s", len(files), strings.Join(e.Files, ", "))
		return nil, e
	}
	file := files[0]
	claims, bad := hashClaim(ref, file.where, file.hashes)
	d, err := c.download(ctx, ref, transfer.Request{URL: file.url, By: consent.ByAnswer,
		Authorization: c.addCredentials(c.config.PyPI.Authorization)}, addAlgorithms(algs, claims))
	if err != nil {
		return nil, err
	}
	d.Claims, d.Unverifiable, d.Yanked = claims, bad, file.yanked
	return d, nil
}

// pypiFiles are the files that ref names, of the first index that has any: sorted by
// name and at least one.
func (c *Client) pypiFiles(ctx context.Context, ref artifact.Ref) ([]pypiFile, error) {
	var missing *wire.Error
	indexes := pypiSources(c.config.PyPI)
	for _, ix := range indexes {
		files, err := c.pypiIndex(ctx, ref, ix)
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound {
			if missing == nil {
				missing = e
			}
			continue
		}
		return files, err
	}
	if len(indexes) > 1 {
		missing.Hint = fmt.Sprintf("none of the %d configured package indexes has it", len(indexes))
	} else if missing.Hint == "" {
		missing.Hint = "is this version published, and to this index?"
	}
	return nil, missing
}

// pypiSource is one place to ask: the JSON API at base, unless that is empty, and the
// simple API at simple for what the other does not have. Many mirrors serve only the
// simple API, also those that stand in for the public registry under its own name.
type pypiSource struct{ base, simple string }

// pypiSources are the places to ask, in order.
func pypiSources(p userconfig.PyPI) []pypiSource {
	public := strings.TrimRight(model.RegistryURLPyPI, "/")
	if len(p.Indexes) == 0 {
		base := cmp.Or(strings.TrimRight(p.Base, "/"), public)
		return []pypiSource{{base, base + "/simple"}}
	}
	var all []pypiSource
	for _, ix := range p.Indexes {
		s := pypiSource{simple: ix}
		if strings.TrimRight(ix, "/") == public+"/simple" {
			s.base = public
		}
		all = append(all, s)
	}
	return all
}

// pypiIndex asks one index. That it has no such file is an *wire.Error with not_found.
func (c *Client) pypiIndex(ctx context.Context, ref artifact.Ref, ix pypiSource) (files []pypiFile, err error) {
	if ix.base != "" {
		files, err = c.pypiJSON(ctx, ref, ix.base)
	}
	if e, ok := errors.AsType[*wire.Error](err); ix.base == "" || ok && e.Cause == evidence.NotFound {
		files, err = c.pypiSimple(ctx, ref, ix.simple)
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b pypiFile) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(files); i++ {
		if files[i].name == files[i-1].name && !files[i].same(files[i-1]) {
			return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Ambiguous,
				Err: fmt.Errorf("the index lists %s twice, with different contents", wire.Quoted(files[i].name))}
		}
	}
	return slices.CompactFunc(files, func(a, b pypiFile) bool { return a.name == b.name }), nil
}

// pypiPick keeps what ref names of the files of its release. from is the document's
// URL.
func pypiPick(ref artifact.Ref, files []pypiFile, from *url.URL) ([]pypiFile, error) {
	if want := ref.Filename(); want != "" {
		files = slices.DeleteFunc(files, func(f pypiFile) bool { return f.name != want })
	}
	if len(files) == 0 {
		missing := errors.New("the release has no files")
		if ref.Filename() != "" {
			missing = errors.New("the release has no such file")
		}
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.NotFound, URL: wire.ShowURL(from), Err: missing}
	}
	return files, nil
}

// sameRelease reports whether name and version are those of ref, however spelled.
func sameRelease(ref artifact.Ref, name, version string) bool {
	got, err := artifact.NewPyPI(name, version, "")
	want, err2 := artifact.NewPyPI(ref.Name(), ref.Version(), "")
	return err == nil && err2 == nil && got.Normal() == want.Normal()
}

// UVFile is the text of the uv.toml that uv is to read in place of all others: see
// [userconfig.PyPI.UVFile].
func (c *Client) UVFile() (string, error) { return c.config.PyPI.UVFile(c.hosts) }

// PipVariables are the variables by which pip is told all that it is to know.
func (c *Client) PipVariables() ([]string, error) { return c.config.PyPI.PipVariables(c.hosts) }
