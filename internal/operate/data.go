package operate

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/postgres"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

// database is a registry's database.
type database interface {
	registry.Records
	registry.Statuses
	registry.ArchiveRecords
	registry.Entries
	registry.Findings
	registry.Imports
	Tokens() registry.Tokens
	io.Closer
}

// Place is where a registry keeps its records: a PostgreSQL database (postgres://…) or,
// if that is "", a file in the directory Data; and its archives: a bucket (s3://…) or, if
// that is "", a directory in Data.
type Place struct{ Data, Database, Blobs string }

// dataHint is for a directory that cannot be used.
const dataHint = "does the directory of --data have room, and may you write there?"

// fileHint is for a new file that cannot be written.
const fileHint = "does the file's directory exist, has it room, and may you write there?"

// archivesHint is for an archive that is not there.
const archivesHint = "a backup of the database has no archives: copy blobs to --data, or name the bucket with --blobs"

// openDatabase opens the database of the registry at p, which may be serving.
func openDatabase(ctx context.Context, p Place, create bool) (db database, err error) {
	file := filepath.Join(p.Data, "registry.db")
	hint := dataHint
	switch {
	case p.Database != "":
		hint = "--db names a database that exists, of a PostgreSQL server that answers and lets its user in: " +
			"postgres://…, with the password in PGPASSFILE"
		db, err = postgres.Open(ctx, p.Database)
	case create:
		if err = os.MkdirAll(p.Data, 0o700); err == nil {
			db, err = sqlite.Open(ctx, file)
		}
	default:
		if _, err = os.Stat(file); err == nil {
			db, err = sqlite.Open(ctx, file)
		} else if errors.Is(err, fs.ErrNotExist) {
			hint = "name the registry's directory with --data"
		}
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), "registry", hint, err)
	}
	return db, nil
}

// Export writes every record of the registry at p to w, one envelope on each line, then its
// archives with their records. It returns the number of records.
func Export(ctx context.Context, p Place, w io.Writer) (n int, err error) {
	db, err := openDatabase(ctx, p, false)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if n, err = blobs.Export(ctx, db, db, w); err != nil {
		return n, evidence.Errorf(evidence.Operation, "export", "", err)
	}
	open := func() (registry.Blobs, error) { return openBlobs(ctx, p.Data, p.Blobs) }
	more, err := blobs.ExportArchives(ctx, db, open, w)
	if err != nil {
		err = evidence.Errorf(evidence.Operation, "export", archivesHint, err)
	}
	return n + more, err
}

// ExportFile is [Export] to a new file, which appears only when it is complete. It fails if the
// file exists.
func ExportFile(ctx context.Context, p Place, file string) (int, error) {
	if _, err := os.Lstat(file); err == nil {
		return 0, evidence.Errorf(evidence.Validation, file, "choose a new name for each export",
			fs.ErrExist) // fail before the work of the export
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".export-*.tmp")
	if err != nil {
		return 0, evidence.Errorf(evidence.Operation, file, fileHint, err)
	}
	defer os.Remove(temp.Name())
	n, err := Export(ctx, p, temp)
	if err != nil {
		return n, errors.Join(err, temp.Close())
	}
	if err := temp.Close(); err != nil {
		return n, evidence.Errorf(evidence.Operation, file, fileHint, err)
	}
	if err := durable.Place(temp.Name(), file); err != nil {
		return n, evidence.Errorf(evidence.Operation, file, fileHint, err)
	}
	return n, nil
}

// Backup writes a consistent copy of the database of the registry at p to a new file. The
// registry may be serving meanwhile. Only a database that is a file can be backed up so.
func Backup(ctx context.Context, p Place, file string) error {
	db, err := openDatabase(ctx, p, false)
	if err != nil {
		return err
	}
	defer db.Close()
	backed, ok := db.(interface {
		Backup(ctx context.Context, path string) error
	})
	if !ok {
		return evidence.Errorf(evidence.Validation, "backup", "use the backup of the database itself, such as pg_dump",
			errors.New("this registry's database is not a file"))
	}
	err = backed.Backup(ctx, file)
	switch {
	case errors.Is(err, fs.ErrExist):
		return evidence.Errorf(evidence.Validation, "registry", "choose a new name for each backup", err)
	case err != nil:
		return evidence.Errorf(evidence.Operation, "registry", fileHint, err)
	}
	return nil
}

// openBlobs opens the bucket with a URL or, if that is empty, the directory below data.
func openBlobs(ctx context.Context, data, bucket string) (b registry.Blobs, err error) {
	hint := dataHint
	if bucket != "" {
		hint = "--blobs is s3://BUCKET/PREFIX?endpoint=URL&region=REGION"
		b, err = blobs.OpenS3(ctx, bucket)
	} else {
		b, err = blobs.OpenFiles(filepath.Join(data, "blobs"))
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), "registry", hint, err)
	}
	return b, nil
}
