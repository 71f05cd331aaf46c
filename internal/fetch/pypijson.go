package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// pypiRelease fetches a release's document of the JSON API at base, from the path
// below /pypi.
func (c *Client) pypiRelease(ctx context.Context, ref artifact.Ref, base string, path ...string) (object, *url.URL,
	error) {
	u, err := below(base, append([]string{"pypi"}, path...)...)
	if err != nil {
		return nil, nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: fmt.Errorf("the package index: %w", err)}
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, By: consent.ByConfig, Accept: "application/json",
		Authorization: c.addCredentials(c.config.PyPI.Authorization)})
	if err != nil {
		return nil, nil, err
	}
	doc := parseObject(data)
	info := doc.object("info")
	if info == nil {
		return nil, nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unreachable, URL: wire.ShowURL(u),
			Err: errors.New("the answer is not a release's document")}
	}
	if !sameRelease(ref, info.text("name"), info.text("version")) {
		return nil, nil, &wire.Error{Ref: ref.String(), Cause: evidence.NotFound, URL: wire.ShowURL(u),
			Err: fmt.Errorf("the answer is for %s version %s", wire.Quoted(info.text("name")),
				wire.Quoted(info.text("version")))}
	}
	return doc, u, nil
}

// pypiJSON lists files by the JSON API.
func (c *Client) pypiJSON(ctx context.Context, ref artifact.Ref, base string) ([]pypiFile, error) {
	doc, from, err := c.pypiRelease(ctx, ref, base, ref.Normal().Name(), ref.Version(), "json")
	if err != nil {
		return nil, err
	}
	var files []pypiFile
	for _, entry := range doc.list("urls") {
		f := pypiFile{name: entry.text("filename"), where: "the PyPI registry, digests",
			hashes: hashes(entry.object("digests"))}
		if f.name == "" || entry.text("url") == "" {
			continue
		}
		if f.url, err = fileURL(from, entry.text("url")); err != nil {
			return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: wire.ShowURL(from), Err: err}
		}
		if entry.truth("yanked") {
			f.yanked = yankReason(entry.text("yanked_reason"))
		}
		files = append(files, f)
	}
	return pypiPick(ref, files, from)
}

// hashes are the members of an object that are text.
func hashes(o object) map[string]string {
	all := make(map[string]string, len(o))
	for algorithm := range o {
		if hex := o.text(algorithm); hex != "" {
			all[algorithm] = hex
		}
	}
	return all
}

// yankReason is the reason for a withdrawal, for one who gave none too.
func yankReason(reason string) string {
	if strings.TrimSpace(reason) == "" {
		return "no reason given"
	}
	return reason
}

// description is info.description of a release. Where an index has no documents of
// releases, that of the project serves if it is of the same release.
func (pypi) description(ctx context.Context, c *Client, ref artifact.Ref) (string, error) {
	var missing error
	for _, ix := range pypiSources(c.config.PyPI) {
		if ix.base == "" { // many that serve a simple API serve the other beside it
			ix.base, _ = strings.CutSuffix(strings.TrimRight(ix.simple, "/"), "/simple")
		}
		project := ref.Normal().Name()
		doc, _, err := c.pypiRelease(ctx, ref, ix.base, project, ref.Version(), "json")
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Cause == evidence.NotFound {
			doc, _, err = c.pypiRelease(ctx, ref, ix.base, project, "json")
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
	return "", missing
}
