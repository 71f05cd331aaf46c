package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// MaxExtra bounds how many extra files are named.
const MaxExtra = 1000

// LeftoverFiles returns evidence of files in the directories of surfaces and closures that belong to no
// entry of the lock. Nothing compares them, and if an entry of that name comes later, they would
// seem to have been reviewed with it. It skips the files of missing entries: such an entry is
// refused itself, and restored with its files.
func LeftoverFiles(w *Workspace, missed map[string]bool) (report evidence.Report, err error) {
	surfaces, closures := map[string]bool{}, map[string]bool{}
	for name := range missed {
		surfaces[project.SurfaceFile(name)], closures[project.ClosureSubject(name)] = true, true
	}
	for _, name := range w.Lock.Servers() {
		entry, _ := w.Lock.Server(name)
		surfaces[project.SurfaceFile(name)] = true
		if entry.Closure != nil {
			closures[project.ClosureSubject(name)] = true
		}
	}
	for dir, ours := range map[string]map[string]bool{project.SurfacesDir: surfaces, project.ClosuresDir: closures} {
		found, err := leftoversIn(w, dir, ours)
		if err != nil {
			return nil, err
		}
		report = append(report, found...)
	}
	slices.SortFunc(report, func(a, b evidence.Evidence) int { return strings.Compare(a.Subject, b.Subject) })
	return report, nil
}

// MissedEntries returns the names of the servers whose entries are missing from the lock, by their
// reports.
func MissedEntries(names []string, reports []evidence.Report) map[string]bool {
	out := map[string]bool{}
	for i, name := range names {
		out[name] = slices.ContainsFunc(reports[i], func(e evidence.Evidence) bool {
			return e.Scheme == evidence.Launch && e.Authority == evidence.Lock && e.Outcome == evidence.Missing
		})
	}
	maps.DeleteFunc(out, func(_ string, missed bool) bool { return !missed })
	return out
}

// leftoversIn names at most [MaxExtra] entries of dir that are not in ours, by path. It compares names
// as the directory spells them, because a name in another case may be another file.
func leftoversIn(w *Workspace, dir string, ours map[string]bool) (report evidence.Report, err error) {
	if err := w.RefuseLink(w.Path(dir)); err != nil {
		return nil, err
	}
	f, err := os.Open(w.Path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for len(report) < MaxExtra {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if at := dir + "/" + e.Name(); !ours[at] {
				report = append(report, leftoverEvidence(at, e))
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return report, nil
}

func leftoverEvidence(at string, d fs.DirEntry) evidence.Evidence {
	what := "a file that is of none"
	switch {
	case d.IsDir():
		what = "a directory"
	case !d.Type().IsRegular():
		what = "no regular file"
	}
	e := evidence.Fact(evidence.Claim{
		Subject: at, Scheme: evidence.Unhashed, Authority: evidence.Lock,
		Text: "nothing but the files of entries of " + project.LockFile, Where: project.LockFile,
	}, what)
	e.Observed.From = at
	e.Reason = "no entry of " + project.LockFile + " is about it"
	e.Fix = "restore hallmark.lock from version control if an entry is gone; else move it away"
	return e
}

// FilesBeside returns the changes that write the files of an entry beside the lock, and remove
// those that the entry does not have; nil means no file. before is the replaced entry, or nil. A
// file that is not that of before is removed or replaced too, with a warning.
func FilesBeside(w *Workspace, name string, before *project.ServerLock, shown *surface.Surface,
	closure []byte) []durable.File {
	files := []durable.File{
		{Path: w.SurfacePath(name), Remove: true},
		{Path: w.ClosurePath(name), Remove: true},
		{Path: w.DriftPath(name), Remove: true},
	}
	if shown != nil {
		files[0] = durable.File{Path: files[0].Path, Data: shown.FormatIndented(), Perm: 0o644}
	}
	if closure != nil {
		files[1] = durable.File{Path: files[1].Path, Data: closure, Perm: 0o644}
	}
	for i, at := range []string{project.SurfaceFile(name), project.ClosureSubject(name)} {
		if _, err := os.Lstat(files[i].Path); err != nil || isFileOf(w, files[i], before) {
			continue
		}
		verb := "replaced"
		if files[i].Remove {
			verb = "removed"
		}
		w.Host.Logger.Warn(fmt.Sprintf("%s was not what %s has there, and is %s", at, project.LockFile, verb))
	}
	return files
}

// isFileOf reports whether the file at the path of f is the one that an entry has there, or the one
// that f writes there.
func isFileOf(w *Workspace, f durable.File, entry *project.ServerLock) bool {
	data, err := w.ReadFile(f.Path, MaxSurface)
	switch {
	case err != nil || data == nil:
		return false
	case !f.Remove && string(data) == string(f.Data):
		return true
	}
	return entry != nil && isContentOf(data, strings.HasPrefix(f.Path, w.Path(project.SurfacesDir)), *entry)
}

// isContentOf reports whether data are what an entry has beside the lock, as its surface or else its closure.
func isContentOf(data []byte, asSurface bool, entry project.ServerLock) bool {
	if asSurface {
		s, err := surface.Read(data)
		return err == nil && evidence.Same(s.Digest(), entry.Surface)
	}
	return len(data) <= project.MaxClosure && entry.Closure != nil &&
		evidence.Same(closureDigest(data), entry.Closure.Lock)
}
