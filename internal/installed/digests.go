package installed

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// Digests are the digests of the files that exist, by path; zero for what is no regular file. Where a file is in the
// place of a directory, none below it exists.
func Digests(w *workspace.Workspace, paths []string) (map[string]digest.Digest, error) {
	slices.Sort(paths)
	paths, dir := slices.Compact(paths), ""
	for _, p := range paths {
		if d := path.Dir(p); d != dir { // those of one directory mostly follow each other
			dir = d
			if err := refuseDir(w, d); err != nil {
				return nil, err
			}
		}
	}
	sums, exist := make([]digest.Digest, len(paths)), make([]bool, len(paths))
	if err := host.ForEach(runtime.GOMAXPROCS(0), len(paths), func(i int) (err error) {
		sums[i], exist[i], err = hashFile(w.Place(paths[i]))
		return err
	}); err != nil {
		return nil, err
	}
	found := make(map[string]digest.Digest, len(paths))
	for i, path := range paths {
		if exist[i] {
			found[path] = sums[i]
		}
	}
	return found, nil
}

// Digest is the digest of a file of the project; zero for what is no regular file.
func Digest(w *workspace.Workspace, path string) (d digest.Digest, exists bool, err error) {
	if err := refuseDir(w, filepath.ToSlash(filepath.Dir(path))); err != nil {
		return d, false, err
	}
	return hashFile(w.Place(path))
}

// refuseDir refuses a directory that is a link or is reached through one.
func refuseDir(w *workspace.Workspace, dir string) error {
	err := w.RefuseLink(w.Place(dir))
	for at := dir; err != nil && at != "."; at = path.Dir(at) {
		if info, stat := os.Lstat(w.Place(at)); stat == nil && info.Mode().IsRegular() &&
			w.RefuseLink(filepath.Dir(w.Place(at))) == nil {
			return nil
		}
	}
	return err
}

// hashFile is the digest of a file whose directory was found to be plain.
func hashFile(name string) (d digest.Digest, exists bool, err error) {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return d, false, nil
	case err != nil:
		return d, false, err
	case info.IsDir():
		return d, true, evidence.Errorf(evidence.Refused, name, "move it away",
			errors.New("is a directory, where a file is to be"))
	case !info.Mode().IsRegular():
		return d, true, nil
	}
	f, err := durable.OpenRegular(name)
	if err != nil {
		return d, true, err
	}
	defer f.Close()
	d, _, err = digest.FromReader(f)
	return d, true, err
}

// EditedEvidence is evidence of a file that is not as it was written.
func EditedEvidence(path string, before, now digest.Digest, forced bool) evidence.Evidence {
	c := evidence.Claim{Subject: path, Scheme: evidence.Installed, Authority: evidence.Machine,
		Where: "what was installed here"}
	if !before.IsZero() {
		c.Want = []digest.Digest{before}
	}
	o := evidence.Observed{From: path}
	if now.IsZero() {
		o.Text = "no regular file"
	} else {
		o.Digests = []digest.Digest{now}
	}
	if forced {
		return evidence.Waive(c, o, "--force")
	}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Match {
		e.Outcome, e.Cause, e.Reason = evidence.Mismatch, "", "edited since; it is kept as it is, --force replaces it"
	}
	return e
}
