package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// Backup writes the database as it is at one moment to a new file at path, while it is
// read and written by this process and others. The file is a database that Open
// opens, for this user alone. It appears under its name when it is complete and on
// disk; a file that is there already is an error and stays.
//
// Publishes through this value wait for the backup, as it takes the writer's one
// connection; those of other processes, and readers, do not.
func (s *DB) Backup(ctx context.Context, path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("backup %s: %w", path, err)
		}
	}()
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist // before the work
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// SQLite takes an empty file for a new one, and leaves its mode.
	temp, err := os.CreateTemp(filepath.Dir(path), ".registry-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if err := temp.Close(); err != nil {
		return err
	}
	if _, err := s.write.ExecContext(ctx, "VACUUM INTO ?", temp.Name()); err != nil {
		return err
	}
	return durable.Place(temp.Name(), path)
}
