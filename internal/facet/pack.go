package facet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Packed is an archive that was made.
type Packed struct {
	*Archive          // as it reads back
	Left     []string // files that do not belong to the facet and were left out
	Archives []string // files of a server that are archives themselves, as of an earlier packing, and were left out
}

// Pack writes the archive of the facet or server whose directory holds files, in any
// order. A facet takes from them what its facet.json names, and it is an error if
// something of that is missing; a server, which has server.json and no facet.json, takes
// all but archives of this format. The same files give the same bytes. Up to limits.Packed bytes are held in memory:
// the archive is read back under limits before any of it is written to w.
func Pack(ctx context.Context, w io.Writer, files []tree.File, open tree.Open, limits archive.Limits) (*Packed, error) {
	byPath := map[string]tree.File{}
	for _, f := range files {
		byPath[f.Path] = f
	}
	plan, err := readPlan(byPath, open)
	if err != nil {
		return nil, err
	}
	var left []string
	if plan.Manifest != nil {
		if files, left, err = plan.Manifest.selectFiles(byPath); err != nil {
			return nil, err
		}
	}
	files, archives, err := splitArchives(files, open)
	if err != nil {
		return nil, err
	}
	if plan.Manifest != nil && len(archives) > 0 {
		return nil, nestedError(archives)
	}
	archived, integrity, err := compress(ctx, files, open, limits)
	if err != nil {
		return nil, err
	}
	digests, err := tree.Digests(ctx, files, open, 0)
	if err != nil {
		return nil, err
	}
	build, err := (&Build{Integrity: integrity, Files: digests}).Encode()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := archive.WriteFacet(&out, build, archived, int64(archived.Len())); err != nil {
		return nil, err
	}
	back, err := Read(bytes.NewReader(out.Bytes()), limits, nil)
	if err != nil {
		return nil, err
	}
	if e := back.Evidence(plan.Name(), "the archive").Count(evidence.Match); e != 1+len(files) {
		return nil, fmt.Errorf("%s: %w", plan.Name(), tree.ErrChanged)
	}
	_, err = w.Write(out.Bytes())
	return &Packed{back, left, archives}, err
}

// readPlan reads the manifest of the facet or server in a directory. Of the archive that is
// returned only the manifest is set.
func readPlan(byPath map[string]tree.File, open tree.Open) (plan Archive, err error) {
	read := func(path string) ([]byte, error) {
		f, ok := byPath[path]
		if !ok {
			return nil, nil
		}
		r, err := open(path)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		data, err := readMember(archive.Entry{Path: path, Size: f.Size}, io.LimitReader(r, MaxManifest+1), MaxManifest)
		if data == nil && err == nil {
			data = []byte{}
		}
		return data, err
	}
	manifest, err := read(ManifestFile)
	if err != nil {
		return plan, err
	}
	source, err := read(SourceFile)
	if err != nil {
		return plan, err
	}
	err = plan.parseManifest(manifest, source)
	return plan, err
}

// selectFiles takes the members of the facet's archive from the files of its directory.
func (m *Manifest) selectFiles(byPath map[string]tree.File) (files []tree.File, left []string, err error) {
	var p problems
	for _, path := range m.Paths() {
		f, ok := byPath[path]
		if !ok {
			p.add(path, "follows from %s, but is not there", ManifestFile)
		}
		files = append(files, f)
	}
	if err := p.asError("facet"); err != nil {
		return nil, nil, err
	}
	paths := m.Paths()
	for _, path := range sortedKeys(byPath) {
		if _, ok := slices.BinarySearchFunc(paths, path, tree.CompareUTF16); !ok {
			left = append(left, path)
		}
	}
	return files, left, nil
}

// compress writes the inner archive to memory. One beyond limits.Packed is an
// [*archive.Error].
func compress(
	ctx context.Context, files []tree.File, open tree.Open, limits archive.Limits,
) (*bytes.Buffer, digest.Digest, error) {
	limit := limits.Effective().Packed
	var out bytes.Buffer
	integrity, _, err := archive.WriteTarGzip(ctx, &cappedWriter{&out, limit}, files, open, 0)
	if errors.Is(err, errFull) {
		err = &archive.Error{Problem: archive.ProblemTooLarge, Layer: "archive",
			Detail: fmt.Sprintf("more than %d bytes", limit)}
	}
	return &out, integrity, err
}

var errFull = errors.New("full")

// cappedWriter writes at most left bytes; the write that would exceed them fails with errFull.
type cappedWriter struct {
	w    io.Writer
	left int64
}

func (c *cappedWriter) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, errFull
	}
	return c.w.Write(p)
}
