package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// File is one file of a journal: its complete new contents, or its removal.
type File struct {
	Path string `json:"path"`           // absolute
	Data []byte `json:"data,omitempty"` // base64 in the journal
	// of the new file, not reduced by the umask; 0 means the replaced file's, else 0644
	Perm   fs.FileMode `json:"perm,omitempty"`
	Remove bool        `json:"remove,omitempty"` // the file shall not exist

	// Was is the digest of the content that is replaced; zero if there was no file. Replace fills
	// it in, and Recover compares the file with it.
	Was digest.Digest `json:"was"`
}

func (f File) perm() fs.FileMode {
	if f.Perm == 0 {
		return 0o644
	}
	return f.Perm
}

// ErrUnfinished is wrapped by the error of [Replace] if an earlier journal waits for [Recover],
// or if Replace itself was stopped half-way and leaves one behind.
var ErrUnfinished = errors.New("an interrupted change waits to be finished")

// Replace replaces all files or none. In this order:
//
//  1. The journal, which holds every new byte, is written under its own name and
//     synced, then its directory is. A crash before that is complete leaves no
//     journal or one whose digest does not hold: then nothing was applied, and
//     Recover throws it away. That decision needs step 1 to be over before step 3
//     begins: the two syncs ensure it.
//  2. The new contents of every file are written beside it and synced. A failure
//     here (a full disk, a directory that cannot be written) removes them and the
//     journal: all files are the old ones, and Replace returns the error.
//  3. Every file is renamed into place, or removed. A crash in 2 or 3 leaves the
//     complete journal, and Recover does 2 and 3 again from the start; doing them
//     twice gives the same as once.
//  4. Every directory concerned is synced. Only then is the journal removed: were
//     its removal to reach the disk before the renames, a power cut would leave
//     some old and some new files, and no journal to finish from.
//
// Two processes must not work on the same journal or files: callers hold a [Lock],
// and call Recover when they have it, before they read what they are to change.
//
// Recover writes to every path that a journal names, so the journal must lie where only the
// user writes: in the state directory, never in a project. Directories of the files must exist.
func Replace(journalPath string, files []File) error {
	if _, err := os.Lstat(journalPath); err == nil {
		return fmt.Errorf("journal %s: %w", journalPath, ErrUnfinished)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal %s: %w", journalPath, stripPath(err))
	}
	if err := checkFiles(files); err != nil {
		return fmt.Errorf("journal %s: %w", journalPath, err)
	}
	files = slices.Clone(files)
	for i := range files {
		var err error
		if files[i].Was, err = digestFile(files[i].Path); err != nil {
			return fmt.Errorf("journal %s: %w", journalPath, err)
		}
		// through a link, as the digest is: a link's own mode is 0777
		if info, err := os.Stat(files[i].Path); err == nil && files[i].Perm == 0 && !files[i].Remove {
			files[i].Perm = info.Mode().Perm()
		}
	}
	data, id, err := encodeJournal(files)
	if err != nil {
		return fmt.Errorf("journal %s: %w", journalPath, err)
	}
	if err := writeNew(journalPath, data, 0o600); err != nil {
		return fmt.Errorf("journal %s: %w", journalPath, err)
	}
	if err := syncDir(filepath.Dir(journalPath)); err != nil {
		os.Remove(journalPath)
		return fmt.Errorf("journal %s: sync directory: %w", journalPath, stripPath(err))
	}
	if err := stageFiles(files, id); err != nil {
		if rm := removeSynced(journalPath); rm != nil {
			return fmt.Errorf("journal %s: %w: %w", journalPath, ErrUnfinished, errors.Join(err, rm))
		}
		return err
	}
	return applyJournal(journalPath, files, id)
}

// ErrChanged is wrapped by the error of [Recover] if a file has neither the old nor the new
// content.
var ErrChanged = errors.New("was changed after an interrupted replacement, which is given up")

// Recover finishes a [Replace] that was interrupted and reports whether there was one
// to finish. A journal that is torn or damaged is removed: it was never complete, and
// so nothing was applied. One of an unknown version is an error, and stays.
//
// If somebody changed a file since, finishing would undo their change. Then the journal is
// renamed to its name with ".abandoned" behind it, and the error names the file.
func Recover(journalPath string) (bool, error) {
	files, id, err := readJournal(journalPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, errTorn):
		if err := removeSynced(journalPath); err != nil {
			return false, fmt.Errorf("journal %s: %w", journalPath, err)
		}
		return false, nil
	case err != nil:
		return false, fmt.Errorf("journal %s: %w", journalPath, err)
	}
	if changed := findChanged(files); changed != "" {
		err := os.Rename(journalPath, journalPath+".abandoned")
		return false, errors.Join(fmt.Errorf("%s: %w", changed, ErrChanged), err)
	}
	for _, f := range files { // temporary files of the interrupted run
		if f.Remove {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
			return false, fmt.Errorf("journal %s: %w", journalPath, err)
		}
		if err := os.Remove(tempName(f.Path, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("journal %s: %w", journalPath, err)
		}
	}
	if err := stageFiles(files, id); err != nil {
		return false, fmt.Errorf("journal %s: %w: %w", journalPath, ErrUnfinished, err)
	}
	if err := applyJournal(journalPath, files, id); err != nil {
		return false, err
	}
	return true, nil
}

// findChanged returns the path of the first file whose content is neither the old nor the new one, or "".
func findChanged(files []File) string {
	for _, f := range files {
		now, err := digestFile(f.Path)
		if err != nil {
			continue // writing the new contents reports the error, and keeps the journal
		}
		after := digest.FromBytes(f.Data)
		if f.Remove {
			after = digest.Digest{}
		}
		if !sameContent(now, f.Was) && !sameContent(now, after) {
			return f.Path
		}
	}
	return ""
}

// digestFile returns the digest of a file, zero if it does not exist.
func digestFile(path string) (digest.Digest, error) {
	f, err := OpenRegular(path) // does not wait if it is a pipe
	if errors.Is(err, fs.ErrNotExist) {
		return digest.Digest{}, nil
	}
	if err != nil {
		return digest.Digest{}, fmt.Errorf("%s: %w", path, stripPath(err))
	}
	defer f.Close()
	d, _, err := digest.FromReader(f)
	return d, err
}

// sameContent compares two results of digestFile; files that do not exist are the same.
func sameContent(a, b digest.Digest) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() && b.IsZero()
	}
	return evidence.Same(a, b)
}

// stageFiles does step 2 of [Replace]: it writes the new contents beside the files. After an error
// it leaves none of them.
func stageFiles(files []File, id string) error {
	for i, f := range files {
		var err error
		if info, gone := os.Lstat(f.Path); gone == nil && info.IsDir() { // a later rename would fail
			err = errors.New("is a directory")
		} else if !f.Remove {
			err = writeNew(tempName(f.Path, id), f.Data, f.perm())
		}
		if err != nil {
			for _, g := range files[:i+1] {
				os.Remove(tempName(g.Path, id))
			}
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	return nil
}

// applyJournal does steps 3 and 4 of [Replace].
func applyJournal(journalPath string, files []File, id string) error {
	unfinished := func(path string, err error) error {
		return fmt.Errorf("journal %s: %w: %s: %w", journalPath, ErrUnfinished, path, stripPath(err))
	}
	var dirs []string
	for _, f := range files {
		var err error
		if f.Remove {
			if err = os.Remove(f.Path); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		} else {
			err = os.Rename(tempName(f.Path, id), f.Path)
		}
		if err != nil {
			return unfinished(f.Path, err)
		}
		dirs = append(dirs, filepath.Dir(f.Path))
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		// a removed file's directory may be gone
		if err := syncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unfinished(dir, err)
		}
	}
	if err := removeSynced(journalPath); err != nil {
		return unfinished(journalPath, err)
	}
	return nil
}

// removeSynced removes the journal and syncs its directory: a journal that came back after a power
// cut would undo what was written since.
func removeSynced(path string) error {
	if err := os.Remove(path); err != nil {
		return stripPath(err)
	}
	return syncDir(filepath.Dir(path))
}

// checkFiles refuses a list of files that no Replace of ours could have written.
func checkFiles(files []File) error {
	seen := map[string]bool{}
	for _, f := range files {
		switch {
		case !filepath.IsAbs(f.Path) || filepath.Clean(f.Path) != f.Path:
			return fmt.Errorf("%+q is not a clean absolute path", f.Path)
		case seen[f.Path]:
			return fmt.Errorf("%+q is to be replaced twice", f.Path)
		case f.Remove && (len(f.Data) > 0 || f.Perm != 0):
			return fmt.Errorf("%+q is to be removed and written", f.Path)
		case f.Perm&^fs.ModePerm != 0:
			return fmt.Errorf("%+q: %v is more than permissions", f.Path, f.Perm)
		}
		seen[f.Path] = true
	}
	return nil
}
