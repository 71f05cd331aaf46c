package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// fetchPyPIRelease fetches a release's document of the JSON API at base, from the path below
// /pypi. It also returns its URL.
func (c *Client) fetchPyPIRelease(ctx context.Context, ref artifact.Ref, base string, path ...string) (object, *url.URL,
	error) {
	u, err := joinURL(base, append([]string{"pypi"}, path...)...)
	if err != nil {
		return nil, nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: fmt.Errorf("the package index: %w", err)}
	}
	data, err := c.document(ctx, ref, transfer.Request{URL: u, Base: u, By: wire.ByConfig,
		Accept:        "application/json",
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

// listPyPIByJSON lists the files that ref names by the JSON API at base.
func (c *Client) listPyPIByJSON(ctx context.Context, ref artifact.Ref, base string) ([]pypiFile, error) {
	doc, from, err := c.fetchPyPIRelease(ctx, ref, base, ref.Normal().Name(), ref.Version(), "json")
	if err != nil {
		return nil, err
	}
	var files []pypiFile
	for _, entry := range doc.list("urls") {
		f := pypiFile{name: entry.text("filename"), where: "the PyPI registry, digests",
			hashes: entry.object("digests").texts()}
		if f.name == "" || entry.text("url") == "" {
			continue
		}
		if f.url, err = fileURL(from, entry.text("url")); err != nil {
			return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, URL: wire.ShowURL(from), Err: err}
		}
		f.uploaded, _ = time.Parse(time.RFC3339, entry.text("upload_time_iso_8601")) // what is no time is not known
		if entry.isTrue("yanked") {
			f.yanked = yankReason(entry.text("yanked_reason"))
		}
		files = append(files, f)
	}
	return pickPyPIFiles(ref, files, from)
}
