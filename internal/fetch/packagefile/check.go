package packagefile

import (
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/archive"
)

// CheckWheel refuses a wheel that programs would unpack differently, or whose list of files
// is too long.
func CheckWheel(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = openZip(f, maxWheelList)
	return err
}

// CheckTarball refuses an npm tarball that programs would unpack differently.
func CheckTarball(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	limits := archive.Limits{Packed: 1 << 40, Unpacked: 16 << 30, Ratio: 1 << 40, Entries: 1 << 20}
	_, err = archive.Walk(f, archive.Package, limits, func(archive.Entry, io.Reader) error { return nil })
	return err
}
