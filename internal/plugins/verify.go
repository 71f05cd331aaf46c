package plugins

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Verify reads the plugin at path once and gathers all evidence. If the verdict allows the plugin, it writes
// the bytes that it checked to CopyTo; of an installed plugin its external packages too, as far as its lock says what
// they are. The verdict holds what speaks against the plugin; an error means that it cannot be read as a plugin.
func Verify(ctx context.Context, h *host.Host, path string, o Options) (*plugin.Result, error) {
	source, err := Read(ctx, path)
	if err != nil {
		return nil, err
	}
	target, err := pluginHost(h, o)
	if err != nil {
		return nil, err
	}
	if err := source.holdToLock(ctx, h, path, &target); err != nil {
		return nil, err
	}
	var failed error
	var modules *lockedModules
	if o.CopyTo != "" && slices.Contains(source.Bundle.Beside, modulesDir) {
		locked := target.Locked
		target.Locked = func(r *plugin.Result) (report evidence.Report) {
			modules, report, failed = source.findModules(ctx, path, r.Manifest, o.Flags)
			return append(locked(r), report...)
		}
	}
	r, err := source.check(ctx, path, target)
	if err = errors.Join(err, failed); err != nil || !r.Verdict.Allowed() {
		return r, err
	}
	if o.CopyTo == "" {
		return r, nil
	}
	add := func(staging string) error { return modules.copyTo(ctx, staging) }
	return r, source.place(r, o.CopyTo, stagingPattern, nil, add)
}

// VerifyAll checks plugins, several at once, and returns the results in the order of paths. A directory
// that is no plugin means all plugins and zips below it, see findPlugins.
func VerifyAll(ctx context.Context, h *host.Host, paths []string, o Options) ([]CheckResult, error) {
	target, err := pluginHost(h, o)
	if err != nil {
		return nil, err
	}
	var all []CheckResult
	seen := map[string]bool{}
	for _, path := range paths {
		found, failed := findPlugins(ctx, path)
		if failed != nil {
			all = append(all, CheckResult{Path: path, Err: failed})
		}
		for _, path := range found {
			if clean := filepath.Clean(path); !seen[clean] {
				seen[clean] = true
				all = append(all, CheckResult{Path: path})
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range all {
		one := &all[i]
		if one.Err != nil {
			continue
		}
		group.Go(func() error {
			s, err := Read(ctx, one.Path)
			if err == nil {
				target := target
				if err = s.holdToLock(ctx, h, one.Path, &target); err == nil {
					one.Result, err = s.check(ctx, one.Path, target)
				}
			}
			one.Err = err
			return context.Cause(ctx)
		})
	}
	return all, group.Wait()
}

// staleEvidence warns of an install.lock.json beside a plugin that is of other files: a later revalidation of the
// plugin will refuse it. What the lock says otherwise is for revalidation to compare.
func (s *Source) staleEvidence(r *plugin.Result) evidence.Report {
	l, err := ParseInstallLock(s.Bundle.Documents[plugin.LockFile])
	if err != nil {
		return nil // no lock, or one that another program reads
	}
	manifest, tree := r.ManifestHash().String(), r.Tree.String()
	if (l.Manifest == "" || l.Manifest == manifest) && (l.Tree == "" || l.Tree == tree) {
		return nil
	}
	claim := evidence.Claim{Subject: r.Manifest.Subject() + ": " + plugin.LockFile, Scheme: evidence.Installed,
		Authority: evidence.Machine, Where: plugin.LockFile}
	return evidence.Report{{Claim: claim, Outcome: evidence.Absent,
		Reason: "the lock is of a manifest or of files before; 'hallmark plugin lock' writes it anew"}}
}

// lockedModules are the external packages of an installed plugin that are the ones of its lock.
type lockedModules struct {
	dir   string // the plugin's
	list  []tree.File
	files digest.Digest // of all that belongs to the plugin
}

// findModules compares the external packages beside a plugin with its lock. Without a lock that says what they are,
// they are not copied, which is evidence too.
func (s *Source) findModules(ctx context.Context, path string, m *plugin.Manifest,
	flags plugin.Flags) (*lockedModules, evidence.Report, error) {
	claim := evidence.Claim{Subject: m.Subject() + ": " + modulesDir, Scheme: evidence.Installed,
		Authority: evidence.Machine, Where: plugin.LockFile + ", filesHash"}
	left := func(why string) (*lockedModules, evidence.Report, error) {
		return nil, evidence.Report{{Claim: claim, Outcome: evidence.Absent, Reason: modulesDir + " is not copied: " +
				why}},
			nil
	}
	if !m.MayHaveExternals() {
		return nil, nil, nil // it is no part of the plugin
	}
	if !s.Zip.IsZero() {
		return left("the plugin is a zip; 'hallmark plugin install' installs what it needs beside it")
	}
	data := s.Bundle.Documents[plugin.LockFile]
	if data == nil {
		return left("there is no " + plugin.LockFile + " that says what is in it; 'hallmark plugin lock' writes one")
	}
	l, err := ParseInstallLock(data)
	if err != nil {
		return nil, nil, evidence.Errorf(evidence.Validation, path,
			"install the plugin again, or write its lock anew with 'hallmark plugin lock'", err)
	}
	if l.Files == "" {
		return left(plugin.LockFile + " does not say what is in it; 'hallmark plugin lock' writes it anew")
	}
	want, err := digest.Parse(l.Files)
	if err != nil {
		return nil, nil, evidence.Errorf(evidence.Validation, path, "", err)
	}
	p, err := readInstalled(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	claim.Authority, claim.Want = evidence.Lock, []digest.Digest{want}
	report := evidence.Report{evidence.Compare(claim,
		evidence.Observed{Digests: []digest.Digest{p.files}, From: "the plugin's directory"})}
	report = append(report, nativeEvidence(m, p.modules, flags)...)
	return &lockedModules{path, p.modules, p.files}, report, nil
}

// copyTo copies the packages into a directory with the files that were checked. All of it together must
// have the hash that was compared, whatever happened to the original in the meantime.
func (x *lockedModules) copyTo(ctx context.Context, staging string) error {
	if x == nil {
		return nil
	}
	root, err := os.OpenRoot(x.dir)
	if err != nil {
		return evidence.Errorf(evidence.Operation, x.dir, "", err)
	}
	defer root.Close()
	to, err := os.OpenRoot(staging)
	if err != nil {
		return evidence.Errorf(evidence.Operation, staging, "", err)
	}
	defer to.Close()
	open, done := durable.Opener(root)
	defer done()
	for _, f := range x.list {
		if err := copyListed(open, to, f); err != nil {
			return evidence.Errorf(evidence.Operation, filepath.Join(x.dir, filepath.FromSlash(f.Path)), "", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	p, err := readInstalled(ctx, staging)
	if err != nil {
		return err
	}
	if !evidence.Same(p.files, x.files) {
		return evidence.Errorf(evidence.Integrity, filepath.Join(x.dir, modulesDir), "try again; if it happens again "+
			"find out what changes it", errors.New("it changed while it was copied"))
	}
	m, err := p.Parse(staging)
	if err != nil {
		return err
	}
	return policy.Judge(policy.Plugin, policy.Settings{}, p.extraEvidence(m, true)).Err()
}

// copyListed copies a file as far as it was listed: one that became longer since differs anyway.
func copyListed(open tree.Open, to *os.Root, f tree.File) error {
	in, err := open(f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := to.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	out, err := to.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, f.Size))
	return errors.Join(err, out.Close())
}
