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
	"github.com/hallmark-mcp/hallmark/installlock"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/wire"
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
	Lock    *installlock.Lock
	Result  *plugin.Result
	Already bool // it was there, and is the same
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
	files, err := s.filesHash(ctx, nil, nil)
	if err != nil {
		return nil, nameSubject(from, err)
	}
	origin := installlock.FromZip
	if s.Zip.IsZero() {
		origin = installlock.FromDirectory
	}
	in.Lock, err = installlock.New(r.Verdict.Admitted(), r, files, installlock.Lock{
		From: origin, SourceURL: source, SHA256: s.Zip.Hex(), InstalledAt: h.Now().UTC(),
		FileCount: int64(len(hashed)), TotalBytes: sumSizes(hashed), Policy: target.Flags, Strict: target.Strict,
	})
	if err != nil {
		return nil, err
	}
	lock, err := in.Lock.Encode()
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
	path := filepath.Join(o.Dir, r.Manifest.Subject())
	if _, err := os.Lstat(path); err == nil {
		if err := in.completeInstall(ctx, h, path, lock, target); err != nil {
			return nil, err
		}
		return in, nil
	}
	if known, err = findPredecessor(h, o.Dir, m.Name); err == nil {
		err = known.checkVersion(r)
	}
	if err != nil {
		return nil, err
	}
	if len(r.Manifest.Externals) > 0 {
		if err := checkExternals(ctx, h, r.Manifest); err != nil {
			return nil, err
		}
	}
	if err := s.place(r, path, map[string][]byte{plugin.LockFile: lock}); err != nil {
		return nil, err
	}
	if err := rememberPlugin(ctx, h, path, in.Lock, r); err != nil {
		return nil, err
	}
	in.Path = path
	return in, nil
}

// completeInstall completes an install whose path exists. It revalidates what this machine installed
// there, because a lock does not prove that the files are unchanged. Other files must be those of
// this install, byte for byte, and get its lock.
func (in *Installation) completeInstall(ctx context.Context, h *host.Host, path string, lock []byte,
	target plugin.Host) error {
	other := func(hint string) error {
		return evidence.Errorf(evidence.Refused, path, hint,
			errors.New("another plugin is installed under this name and version"))
	}
	const remove = "a version never changes; remove the directory if you mean it"
	there, err := readInstallLock(path)
	if err != nil || there.Tree != in.Lock.Tree || there.Manifest != "" && there.Manifest != in.Lock.Manifest {
		return other(remove)
	}
	installed, err := readAllInstalls(h, filepath.Dir(path))
	if err != nil {
		return err
	}
	if _, ok := installed[filepath.Base(path)]; ok {
		now, err := revalidateOne(ctx, path, there, installed, target)
		if err == nil {
			err = now.Verdict.Err()
		}
		if err != nil {
			return err
		}
		asked := in.Lock
		signed := asked.Policy.RequireSignatures && !there.Policy.RequireSignatures
		demanded := signed || asked.Strict && !there.Strict
		if in.Path, in.Lock, in.Already = path, there, true; !demanded {
			return nil
		}
		there.Strict = there.Strict || asked.Strict
		if signed {
			there.Policy.RequireSignatures, there.Signature, there.SignerKeyID = true, asked.Signature,
				asked.SignerKeyID
		}
		if lock, err = there.Encode(); err != nil {
			return err
		}
		if err := durable.WriteFile(filepath.Join(path, plugin.LockFile), lock, 0o644); err != nil {
			return evidence.Errorf(evidence.Operation, path, "", err)
		}
		return rememberPlugin(ctx, h, path, there, now)
	}
	p, err := readInstalled(ctx, path)
	if err != nil {
		return err
	}
	if p.files.String() != in.Lock.Files {
		return other("its documents or its signature differ; " + remove)
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

// checkExternals downloads the external packages of a manifest, and compares them with the
// manifest's claims and those of their registry.
func checkExternals(ctx context.Context, h *host.Host, m *plugin.Manifest) error {
	for _, e := range m.Externals {
		if !e.FromNPM() {
			return evidence.Errorf(evidence.Refused, e.Subject(), "",
				fmt.Errorf("external packages of source %q are not installed", e.Source))
		}
		ref, err := artifact.Parse(e.Subject())
		if err != nil {
			return evidence.Errorf(evidence.Validation, e.Subject(), "", err)
		}
		var want []digest.Digest
		algorithms := []digest.Algorithm{digest.SHA512}
		if e.Integrity != "" {
			if want, err = digest.ParseSRI(e.Integrity); err != nil {
				return evidence.Errorf(evidence.Validation, e.Subject(), "", err)
			}
			algorithms = append(algorithms, want[0].Algorithm())
		}
		d, err := h.Fetch.Fetch(ctx, ref, algorithms...)
		if err != nil {
			return fetchError(e.Subject(), err)
		}
		d.Close()
		report := document.RegistryEvidence(d)
		if want != nil {
			report = append(report, evidence.Compare(evidence.Claim{Subject: e.Subject(), Scheme: evidence.File,
				Authority: evidence.Publisher,
				Want:      want, Where: plugin.ManifestFile + ", externalDependencies"}, d.Observed))
		}
		for _, piece := range report {
			if piece.Outcome == evidence.Mismatch {
				return &evidence.Error{Kind: evidence.Integrity, Err: errors.New(piece.Title()), Detail: piece.Detail()}
			}
		}
	}
	return nil
}

// fetchError adds the subject to the error of a fetch, of class Operation as nothing was decided.
func fetchError(subject string, err error) error {
	if refusal := consent.NotAgreed(err); refusal != nil {
		return refusal
	}
	var outside *wire.Error
	if errors.As(err, &outside) {
		return evidence.Errorf(evidence.Operation, "", outside.Hint, err)
	}
	return evidence.Errorf(evidence.Operation, subject, "", err)
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
