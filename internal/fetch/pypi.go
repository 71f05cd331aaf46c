package fetch

import (
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
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// pypi is the Python package index, or the indexes that a user has configured instead.
type pypi struct{ defaults }

func (pypi) kind() artifact.Kind { return artifact.PyPI }

func (pypi) configure(config *Config, user *userconfig.Reader) (err error) {
	config.PyPI, err = user.PyPI()
	return err
}

// route returns a route of PyPI's own if its configuration has authorities.
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

func (pypi) bases(config Config, _ string) ([]string, error) {
	if sources := pypiSources(config.PyPI); len(sources) == 1 {
		simple := strings.TrimRight(sources[0].simple, "/")
		return []string{simple, strings.TrimSuffix(simple, "/simple")}, nil
	}
	return nil, nil // the first that has a release gives it
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
	files, err := c.findPyPIFiles(ctx, ref)
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
	files, err := c.findPyPIFiles(ctx, ref)
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
	claims, bad := strongestClaim(ref, file.where, file.hashes)
	d, err := c.download(ctx, ref, transfer.Request{URL: file.url, Base: file.index, By: wire.ByAnswer,
		Authorization: c.addCredentials(c.config.PyPI.Authorization)}, addAlgorithms(algs, claims))
	if err != nil {
		return nil, err
	}
	d.Claims, d.Unverifiable, d.Yanked = claims, bad, file.yanked
	return d, nil
}

// findPyPIFiles returns the files that ref names, of the first index that has any: at least
// one, sorted by name.
func (c *Client) findPyPIFiles(ctx context.Context, ref artifact.Ref) ([]pypiFile, error) {
	var missing *wire.Error
	indexes := pypiSources(c.config.PyPI)
	for _, ix := range indexes {
		files, err := c.askPyPISource(ctx, ref, ix)
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

// askPyPISource asks one index for the files that ref names. If it has none, the error is a
// [*wire.Error] with not_found.
func (c *Client) askPyPISource(ctx context.Context, ref artifact.Ref, ix pypiSource) (files []pypiFile, err error) {
	if ix.base != "" {
		files, err = c.listPyPIByJSON(ctx, ref, ix.base)
	}
	if e, ok := errors.AsType[*wire.Error](err); ix.base == "" || ok && e.Cause == evidence.NotFound {
		files, err = c.listPyPIBySimple(ctx, ref, ix.simple)
	}
	if err != nil {
		return nil, err
	}
	for i := range files {
		if files[i].index, err = url.Parse(ix.simple); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(files, func(a, b pypiFile) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(files); i++ {
		if files[i].name == files[i-1].name && !files[i].sameAs(files[i-1]) {
			return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Ambiguous,
				Err: fmt.Errorf("the index lists %s twice, with different contents", wire.Quoted(files[i].name))}
		}
	}
	return slices.CompactFunc(files, func(a, b pypiFile) bool { return a.name == b.name }), nil
}

// UVFile returns the text of the uv.toml that uv is to read in place of all others: see
// [userconfig.PyPI.UVFile].
func (c *Client) UVFile() (string, error) {
	return ofTool(c, artifact.PyPI, func(c *Client) (string, error) { return c.config.PyPI.UVFile(c.hosts) })
}

// UVSetting returns the value of a key of the user's uv configuration that is no list, "" if it is unset.
func (c *Client) UVSetting(key string) (string, error) {
	return ofTool(c, artifact.PyPI, func(c *Client) (string, error) { return c.config.PyPI.UVSetting(key), nil })
}

// PipVariables returns the variables that hold all of pip's configuration: see
// [userconfig.PyPI.PipVariables].
func (c *Client) PipVariables() ([]string, error) {
	return ofTool(c, artifact.PyPI, func(c *Client) ([]string, error) { return c.config.PyPI.PipVariables(c.hosts) })
}

// description returns info.description of a release. If an index has no documents of
// releases, it takes the project's document, provided that this is of the same release. If it has neither, as indexes
// of companies, it reads a file of the release.
func (pypi) description(ctx context.Context, c *Client, ref artifact.Ref) (string, error) {
	var missing error
	for _, ix := range pypiSources(c.config.PyPI) {
		if ix.base == "" { // many that serve a simple API serve the other beside it
			ix.base, _ = strings.CutSuffix(strings.TrimRight(ix.simple, "/"), "/simple")
		}
		project := ref.Normal().Name()
		doc, _, err := c.fetchPyPIRelease(ctx, ref, ix.base, project, ref.Version(), "json")
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound {
			doc, _, err = c.fetchPyPIRelease(ctx, ref, ix.base, project, "json")
		}
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound {
			missing = err
			continue
		}
		if err != nil {
			return "", err
		}
		return doc.object("info").text("description"), nil
	}
	files, err := c.findPyPIFiles(ctx, ref)
	if err != nil {
		return "", missing
	}
	file := files[max(0, slices.IndexFunc(files, func(f pypiFile) bool { return strings.HasSuffix(f.name, ".whl") }))]
	d, err := c.download(ctx, ref, transfer.Request{URL: file.url, Base: file.index, By: wire.ByAnswer,
		Authorization: c.addCredentials(c.config.PyPI.Authorization)}, []digest.Algorithm{digest.SHA256})
	if err != nil {
		return "", err
	}
	defer d.Close()
	owner, err := ReadOwner(d.Path(), ref, c.limits.DocumentSize)
	if err != nil {
		return "", &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: fmt.Errorf("the index has no document of the release, and %s cannot be read: %w",
				wire.Quoted(file.name), err)}
	}
	return owner.Text, nil
}

func (pypi) owner(name string, _ artifact.Ref, limit int64) (Owner, error) {
	return readPythonOwner(name, limit)
}

func (pypi) summary(name string, _ artifact.Ref, limit int64) (string, error) {
	owner, err := readPythonOwner(name, limit)
	return pythonHead([]byte(owner.Text))["Summary"], err
}
