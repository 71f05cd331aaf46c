package plugins

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Source is a plugin that was read.
type Source struct {
	Bundle *plugin.Bundle
	Zip    digest.Digest // of the zip; zero for a directory
	Packed []byte        // the zip; nil for a directory
	source string        // URL that it was fetched from; "" for a file or directory here

	modulesLock []byte // what lies in node_modules, as its installer says; nil if nothing says it
}

// Read reads a plugin from a directory or a zip, each of its bytes once.
func Read(ctx context.Context, path string) (*Source, error) {
	return readClaimed(ctx, path)
}

// readClaimed is [Read] with claims about the zip's bytes. A directory fails them.
func readClaimed(ctx context.Context, path string, claims ...evidence.Claim) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", errors.Unwrap(err))
	}
	if !info.IsDir() {
		f, err := os.Open(path)
		if err != nil {
			return nil, evidence.Errorf(evidence.Operation, path, "", errors.Unwrap(err))
		}
		defer f.Close()
		return readZip(ctx, path, f, claims...)
	}
	if len(claims) > 0 {
		e := evidence.CannotVerify(claims[0], evidence.Unsupported, "a directory has no such digest")
		return nil, &evidence.Error{Kind: evidence.Integrity, Err: errors.New(e.Title()), Detail: e.Detail()}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", err)
	}
	defer root.Close()
	files, refused, err := tree.Scan(root.FS(), tree.Limits{})
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", err)
	}
	open, done := durable.Opener(root)
	defer done()
	b, err := plugin.ReadBundle(ctx, files, refused, open)
	if err != nil {
		return nil, nameSubject(path, err)
	}
	lock, err := readModulesLock(root, files)
	return &Source{Bundle: b, modulesLock: lock}, err
}

// readZip reads a plugin's zip into memory, so that what is hashed is what is unpacked. It compares
// the claims with the zip's bytes before it opens the zip.
func readZip(ctx context.Context, name string, r io.Reader, claims ...evidence.Claim) (*Source, error) {
	data, err := io.ReadAll(io.LimitReader(r, archive.MaxPacked+1))
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, name, "", err)
	}
	for _, claim := range claims {
		e := evidence.Compare(claim,
			evidence.Observed{Digests: []digest.Digest{digest.FromBytes(data)}, Size: int64(len(data)), From: name})
		if e.Outcome != evidence.Match {
			return nil, &evidence.Error{Kind: evidence.Integrity, Err: errors.New(e.Title()), Detail: e.Detail()}
		}
	}
	files, open, err := archive.OpenZip(bytes.NewReader(data), int64(len(data)),
		archive.Limits{Unpacked: plugin.MaxBytes})
	if err != nil {
		return nil, nameSubject(name, err)
	}
	b, err := plugin.ReadBundle(ctx, files, nil, open)
	if err != nil {
		return nil, nameSubject(name, err)
	}
	return &Source{Bundle: b, Zip: digest.FromBytes(data), Packed: data}, nil
}

// nameSubject adds the plugin that an error is about. If the error lacks only a subject it stays one
// error, so that its hint is still shown.
func nameSubject(subject string, err error) error {
	if e, ok := err.(*evidence.Error); ok && e.Subject == "" {
		named := *e
		named.Subject = subject
		return &named
	}
	return &evidence.Error{Subject: subject, Err: err}
}

// Inspect reads the manifest as far as it can be read, to be checked.
func (s *Source) Inspect(name string) (*plugin.Manifest, error) {
	m, err := plugin.Inspect(s.Bundle.Manifest)
	if err != nil {
		return nil, nameSubject(name, err)
	}
	return m, nil
}

// Parse reads the manifest, which must have no problem.
func (s *Source) Parse(name string) (*plugin.Manifest, error) {
	m, err := plugin.Parse(s.Bundle.Manifest)
	if err != nil {
		return nil, nameSubject(name, err)
	}
	return m, nil
}

// stagingPattern is the name of a directory in which a copy is written, for os.MkdirTemp.
const stagingPattern = ".hallmark-*.tmp"

// place writes the plugin's files, and further ones, to the directory dir, which must not exist. It
// writes a temporary directory beside dir, of which pattern is the name, and renames it. add, which may
// be nil, adds to that directory before, or refuses it.
func (s *Source) place(r *plugin.Result, dir, pattern string, further map[string][]byte,
	add func(staging string) error) error {
	if err := r.Verdict.Admitted().Permits(r.Manifest.Subject(), r.Tree, policy.Place); err != nil {
		return err
	}
	fail := func(err error) error { return evidence.Errorf(evidence.Operation, dir, "", err) }
	if _, err := os.Lstat(dir); err == nil {
		return evidence.Errorf(evidence.Validation, dir, "name a directory that does not exist", fs.ErrExist)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return fail(err)
	}
	staging, err := os.MkdirTemp(filepath.Dir(dir), pattern)
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(staging) // does nothing after the rename
	if err := s.writeFiles(staging, further); err != nil {
		return fail(err)
	}
	if add != nil {
		if err := add(staging); err != nil {
			return err
		}
	}
	if err := os.Chmod(staging, 0o755); err != nil {
		return fail(err)
	}
	if err := os.Rename(staging, dir); err != nil {
		return fail(err)
	}
	return nil
}

// writeFiles writes the plugin's files below an empty directory.
func (s *Source) writeFiles(dir string, further map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	put := func(path string, data []byte) error {
		if i := strings.LastIndexByte(path, '/'); i > 0 {
			if err := root.MkdirAll(path[:i], 0o755); err != nil {
				return err
			}
		}
		f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Sync(), f.Close())
	}
	files := s.files()
	for path, data := range further {
		files[path] = data
	}
	group := new(errgroup.Group)
	group.SetLimit(8)
	for path, data := range files {
		group.Go(func() error { return put(path, data) })
	}
	return group.Wait()
}

// files returns what belongs to the plugin: dist/, the manifest, its signature, documents.
func (s *Source) files() map[string][]byte {
	files := map[string][]byte{plugin.ManifestFile: s.Bundle.Manifest}
	if s.Bundle.Signature != nil {
		files[plugin.SignatureFile] = s.Bundle.Signature
	}
	for path, data := range s.Bundle.Documents {
		if path != plugin.LockFile {
			files[path] = data
		}
	}
	for path, data := range s.Bundle.Contents {
		files[plugin.DistDir+"/"+path] = data
	}
	return files
}
