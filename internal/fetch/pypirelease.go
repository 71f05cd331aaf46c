package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/modelcontextprotocol/registry/pkg/model"
)

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
