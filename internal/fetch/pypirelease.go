package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

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
	index  *url.URL          // that has it, as it is configured
	hashes map[string]string // hex, by the name of the algorithm
	where  string            // the document and member that have the hashes
	yanked string            // why it was withdrawn; "" if it was not

	uploaded time.Time // zero: the index does not say
}

// sameAs reports whether f and g have one URL and the same hashes.
func (f pypiFile) sameAs(g pypiFile) bool {
	return f.url.String() == g.url.String() && fmt.Sprint(f.hashes) == fmt.Sprint(g.hashes)
}

// pypiSource is one index: its JSON API at base, unless that is empty, and its simple API at
// simple for what the JSON API does not have. Many mirrors serve only the simple API, also
// those that stand in for the public registry under its own name.
type pypiSource struct{ base, simple string }

// pypiSources returns the indexes in the order in which they are asked.
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

// pickPyPIFiles returns those of a release's files that ref names, at least one. The files were
// read from the document at from.
func pickPyPIFiles(ref artifact.Ref, files []pypiFile, from *url.URL) ([]pypiFile, error) {
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

// sameRelease reports whether name and version are ref's, in any spelling.
func sameRelease(ref artifact.Ref, name, version string) bool {
	got, err := artifact.NewPyPI(name, version, "")
	want, err2 := artifact.NewPyPI(ref.Name(), ref.Version(), "")
	return err == nil && err2 == nil && got.Normal() == want.Normal()
}
