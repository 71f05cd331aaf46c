package plugins

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// Options say what a host program permits and demands of plugins.
type Options struct {
	Flags      plugin.Flags
	Strict     bool
	Allowlist  string // file; "" is plugin.AllowlistFile, which may be missing
	Registered string // file of what the plugin registered, or directory with one for each plugin; "" is none
	CopyTo     string // directory for a private copy of an allowed plugin; "" is none
}

// pluginHost reads the files of o, and the trusted keys, into the host that plugins are checked for.
func pluginHost(h *host.Host, o Options) (plugin.Host, error) {
	target := plugin.Host{Flags: o.Flags, Strict: o.Strict, Scans: newScans(h), Now: h.Now(),
		AllowlistName: o.Allowlist}
	target.AllowlistName = cmp.Or(target.AllowlistName, plugin.AllowlistFile)
	read := host.ReadFile // a checkout may hold a file of the default name
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
			target.RegisteredBy = func(m *plugin.Manifest) (*plugin.Registered,
				error) {
				return readRegisteredIn(o.Registered, m)
			}
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

// newScans returns the scanner of one run, which remembers what this machine has scanned before.
func newScans(h *host.Host) func(name string, sums map[string]digest.Digest) (plugin.Scan, func()) {
	return OpenImportCache(h.Places.Cache, h.Places.State, ImportScanner{Scan: jsscan.File,
		Key: func(path string, sum digest.Digest) ScriptKey { return jsscan.Key(path, sum) }, Version: jsscan.Version(),
	}).For
}

// readRegistered reads what a plugin registered, and returns nil if there is no file.
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

// readRegisteredIn reads what a plugin registered from NAME@VERSION.json or NAME.json in dir, and
// returns nil if there is neither.
func readRegisteredIn(dir string, m *plugin.Manifest) (*plugin.Registered, error) {
	for _, name := range []string{m.Subject(), m.Name} {
		if r, err := readRegistered(filepath.Join(dir, name+".json")); r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil
}
