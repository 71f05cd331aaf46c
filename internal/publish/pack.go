package publish

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// Options describe an archive to make.
type PackOptions struct {
	Dir    string // directory of the facet or server; "" is the working directory
	File   string // to write; "" is [facet.FileName] in the working directory
	Limits archive.Limits
}

// Packing describes an archive that [Pack] wrote.
type Packing struct {
	File string
	*facet.Packed
	Hidden []string // members whose names begin with a dot, which may be included by mistake
}

// Pack writes the archive of a facet, or of a server that is packed from source. The same files
// give the same bytes. The file appears only when it is complete and was read back; on an error
// an older file stays.
func Pack(ctx context.Context, o PackOptions) (*Packing, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		kind := evidence.Operation
		if errors.Is(err, fs.ErrNotExist) {
			kind = evidence.Validation
		}
		return nil, evidence.Errorf(kind, filepath.ToSlash(o.Dir), "", errors.Unwrap(err))
	}
	defer root.Close()
	where := filepath.ToSlash(o.Dir)
	d := &SourceDir{Root: root, output: o.File}
	if err := d.List(); err != nil {
		return nil, DirError(where, err)
	}
	var out bytes.Buffer
	packed, err := facet.Pack(ctx, &out, d.Files, d.Open, o.Limits)
	if err != nil {
		return nil, DirError(where, err)
	}
	p := &Packing{File: o.File, Packed: packed}
	if p.File == "" {
		p.File = facet.FileName(packed.Name(), packed.Version())
	}
	for _, f := range packed.Files {
		if strings.HasPrefix(f.Path, ".") || strings.Contains(f.Path, "/.") {
			p.Hidden = append(p.Hidden, f.Path)
		}
	}
	if err := durable.WriteFile(p.File, out.Bytes(), 0o644); err != nil {
		return nil, evidence.Errorf(evidence.Operation, filepath.ToSlash(p.File), "", err)
	}
	return p, nil
}
