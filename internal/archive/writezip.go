package archive

import (
	"archive/zip"
	"compress/flate"
	"io"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/tree"
)

// WriteZip writes files, which may come in any order, as a zip that is determined by
// their paths and contents: in byte order, compressed at the strongest level, without
// times or permissions. A path that [OpenZip] would refuse is an [*Error].
func WriteZip(w io.Writer, files []tree.File, open tree.Open) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b tree.File) int { return strings.Compare(a.Path, b.Path) })
	var names Names
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range files {
		if err := names.Add(f.Path); err != nil {
			return err
		}
		head := &zip.FileHeader{Name: f.Path, Method: zip.Deflate}
		if !spelling.IsASCII(f.Path) {
			head.SetMode(0o644) // of Unix: some programs take other names for those of DOS
		}
		body, err := z.CreateHeader(head)
		if err != nil {
			return err
		}
		r, err := open(f.Path)
		if err != nil {
			return err
		}
		_, err = io.Copy(body, r)
		r.Close()
		if err != nil {
			return err
		}
	}
	return z.Close()
}
