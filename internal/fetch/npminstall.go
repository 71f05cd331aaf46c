package fetch

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// maxUnpacked bounds what the files of a package unpack to, in bytes: reading them has to end.
const maxUnpacked = 16 << 30

// InstallTarball writes the files of an npm tarball to a path below root, where npm puts them, and compares the tarball
// with sum once more. The files that its package.json names in "bin" become executable. What elsewhere
// reports true for, a path with slashes, is left out. A tarball that programs would unpack differently is refused. No
// code runs.
func InstallTarball(ctx context.Context, file string, sum digest.Digest, root *os.Root, at string,
	elsewhere func(name string) bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	dir, err := root.OpenRoot(at)
	if err != nil {
		return err
	}
	defer dir.Close()
	limits := archive.Limits{Packed: 1 << 40, Unpacked: maxUnpacked, Ratio: 1 << 40, Entries: 1 << 20}
	made := ""
	content := digest.NewVerifier(f, sum, -1)
	_, err = archive.Walk(content, archive.Package, limits, func(e archive.Entry, r io.Reader) error {
		_, name, ok := strings.Cut(e.Path, "/") // as npm, whatever the directory at the top is called
		if !ok || elsewhere(name) {
			return ctx.Err()
		}
		if above := path.Dir(name); above != made {
			if err := dir.MkdirAll(above, 0o755); err != nil {
				return err
			}
			made = above
		}
		mode := os.FileMode(0o644)
		if e.Exec {
			mode = 0o755
		}
		out, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, r)
		return errors.Join(err, out.Close(), ctx.Err())
	})
	if _, ok := errors.AsType[*digest.MismatchError](err); ok {
		return evidence.Errorf(evidence.Integrity, "", "", err)
	}
	if err != nil {
		return err
	}
	return markPrograms(dir)
}

// markPrograms makes executable what the package.json in dir names in "bin", as far as it is there.
func markPrograms(dir *os.Root) error {
	f, err := dir.Open("package.json")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxNPMManifest))
	if err != nil {
		return err
	}
	v, _ := readNPMManifest(data)
	if v == nil {
		return nil
	}
	for _, name := range v.Bin {
		if info, err := dir.Stat(name); err == nil && info.Mode().IsRegular() {
			if err := dir.Chmod(name, info.Mode().Perm()|0o111); err != nil {
				return err
			}
		}
	}
	return nil
}
