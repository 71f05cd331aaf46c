package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// InstallOptions say where a plugin is installed.
type InstallOptions struct {
	Options
	Dir      string           // directory of plugins
	SHA256   digest.Digest    // claim about the zip; zero is none
	Registry project.Registry // of plugins that are given by name; its URL may be missing
	Log      trail.Options    // of that registry

	// Progress is called during downloads from the registry. May be nil.
	Progress func(what string, done, total int64)
}

// Installation is an installed plugin.
type Installation struct {
	Path    string
	Lock    *InstallLock
	Result  *plugin.Result
	Already bool // it was there, and is the same

	Externals *Externals // what was installed beside it; nil if nothing was to be
}

// Install checks a plugin from a URL, a zip, a directory or the registry, and places it in
// o.Dir/NAME@VERSION by one rename, with its install.lock.json. An existing plugin with the same
// files stays; one with other files is an error. A result without Path was refused.
func Install(ctx context.Context, h *host.Host, from string, o InstallOptions) (*Installation, error) {
	target, err := pluginHost(h, o.Options)
	if err != nil {
		return nil, err
	}
	i := &installer{host: h, from: from, dir: o.Dir, target: target}
	if i.source, err = fetchPlugin(ctx, h, from, o, &i.target); err != nil {
		return nil, err
	}
	if err := i.check(ctx); err != nil || !i.out.Result.Verdict.Allowed() {
		return i.out, err
	}
	lock, err := i.makeLock(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	unlock, err := i.lockDir(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := i.install(ctx, lock); err != nil {
		return nil, err
	}
	return i.out, nil
}

// installer is a running [Install].
type installer struct {
	host     *host.Host
	from     string // as the user gave it
	dir      string // directory of plugins
	target   plugin.Host
	source   *Source
	manifest *plugin.Manifest
	out      *Installation // nil until the plugin is checked
}

// check checks the plugin, also against what this machine accepted of it before, and sets the result.
func (i *installer) check(ctx context.Context) (err error) {
	if i.manifest, err = i.source.Inspect(i.from); err != nil {
		return err
	}
	known, err := findPredecessor(i.host, i.dir, i.manifest.Name)
	if err != nil {
		return err
	}
	target := &i.target
	target.Strict = target.Strict || known.wasStrict()
	target.Locked = func(r *plugin.Result) evidence.Report { return known.signatureEvidence(r, target.Strict) }
	r, err := i.source.check(ctx, i.from, *target)
	if err != nil {
		return err
	}
	// judged by Locked; the lock keeps it
	target.Flags.RequireSignatures = target.Flags.RequireSignatures || known.wasSigned()
	i.out = &Installation{Result: r}
	return nil
}

// makeLock sets the lock of the plugin with these external packages beside it, and returns its text.
func (i *installer) makeLock(ctx context.Context, modules []tree.File, open tree.Open) ([]byte, error) {
	s, r := i.source, i.out.Result
	source := s.source
	if source == "" {
		path, err := filepath.Abs(i.from)
		if err != nil {
			return nil, err
		}
		source = path
	}
	origin := FromZip
	if s.Zip.IsZero() {
		origin = FromDirectory
	}
	files, err := s.filesHash(ctx, modules, open)
	if err != nil {
		return nil, nameSubject(i.from, err)
	}
	hashed := r.Profile.SelectFiles(s.Bundle.Files)
	i.out.Lock, err = NewInstallLock(r.Verdict.Admitted(), r, files, InstallLock{
		From: origin, SourceURL: source, SHA256: s.Zip.Hex(), InstalledAt: i.host.Now().UTC(),
		FileCount: int64(len(hashed)), TotalBytes: sumSizes(hashed), Policy: i.target.Flags, Strict: i.target.Strict,
	})
	if err != nil {
		return nil, err
	}
	return i.out.Lock.Encode()
}

// lockDir creates the directory of plugins if it is missing, waits for its lock and removes what dead installs left
// there.
func (i *installer) lockDir(ctx context.Context) (unlock func(), err error) {
	if err := requirePlainDir(i.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(i.dir, 0o777); err != nil {
		return nil, evidence.Errorf(evidence.Operation, i.dir, "", err)
	}
	unlock, err = i.host.Lock(ctx, filepath.Join(i.dir, pluginsLock), "a change of the plugins in "+i.dir, pluginsWait)
	if err != nil {
		return nil, err
	}
	removeDeadStagings(i.dir)
	return unlock, nil
}

// install places the plugin and its external packages, or accepts the same plugin that is there. Lock is the text of
// its lock without such packages. The caller holds the lock of the directory.
func (i *installer) install(ctx context.Context, lock []byte) error {
	in, r := i.out, i.out.Result
	path := filepath.Join(i.dir, r.Manifest.Subject())
	_, absent := os.Lstat(path)
	if absent == nil {
		if done, err := in.acceptInstalled(ctx, i.host, path, i.target); err != nil || done {
			return err
		}
	} else {
		known, err := findPredecessor(i.host, i.dir, i.manifest.Name)
		if err == nil {
			err = known.checkVersion(r)
		}
		if err != nil {
			return err
		}
	}
	if i.manifest.MayHaveExternals() && i.target.Flags.AllowRuntimeDeps {
		var err error
		if in.Externals, err = installExternals(ctx, i.host, i.manifest, i.target.Flags); err != nil {
			return err
		}
		defer in.Externals.discard()
		if lock, err = i.makeLock(ctx, in.Externals.files, in.Externals.open); err != nil {
			return err
		}
	}
	if absent == nil {
		return in.adoptFiles(ctx, i.host, path)
	}
	add := func(staging string) error { return in.addExternals(ctx, staging, i.target) }
	if err := i.source.place(r, path, installPattern, map[string][]byte{plugin.LockFile: lock}, add); err != nil {
		return err
	}
	if err := rememberPlugin(ctx, i.host, path, in.Lock, r); err != nil {
		return err
	}
	in.Path = path
	return nil
}

// addExternals moves the external packages into the directory in which the plugin is being written, and
// reads all of it once more: it must be what the lock says, with nothing else, and with these packages beside it
// the plugin must still be one that the host permits.
func (in *Installation) addExternals(ctx context.Context, staging string, target plugin.Host) error {
	if in.Externals == nil || in.Externals.staging == nil {
		return nil
	}
	if err := in.Externals.placeIn(staging); err != nil {
		return evidence.Errorf(evidence.Operation, filepath.Join(staging, modulesDir), "", err)
	}
	p, err := readInstalled(ctx, staging)
	if err != nil {
		return err
	}
	if p.files.String() != in.Lock.Files {
		return evidence.Errorf(evidence.Operation, staging, "try again",
			errors.New("the files are not those that were written: something else changes them"))
	}
	target.Vouched = p.covered(p.files)
	target.Locked = func(*plugin.Result) evidence.Report { return p.extraEvidence(in.Result.Manifest, true) }
	r, err := p.check(ctx, staging, target)
	if err != nil {
		return err
	}
	return r.Verdict.Err()
}

// installPattern is the name of a directory in which an install writes a plugin, for os.MkdirTemp.
const installPattern = ".hallmark-install-*.tmp"

// removeDeadStagings removes what installs left that ended in the middle. The caller holds the lock of
// the directory of plugins, so that none of them is alive.
func removeDeadStagings(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the install says so
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && strings.HasPrefix(name, ".hallmark-install-") && isIgnored(e) {
			os.RemoveAll(filepath.Join(dir, name)) // what stays is no plugin, and is tried again
		}
	}
}

// otherInstalled is the error of an install whose path holds another plugin.
func otherInstalled(path, hint string) error {
	return evidence.Errorf(evidence.Refused, path, hint,
		errors.New("another plugin is installed under this name and version"))
}

const removeInstalled = "a version never changes; remove the directory if you mean it"

// acceptInstalled completes an install whose path exists, if this machine installed what is there. It
// revalidates that, because a lock does not prove that the files are unchanged. Without a record of this
// machine it is not done, and the plugin that is there has the same code and manifest.
func (in *Installation) acceptInstalled(ctx context.Context, h *host.Host, path string,
	target plugin.Host) (done bool, err error) {
	there, err := readInstallLock(path)
	if err != nil || there.Tree != in.Lock.Tree || there.Manifest != "" && there.Manifest != in.Lock.Manifest {
		return false, otherInstalled(path, removeInstalled)
	}
	installed, err := readAllInstalls(h, filepath.Dir(path))
	if err != nil {
		return false, err
	}
	if _, ok := installed[filepath.Base(path)]; !ok {
		return false, nil
	}
	now, err := revalidateOne(ctx, path, there, installed, target)
	if err == nil {
		err = now.Verdict.Err()
	}
	if now != nil && evidence.ClassOf(err) == evidence.Integrity {
		err = evidence.Errorf(evidence.Integrity, path, "remove this directory, and install the plugin again",
			fmt.Errorf("the installed plugin is damaged: %s", now.Verdict.Headline()))
	}
	if err != nil {
		return false, err
	}
	asked := in.Lock
	signed := asked.Policy.RequireSignatures && !there.Policy.RequireSignatures
	demanded := signed || asked.Strict && !there.Strict
	if in.Path, in.Lock, in.Already = path, there, true; !demanded {
		return true, nil
	}
	there.Strict = there.Strict || asked.Strict
	if signed {
		there.Policy.RequireSignatures, there.Signature, there.SignerKeyID = true, asked.Signature,
			asked.SignerKeyID
	}
	return true, writeLock(ctx, h, path, there, now)
}

// adoptFiles completes an install whose path exists and of which this machine knows nothing: the files
// must be those of this install, byte for byte, and get its lock.
func (in *Installation) adoptFiles(ctx context.Context, h *host.Host, path string) error {
	p, err := readInstalled(ctx, path)
	if err != nil {
		return err
	}
	if p.files.String() != in.Lock.Files {
		return otherInstalled(path, "its documents, its signature or its external packages differ; "+removeInstalled)
	}
	if err := policy.Judge(policy.Plugin, policy.Settings{},
		p.extraEvidence(in.Result.Manifest, true)).Err(); err != nil {
		return err
	}
	in.Path, in.Already = path, true
	return writeLock(ctx, h, path, in.Lock, in.Result)
}

// writeLock writes the lock of the installed plugin in path, and records that this machine accepted it.
func writeLock(ctx context.Context, h *host.Host, path string, l *InstallLock, r *plugin.Result) error {
	data, err := l.Encode()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(path, plugin.LockFile), data, 0o644); err != nil {
		return evidence.Errorf(evidence.Operation, path, "", err)
	}
	return rememberPlugin(ctx, h, path, l, r)
}

// sumSizes returns the size of all files.
func sumSizes(files []tree.File) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}

// fetchPlugin reads a plugin from a URL, a file, a directory or the registry. It adds the evidence of
// the registry and its log to target.
func fetchPlugin(ctx context.Context, h *host.Host, from string, o InstallOptions,
	target *plugin.Host) (*Source, error) {
	var claims []evidence.Claim
	if !o.SHA256.IsZero() {
		claims = append(claims, evidence.Claim{Subject: from, Scheme: evidence.File, Authority: evidence.Caller,
			Where: "--sha256", Want: []digest.Digest{o.SHA256}})
	}
	if !strings.Contains(from, "://") {
		name, version, _ := strings.Cut(from, "@")
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) && plugin.CheckName(name) {
			return (&download{h, o, target, claims}).fetch(ctx, name, cmp.Or(version, registry.Latest))
		}
		return readClaimed(ctx, from, claims...)
	}
	ref, err := artifact.Parse(from)
	if err != nil || ref.Kind() != artifact.HTTPS {
		return nil, evidence.Errorf(evidence.Validation, from, "give an https: URL, a zip, a directory or a name",
			cmp.Or(err, errors.New("not the URL of a zip")))
	}
	d, err := h.Fetch.ForRefs(ref).Fetch(ctx, ref) // giving a URL is consent to ask its host
	if err != nil {
		return nil, fetchError(from, err)
	}
	defer d.Close()
	f, err := d.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := readZip(ctx, from, f, claims...)
	if err == nil {
		s.source = from
	}
	return s, err
}
