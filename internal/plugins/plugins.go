// Package plugins checks, signs, packs and installs plugins.
package plugins

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Options say what a host permits and demands of plugins.
type Options struct {
	Flags      plugin.Flags
	Strict     bool
	Allowlist  string // file; "" is plugin.AllowlistFile, which may be missing
	Registered string // file with what the plugin registered, or directory of one for each plugin; "" for none
	CopyTo     string // directory for a private copy of a plugin that is allowed; "" for none
}

// Source is a plugin that was read.
type Source struct {
	Bundle *plugin.Bundle
	Zip    digest.Digest // of the zip; zero for a directory
	Packed []byte        // the zip; nil for a directory
	source string        // URL that it is of; "" if it is of this machine
}

// Read reads a plugin from a directory or a zip, each of its bytes once.
func Read(ctx context.Context, path string) (*Source, error) {
	return readClaimed(ctx, path)
}

// readClaimed is ReadPlugin of a zip of which others claim something.
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
		return ReadZip(ctx, path, f, claims...)
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
	open, done := beneath.Opener(root)
	defer done()
	b, err := plugin.ReadBundle(ctx, files, refused, open)
	if err != nil {
		return nil, NameSubject(path, err)
	}
	return &Source{Bundle: b}, nil
}

// ReadZip reads a plugin's zip into memory, so that what is hashed is what is unpacked.
// Claims are compared with its bytes before anything is made of them.
func ReadZip(ctx context.Context, name string, r io.Reader, claims ...evidence.Claim) (*Source, error) {
	data, err := io.ReadAll(io.LimitReader(r, archive.MaxPacked+1))
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, name, "", err)
	}
	for _, claim := range claims {
		e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{digest.FromBytes(data)}, Size: int64(len(data)), From: name})
		if e.Outcome != evidence.Match {
			return nil, &evidence.Error{Kind: evidence.Integrity, Err: errors.New(e.Title()), Detail: e.Detail()}
		}
	}
	files, open, err := archive.OpenZip(bytes.NewReader(data), int64(len(data)), archive.Limits{Unpacked: plugin.MaxBytes})
	if err != nil {
		return nil, NameSubject(name, err)
	}
	b, err := plugin.ReadBundle(ctx, files, nil, open)
	if err != nil {
		return nil, NameSubject(name, err)
	}
	return &Source{Bundle: b, Zip: digest.FromBytes(data), Packed: data}, nil
}

// NameSubject names the plugin that an error is about. An error without a subject of its own gets
// this one, so that its hint stays one.
func NameSubject(subject string, err error) error {
	if e, ok := err.(*evidence.Error); ok && e.Subject == "" {
		named := *e
		named.Subject = subject
		return &named
	}
	return &evidence.Error{Subject: subject, Err: err}
}

// Parse reads the manifest.
func (s *Source) Parse(name string) (*plugin.Manifest, error) {
	m, err := plugin.Parse(s.Bundle.Manifest)
	if err != nil {
		return nil, NameSubject(name, err)
	}
	return m, nil
}

// pluginHost gathers what plugins are checked for.
func pluginHost(h *host.Host, o Options) (plugin.Host, error) {
	target := plugin.Host{Flags: o.Flags, Strict: o.Strict, Scan: jsscan.File, Now: h.Now(), AllowlistName: o.Allowlist}
	if target.AllowlistName == "" {
		target.AllowlistName = plugin.AllowlistFile
	}
	read := host.ReadFile // the default name may be that of a checkout's file
	if o.Allowlist != "" {
		read = host.ReadNamed
	}
	data, err := read(target.AllowlistName, plugin.MaxAllowlist)
	if err == nil && data == nil && o.Allowlist != "" {
		err = evidence.Errorf(evidence.Validation, o.Allowlist, "", fs.ErrNotExist)
	}
	if err != nil {
		return target, err
	}
	if data != nil {
		if target.Allowlist, err = plugin.ParseAllowlist(data); err != nil {
			return target, evidence.Errorf(evidence.Validation, target.AllowlistName, "", err)
		}
	}
	if target.Keys, err = TrustedKeys(h); err != nil {
		return target, err
	}
	if o.Registered != "" {
		info, err := os.Stat(o.Registered)
		if err == nil && info.IsDir() {
			target.RegisteredBy = func(m *plugin.Manifest) (*plugin.Registered, error) { return readRegisteredIn(o.Registered, m) }
			return target, nil
		}
		if target.Registered, err = readRegistered(o.Registered); err == nil && target.Registered == nil {
			err = evidence.Errorf(evidence.Validation, o.Registered, "", fs.ErrNotExist)
		}
		if err != nil {
			return target, err
		}
	}
	return target, nil
}

// readRegistered reads what a plugin registered; a missing file gives nil.
func readRegistered(path string) (*plugin.Registered, error) {
	data, err := host.ReadFile(path, plugin.MaxRegistered)
	if err != nil || data == nil {
		return nil, err
	}
	r, err := plugin.ParseRegistered(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, path, "", err)
	}
	return r, nil
}

// readRegisteredIn reads what a plugin registered from a directory that has a file for each
// plugin: NAME@VERSION.json, or NAME.json. It is nil if there is neither.
func readRegisteredIn(dir string, m *plugin.Manifest) (*plugin.Registered, error) {
	for _, name := range []string{m.Subject(), m.Name} {
		if r, err := readRegistered(filepath.Join(dir, name+".json")); r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil
}

// Verify reads the plugin at path once, gathers all evidence, and with CopyTo
// writes the very bytes that were checked, if they are allowed. What speaks against the
// plugin is in the result's verdict; an error is a plugin that cannot be read as one.
func Verify(ctx context.Context, h *host.Host, path string, o Options) (*plugin.Result, error) {
	source, err := Read(ctx, path)
	if err != nil {
		return nil, err
	}
	target, err := pluginHost(h, o)
	if err != nil {
		return nil, err
	}
	r, err := source.check(ctx, path, target)
	if err != nil || o.CopyTo == "" || !r.Verdict.Allowed() {
		return r, err
	}
	return r, source.place(r, o.CopyTo, nil)
}

// check checks a source for a host, with what a package-lock.json of the plugin says of
// external packages.
func (s *Source) check(ctx context.Context, name string, target plugin.Host, claims ...evidence.Claim) (*plugin.Result, error) {
	m, err := s.Parse(name)
	if err != nil {
		return nil, err
	}
	if lock := s.Bundle.Documents[packageLock]; lock != nil && len(m.Externals) > 0 {
		claimed, err := plugin.ParsePackageLock(lock)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, filepath.Join(name, packageLock), "", err)
		}
		target.ExternalClaims = append(slices.Clone(target.ExternalClaims), claimed...)
	}
	return plugin.Check(ctx, s.Bundle, m, target, claims...)
}

const packageLock = "package-lock.json"

// place writes the plugin's files, and further ones, to the directory dir, which must
// not exist: beside it first, then by one rename.
func (s *Source) place(r *plugin.Result, dir string, further map[string][]byte) error {
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
	staging, err := os.MkdirTemp(filepath.Dir(dir), ".hallmark-*.tmp")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(staging) // does nothing once it has its name
	if err := s.writeFiles(staging, further); err != nil {
		return fail(err)
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

// files are what is part of the plugin: dist/, the manifest, its signature, documents.
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

// Validate checks the manifest and the hashes of the plugin at path, and returns its
// dist.hash as it was computed: also beside an error, if it could be. Its code is not looked
// at, so that nothing is admitted.
func Validate(ctx context.Context, path string) (*plugin.Result, digest.Digest, error) {
	s, err := Read(ctx, path)
	if err != nil {
		return nil, digest.Digest{}, err
	}
	m, invalid := s.Parse(path)
	computed, err := s.hash(ctx, path, "", m)
	if invalid != nil {
		return nil, computed.Hash, invalid
	}
	r, failed := plugin.CheckFiles(ctx, s.Bundle, m)
	if failed == nil {
		failed = r.Verdict.Err()
	}
	if failed == nil {
		failed = err
	}
	return r, computed.Hash, failed
}

// Order reads the manifests of plugins and returns the order to load them in.
func Order(ctx context.Context, dirs []string) ([]string, error) {
	var all []*plugin.Manifest
	for _, dir := range dirs {
		s, err := Read(ctx, dir)
		if err != nil {
			return nil, err
		}
		m, err := s.Parse(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return plugin.Order(all)
}

// CheckResult is one of several plugins that were checked.
type CheckResult struct {
	Path   string
	Result *plugin.Result // nil with Err
	Err    error
}

// VerifyAll checks plugins, several at once, and returns results in the order of
// paths.
func VerifyAll(ctx context.Context, h *host.Host, paths []string, o Options) ([]CheckResult, error) {
	target, err := pluginHost(h, o)
	if err != nil {
		return nil, err
	}
	all := make([]CheckResult, len(paths))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		group.Go(func() error {
			all[i].Path = path
			s, err := Read(ctx, path)
			if err == nil {
				all[i].Result, err = s.check(ctx, path, target)
			}
			all[i].Err = err
			return context.Cause(ctx)
		})
	}
	return all, group.Wait()
}
