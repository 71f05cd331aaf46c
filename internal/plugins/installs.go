package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
)

// installsFile returns the file of what this machine installed in a directory of plugins, whose links
// are resolved.
func installsFile(h *host.Host, dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(h.Places.State, "plugins", hex.EncodeToString(sum[:16])+".json")
}

// realPlugins resolves the links of a directory of plugins, which need not exist.
func realPlugins(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", evidence.Errorf(evidence.Operation, dir, "", err)
	}
	for here, rest := abs, ""; ; here, rest = filepath.Dir(here), filepath.Join(filepath.Base(here), rest) {
		switch real, err := filepath.EvalSymlinks(here); {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !errors.Is(err, fs.ErrNotExist) || filepath.Dir(here) == here:
			return "", evidence.Errorf(evidence.Operation, dir, "", err)
		}
	}
}

// readInstalls reads the record of a directory of plugins.
func readInstalls(h *host.Host, real string) (*Installs, error) {
	path := installsFile(h, real)
	data, err := host.ReadFile(path, MaxInstalls)
	if err != nil {
		return nil, err
	}
	in, err := ParseInstalls(data, real)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, path,
			"restore it from a backup; if it is removed this machine forgets what it installed in "+real+
				", and misses nothing there, until the plugins are installed again", err)
	}
	return in, nil
}

// readAllInstalls returns what this machine installed in dir. If dir is a link it adds what was
// installed in that place before it became one, so that a link does not hide these installs.
func readAllInstalls(h *host.Host, dir string) (map[string]InstallRecord, error) {
	real, err := realPlugins(dir)
	if err != nil {
		return nil, err
	}
	in, err := readInstalls(h, real)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(in.Plugins)
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, dir, "", err)
	}
	parent, err := realPlugins(filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	if place := filepath.Join(parent, filepath.Base(abs)); place != real {
		if in, err = readInstalls(h, place); err != nil {
			return nil, err
		}
		for name, p := range in.Plugins {
			if _, ok := out[name]; !ok {
				out[name] = p
			}
		}
	}
	return out, nil
}

// changeInstalls changes the record of dir under a lock, and writes it.
func changeInstalls(ctx context.Context, h *host.Host, dir string,
	change func(map[string]InstallRecord) error) error {
	real, err := realPlugins(dir)
	if err != nil {
		return err
	}
	path := installsFile(h, real)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return evidence.Errorf(evidence.Operation, path, "", err)
	}
	unlock, err := durable.Lock(ctx, path+".lock", "the record of installed plugins")
	if err != nil {
		return err
	}
	defer unlock()
	in, err := readInstalls(h, real)
	if err != nil {
		return err
	}
	if err := change(in.Plugins); err != nil {
		return err
	}
	data, err := in.Encode()
	if err != nil {
		return err
	}
	return writeFile(path, data, 0o600)
}

// rememberPlugin records that this machine accepted the plugin in the directory path with the lock l
// and the result r.
func rememberPlugin(ctx context.Context, h *host.Host, path string, l *InstallLock, r *plugin.Result) error {
	lock, err := l.Digest()
	if err != nil {
		return err
	}
	tree, err := digest.Parse(l.Tree)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	err = changeInstalls(ctx, h, filepath.Dir(abs), func(plugins map[string]InstallRecord) error {
		plugins[filepath.Base(abs)] = InstallRecord{Name: l.Name, Version: l.Version, Lock: lock, Tree: tree,
			Manifest: r.ManifestHash(),
			SignedBy: signerIDs(r), At: h.Now().UTC(), Signed: l.Policy.RequireSignatures, Strict: l.Strict}
		return nil
	})
	if host.IsUnwritable(err) {
		h.Logger.Warn(
			"the install cannot be recorded, so that on this machine nothing tells a changed lock from the one that "+
				"was written", "plugin", l.Subject(), "error", err)
		return nil
	}
	return err
}

// Forget removes a plugin from the record of dir, by the name of its directory. The directory must be
// gone; until the plugin is forgotten revalidation reports it as missing.
func Forget(ctx context.Context, h *host.Host, dir, name string) error {
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err == nil {
		return evidence.Errorf(evidence.Validation, path,
			"remove the directory first; if what is there is what you want, 'hallmark plugin lock' accepts it",
			errors.New("it is still there"))
	}
	return changeInstalls(ctx, h, dir, func(plugins map[string]InstallRecord) error {
		if _, ok := plugins[name]; !ok {
			return evidence.Errorf(evidence.Validation, path,
				host.ForgetHint(slices.Collect(maps.Keys(plugins)),
					func(name string) string { return forgetCommand(dir, name) }),
				errors.New("this machine did not install it"))
		}
		delete(plugins, name)
		return nil
	})
}

// installClaim returns the claim of this machine's record about the plugin in path.
func installClaim(path string) evidence.Claim {
	return evidence.Claim{Subject: path, Scheme: evidence.Installed, Authority: evidence.Machine,
		Where: "this machine's record of what it installed"}
}

// missingPlugins returns a failed result for each plugin that this machine installed in dir and that
// is not among those there.
func missingPlugins(dir string, installed map[string]InstallRecord, there map[string]bool) (out []CheckResult) {
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		if there[name] {
			continue
		}
		path := filepath.Join(dir, name)
		e := evidence.Miss(installClaim(path), evidence.Machine,
			fmt.Sprintf("its directory is gone; it was installed on %s", installed[name].At.Format("2006-01-02")),
			"install it again from where it came from; or, if you removed it, run '"+forgetCommand(dir, name)+"'")
		out = append(out, CheckResult{Path: path,
			Err: policy.Judge(policy.Plugin, policy.Settings{}, evidence.Report{e}).Err()})
	}
	return out
}
