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
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// nuget is the public registry of .NET packages, or another with a service index.
type nuget struct{ defaults }

func (nuget) kind() artifact.Kind { return artifact.NuGet }

func (nuget) registries(config Config) (public, configured []string) {
	return []string{model.RegistryURLNuGet}, []string{config.NuGet.Index}
}

func (nuget) bases(config Config, _ string) ([]string, error) {
	return []string{config.NuGet.Index}, nil
}

// Resources that are used of a service index.
const (
	nugetFlat            = "PackageBaseAddress/3.0.0"
	nugetReadmeTemplates = "ReadmeUriTemplate/6.13.0"
)

// serviceIndex is a registry's list of its services.
type serviceIndex struct {
	resources map[string]string // URLs by their type, the first of a type
	from      *url.URL          // the index's own
}

// fetchServiceIndex fetches the service index.
func (c *Client) fetchServiceIndex(ctx context.Context, ref artifact.Ref) (*serviceIndex, error) {
	u, err := url.Parse(cmp.Or(c.config.NuGet.Index, model.RegistryURLNuGet))
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: errors.New("the URL of the NuGet service index cannot be parsed")}
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, By: wire.ByConfig, Accept: "application/json",
		Authorization: c.addCredentials(nil)})
	if err != nil {
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound {
			e.Cause = evidence.Unreachable // without the index nothing is known of the package
		}
		return nil, err
	}
	resources := make(map[string]string)
	for _, r := range parseObject(data).list("resources") {
		if kind := r.text("@type"); resources[kind] == "" {
			resources[kind] = r.text("@id")
		}
	}
	if resources[nugetFlat] == "" {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unreachable, URL: wire.ShowURL(u),
			Err: errors.New("the answer is not a service index with " + nugetFlat)}
	}
	return &serviceIndex{resources, u}, nil
}

// fetch downloads a .nupkg, for whose hash the registry has no claim.
func (nuget) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	index, err := c.fetchServiceIndex(ctx, ref)
	if err != nil {
		return nil, err
	}
	return c.downloadNuGet(ctx, ref, index, algs)
}

// downloadNuGet downloads the .nupkg from the flat container that index names.
func (c *Client) downloadNuGet(ctx context.Context, ref artifact.Ref, index *serviceIndex,
	algs []digest.Algorithm) (*Download, error) {
	id, version := ref.Normal().Name(), ref.Normal().Version() // in lower case, as the protocol wants
	u, err := joinURL(index.resources[nugetFlat], id, version, id+"."+version+".nupkg")
	if err != nil || transfer.CheckURL(u) != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: wire.ShowURL(index.from),
			Err: fmt.Errorf("%s is not a URL to fetch from", nugetFlat)}
	}
	d, err := c.download(ctx, ref, transfer.Request{URL: u, By: wire.ByAnswer,
		Authorization: c.addCredentials(nil)}, algs)
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound && e.Hint == "" {
		e.Hint = "is this version published? a new one takes some minutes to appear"
	}
	return d, err
}

// description fetches the readme of a package as its registry serves it, or reads it from the
// package if the registry serves none.
func (nuget) description(ctx context.Context, c *Client, ref artifact.Ref) (string, error) {
	index, err := c.fetchServiceIndex(ctx, ref)
	if err != nil {
		return "", err
	}
	template := index.resources[nugetReadmeTemplates]
	if template == "" {
		d, err := c.downloadNuGet(ctx, ref, index, nil)
		if err != nil {
			return "", err
		}
		defer d.Close()
		text, err := NuGetReadme(d.Path(), ref.Name(), c.limits.DocumentSize)
		if err != nil {
			return "", &wire.Error{Ref: ref.String(), Cause: evidence.Unreachable,
				Err: fmt.Errorf("the package cannot be read: %w", err)}
		}
		return text, nil
	}
	u, err := fileURL(index.from, strings.NewReplacer(
		"{lower_id}", url.PathEscape(ref.Normal().Name()),
		"{lower_version}", url.PathEscape(ref.Normal().Version())).Replace(template))
	if err != nil {
		return "", &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: wire.ShowURL(index.from), Err: err}
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, By: wire.ByAnswer,
		Authorization: c.addCredentials(nil)})
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound {
		e.Hint = "the package needs a readme, and a new one takes some minutes to appear"
	}
	return string(data), err
}

func (nuget) owner(name string, ref artifact.Ref, limit int64) (Owner, error) {
	text, err := NuGetReadme(name, ref.Name(), limit)
	return Owner{Text: text, Where: "the readme in the .nupkg"}, err
}

func (nuget) summary(string, artifact.Ref, int64) (string, error) { return "", nil }
