package plugin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// MaxBytes is the largest size of the contents of a Bundle together, in bytes.
const MaxBytes = 256 << 20

// Bundle is a plugin in memory. Its files are read once, so that what was hashed is what
// is parsed, verified and written elsewhere, whatever happens to the directory.
type Bundle struct {
	Manifest  []byte             // of mcp-plugin.json
	Signature []byte             // of mcp-plugin.sig; nil if there is none
	Files     []tree.File        // below dist/, with paths relative to it, in byte order
	Contents  map[string][]byte  // of Files, by path
	Documents map[string][]byte  // beside dist/, by path
	Beside    []string           // whatever else is there, by path relative to the plugin; a directory ends in "/"
	Refused   []*tree.EntryError // below dist/: links and the like, with paths relative to the plugin

	modules map[string]bool // packages in node_modules/, see HasModule

	open tree.Open // of Files, if Contents are not held; nil if they are
}

// HasModule reports whether node_modules/ beside dist/ holds a package, as far as the bundle can tell: of
// what lies behind a link it cannot.
func (b *Bundle) HasModule(name string) bool {
	scope, _, _ := strings.Cut(name, "/")
	for _, found := range []string{name, scope, ""} { // a link may stand for all of a scope, or for all
		if b.modules[strings.ToLower(found)] {
			return true
		}
	}
	return false
}

// addModule notes the package of node_modules/ that a path in the plugin is part of; link says that anything
// may lie behind it. Some file systems know names in any case.
func (b *Bundle) addModule(name string, link bool) {
	dir, rest, below := strings.Cut(strings.ToLower(name), "/")
	if dir+"/" != modulesDir || !below && !link {
		return
	}
	parts := strings.SplitN(rest, "/", 3)
	found := parts[0]
	if strings.HasPrefix(found, "@") && len(parts) > 1 {
		found += "/" + parts[1]
	}
	if b.modules == nil {
		b.modules = map[string]bool{}
	}
	b.modules[found] = true
	for _, ending := range []string{".js", ".json", ".node"} { // require finds a file of the name, too
		if file, ok := strings.CutSuffix(found, ending); ok {
			b.modules[file] = true
		}
	}
}

// OpenDist opens files of the bundle's dist.
func (b *Bundle) OpenDist(path string) (io.ReadCloser, error) {
	if b.open != nil {
		return b.open(path)
	}
	content, ok := b.Contents[path]
	if !ok {
		return nil, fmt.Errorf("%+q is not in %s", path, DistDir)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Bytes returns the sum of the sizes of Files.
func (b *Bundle) Bytes() int64 { return totalSize(b.Files) }

// documentStems are names of documents, in capitals, without an extension.
var documentStems = []string{
	"LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "README", "CHANGELOG", "SECURITY",
}

// isDocument reports whether a file beside dist/ is for people, or for tools that do not load it, by its
// name.
func isDocument(name string) bool {
	if strings.Contains(name, "/") {
		return false
	}
	upper := strings.ToUpper(name)
	switch path.Ext(upper) {
	case ".MD", ".TXT":
		return true
	}
	stem, _, _ := strings.Cut(upper, ".")
	switch {
	case slices.Contains(documentStems, stem):
		return !isLoadable(name)
	case name == LockFile, name == "package-lock.json":
		return true
	}
	return false
}

// isLoadable reports whether Node would load a file of this name as code.
func isLoadable(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".js", ".mjs", ".cjs", ".node", ".json", ".wasm", ".ts", ".mts", ".cts":
		return true
	}
	return false
}

// ReadBundle reads a plugin of files, which open opens, and of entries that no tree may
// hold. Directories that are not dist/, such as node_modules, are listed and not read. A plugin
// whose files all lie below one directory, as in some zips, is read as if it lay there.
func ReadBundle(ctx context.Context, files []tree.File, refused []*tree.EntryError, open tree.Open) (*Bundle, error) {
	b, read, err := listBundle(files, refused)
	if err != nil {
		return nil, err
	}
	return b, b.readContents(ctx, read, open)
}

// OpenBundle is ReadBundle without Contents and Documents, in memory that does not grow
// with the plugin: what is hashed is opened anew each time. It is for files that nobody
// else can change, and not for a plugin that is to be scanned or written elsewhere.
func OpenBundle(ctx context.Context, files []tree.File, open tree.Open) (*Bundle, error) {
	b, read, err := listBundle(files, nil)
	if err != nil {
		return nil, err
	}
	dist := map[string]tree.File{}
	for name, f := range read {
		if path, below := strings.CutPrefix(name, DistDir+"/"); below {
			dist[path] = f
		}
		if name != ManifestFile && name != SignatureFile {
			delete(read, name)
		}
	}
	b.open = func(path string) (io.ReadCloser, error) {
		f, ok := dist[path]
		if !ok {
			return nil, fmt.Errorf("%+q is not in %s", path, DistDir)
		}
		return open(f.Path)
	}
	return b, b.readContents(ctx, read, open)
}

// listBundle sorts the files of a plugin into what they are, and returns those that
// belong to it by their paths in the plugin.
func listBundle(files []tree.File, refused []*tree.EntryError) (*Bundle, map[string]tree.File, error) {
	root := rootOf(files)
	b := &Bundle{Contents: make(map[string][]byte, len(files)), Documents: map[string][]byte{}}
	read := make(map[string]tree.File, len(files)) // by path below root
	total := int64(0)
	var names archive.Names
	for _, f := range files {
		name := strings.TrimPrefix(f.Path, root)
		dist, isDist := strings.CutPrefix(name, DistDir+"/")
		switch {
		case name == ManifestFile && f.Size > MaxManifest:
			return nil, nil, &Invalid{Issues: []Issue{{"",
				fmt.Sprintf("has %d bytes; the limit is %d", f.Size, MaxManifest)}}}
		case isDist:
			if err := names.Add(dist); err != nil {
				return nil, nil, err
			}
			if err := checkNames(dist); err != nil {
				return nil, nil, err
			}
			b.Files = append(b.Files, tree.File{Path: dist, Size: f.Size})
		case name == ManifestFile:
		case (name == SignatureFile || isDocument(name)) && f.Size <= MaxManifest:
			if err := archive.CheckPath(name); err != nil {
				return nil, nil, err // it is written where the plugin is placed
			}
			if err := checkNames(name); err != nil {
				return nil, nil, err
			}
		default:
			b.addBeside(name)
			continue
		}
		if total += f.Size; total > MaxBytes {
			return nil, nil, evidence.Errorf(evidence.Validation, "", "",
				fmt.Errorf("%w: more than %d bytes", tree.ErrTooLarge, int64(MaxBytes)))
		}
		read[name] = f
	}
	if _, ok := read[ManifestFile]; !ok {
		return nil, nil, evidence.Errorf(evidence.Validation, "", "a plugin is a directory or zip with "+ManifestFile+
			" and "+DistDir+"/", fmt.Errorf("no %s", ManifestFile))
	}
	for _, r := range refused {
		b.addRefused(strings.TrimPrefix(r.Path, root), r.Kind)
	}
	slices.Sort(b.Beside)
	b.Beside = slices.Compact(b.Beside)
	return b, read, nil
}

// addBeside takes a file that does not belong to the plugin.
func (b *Bundle) addBeside(name string) {
	b.addModule(name, false)
	if first, _, below := strings.Cut(name, "/"); below {
		name = first + "/"
	}
	if !slices.Contains(b.Beside, name) {
		b.Beside = append(b.Beside, name)
	}
}

// addRefused takes what is no file that could be read.
func (b *Bundle) addRefused(name string, kind string) {
	b.addModule(name, true)
	if name == DistDir || strings.HasPrefix(name, DistDir+"/") {
		b.Refused = append(b.Refused, &tree.EntryError{Path: name, Kind: kind})
	} else if first, _, below := strings.Cut(name, "/"); below {
		b.Beside = append(b.Beside, first+"/")
	} else {
		b.Beside = append(b.Beside, name)
	}
}

// maxName is the longest name of a file or directory that common file systems hold, in bytes.
const maxName = 255

// checkNames refuses a path that can be packed and not be unpacked: one with a name that no file system holds.
func checkNames(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		if len(name) > maxName {
			return evidence.Errorf(evidence.Validation, "", "rename it",
				fmt.Errorf("%+q in a path has %d bytes; file systems hold names of %d", clip(name), len(name), maxName))
		}
	}
	return nil
}

// rootOf returns the directory, with its slash, below which all files of the plugin lie; "" if that is the
// plugin's own.
func rootOf(files []tree.File) string {
	if slices.ContainsFunc(files, func(f tree.File) bool { return f.Path == ManifestFile }) || len(files) == 0 {
		return ""
	}
	first, _, _ := strings.Cut(files[0].Path, "/")
	first += "/"
	if slices.ContainsFunc(files, func(f tree.File) bool { return !strings.HasPrefix(f.Path, first) }) {
		return ""
	}
	return first
}

// readersAtOnce is how many files are read at a time: opening one costs more than
// reading it.
const readersAtOnce = 8

func (b *Bundle) readContents(ctx context.Context, read map[string]tree.File, open tree.Open) error {
	type content struct {
		name string
		data []byte
	}
	contents := make([]content, 0, len(read))
	for name := range read {
		contents = append(contents, content{name: name})
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readersAtOnce)
	const batch = 16 // files a goroutine reads
	for part := range slices.Chunk(contents, batch) {
		group.Go(func() error {
			for i := range part {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				var err error
				if part[i].data, err = readWhole(read[part[i].name], open); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, c := range contents {
		dist, isDist := strings.CutPrefix(c.name, DistDir+"/")
		switch {
		case isDist:
			b.Contents[dist] = c.data
		case c.name == ManifestFile:
			b.Manifest = c.data
		case c.name == SignatureFile:
			b.Signature = c.data
		default:
			b.Documents[c.name] = c.data
		}
	}
	return nil
}

// readWhole reads a file that has exactly the size that was listed.
func readWhole(f tree.File, open tree.Open) ([]byte, error) {
	r, err := open(f.Path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, f.Size+1)
	n, err := io.ReadFull(r, data)
	switch {
	case err != nil && err != io.ErrUnexpectedEOF && err != io.EOF:
		return nil, fmt.Errorf("%+q: %w", f.Path, err)
	case int64(n) != f.Size:
		return nil, fmt.Errorf("%w: %+q has not the %d bytes that it had", tree.ErrChanged, f.Path, f.Size)
	}
	return data[:n], nil
}
