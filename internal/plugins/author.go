package plugins

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// HashOptions say what [Hash] computes.
type HashOptions struct {
	Profile tree.Profile // "" is the one that the manifest names, else the one under which its dist.hash holds
	Write   bool         // into the manifest; then "" is the one that it names, else guide
	Framed  bool         // Tree too, without Write
}

// HashResult holds what [Hash] computed of a plugin's dist/.
type HashResult struct {
	Hash    digest.Digest
	Tree    digest.Digest // if it was asked for
	Profile tree.Profile
	Files   int
	Bytes   int64
	Written bool // the manifest was rewritten
	Dropped int  // signatures in it that no longer fit were removed
	Stale   bool // and the lock beside it is of the old manifest
}

// Hash computes dist.hash of the plugin in dir. With o.Write it stores dist.hash, the framed hash, counts and
// checksums in the manifest, and removes signatures that no longer fit.
func Hash(ctx context.Context, dir string, o HashOptions) (*HashResult, error) {
	s, err := Read(ctx, dir)
	if err != nil {
		return nil, err
	}
	hash := s.hasher(ctx)
	m, invalid := s.Inspect(dir)
	p := o.Profile
	if p == "" && !o.Write && invalid == nil {
		p = m.FindProfile(hash) // who hashes next says what is wrong
	}
	if invalid == nil {
		if problems := m.CheckForm(); problems != nil {
			m, invalid = nil, nameSubject(dir, withoutHash(problems))
		}
	}
	r, err := s.hash(dir, p, m, hash)
	if err != nil {
		return nil, err
	}
	if o.Write || o.Framed {
		r.Tree, err = s.Bundle.Tree(ctx)
	}
	if err != nil || !o.Write {
		return r, err
	}
	if invalid != nil {
		return r, invalid
	}
	if !s.Zip.IsZero() {
		return r, evidence.Errorf(evidence.Validation, dir, "", errors.New("a zip is not written to"))
	}
	data, err := s.Bundle.WriteHash(ctx, m, r.Profile)
	if err != nil {
		return r, nameSubject(dir, err)
	}
	if !bytes.Equal(data, s.Bundle.Manifest) {
		now, err := plugin.Parse(data)
		if err != nil {
			return r, nameSubject(dir, err)
		}
		r.Dropped = len(m.Signatures) + len(m.Statements) - len(now.Signatures) - len(now.Statements)
		r.Written, r.Stale = true, s.Bundle.Documents[plugin.LockFile] != nil
		return r, writeManifest(dir, data)
	}
	return r, nil
}

// withoutHash is err, of the same class, without the dist.hash of a manifest that is missing or malformed: who asked
// for it gets it.
func withoutHash(err error) error {
	invalid, ok := errors.AsType[*plugin.Invalid](err)
	if !ok || !invalid.NoHash {
		return err
	}
	return &plugin.Invalid{NoHash: true, Issues: slices.DeleteFunc(slices.Clone(invalid.Issues),
		func(i plugin.Issue) bool { return i.Path == "/dist/hash" })}
}

// A hasher computes dist.hash under a known profile.
type hasher func(tree.Profile) (digest.Digest, error)

// hasher returns a hasher of the plugin that computes the hash under each profile once.
func (s *Source) hasher(ctx context.Context) hasher {
	hashes := map[tree.Profile]func() (digest.Digest, error){}
	for _, p := range tree.Profiles() {
		hashes[p] = sync.OnceValues(func() (digest.Digest, error) { return s.Bundle.Hash(ctx, p) })
	}
	return func(p tree.Profile) (digest.Digest, error) { return hashes[p]() }
}

// hash computes dist.hash under a profile; "" is the profile of the manifest m, which may be nil, else guide.
func (s *Source) hash(dir string, p tree.Profile, m *plugin.Manifest, hash hasher) (*HashResult, error) {
	if p == "" {
		if p = tree.Guide; m != nil && m.Profile != "" {
			p = m.Profile
		}
	}
	r := &HashResult{Profile: p}
	if !p.Known() {
		return r, evidence.Errorf(evidence.Validation, dir,
			fmt.Sprintf("the profiles are %s and %s", tree.Guide, tree.OD),
			fmt.Errorf("unknown hash profile %+q", string(p)))
	}
	files := p.SelectFiles(s.Bundle.Files)
	r.Files, r.Bytes = len(files), sumSizes(files)
	var err error
	if r.Hash, err = hash(p); err != nil {
		hint := ""
		if errors.Is(err, tree.ErrEmpty) {
			hint = "build the plugin into " + plugin.DistDir + "/, and run 'hallmark plugin hash --write' again"
		}
		return r, evidence.Errorf(evidence.Integrity, filepath.Join(dir, plugin.DistDir), hint, err)
	}
	return r, nil
}

// writeManifest replaces the manifest of the plugin in dir.
func writeManifest(dir string, data []byte) error {
	path := filepath.Join(dir, plugin.ManifestFile)
	perm := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	return writeFile(path, data, perm)
}

// writeFile is [durable.WriteFile] with an error of class Operation.
func writeFile(path string, data []byte, perm fs.FileMode) error {
	if err := durable.WriteFile(path, data, perm); err != nil {
		return evidence.Errorf(evidence.Operation, path, "", err)
	}
	return nil
}

// Sign signs dist.hash and the whole manifest of the plugin in dir, whose hash must hold, and writes
// the signatures into the manifest. It renews a lock beside the manifest with the lock's own flags,
// as the old one no longer fits. Signatures by the keys drop, which are replaced by this one, are removed. It returns
// the id of the key.
func Sign(ctx context.Context, h *host.Host, dir string, key plugin.PrivateKey, id string,
	drop ...string) (string, error) {
	if id == "" {
		id = key.Public().ID()
	}
	s, err := Read(ctx, dir)
	if err != nil {
		return "", err
	}
	if !s.Zip.IsZero() {
		return "", evidence.Errorf(evidence.Validation, dir, "", errors.New("a zip is not written to"))
	}
	// A signature confirms the files, so that files which do not match are not signed.
	m, err := s.Parse(dir)
	if err != nil {
		return "", err
	}
	r, err := plugin.CheckFiles(ctx, s.Bundle, m)
	if err == nil {
		err = r.Verdict.Err()
	}
	if err != nil {
		return "", nameSubject(dir, err)
	}
	for _, old := range drop {
		if !r.Manifest.DropSignatures(old) {
			return "", evidence.Errorf(evidence.Validation, dir,
				"'hallmark plugin verify' shows whose signatures it has",
				fmt.Errorf("has no signature by %+q in %s", old, plugin.ManifestFile))
		}
	}
	data, err := r.Manifest.Sign(key, id, h.Now())
	if err != nil {
		return "", nameSubject(dir, err)
	}
	if err := writeManifest(dir, data); err != nil {
		return "", err
	}
	return id, rewriteLock(ctx, h, dir, s.Bundle.Documents[plugin.LockFile])
}

// rewriteLock renews the lock of a plugin after its manifest changed; old is the lock before, nil for
// none.
func rewriteLock(ctx context.Context, h *host.Host, dir string, old []byte) error {
	if old == nil {
		return nil
	}
	path := filepath.Join(dir, plugin.LockFile)
	stale := func(err error) error {
		return evidence.Errorf(evidence.ClassOf(err), path,
			"the manifest is signed; run 'hallmark plugin lock' with the flags of the plugin's host",
			fmt.Errorf("the lock is of the manifest before: %w", err))
	}
	lock, err := ParseInstallLock(old)
	if err != nil {
		return stale(evidence.Errorf(evidence.Validation, "", "", err))
	}
	in, err := Lock(ctx, h, dir, Options{Flags: lock.Policy})
	if err == nil {
		err = in.Result.Verdict.Err()
	}
	if err != nil {
		return stale(err)
	}
	return nil
}

// Pack writes the plugin in dir as a zip to out. The same files give the same bytes. It omits, and
// returns, what does not belong to the plugin. The manifest's claims must hold.
func Pack(ctx context.Context, dir, out string) (sum digest.Digest, left []string, err error) {
	s, err := Read(ctx, dir)
	if err != nil {
		return digest.Digest{}, nil, err
	}
	zip, err := s.Pack(ctx, dir)
	if err != nil {
		return digest.Digest{}, nil, err
	}
	return digest.FromBytes(zip), s.Bundle.Beside, writeFile(out, zip, 0o644)
}

// Pack returns the zip of a plugin. The hash must hold, as hosts refuse any other plugin.
func (s *Source) Pack(ctx context.Context, name string) ([]byte, error) {
	m, err := s.Parse(name)
	if err != nil {
		return nil, err
	}
	r, err := plugin.CheckFiles(ctx, s.Bundle, m)
	if err == nil {
		err = r.Verdict.Err()
	}
	if err != nil {
		return nil, nameSubject(name, err)
	}
	zip, err := s.packZip()
	if err != nil {
		return nil, nameSubject(name, err)
	}
	return zip, nil
}

// CheckSignatures judges the signatures of the plugin at path by the keys that this machine trusts. What is refused, no
// host that trusts the same keys accepts.
func CheckSignatures(ctx context.Context, h *host.Host, path string) (policy.Verdict, error) {
	s, err := Read(ctx, path)
	if err != nil {
		return policy.Verdict{}, err
	}
	m, err := s.Parse(path)
	if err != nil {
		return policy.Verdict{}, err
	}
	return s.checkSignatures(h, m)
}

func (s *Source) checkSignatures(h *host.Host, m *plugin.Manifest) (policy.Verdict, error) {
	keys, err := TrustedKeys(h)
	if err != nil {
		return policy.Verdict{}, err
	}
	v := plugin.CheckSignatures(s.Bundle, m, plugin.Host{Keys: keys, Now: h.Now()})
	return v, v.Err()
}

// packZip returns the zip of what belongs to the plugin. The same files give the same bytes.
func (s *Source) packZip() ([]byte, error) {
	contents := s.files()
	var files []tree.File
	for path, data := range contents {
		files = append(files, tree.File{Path: path, Size: int64(len(data))})
	}
	open := func(path string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(contents[path])), nil }
	var zip bytes.Buffer
	err := archive.WriteZip(&zip, files, open)
	return zip.Bytes(), err
}
