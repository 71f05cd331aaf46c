// Package blobs keeps archives under their digests, and the head of a log: in a directory, or
// in a bucket of S3.
//
// # Copies
//
// The records and archives of a registry are exported as lines of JSON, and read from them.
package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Files keeps [registry.Blobs] as files below one directory:
//
//	sha256/ab/abcd…   a blob, which is never written to
//	incoming/…        a file that is being put
//
// A blob is written under incoming, synced, and linked to its name. A link never
// replaces a file and is made whole or not at all, so that the name is there only
// with all of its bytes.
type Files struct{ dir string }

// abandonedAge is the age from which a file under incoming counts as abandoned by its writer.
const abandonedAge = 24 * time.Hour

// OpenFiles keeps blobs in dir, which it makes if it is missing, and removes what
// killed processes left behind.
func OpenFiles(dir string) (*Files, error) {
	incoming := filepath.Join(dir, "incoming")
	if err := os.MkdirAll(incoming, 0o700); err != nil {
		return nil, err
	}
	left, err := os.ReadDir(incoming)
	if err != nil {
		return nil, err
	}
	for _, f := range left {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) < abandonedAge {
			continue
		}
		if err == nil {
			err = os.Remove(filepath.Join(incoming, f.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return &Files{dir}, nil
}

// Path is the file of a blob.
func (b *Files) Path(sum digest.Digest) (string, error) {
	name, err := blobName(sum)
	return filepath.Join(b.dir, filepath.FromSlash(name)), err
}

// Put implements [registry.Blobs].
func (b *Files) Put(ctx context.Context, sum digest.Digest, size int64, r io.ReaderAt) (stored bool, err error) {
	path, err := b.Path(sum)
	if err != nil {
		return false, err
	}
	if there, err := b.has(path, sum, size); there || err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	f, err := os.CreateTemp(filepath.Join(b.dir, "incoming"), "")
	if err != nil {
		return false, err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, registry.ContextReader(ctx, content(r, sum, size)))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("blob %s: %w", sum, err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	err = os.Link(f.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		there, err := b.has(path, sum, size)
		if err == nil && !there {
			err = fmt.Errorf("blob %s came and went", sum)
		}
		return false, err
	}
	if err != nil {
		return false, err
	}
	// Sync the parents too: they may be as new as the file.
	for _, d := range []string{dir, filepath.Dir(dir), b.dir} {
		if err := syncDirectory(d); err != nil {
			return false, err
		}
	}
	return true, nil
}

// has reports whether a blob is there. Another process may have linked it and not yet
// synced the name, which is done here so that it is on disk in any case.
func (b *Files) has(path string, sum digest.Digest, size int64) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Size() != size:
		return false, fmt.Errorf("%w: blob %s has %d bytes, not %d", registry.ErrBlobDiffers, sum, info.Size(), size)
	}
	return true, syncDirectory(filepath.Dir(path))
}

// syncDirectory brings the names in a directory to disk. On Windows a directory
// cannot be synced, which leaves that to its file system.
func syncDirectory(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open implements [registry.Blobs].
func (b *Files) Open(ctx context.Context, sum digest.Digest, offset, length int64) (io.ReadCloser, error) {
	path, err := b.Path(sum)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, registry.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = registry.MaxBlob
	}
	return struct {
		io.Reader
		io.Closer
	}{registry.ContextReader(ctx, io.NewSectionReader(f, offset, length)), f}, nil
}

// Stat implements [registry.Blobs].
func (b *Files) Stat(_ context.Context, sum digest.Digest) (int64, error) {
	path, err := b.Path(sum)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, registry.ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Check implements [registry.Blobs].
func (b *Files) Check(context.Context) error {
	_, err := os.Stat(filepath.Join(b.dir, "incoming"))
	return err
}
