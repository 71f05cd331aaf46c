package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Media types of a project's page: the JSON of PEP 691, or the HTML of PEP 503.
const (
	simpleJSON = "application/vnd.pypi.simple.v1+json"
	simpleHTML = "application/vnd.pypi.simple.v1+html"
)

// listPyPIBySimple lists the files that ref names by the simple API at root. Its page has the
// files of all releases; their names tell of which release they are.
func (c *Client) listPyPIBySimple(ctx context.Context, ref artifact.Ref, root string) ([]pypiFile, error) {
	u, err := joinURL(root, ref.Normal().Name(), "")
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported,
			Err: fmt.Errorf("the package index: %w", err)}
	}
	var media string
	from := u
	data, err := c.document(ctx, ref, transfer.Request{
		URL: u, Base: u, By: wire.ByConfig, Accept: simpleJSON + ", " + simpleHTML + ";q=0.2, text/html;q=0.1",
		Authorization: c.addCredentials(c.config.PyPI.Authorization),
		Head: func(resp *http.Response) {
			media, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
			from = resp.Request.URL // links are relative to where a redirect led
		},
	})
	if err != nil {
		return nil, err
	}
	var files []pypiFile
	switch media {
	case simpleJSON:
		files, err = parseSimpleJSON(data, from)
	case simpleHTML, "text/html":
		files, err = parseSimpleHTML(data, from)
	default:
		err = fmt.Errorf("the answer is of type %s, not a project's page", wire.Quoted(media))
	}
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unreachable, URL: wire.ShowURL(u), Err: err}
	}
	newest := ""
	files = slices.DeleteFunc(files, func(f pypiFile) bool {
		version, ok := releaseOf(ref.Normal().Name(), f.name)
		if ok && (newest == "" || artifact.IsOlder(artifact.PyPI, newest, version)) {
			newest = version
		}
		return !ok || !sameRelease(ref, ref.Name(), version)
	})
	if len(files) == 0 && newest != "" {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.NotFound, URL: wire.ShowURL(u),
			Err: fmt.Errorf("the release has no files; %w", noVersionError(newest))}
	}
	return pickPyPIFiles(ref, files, u)
}

// parseSimpleJSON reads a project's page of PEP 691.
func parseSimpleJSON(data []byte, from *url.URL) ([]pypiFile, error) {
	doc := parseObject(data)
	version := doc.object("meta").text("api-version")
	if major, _, _ := strings.Cut(version, "."); major != "1" {
		return nil, fmt.Errorf("the answer is no project's page of version 1, but %s", wire.Quoted(version))
	}
	var files []pypiFile
	for _, entry := range doc.list("files") {
		f := pypiFile{name: entry.text("filename"), where: "the package index, hashes",
			hashes: entry.object("hashes").texts()}
		var err error
		if f.url, err = fileURL(from, entry.text("url")); err != nil || f.name == "" {
			continue // it may be of another release
		}
		f.uploaded, _ = time.Parse(time.RFC3339, entry.text("upload-time"))
		if reason := entry.text("yanked"); reason != "" || entry.isTrue("yanked") {
			f.yanked = yankReason(reason)
		}
		files = append(files, f)
	}
	return files, nil
}

// parseSimpleHTML reads a project's page of PEP 503: each file is a link, whose
// fragment may be its hash and whose attribute data-yanked says why it was withdrawn.
func parseSimpleHTML(data []byte, from *url.URL) ([]pypiFile, error) {
	var files []pypiFile
	tokens := html.NewTokenizer(bytes.NewReader(data))
	tokens.SetMaxBuf(64 << 10)
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			if err := tokens.Err(); errors.Is(err, html.ErrBufferExceeded) {
				return nil, err
			}
			return files, nil
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		tag := tokens.Token()
		href, ok := attribute(tag, "href")
		if !ok {
			continue
		}
		switch tag.Data {
		case "base":
			if base, err := from.Parse(href); err == nil {
				from = base
			}
		case "a":
			if f, ok := simpleLink(tag, href, from); ok {
				files = append(files, f)
			}
		}
	}
}

// simpleLink returns the file of a link, which from is the base of.
func simpleLink(tag html.Token, href string, from *url.URL) (pypiFile, bool) {
	f := pypiFile{where: "the package index, link", hashes: make(map[string]string)}
	_, fragment, _ := strings.Cut(href, "#")
	for part := range strings.SplitSeq(fragment, "&") {
		if algorithm, hex, ok := strings.Cut(part, "="); ok && !strings.ContainsAny(algorithm, ":") &&
			algorithm != "egg" && algorithm != "subdirectory" && hex != "" {
			f.hashes[algorithm] = hex
		}
	}
	var err error
	if f.url, err = fileURL(from, strings.TrimSpace(href)); err != nil {
		return f, false
	}
	f.name = path.Base(f.url.Path)
	if reason, ok := attribute(tag, "data-yanked"); ok {
		f.yanked = yankReason(reason)
	}
	return f, true
}

// attribute returns the value of an attribute of a tag.
func attribute(tag html.Token, key string) (string, bool) {
	i := slices.IndexFunc(tag.Attr, func(a html.Attribute) bool { return a.Namespace == "" && a.Key == key })
	if i < 0 {
		return "", false
	}
	return tag.Attr[i].Val, true
}

// releaseOf returns the version in the name of a file of a project, whose own name is normal.
// Wheels are NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl, eggs NAME-VERSION-pyX.egg,
// source archives NAME-VERSION.EXT, where old ones have a name with hyphens.
func releaseOf(project, file string) (version string, ok bool) {
	if stem, ok := strings.CutSuffix(file, ".whl"); ok {
		parts := strings.Split(stem, "-")
		if len(parts) != 5 && len(parts) != 6 || !sameProject(project, parts[0]) {
			return "", false
		}
		return parts[1], true
	}
	if stem, ok := strings.CutSuffix(file, ".egg"); ok {
		parts := strings.Split(stem, "-")
		if len(parts) < 2 || !sameProject(project, parts[0]) {
			return "", false
		}
		return parts[1], true
	}
	for _, ext := range []string{".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz", ".tar.Z", ".tar"} {
		stem, ok := strings.CutSuffix(file, ext)
		if !ok {
			continue
		}
		for i := range len(stem) {
			if stem[i] == '-' && sameProject(project, stem[:i]) {
				return stem[i+1:], true
			}
		}
	}
	return "", false
}

// sameProject reports whether name is a spelling of project, which is normal.
func sameProject(project, name string) bool {
	ref, err := artifact.NewPyPI(name, "0", "")
	return err == nil && ref.Normal().Name() == project
}
