package fetch

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// WithFiles returns a client for which files on this machine stand for what refs name: they are read where they lie,
// and nothing is asked for them. Of a PyPI release they are all of its files.
func (c *Client) WithFiles(files map[artifact.Ref]string) *Client {
	view := *c
	view.local = make(map[artifact.Ref]string, len(files))
	for ref, path := range files {
		view.local[ref.Normal()] = path
	}
	return &view
}

// localFiles returns the Refs of the files on this machine that stand for ref, sorted.
func (c *Client) localFiles(ref artifact.Ref) (refs []artifact.Ref) {
	for of := range c.local {
		switch {
		case of == ref.Normal():
			refs = append(refs, ref)
		case ref.Filename() == "" && of.Release() == ref.Release(): // spelled as ref is
			if file, err := artifact.NewPyPI(ref.Name(), ref.Version(), of.Filename()); err == nil {
				refs = append(refs, file)
			}
		}
	}
	slices.SortFunc(refs, func(a, b artifact.Ref) int { return strings.Compare(a.String(), b.String()) })
	return refs
}

// readLocal hashes a file on this machine.
func readLocal(ref artifact.Ref, path string, algs []digest.Algorithm) (*Download, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("is not a regular file"))
	}
	hasher := digest.NewHasher(algs...)
	if _, err := io.Copy(hasher, f); err != nil {
		return nil, err
	}
	return &Download{Ref: ref, path: path, kept: true,
		Observed: evidence.Observed{Digests: hasher.Digests(), Size: hasher.Size(), From: path}}, nil
}
