// Package durable replaces files so that a crash, a kill or a full disk leaves
// either the old bytes or the new ones.
//
// # One file
//
// [WriteFile] does, in this order:
//
//  1. Create a new file with a random name in the same directory (a rename is
//     atomic within one file system only), exclusively and with mode 0600, so that
//     nobody else's file or link is written through and nobody reads it early.
//  2. Write, set the permissions, fsync the file. Without this fsync a file system
//     may commit the rename before the data, and a power cut then leaves an empty
//     or partial file under the old name.
//  3. Rename over the old name. From here on every reader sees the new bytes, and
//     readers that had the old file open keep the old ones.
//  4. Fsync the directory. Until then a power cut may bring the old file back; it
//     never leaves a mixture. When WriteFile has returned, the new file stays.
//
// A failure before step 3 removes the temporary file. A crash there leaves it
// behind, under a name that begins with a dot and ends with ".tmp"; it does no harm.
//
// A symbolic link at the path is replaced, not followed: in a directory that
// somebody else prepared, it could point anywhere. Callers that mean the target of
// a link resolve it first.
//
// # Several files
//
// [Replace] and [Recover] do the same for a set of files with a journal; see there.
//
// # Limits
//
// Fsync protects only if the disk has written what it reports as written. On Windows directories
// cannot be synced
// and step 4 is left to the file system's own journal.
//
// # Files beneath a directory
//
// The files of a tree are opened below a directory, and nothing outside of it: on Linux each name is
// resolved by the kernel from the open directory, elsewhere through [os.Root].
//
// # Places
//
// [FindPlaces] finds the directories that Hallmark keeps files in; nobody else may be able to fill them.
package durable

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces the file at path by data with permissions perm, not reduced by
// the umask. On an error the old file is as it was; there is one exception: an error
// that says "sync directory" comes after the new file is in place.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	tmp := tempName(path, rand.Text()[:12])
	if err := writeNew(tmp, data, perm); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return fmt.Errorf("write %s: %w", path, stripPath(err))
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %s: sync directory: %w", path, stripPath(err))
	}
	return nil
}

// tempName is the name under which the new contents of path are written first.
func tempName(path, id string) string {
	base := filepath.Base(path)
	if len(base) > 200 { // names end at 255 bytes
		base = base[:200]
	}
	return filepath.Join(filepath.Dir(path), "."+base+"."+id+".tmp")
}

// writeNew makes a new file at path and brings its bytes to the disk. On an error
// there is no file, unless there was one before.
func writeNew(path string, data []byte, perm fs.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return stripPath(err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(path)
			err = stripPath(err)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if perm != 0o600 {
		if err := f.Chmod(perm); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close() // some file systems report a full disk here
}

// stripPath returns err without the path that it names: that of a temporary file means nothing to a
// reader, and callers name the file that was meant.
func stripPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
