package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Mirror keeps a copy of the file at u, of at most limit bytes, in dir, and returns its path. If there is a copy
// already, the host is asked whether it is still the newest, and the file is fetched if it is not. That the host may be
// asked is for the caller to find out. Over plain http it is asked on this machine alone. No other process may use dir
// meanwhile.
func (c *Client) Mirror(ctx context.Context, u *url.URL, dir string, limit int64) (path string, err error) {
	ctx, release, err := c.begin(ctx, artifact.Ref{})
	if err != nil {
		return "", err
	}
	defer release()
	path = filepath.Join(dir, "file")
	note := path + ".version"
	request := transfer.Request{URL: u, Base: u, By: wire.ByConfig, Most: limit}
	if _, err := os.Stat(path); err == nil {
		request.Known = readVersion(note) // one that is lost, or older than the file, costs a download
	}
	var version transfer.Version
	request.Head = func(resp *http.Response) { version = transfer.VersionOf(resp.Header) }
	in := *c
	in.config.Dir, in.config.Progress = dir, nil // the Ref names no package
	d, err := in.download(ctx, artifact.Ref{}, request, nil)
	unread := new(wire.Error)
	if errors.As(err, &unread) && unread.Status == http.StatusNotModified && request.Known != (transfer.Version{}) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	defer d.Close()
	// In this order, so that a note is never of a newer file than the one beside it.
	if err := os.Rename(d.Path(), path); err != nil {
		return "", err
	}
	return path, durable.WriteFile(note, []byte(version.Tag+"\n"+version.Modified), 0o600)
}

// readVersion reads the version that a copy is of; the zero value if it is not known.
func readVersion(note string) (v transfer.Version) {
	data, err := os.ReadFile(note)
	if err != nil || len(data) > 4<<10 {
		return v
	}
	v.Tag, v.Modified, _ = strings.Cut(string(data), "\n")
	return v
}
