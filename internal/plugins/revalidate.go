package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// readInstallLock reads the install.lock.json of the plugin in dir, which must exist.
func readInstallLock(dir string) (*InstallLock, error) {
	path := filepath.Join(dir, plugin.LockFile)
	data, err := host.ReadFile(path, MaxInstallLock)
	if err == nil && data == nil {
		err = evidence.Errorf(evidence.Integrity, path, "install the plugin again", fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	l, err := ParseInstallLock(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, dir,
			"install the plugin again, or write its lock anew with 'hallmark plugin lock'", err)
	}
	return l, nil
}

// Revalidate checks every plugin below dir without the network: against its install.lock.json,
// against this machine's record of the install, and for the host. It compares everything that a
// lock claims, and refuses anything else in dir.
func Revalidate(ctx context.Context, h *host.Host, dir string, o Options) ([]CheckResult, error) {
	target, err := pluginHost(h, o)
	if err != nil {
		return nil, err
	}
	if err := requirePlainDir(dir); err != nil {
		return nil, err
	}
	installed, err := readAllInstalls(h, dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && (len(installed) == 0 || !isNoDirectory(dir)) {
		return nil, evidence.Errorf(evidence.Operation, dir,
			"'hallmark plugin install' places plugins there; --dir names another directory", errors.Unwrap(err))
	}
	var all []CheckResult
	there := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if isIgnored(e) {
			continue
		}
		v := CheckResult{Path: filepath.Join(dir, name)}
		if !e.IsDir() {
			v.Err = refuseEntry(v.Path, "it is "+tree.Kind(e.Type())+", and no directory of a plugin")
			all = append(all, v)
			continue
		}
		there[name] = true
		l, err := readInstallLock(v.Path)
		if err == nil && name != l.Subject() && name != l.Name {
			err = evidence.Errorf(evidence.Integrity, v.Path,
				"a plugin lies in a directory of its name and version, or of its name",
				fmt.Errorf("%s is of %+q", plugin.LockFile, l.Subject()))
		}
		if err == nil {
			v.Result, err = revalidateOne(ctx, v.Path, l, installed, target)
		}
		v.Err = err
		all = append(all, v)
	}
	return append(all, missingPlugins(dir, installed, there)...), context.Cause(ctx)
}

// requirePlainDir refuses a directory of plugins that is a link. A checkout must not choose which
// plugins elsewhere are checked instead of those that a host loads, or where one is installed; a
// user who means the other directory can name it.
func requirePlainDir(dir string) error {
	dir = filepath.Clean(dir) // "plugins/" would be what the link leads to
	info, err := os.Lstat(dir)
	if err != nil || info.IsDir() || info.Mode().IsRegular() {
		return nil // reading it reports what is wrong
	}
	hint := "put a directory there"
	if to, err := os.Readlink(dir); err == nil {
		hint = fmt.Sprintf("it is a link to %+q; put the directory itself there, or name it with --dir", to)
	}
	return evidence.Errorf(evidence.Refused, dir, hint, errors.New("is not a plain directory"))
}

// isNoDirectory reports whether path does not exist or is no directory.
func isNoDirectory(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

// stagingName matches the name of a directory in which a plugin is being written.
var stagingName = spelling.Form(`^\.hallmark-(install-)?[0-9]+\.tmp$`)

// isIgnored reports whether an entry of a directory of plugins may lie there though it is no plugin:
// our own files, and those of version control and of the desktop, which no host loads.
func isIgnored(e fs.DirEntry) bool {
	name := e.Name()
	if e.IsDir() {
		return stagingName().MatchString(name)
	}
	return e.Type().IsRegular() && slices.Contains([]string{pluginsLock, ".gitignore", ".gitattributes", ".gitkeep",
		".DS_Store"}, name)
}

// refuseEntry returns the error of something else than a plugin among plugins.
func refuseEntry(path, why string) error {
	claim := evidence.Claim{Subject: path, Scheme: evidence.Installed, Authority: evidence.Lock, Where: plugin.LockFile}
	return policy.Judge(policy.Plugin, policy.Settings{},
		evidence.Report{{Claim: claim, Outcome: evidence.Absent, Reason: why}}).Err()
}

// revalidateOne checks an installed plugin against its lock and this machine's record. The host's
// flags decide; those of the lock can only add demands and remove rights.
func revalidateOne(ctx context.Context, path string, l *InstallLock, installed map[string]InstallRecord,
	target plugin.Host) (*plugin.Result, error) {
	p, err := readInstalled(ctx, path)
	if err != nil {
		return nil, err
	}
	var remembered *InstallRecord
	if one, ok := installed[filepath.Base(path)]; ok {
		remembered = &one
	}
	claims, err := l.Claims()
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, path, "", err)
	}
	var failed error
	if want, err := digest.Parse(l.Files); err == nil {
		target.Vouched = p.covered(want)
	}
	target.Flags = target.Flags.Within(l.Limits())
	target.Strict = target.Strict || l.Strict
	if remembered != nil {
		target.Strict = target.Strict || remembered.Strict
		target.Flags.RequireSignatures = target.Flags.RequireSignatures || remembered.Signed
	}
	target.Locked = func(r *plugin.Result) (report evidence.Report) {
		report, failed = p.lockEvidence(path, l, r, remembered, len(installed) > 0, target)
		return report
	}
	r, err := p.check(ctx, path, target, claims...)
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	if len(r.Manifest.Issues()) == 0 && r.Manifest.Subject() != l.Subject() {
		return nil, evidence.Errorf(evidence.Integrity, path, "",
			fmt.Errorf("the manifest is of %+q, and %s of %+q", r.Manifest.Subject(), plugin.LockFile, l.Subject()))
	}
	return r, nil
}

// Lock writes or renews the install.lock.json of the plugin in dir without installing anything, and
// records it on this machine. A lock of the same files keeps their source. A refused plugin gets no
// lock.
func Lock(ctx context.Context, h *host.Host, dir string, o Options) (*Installation, error) {
	target, err := pluginHost(h, o)
	if err != nil {
		return nil, err
	}
	p, err := readInstalled(ctx, dir)
	if err != nil {
		return nil, err
	}
	old, _ := ParseInstallLock(p.Bundle.Documents[plugin.LockFile]) // an unreadable lock is replaced
	m, err := p.Inspect(dir)
	if err != nil {
		return nil, err
	}
	known, err := findPredecessor(h, filepath.Dir(filepath.Clean(dir)), m.Name)
	if err != nil {
		return nil, err
	}
	target.Strict = target.Strict || known.wasStrict() || old != nil && old.Strict
	target.Flags.RequireSignatures = target.Flags.RequireSignatures || old != nil && old.Policy.RequireSignatures
	target.Locked = func(r *plugin.Result) evidence.Report {
		return append(known.signatureEvidence(r, target.Strict), nativeEvidence(m, p.modules, target.Flags)...)
	}
	r, err := p.check(ctx, dir, target)
	if err != nil {
		return nil, err
	}
	// judged by Locked; the lock keeps it
	target.Flags.RequireSignatures = target.Flags.RequireSignatures || known.wasSigned()
	in := &Installation{Result: r}
	if !r.Verdict.Allowed() {
		return in, nil
	}
	hashed := r.Profile.SelectFiles(p.Bundle.Files)
	lock := InstallLock{
		From: InPlace, InstalledAt: h.Now().UTC(), FileCount: int64(len(hashed)),
		TotalBytes: sumSizes(hashed),
		Policy:     target.Flags, Strict: target.Strict,
	}
	lock.keepSource(old, r)
	if in.Lock, err = NewInstallLock(r.Verdict.Admitted(), r, p.files, lock); err != nil {
		return nil, err
	}
	if err := writeLock(ctx, h, dir, in.Lock, r); err != nil {
		return nil, err
	}
	in.Path = dir
	return in, nil
}

// keepSource takes over where the plugin is from, if an older lock is of the same files. Old may be nil.
func (l *InstallLock) keepSource(old *InstallLock, r *plugin.Result) {
	if old == nil || old.Tree != r.Tree.String() || old.Manifest != r.ManifestHash().String() {
		return
	}
	l.SourceURL, l.SHA256 = old.SourceURL, old.SHA256
	if old.From != "" {
		l.From = old.From
	}
}
