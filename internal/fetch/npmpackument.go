package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// maxPackument bounds a packument, in bytes: npm's name for the document of all versions of a
// package. One of a package that is released every day has over a hundred million.
const maxPackument = 256 << 20

// lacksVersionDocuments reports whether a registry may answer with this status because it serves
// packuments only, which is all that npm itself asks for.
func lacksVersionDocuments(err error) bool {
	e, ok := errors.AsType[*wire.Error](err)
	return ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound ||
		e.Status == http.StatusMethodNotAllowed)
}

// fetchFromPackument reads the document of the version that ref names from the packument of its
// package. Its file is staged, so that no more than one version is held in memory. If there is
// no packument either, the error is not found.
func (c *Client) fetchFromPackument(ctx context.Context, ref artifact.Ref, base string) (*NPMVersion, error) {
	u, err := npmURL(base, ref.Name())
	if err != nil {
		return nil, err
	}
	d, err := c.download(ctx, ref, transfer.Request{URL: u, Base: u, By: consent.ByConfig, Accept: "application/json",
		Authorization: c.addCredentials(c.config.NPM.Authorization), Most: min(maxPackument, c.limits.FileSize)}, nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	file, err := d.Open()
	if err != nil {
		return nil, c.stagingError(ref, err)
	}
	defer file.Close()
	data, cause, err := findInPackument(file, ref.Version(), c.limits.DocumentSize)
	var v *NPMVersion
	if err == nil {
		v, cause, err = parseNPMVersion(data, ref.Name(), ref.Version())
	}
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: cause, URL: wire.ShowURL(u), Err: err}
	}
	v.From = wire.ShowURL(u)
	return v, nil
}

// findInPackument returns the document of a version. No member may have more than most bytes. The
// cause belongs to the error.
func findInPackument(r io.Reader, version string, most int64) ([]byte, evidence.Cause, error) {
	p := &packument{in: &stretch{r: r, most: most}, version: version}
	p.d = json.NewDecoder(p.in)
	err := p.eachMember(func(key string) error {
		if key != "versions" {
			return p.skip()
		}
		return p.eachMember(p.readVersion)
	})
	if err == nil {
		if _, err = p.d.Token(); err == nil || err != io.EOF {
			err = errors.New("data after its end")
		} else {
			err = nil
		}
	}
	switch {
	case errors.Is(err, errLongMember):
		return nil, evidence.TooLarge, fmt.Errorf("a version in the package's document has more than %s bytes",
			evidence.Group(most))
	case err != nil:
		return nil, evidence.Unreachable, errors.New("the answer is not a package's document")
	case p.found > 1:
		return nil, evidence.Ambiguous, errors.New("the package's document has this version twice")
	case p.found == 0:
		return nil, evidence.NotFound, errors.New("the package's document has no such version")
	}
	return p.data, "", nil
}

// packument is one that is read member by member.
type packument struct {
	d       *json.Decoder
	in      *stretch
	version string
	data    json.RawMessage // of version
	found   int             // how often version is there
	skipped json.RawMessage
}

// readVersion reads the document of one version, and keeps that of the one that is wanted.
func (p *packument) readVersion(version string) error {
	if version != p.version {
		return p.skip()
	}
	p.found++
	p.in.begin()
	return p.d.Decode(&p.data)
}

// skip reads a value that is not needed.
func (p *packument) skip() error {
	p.in.begin()
	return p.d.Decode(&p.skipped)
}

// eachMember calls f with the name of each member of the object that comes next. F reads the value.
func (p *packument) eachMember(f func(key string) error) error {
	p.in.begin()
	if t, err := p.d.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(err, errors.New("no object"))
	}
	for p.d.More() {
		p.in.begin()
		t, err := p.d.Token()
		if err != nil {
			return err
		}
		if err := f(t.(string)); err != nil {
			return err
		}
	}
	_, err := p.d.Token()
	return err
}

var errLongMember = errors.New("a member is too long")

// stretch refuses to give more than most bytes between two calls of begin.
type stretch struct {
	r    io.Reader
	most int64
	read int64
}

func (s *stretch) begin() { s.read = 0 }

func (s *stretch) Read(p []byte) (int, error) {
	if s.read >= s.most {
		return 0, errLongMember
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.most-s.read)])
	s.read += int64(n)
	return n, err
}
