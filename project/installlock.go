package project

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// MaxInstallLock is the largest install.lock.json, in bytes.
const MaxInstallLock = 1 << 20

// InstallLock is an install.lock.json: what was installed as a plugin, from where, and
// under which flags. Files of other programs and of earlier versions have fewer members,
// or further ones, which are not kept.
type InstallLock struct {
	Name        string       `json:"name"`
	Version     string       `json:"version"`
	SourceURL   string       `json:"sourceUrl,omitempty"`
	SHA256      string       `json:"sha256,omitempty"` // hex, of the zip; "" for a directory
	DistHash    string       `json:"distHash,omitempty"`
	Tree        string       `json:"treeHash,omitempty"`     // hallmark-tree-v1 of dist/
	Manifest    string       `json:"manifestHash,omitempty"` // sha256 of mcp-plugin.json, which the hashes of dist/ leave out
	InstalledAt time.Time    `json:"installedAt"`
	Signature   string       `json:"signature,omitempty"` // base64, the one that a trusted key made
	SignerKeyID string       `json:"signerKeyId,omitempty"`
	FileCount   int          `json:"fileCount"`
	TotalBytes  int64        `json:"totalBytes"`
	Policy      plugin.Flags `json:"policy"`
}

// NewInstallLock is the lock of a checked plugin. adm must permit to place it.
func NewInstallLock(adm policy.Admitted, r *plugin.Result, l InstallLock) (*InstallLock, error) {
	m := r.Manifest
	if err := adm.Permits(m.Subject(), r.Tree, policy.Place); err != nil {
		return nil, err
	}
	l.Name, l.Version, l.DistHash, l.Tree, l.SignerKeyID = m.Name, m.Version, m.Dist.Hash, r.Tree.String(), r.SignedBy
	l.Manifest, l.Signature = digest.FromBytes(m.Raw).String(), r.Signature
	return &l, nil
}

// Encode is the text of the file.
func (l *InstallLock) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(l, "", "  ")
	return append(data, '\n'), err
}

var sha256Hex = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
})

// ParseInstallLock reads an install.lock.json.
func ParseInstallLock(data []byte) (*InstallLock, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxInstallLock, Depth: 16}); err != nil {
		return nil, fmt.Errorf("%s: %w", plugin.LockFile, err)
	}
	var l InstallLock
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("%s: %w", plugin.LockFile, err)
	}
	if l.Name == "" || l.Version == "" {
		return nil, fmt.Errorf("%s: name or version is missing", plugin.LockFile)
	}
	if l.SHA256 != "" && !sha256Hex().MatchString(l.SHA256) {
		return nil, fmt.Errorf("%s: sha256 is not 64 hex digits", plugin.LockFile)
	}
	return &l, nil
}

// Claims are what the lock says of the plugin's dist/ and manifest. What it does not say is absent.
func (l *InstallLock) Claims() ([]evidence.Claim, error) {
	var out []evidence.Claim
	for _, c := range []struct {
		scheme evidence.Scheme
		text   string
		member string
	}{{evidence.Dist, l.DistHash, "distHash"}, {evidence.Tree, l.Tree, "treeHash"}} {
		claim := evidence.Claim{Subject: l.Name + "@" + l.Version, Scheme: c.scheme, Authority: evidence.Lock, Where: plugin.LockFile + ", " + c.member}
		if c.text != "" {
			d, err := digest.Parse(c.text)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", plugin.LockFile, c.member, err)
			}
			claim.Want = []digest.Digest{d}
		}
		out = append(out, claim)
	}
	if l.Manifest != "" { // older ones have none
		d, err := digest.Parse(l.Manifest)
		if err != nil {
			return nil, fmt.Errorf("%s: manifestHash: %w", plugin.LockFile, err)
		}
		out = append(out, evidence.Claim{Subject: plugin.ManifestFile, Scheme: evidence.File, Authority: evidence.Lock, Where: plugin.LockFile + ", manifestHash", Want: []digest.Digest{d}})
	}
	return out, nil
}
