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
func (c *Client) fetchFromPackument(ctx context.Context, ref artifact.Ref, base string) (v *NPMVersion, err error) {
	err = c.openPackument(ctx, ref, base, func(p *packument, from string) error {
		data, cause, err := p.find(ref.Version())
		if err == nil {
			v, cause, err = parseNPMVersion(data, ref.Name(), ref.Version())
		}
		if err != nil {
			return &wire.Error{Ref: ref.String(), Cause: cause, URL: from, Err: err}
		}
		v.From = from
		return nil
	})
	return v, err
}

// openPackument fetches the packument of the package that ref names into a file, and lets read read it. From is its
// URL.
func (c *Client) openPackument(ctx context.Context, ref artifact.Ref, base string,
	read func(p *packument, from string) error) error {
	u, err := npmURL(base, ref.Name())
	if err != nil {
		return err
	}
	d, err := c.download(ctx, ref, transfer.Request{URL: u, Base: u, By: wire.ByConfig, Accept: "application/json",
		Authorization: c.addCredentials(c.config.NPM.Authorization), Most: min(maxPackument, c.limits.FileSize)}, nil)
	if err != nil {
		return err
	}
	defer d.Close()
	file, err := d.Open()
	if err != nil {
		return c.stagingError(ref, err)
	}
	defer file.Close()
	return read(newPackument(file, c.limits.DocumentSize), wire.ShowURL(u))
}

// packument is one that is read member by member.
type packument struct {
	d       *json.Decoder
	in      *stretch
	skipped json.RawMessage
}

// newPackument reads a packument of which no member has more than most bytes.
func newPackument(r io.Reader, most int64) *packument {
	p := &packument{in: &stretch{r: r, most: most}}
	p.d = json.NewDecoder(p.in)
	return p
}

// find returns the document of a version. The cause belongs to the error.
func (p *packument) find(version string) (data []byte, cause evidence.Cause, err error) {
	found, newest := 0, ""
	cause, err = p.read(map[string]func() error{
		"dist-tags": func() error {
			return p.eachMember(func(key string) error {
				if key != "latest" {
					return p.skip()
				}
				var tag any
				err := p.decode(&tag)
				newest, _ = tag.(string)
				return err
			})
		},
		"versions": func() error {
			return p.eachMember(func(key string) error {
				if key != version {
					return p.skip()
				}
				found++
				var doc json.RawMessage
				err := p.decode(&doc)
				data = doc
				return err
			})
		}})
	switch {
	case err != nil:
		return nil, cause, err
	case found > 1:
		return nil, evidence.Ambiguous, errors.New("the package's document has this version twice")
	case found == 0:
		return nil, evidence.NotFound, noVersionError(newest)
	}
	return data, "", nil
}

// read reads the whole document, each member that has a function by that. The cause belongs to the error.
func (p *packument) read(members map[string]func() error) (evidence.Cause, error) {
	err := p.eachMember(func(key string) error {
		if read := members[key]; read != nil {
			return read()
		}
		return p.skip()
	})
	if err == nil {
		if _, err = p.d.Token(); err == io.EOF {
			return "", nil
		}
		err = errors.New("data after its end")
	}
	if errors.Is(err, errLongMember) {
		return evidence.TooLarge, fmt.Errorf("a version in the package's document has more than %s bytes",
			evidence.Group(p.in.most))
	}
	return evidence.Unreachable, errors.New("the answer is not a package's document")
}

// decode reads the value that comes next.
func (p *packument) decode(into any) error {
	p.in.begin()
	return p.d.Decode(into)
}

// skip reads a value that is not needed.
func (p *packument) skip() error {
	return p.decode(&p.skipped)
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

// noVersionError says that a package is there, and a version of it is not.
func noVersionError(newest string) error {
	if newest == "" {
		return errors.New("the package exists, and has no such version")
	}
	return fmt.Errorf("the package exists, and has no such version; its newest is %s", wire.Quoted(newest))
}
