package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// archivePath is the path of an archive, or of what is below it. The kind is one of
// package ledger.
func archivePath(kind, name string, below ...string) (string, error) {
	if !ledger.Kind(kind).Publishes() || ledger.Kind(kind) == ledger.Server {
		return "", fmt.Errorf("%q is no kind of archive", kind)
	}
	return escapePath(append([]string{registry.Plural(ledger.Kind(kind)), name}, below...)...)
}

// ListArchives returns one page of the records of a kind, without proofs.
func (c *Client) ListArchives(ctx context.Context, kind string, q registry.Query) (*registry.ArchivePage, error) {
	path, err := archivePath(kind, "x")
	if err != nil {
		return nil, err
	}
	p, err := answerAs[registry.ArchivePage](ctx, c,
		request{method: http.MethodGet, path: strings.TrimSuffix(path, "/x"), query: queryValues(q)})
	if err != nil {
		return nil, err
	}
	for _, rec := range p.Archives {
		if err := c.expectArchive(rec, kind, rec.Name, ""); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// ArchiveVersions returns all records of one name, newest first, without those that are
// deleted, and without proofs. The kind is "facet", "artifact" or "plugin". More than
// [registry.MaxVersions] records or [MaxVersionBytes] are an error.
func (c *Client) ArchiveVersions(ctx context.Context, kind, name string) ([]registry.ArchiveRecord, error) {
	return c.archiveVersions(ctx, kind, name, url.Values{})
}

// ArchiveVersionsDeleted is ArchiveVersions with records of any status.
func (c *Client) ArchiveVersionsDeleted(ctx context.Context, kind, name string) ([]registry.ArchiveRecord, error) {
	return c.archiveVersions(ctx, kind, name, withDeleted())
}

func (c *Client) archiveVersions(
	ctx context.Context, kind, name string, query url.Values,
) ([]registry.ArchiveRecord, error) {
	path, err := archivePath(kind, name, "versions")
	if err != nil {
		return nil, err
	}
	page := func(p registry.ArchivePage) ([]registry.ArchiveRecord, string) {
		return p.Archives, p.Metadata.NextCursor
	}
	check := func(rec registry.ArchiveRecord) error { return c.expectArchive(rec, kind, name, "") }
	return collect(func(use func(registry.ArchiveRecord) (bool, error)) error {
		return eachOf(ctx, versions{c, name, path, query, true}, page, check, use)
	})
}

// ArchiveRecord returns one record of any status, with its proof if the registry has a
// log. Version may be [registry.Latest].
func (c *Client) ArchiveRecord(ctx context.Context, kind, name, version string) (registry.ArchiveRecord, error) {
	path, err := archivePath(kind, name, "versions", version)
	if err != nil {
		return registry.ArchiveRecord{}, err
	}
	text, err := c.ask(ctx, c.wait(path), request{method: http.MethodGet, path: path, query: withDeleted()})
	if err != nil {
		return registry.ArchiveRecord{}, err
	}
	if version == registry.Latest {
		version = ""
	}
	return c.archiveRecord(path, text, kind, name, version)
}

// archiveRecord reads an answer.
func (c *Client) archiveRecord(path string, text []byte, kind, name, version string) (registry.ArchiveRecord, error) {
	var a registry.ArchiveAnswer
	if err := c.decode(path, text, &a); err != nil {
		return registry.ArchiveRecord{}, err
	}
	if err := c.expectArchive(a.ArchiveRecord, kind, name, version); err != nil {
		return registry.ArchiveRecord{}, err
	}
	if a.ProofText != "" {
		a.Proof = []byte(a.ProofText)
	}
	return a.ArchiveRecord, nil
}

// expectArchive is an error unless rec is whole, and is the one that was asked for.
func (c *Client) expectArchive(rec registry.ArchiveRecord, kind, name, version string) error {
	if rec.Kind != kind || rec.Name != name || version != "" && rec.Version != version {
		return fmt.Errorf("registry %s: asked for %s %+q, got the record of %+.20q %+.200q version %+.200q", c.Base,
			kind, name, rec.Kind, rec.Name, rec.Version)
	}
	for what, d := range map[string]digest.Digest{"content_integrity": rec.ContentIntegrity,
		"content_hash": rec.ContentHash} {
		if d.Algorithm() != digest.SHA256 {
			return fmt.Errorf("registry %s: the record of %s %+q has no sha256 as its %s", c.Base, kind, rec.Subject(),
				what)
		}
	}
	if rec.Version == "" || rec.Size <= 0 || rec.Status == "" || !json.Valid(rec.Manifest) {
		return fmt.Errorf("registry %s: the record of %s %+q is not whole", c.Base, kind, rec.Subject())
	}
	return nil
}

// ArchiveURL is where an archive is downloaded from.
func (c *Client) ArchiveURL(kind, name, version string) (string, error) {
	path, err := archivePath(kind, name, "versions", version, "archive")
	if err != nil {
		return "", err
	}
	u, err := c.endpoint(stable+path, nil)
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, "", "", err)
	}
	return u.String(), nil
}

// OpenArchive begins the download of an archive and returns its bytes, which nobody has
// hashed yet, and how many they should be. A version that is deleted is a [*registry.Problem] with
// the status 410. A registry may answer with a redirect to where it keeps archives, which
// no token is sent to.
func (c *Client) OpenArchive(ctx context.Context, kind, name, version string) (io.ReadCloser, int64, error) {
	to, err := c.ArchiveURL(kind, name, version)
	if err != nil {
		return nil, 0, err
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	res, err := c.fetchArchive(ctx, u)
	if err == nil && res.StatusCode == http.StatusOK && res.ContentLength >= 0 &&
		res.Header.Get("Content-Encoding") == "" {
		return &archiveBody{res.Body, cancel}, res.ContentLength, nil
	}
	defer cancel()
	if err != nil {
		return nil, 0, fmt.Errorf("registry %s: %w", c.Base, err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 == 2 {
		return nil, 0, fmt.Errorf("registry %s: %s: the answer is not an archive of a known length", c.Base, u.Path)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, MaxAnswer))
	if err != nil {
		return nil, 0, fmt.Errorf("registry %s: %s: %w", c.Base, u.Path, err)
	}
	return nil, 0, c.asProblem(res, text)
}

// fetchArchive asks for an archive, where one redirect may lead to another host: what
// comes is hashed by the caller.
func (c *Client) fetchArchive(ctx context.Context, u *url.URL) (*http.Response, error) {
	client := *c.client(u.Path)
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if req.URL.User != nil ||
			req.URL.Scheme != "https" && !(req.URL.Scheme == "http" && artifact.IsLoopback(req.URL.Hostname())) {
			return fmt.Errorf("redirected to %+.200q, which is not https", req.URL.Redacted())
		}
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"User-Agent": {"hallmark"}, "Accept-Encoding": {"identity"},
		"Accept": {"application/octet-stream, " + registry.ProblemType}}
	return client.Do(req)
}

// archiveBody ends its request when it is closed.
type archiveBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *archiveBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// Upload is an archive to be published.
type Upload struct {
	Body  io.Reader // the archive
	Size  int64     // how many bytes Body has
	Token string    // of the publisher; may be empty
}

// PublishArchive sends an archive and returns its record, with its proof if the registry
// has a log. The caller must compare the record with what was sent.
func (c *Client) PublishArchive(
	ctx context.Context, kind, name string, sent Upload,
) (registry.ArchiveRecord, error) {
	return c.publishArchive(ctx, kind, name, nil, sent)
}

// PublishServer is PublishArchive for a server that is packed from source. shown is the
// fingerprint that the publisher claims for its tools; zero claims none.
func (c *Client) PublishServer(
	ctx context.Context, name string, shown digest.Digest, sent Upload,
) (registry.ArchiveRecord, error) {
	query := url.Values{}
	if !shown.IsZero() {
		query.Set(registry.SurfaceParameter, shown.String())
	}
	return c.publishArchive(ctx, string(ledger.Artifact), name, query, sent)
}

func (c *Client) publishArchive(
	ctx context.Context, kind, name string, query url.Values, sent Upload,
) (registry.ArchiveRecord, error) {
	path, err := archivePath(kind, name, "versions")
	if err != nil {
		return registry.ArchiveRecord{}, err
	}
	text, err := c.ask(ctx, publishTimeout,
		request{method: http.MethodPost, path: path, query: query, archive: sent, token: sent.Token})
	if err != nil {
		return registry.ArchiveRecord{}, err
	}
	return c.archiveRecord(path, text, kind, name, "")
}

// archiveTimeout is how long the whole download of an archive may take.
const archiveTimeout = 10 * time.Minute

// SetArchiveStatus changes the status of one version of an archive, or with version "" of
// all, and returns how many changed.
func (c *Client) SetArchiveStatus(
	ctx context.Context, kind, name, version string, change StatusChange,
) (int, error) {
	below := []string{"status"}
	if version != "" {
		below = []string{"versions", version, "status"}
	}
	path, err := archivePath(kind, name, below...)
	if err != nil {
		return 0, err
	}
	var answer struct {
		UpdatedCount int    `json:"updatedCount"`
		Version      string `json:"version"`
	}
	if err := c.patch(ctx, path, change, &answer); err != nil {
		return 0, err
	}
	if version != "" {
		if answer.Version != version {
			return 0, fmt.Errorf("registry %s: asked for version %+.200q of %+q, got %+.200q", c.Base, version, name,
				answer.Version)
		}
		return 1, nil
	}
	return answer.UpdatedCount, nil
}
