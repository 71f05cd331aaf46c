package plugins

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// Installs is what this machine installed, or accepted, in one directory of plugins. It lies
// in the state directory, so that neither a checkout nor anyone who writes to the plugins
// changes it. What it names is owed: the directory, its lock, and each member of that.
type Installs struct {
	// 1 where the manifest of a plugin is not known: see [Install]
	Version int                      `json:"installs_version"`
	Self    digest.Digest            `json:"self"`    // as that of a lock; set by Encode
	Dir     string                   `json:"dir"`     // that holds the plugins, all links resolved
	Plugins map[string]InstallRecord `json:"plugins"` // by the name of their directory
}

// InstallRecord is one plugin that this machine installed.
type InstallRecord struct {
	Name    string        `json:"name"`
	Version string        `json:"version"`
	Lock    digest.Digest `json:"lock"` // see [Lock.Digest]
	Tree    digest.Digest `json:"tree"` // hallmark-tree-v1 of dist/

	// Manifest is the sha256 of mcp-plugin.json; zero of what was recorded in version 1.
	Manifest digest.Digest `json:"manifest,omitzero"`
	SignedBy []string      `json:"signed_by,omitempty"` // the trusted keys whose signatures of dist.hash held
	At       time.Time     `json:"at"`
	// Signed and Strict were demanded, and are owed by each version from then on: a signature by one of these keys,
	// and the strict checks.
	Signed bool `json:"signed,omitempty"`
	Strict bool `json:"strict,omitempty"`
}

const installsVersion = 2

// MaxInstalls is the largest file of [Installs], in bytes.
const MaxInstalls = 16 << 20

// ErrOtherDirectory says that a record of the state directory was written for another directory
// of plugins, and so says nothing about this one.
var ErrOtherDirectory = errors.New("was written for another project")

// ParseInstalls reads the record of a directory; nil data gives an empty one. The error
// wraps [ErrOtherDirectory] for that of another directory.
func ParseInstalls(data []byte, dir string) (*Installs, error) {
	if data == nil {
		return &Installs{Version: installsVersion, Dir: dir, Plugins: map[string]InstallRecord{}}, nil
	}
	in := &Installs{} // a member that is not there has no value, and not that of a new one
	if err := machine.DecodeSealed(data, in); err != nil {
		return nil, err
	}
	switch {
	case in.Version < 1 || in.Version > installsVersion:
		return nil, fmt.Errorf("installs_version is %d; this build reads 1 to %d", in.Version, installsVersion)
	case in.Dir != dir:
		return nil, ErrOtherDirectory
	}
	if err := machine.CheckSeal(data, in.Self); err != nil {
		return nil, err
	}
	if in.Plugins == nil {
		return nil, errors.New("has no plugins")
	}
	for name, p := range in.Plugins {
		switch {
		case name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`+"\x00"):
			return nil, fmt.Errorf("%+q is no name of a directory", name)
		case p.Name == "" || p.Version == "" || p.At.IsZero():
			return nil, fmt.Errorf("%+q: its name or version is missing, or when it was installed", name)
		case p.Lock.Algorithm() != digest.SHA256 || p.Tree.Algorithm() != digest.SHA256:
			return nil, fmt.Errorf("%+q: its digests are not sha256", name)
		case p.Manifest.Algorithm() != digest.SHA256 && (in.Version > 1 || !p.Manifest.IsZero()):
			return nil, fmt.Errorf("%+q: the digest of its manifest is not there", name)
		}
	}
	return in, nil
}

// Encode is the file's JSON.
func (in *Installs) Encode() ([]byte, error) {
	in.Version = installsVersion
	for _, p := range in.Plugins {
		if p.Manifest.IsZero() {
			in.Version = 1
		}
	}
	return machine.EncodeSealed(in, &in.Self)
}
