package plugins

import (
	"cmp"
	"context"
	"errors"
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
	s, err := fetchPlugin(ctx, h, from, o, &target)
	if err != nil {
		return nil, err
	}
	m, err := s.Inspect(from)
	if err != nil {
		return nil, err
	}
	known, err := findPredecessor(h, o.Dir, m.Name)
	if err != nil {
		return nil, err
	}
	target.Strict = target.Strict || known.wasStrict()
	target.Locked = func(r *plugin.Result) evidence.Report { return known.signatureEvidence(r, target.Strict) }
	r, err := s.check(ctx, from, target)
	if err != nil {
		return nil, err
	}
	// judged by Locked; the lock keeps it
	target.Flags.RequireSignatures = target.Flags.RequireSignatures || known.wasSigned()
	in := &Installation{Result: r}
	if !r.Verdict.Allowed() {
		return in, nil
	}
	source := s.source
	if source == "" {
		if source, err = filepath.Abs(from); err != nil {
			return nil, err
		}
	}
	hashed := r.Profile.SelectFiles(s.Bundle.Files)
	origin := FromZip
	if s.Zip.IsZero() {
		origin = FromDirectory
	}
	makeLock := func(modules []tree.File, open tree.Open) (data []byte, err error) {
		files, err := s.filesHash(ctx, modules, open)
		if err != nil {
			return nil, nameSubject(from, err)
		}
		in.Lock, err = NewInstallLock(r.Verdict.Admitted(), r, files, InstallLock{
			From: origin, SourceURL: source, SHA256: s.Zip.Hex(), InstalledAt: h.Now().UTC(),
			FileCount: int64(len(hashed)), TotalBytes: sumSizes(hashed), Policy: target.Flags, Strict: target.Strict,
		})
		if err != nil {
			return nil, err
		}
		return in.Lock.Encode()
	}
	lock, err := makeLock(nil, nil)
	if err != nil {
		return nil, err
	}
	if err := requirePlainDir(o.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, evidence.Errorf(evidence.Operation, o.Dir, "", err)
	}
	unlock, err := h.Lock(ctx, filepath.Join(o.Dir, pluginsLock), "a change of the plugins in "+o.Dir, pluginsWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	removeDeadStagings(o.Dir)
	path := filepath.Join(o.Dir, r.Manifest.Subject())
	_, absent := os.Lstat(path)
	if absent == nil {
		if done, err := in.acceptInstalled(ctx, h, path, target); err != nil || done {
			return in.orNone(err)
		}
	} else {
		if known, err = findPredecessor(h, o.Dir, m.Name); err == nil {
			err = known.checkVersion(r)
		}
		if err != nil {
			return nil, err
		}
	}
	if m.MayHaveExternals() && target.Flags.AllowRuntimeDeps {
		in.Externals, err = installExternals(ctx, h, m, target.Flags)
		if err != nil {
			return nil, err
		}
		defer in.Externals.discard()
		if lock, err = makeLock(in.Externals.files, in.Externals.open); err != nil {
			return nil, err
		}
	}
	if absent == nil {
		return in.orNone(in.adoptFiles(ctx, h, path, lock))
	}
	add := func(staging string) error { return in.addExternals(ctx, staging, target) }
	if err := s.place(r, path, installPattern, map[string][]byte{plugin.LockFile: lock}, add); err != nil {
		return nil, err
	}
	if err := rememberPlugin(ctx, h, path, in.Lock, r); err != nil {
		return nil, err
	}
	in.Path = path
	return in, nil
}

// orNone is the result of an install that failed or not.
func (in *Installation) orNone(err error) (*Installation, error) {
	if err != nil {
		return nil, err
	}
	return in, nil
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
	lock, err := there.Encode()
	if err != nil {
		return false, err
	}
	if err := durable.WriteFile(filepath.Join(path, plugin.LockFile), lock, 0o644); err != nil {
		return false, evidence.Errorf(evidence.Operation, path, "", err)
	}
	return true, rememberPlugin(ctx, h, path, there, now)
}

// adoptFiles completes an install whose path exists and of which this machine knows nothing: the files
// must be those of this install, byte for byte, and get its lock.
func (in *Installation) adoptFiles(ctx context.Context, h *host.Host, path string, lock []byte) error {
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
	if err := durable.WriteFile(filepath.Join(path, plugin.LockFile), lock, 0o644); err != nil {
		return evidence.Errorf(evidence.Operation, path, "", err)
	}
	in.Path, in.Already = path, true
	return rememberPlugin(ctx, h, path, in.Lock, in.Result)
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
