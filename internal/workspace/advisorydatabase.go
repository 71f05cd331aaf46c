package workspace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/tree"
)

// databaseLimits bound what is read of a database. A field that is zero has the value of [defaultDatabaseLimits].
type databaseLimits struct {
	Zip       int64 // bytes of a zip
	Documents int   // in a zip
	Document  int64 // bytes of one
}

// defaultDatabaseLimits leave room for several times of what the largest database has.
func defaultDatabaseLimits() databaseLimits {
	return databaseLimits{Zip: 1 << 30, Documents: 1_000_000, Document: 8 << 20}
}

// Bounds of what the limits let a hostile zip cost besides, in bytes.
const (
	maxUnpackedDatabase  = 16 << 30  // which is read and not kept
	maxDatabaseDirectory = 128 << 20 // which is held in memory
	maxPackageNames      = 4_000_000 // names of packages that are kept; documents with further ones are always decoded
)

// documentsAtOnce is how many documents are read at once.
const documentsAtOnce = 2

// osvEcosystems are OSV's names of ecosystems, by the kind of their packages.
var osvEcosystems = map[artifact.Kind]string{artifact.NPM: "npm", artifact.PyPI: "PyPI", artifact.Go: "Go"}

// AdvisoryFile returns where the database about packages of a kind is, relative to the place of all; false if nobody
// keeps one.
func AdvisoryFile(kind artifact.Kind) (string, bool) {
	name, ok := osvEcosystems[kind]
	return name + "/all.zip", ok
}

// Advisory is something known against a version of a package. Its texts come from the database.
type Advisory struct {
	Ref     artifact.Ref // as it was asked about
	ID      string
	Summary string // one line, "" for none
	Fixed   string // the next version that has it no more; "" if none is known
}

// Malware reports whether somebody found that the package is malicious, and not only vulnerable.
func (a Advisory) Malware() bool { return strings.HasPrefix(a.ID, "MAL-") }

// AdvisoryDatabase is an open database about the packages of one kind, in OSV's format: a zip, as "npm/all.zip", of
// JSON documents that are called by their ids. When it is opened every document is read, two at a time, and only the
// names of packages in it are kept.
type AdvisoryDatabase struct {
	kind   artifact.Kind
	limits databaseLimits
	file   *os.File
	files  []tree.File
	open   tree.Open

	named  map[string][]int32 // documents by the names of packages in them, in the form of normalName
	unsure []int32            // documents that spell a name in another way than plainly
}

// openDatabase opens the database in the zip at name about packages of a kind. The caller closes it.
//
// A zip that is not there gives an error that wraps [fs.ErrNotExist]; one that is broken or goes beyond the limits an
// [*archive.Error], or one that names the document. All others come from the disk, or from the context.
func openDatabase(ctx context.Context, name string, kind artifact.Kind, limits databaseLimits) (_ *AdvisoryDatabase,
	err error) {
	d := &AdvisoryDatabase{kind: kind, limits: databaseLimits{Zip: cmp.Or(limits.Zip, defaultDatabaseLimits().Zip),
		Documents: cmp.Or(limits.Documents, defaultDatabaseLimits().Documents),
		Document:  cmp.Or(limits.Document, defaultDatabaseLimits().Document)}}
	if d.file, err = durable.OpenRegular(name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.file.Close()
		}
	}()
	info, err := d.file.Stat()
	if err != nil {
		return nil, err
	}
	d.files, d.open, err = archive.OpenZip(d.file, info.Size(), archive.Limits{Packed: d.limits.Zip,
		Unpacked: maxUnpackedDatabase, Entries: d.limits.Documents, Directory: maxDatabaseDirectory})
	if err != nil {
		return nil, err
	}
	d.files = slices.DeleteFunc(d.files, func(f tree.File) bool { return path.Ext(f.Path) != ".json" })
	return d, d.readNames(ctx)
}

// Close closes the database.
func (d *AdvisoryDatabase) Close() error { return d.file.Close() }

// readNames reads every document for the names of packages in it.
func (d *AdvisoryDatabase) readNames(ctx context.Context) error {
	var (
		mu      sync.Mutex
		workers sync.WaitGroup
		next    int
		failed  error // of the first document that is not read; then no further one is begun
	)
	d.named = map[string][]int32{}
	begin := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= len(d.files) && failed == nil
	}
	for range min(documentsAtOnce, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			var data []byte
			for i, ok := begin(); ok; i, ok = begin() {
				err := ctx.Err()
				if err == nil {
					data, err = d.read(i, data)
				}
				var names []string
				unsure := false
				if err == nil {
					names, unsure, err = findPackageNames(data, d.kind)
					err = d.explain(i, err)
				}
				mu.Lock()
				failed = cmp.Or(failed, err)
				if len(d.named) > maxPackageNames {
					names, unsure = nil, true
				}
				for _, name := range names {
					d.named[name] = append(d.named[name], int32(i))
				}
				if unsure {
					d.unsure = append(d.unsure, int32(i))
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return failed
}

// read reads document i into the room of data.
func (d *AdvisoryDatabase) read(i int, data []byte) ([]byte, error) {
	f := d.files[i]
	if f.Size > d.limits.Document {
		return nil, d.explain(i, fmt.Errorf("has %s bytes, the limit is %s", evidence.Group(f.Size),
			evidence.Group(d.limits.Document)))
	}
	r, err := d.open(f.Path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data = slices.Grow(data[:0], int(f.Size)+1)[:f.Size]
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, d.explain(i, err)
	}
	if _, err := r.Read(data[len(data):cap(data)]); err != io.EOF { // which compares the checksum
		return nil, d.explain(i, cmp.Or(err, fs.ErrInvalid))
	}
	return data, nil
}

// explain adds to an error which document it is about.
func (d *AdvisoryDatabase) explain(i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d.files[i].Path, err)
}

// Find returns what the database has against packages of its kind, by Ref and id. It ignores those of other kinds. It
// decodes the documents that name a wanted package, and decides by the algorithm of OSV's schema whether a version is
// affected. What is withdrawn does not count. Ranges of commits are not looked at.
func (d *AdvisoryDatabase) Find(ctx context.Context, refs []artifact.Ref) (found []Advisory, err error) {
	wanted := map[string][]artifact.Ref{}
	about := slices.Clone(d.unsure)
	for _, ref := range refs {
		if ref.Kind() != d.kind {
			continue
		}
		name := normalName(d.kind, ref.Name())
		wanted[name] = append(wanted[name], ref)
		about = append(about, d.named[name]...)
	}
	slices.Sort(about)
	var data []byte
	for _, i := range slices.Compact(about) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if data, err = d.read(int(i), data); err != nil {
			return nil, err
		}
		doc, err := parseAdvisory(data, strings.TrimSuffix(path.Base(d.files[i].Path), ".json"))
		if err != nil {
			return nil, d.explain(int(i), err)
		}
		found = append(found, doc.find(d.kind, wanted)...)
	}
	slices.SortFunc(found, func(a, b Advisory) int {
		return cmp.Or(strings.Compare(a.Ref.String(), b.Ref.String()), strings.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(found, func(a, b Advisory) bool { return a.Ref == b.Ref && a.ID == b.ID }), nil
}
