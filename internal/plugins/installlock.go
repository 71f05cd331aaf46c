package plugins

import (
	"encoding/json"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
)

// MaxInstallLock is the largest install.lock.json, in bytes.
const MaxInstallLock = 1 << 20

// installLockVersion is the form that is written. A file without a version is of an earlier
// Hallmark or of another program; it may lack what came later, see [Parse].
const installLockVersion = 2

// InstallOrigin says what a plugin was installed from, and so what its lock owes.
type InstallOrigin string

// The origins.
const (
	FromZip       InstallOrigin = "zip"       // owes sourceUrl and sha256
	FromDirectory InstallOrigin = "directory" // owes sourceUrl
	InPlace       InstallOrigin = "in-place"  // 'plugin lock': was there already
)

// InstallLock is an install.lock.json: what was installed as a plugin, from where, and
// under which flags.
type InstallLock struct {
	Format      int           `json:"installLockVersion,omitempty"` // 2; 0 of an older one
	Name        string        `json:"name"`
	Version     string        `json:"version"`
	From        InstallOrigin `json:"from,omitempty"`
	SourceURL   string        `json:"sourceUrl,omitempty"`
	SHA256      string        `json:"sha256,omitempty"` // hex, of the zip; "" for a directory
	DistHash    string        `json:"distHash,omitempty"`
	Tree        string        `json:"treeHash,omitempty"`     // hallmark-tree-v1 of dist/
	Manifest    string        `json:"manifestHash,omitempty"` // sha256 of mcp-plugin.json, which is not in dist/
	Files       string        `json:"filesHash,omitempty"`    // hallmark-tree-v1 of the whole plugin, documents too
	InstalledAt time.Time     `json:"installedAt"`
	Signature   string        `json:"signature,omitempty"` // base64, the one that a trusted key made
	SignerKeyID string        `json:"signerKeyId,omitempty"`
	FileCount   int64         `json:"fileCount"`
	TotalBytes  int64         `json:"totalBytes"`
	Policy      plugin.Flags  `json:"policy"`
	Strict      bool          `json:"strict,omitempty"` // --strict was given, and applies from then on

	members map[string]bool // that were read, those of policy as "policy.NAME"; nil of one that was made here
	further []string        // members of other programs' locks, as they stand there
	demands plugin.Flags    // of such members
}

// NewInstallLock is the lock of a checked plugin, whose files have the fingerprint files. adm must permit
// placing it.
func NewInstallLock(adm policy.Admitted, r *plugin.Result, files digest.Digest, l InstallLock) (*InstallLock, error) {
	m := r.Manifest
	if err := adm.Permits(m.Subject(), r.Tree, policy.Place); err != nil {
		return nil, err
	}
	l.Format, l.Name, l.Version = installLockVersion, m.Name, m.Version
	l.DistHash, l.Tree, l.Files = m.Dist.Hash, r.Tree.String(), files.String()
	l.Manifest, l.Signature, l.SignerKeyID = r.ManifestHash().String(), r.Signature, r.SignedBy
	return &l, nil
}

// Subject names the plugin as its manifest does.
func (l *InstallLock) Subject() string { return l.Name + "@" + l.Version }

// Encode is the text of the file.
func (l *InstallLock) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(l, "", "  ")
	return append(data, '\n'), err
}

// Digest is the digest of all that the lock says, however it is spaced.
func (l *InstallLock) Digest() (digest.Digest, error) {
	data, err := l.Encode()
	return digest.FromBytes(data), err
}

// Limits are the flags that the plugin was locked under, as limits of its host's. A right that
// an older lock does not name is not limited.
func (l *InstallLock) Limits() plugin.Flags {
	limits := l.Policy
	limits.StrictCapabilities = limits.StrictCapabilities || l.demands.StrictCapabilities
	limits.RequireSignatures = limits.RequireSignatures || l.demands.RequireSignatures
	if l.Format == 0 {
		for name, right := range map[string]*bool{
			"PLUGIN_ALLOW_RUNTIME_DEPS": &limits.AllowRuntimeDeps,
			"PLUGIN_ALLOW_NATIVE":       &limits.AllowNative,
			"SANDBOX_AVAILABLE":         &limits.SandboxAvailable,
		} {
			*right = *right || !l.has("policy."+name)
		}
	}
	return limits
}

// has reports whether the lock has a member; one that was made here has all.
func (l *InstallLock) has(member string) bool { return l.members == nil || l.members[member] }
