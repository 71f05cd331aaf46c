package fetch

import (
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// maxUnpacked bounds what the files of a package unpack to, in bytes: reading them has to end.
const maxUnpacked = 16 << 30

// CheckTarball refuses an npm tarball that programs would unpack differently.
func CheckTarball(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	limits := archive.Limits{Packed: 1 << 40, Unpacked: maxUnpacked, Ratio: 1 << 40, Entries: 1 << 20}
	_, err = archive.Walk(f, archive.Package, limits, func(archive.Entry, io.Reader) error { return nil })
	return err
}
