package tree

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
)

const domainV1 = "hallmark-tree-v1\x00"

// ErrChanged is wrapped by the error for a file that does not have the size that
// was declared for it.
var ErrChanged = errors.New("file changed while it was read")

// V1 is the hallmark-tree-v1 fingerprint of files, which may come in any order, and
// the number of bytes in them. Up to width files are read at once (0: one for each
// processor), in bounded memory whatever their sizes. It is an error if a file has
// another size than declared, or a path twice.
func V1(ctx context.Context, files []File, open Open, width int) (digest.Digest, int64, error) {
	return source{files: files, open: open, width: width}.v1(ctx)
}

// V1Held is [V1] of files whose contents are in memory, by path.
func V1Held(ctx context.Context, files []File, contents map[string][]byte) (digest.Digest, int64, error) {
	return source{files: files, held: nonNil(contents)}.v1(ctx)
}

// nonNil returns contents that are there, if none.
func nonNil(contents map[string][]byte) map[string][]byte {
	if contents == nil {
		return map[string][]byte{}
	}
	return contents
}

func (s source) v1(ctx context.Context) (digest.Digest, int64, error) {
	var err error
	if s.files, err = sortFiles(s.files, strings.Compare); err != nil {
		return digest.Digest{}, 0, err
	}
	h := digest.NewHasher()
	h.Write([]byte(domainV1))
	size, err := s.stream(ctx, framing{head: headV1}, h)
	if err != nil {
		return digest.Digest{}, 0, err
	}
	return h.Digest(digest.SHA256), size, nil
}

// headV1 appends what stands before the content of f.
func headV1(dst []byte, f File) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(f.Path)))
	dst = append(dst, f.Path...)
	if f.Exec {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	return binary.BigEndian.AppendUint64(dst, uint64(f.Size))
}

// sortFiles returns files in the order of their paths under compare and leaves the argument
// as it is. A path that no tree may hold, a path twice and a negative size are errors.
func sortFiles(files []File, compare func(a, b string) int) ([]File, error) {
	byPath := func(a, b File) int { return compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(files, byPath) {
		files = slices.SortedFunc(slices.Values(files), byPath)
	}
	for i, f := range files {
		if err := CheckPath(f.Path); err != nil {
			return nil, err
		}
		if f.Size < 0 {
			return nil, fmt.Errorf("%+q has a negative size", f.Path)
		}
		if i > 0 && files[i-1].Path == f.Path {
			return nil, fmt.Errorf("%+q is in the tree twice", f.Path)
		}
	}
	return files, nil
}
