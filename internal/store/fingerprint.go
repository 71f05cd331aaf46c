package store

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/tree"
)

// WithScheme returns the same store for trees under another fingerprint: [evidence.Tree], which is
// hallmark-tree-v1 and that of a store from [Open], or [evidence.FacetTar], that of an archive's
// content. The fingerprint decides the address of a slot and what an audit recomputes, and nothing
// else.
func (s *Store) WithScheme(scheme evidence.Scheme) *Store {
	view := *s
	view.scheme = scheme
	return &view
}

// executableFile returns the path of the one file of an archive that may be executable: the entry of
// a server whose runtime is binary, as its server.json says, which must have the digest that was
// computed of it. It returns "" for every other archive.
func (a *audit) executableFile(open tree.Open) string {
	if a.executable != nil {
		return *a.executable
	}
	a.executable = new(string)
	r, err := open(facet.SourceFile)
	if err != nil {
		return ""
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, facet.MaxManifest+1))
	if err != nil || !evidence.Same(a.found.files[facet.SourceFile], digest.FromBytes(data)) {
		return ""
	}
	if s, err := facet.ParseSource(data); err == nil && s.Runtime == facet.RuntimeBinary {
		*a.executable = s.Entry
	}
	return *a.executable
}

// treeSums is what is computed of a tree.
type treeSums struct {
	tree  digest.Digest
	size  int64                    // bytes that were hashed for it
	files map[string]digest.Digest // under facet-tar, and of a tree of one file: of each file, from the same bytes
}

// measureTree computes the fingerprint of files under a scheme.
func measureTree(
	ctx context.Context, scheme evidence.Scheme, files []tree.File, open tree.Open,
) (out treeSums, err error) {
	var mu sync.Mutex
	each := func(path string) (io.ReadCloser, error) {
		r, err := open(path)
		if err != nil {
			return nil, err
		}
		return &hashingReader{r, digest.NewHasher(), func(d digest.Digest) {
			mu.Lock()
			defer mu.Unlock()
			out.files[path] = d
		}}, nil
	}
	switch scheme {
	case evidence.Tree:
		if len(files) == 1 { // a program, whose digest decides what is executed
			out.files = map[string]digest.Digest{}
			out.tree, out.size, err = tree.V1(ctx, files, each, 0)
			return out, err
		}
		out.tree, out.size, err = tree.V1(ctx, files, open, 0)
		return out, err
	case evidence.FacetTar:
		out.files = make(map[string]digest.Digest, len(files))
		out.tree, out.size, err = tree.FacetTar(ctx, files, each, 0)
		return out, err
	}
	return out, fmt.Errorf("store: no slot is addressed by %+q", string(scheme))
}

// hashingReader hashes what is read through it, and passes the digest to done when it is closed.
type hashingReader struct {
	io.ReadCloser
	h    *digest.Hasher
	done func(digest.Digest)
}

func (r *hashingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.h.Write(p[:n])
	return n, err
}

func (r *hashingReader) Close() error {
	r.done(r.h.Digest(digest.SHA256))
	return r.ReadCloser.Close()
}

// contentSize is the number of bytes in files.
func contentSize(files []tree.File) int64 {
	var n int64
	for _, f := range files {
		n += f.Size
	}
	return n
}
