package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/sealed"
	"github.com/hallmark-mcp/hallmark/surface"
)

// closureName is the name of the package that npm is told to install for.
const closureName = "hallmark-closure"

// keptMembers are the members of a package-lock entry that an installation needs.
var keptMembers = []string{
	"name", "version", "integrity", "dependencies", "optionalDependencies", "peerDependencies",
	"peerDependenciesMeta", "bin", "engines", "os", "cpu", "libc", "optional", "dev", "devOptional",
	"peer", "inBundle", "bundleDependencies", "hasInstallScript", "hasShrinkwrap",
}

// packageLock is a package-lock.json.
type packageLock struct {
	Name     string                                `json:"name"`
	Version  int                                   `json:"lockfileVersion"`
	Requires bool                                  `json:"requires"`
	Packages map[string]map[string]json.RawMessage `json:"packages"`
}

func (file packageLock) closure() (*Closure, error) {
	if file.Version != 3 {
		return nil, fmt.Errorf("lockfileVersion is %d; this build reads 3", file.Version)
	}
	if len(file.Packages) > MaxPackages {
		return nil, fmt.Errorf("%d packages; the limit is %d", len(file.Packages), MaxPackages)
	}
	c := &Closure{Engine: EngineNPM, raw: map[string]map[string]json.RawMessage{}}
	var dependencies map[string]string
	if err := decodeMember(file.Packages[""], "dependencies", &dependencies); err != nil {
		return nil, err
	}
	if len(dependencies) != 1 {
		return nil, fmt.Errorf("the root has %d dependencies, not one", len(dependencies))
	}
	for _, at := range slices.Sorted(maps.Keys(file.Packages)) {
		if at == "" {
			continue
		}
		entry := file.Packages[at]
		p, err := parsePackage(at, entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		c.Packages = append(c.Packages, p)
		c.raw[at] = map[string]json.RawMessage{}
		for _, name := range keptMembers {
			if v, ok := entry[name]; ok {
				c.raw[at][name] = v
			}
		}
	}
	for name := range dependencies {
		i := slices.IndexFunc(c.Packages, func(p ClosurePackage) bool { return p.Path == "node_modules/"+name })
		if i < 0 || c.Packages[i].Ref.IsZero() {
			return nil, fmt.Errorf("%s itself is missing", name)
		}
		c.Root = c.Packages[i].Ref
		if c.Root.Name() != name {
			return nil, fmt.Errorf("%s is an alias of %s", name, c.Root.Name())
		}
	}
	return c, nil
}

// decodeMember reads a member into v, which stays as it is where there is none.
func decodeMember(entry map[string]json.RawMessage, name string, v any) error {
	raw, ok := entry[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// parsePackage reads the entry of one package at its path.
func parsePackage(at string, entry map[string]json.RawMessage) (p ClosurePackage, err error) {
	p.Path = at
	var (
		name, version, integrity, resolved string
		link, bundled                      bool
	)
	err = errors.Join(decodeMember(entry, "name", &name), decodeMember(entry, "version", &version),
		decodeMember(entry, "integrity", &integrity),
		decodeMember(entry, "resolved", &resolved), decodeMember(entry, "link", &link),
		decodeMember(entry, "inBundle", &bundled),
		decodeMember(entry, "optional", &p.Optional), decodeMember(entry, "hasInstallScript", &p.Scripts),
		decodeMember(entry, "os", &p.OS), decodeMember(entry, "cpu", &p.CPU))
	if err != nil {
		return p, err
	}
	if at != path.Clean(at) || !strings.HasPrefix(at, "node_modules/") ||
		strings.Contains("/"+at+"/", "/../") || strings.ContainsAny(at, "\\\x00:") {
		return p, errors.New("not a path below node_modules")
	}
	switch {
	case link:
		return p, errors.New("is a link to another directory")
	case bundled:
		return p, nil // in the tarball of the package above it
	case resolved != "":
		return p, fmt.Errorf("comes from %s; only packages of the npm registry can be pinned", surface.Escape(resolved))
	}
	if name == "" {
		name = at[strings.LastIndex(at, "node_modules/")+len("node_modules/"):]
	}
	if p.Ref, err = artifact.NewNPM(name, version); err != nil {
		return p, err
	}
	if integrity != "" {
		p.Integrity, err = digest.ParseSRI(integrity)
	}
	return p, err
}

// parsePackages reads the stored form of a closure of npm.
func parsePackages(data []byte) (*Closure, error) {
	var file packageLock
	if err := surface.Decode(data, &file); err != nil {
		return nil, err
	}
	for at, entry := range file.Packages {
		for name := range entry {
			if !slices.Contains(keptMembers, name) {
				return nil, fmt.Errorf("%s: unknown key %s", surface.Escape(at), surface.Escape(name))
			}
		}
	}
	return file.closure()
}

// ParsePackageLock reads a package lock as npm wrote it, whose further members are left out.
func ParsePackageLock(data []byte) (*Closure, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxClosure, Depth: 16}); err != nil {
		return nil, err
	}
	var file packageLock
	if err := surface.DecodeKnown(data, &file); err != nil {
		return nil, err
	}
	return file.closure()
}

// SetIntegrity records the digest of the tarball of ref, where npm gave none or a weak one.
func (c *Closure) SetIntegrity(ref artifact.Ref, d digest.Digest) {
	for i, p := range c.Packages {
		if p.Ref == ref && (len(p.Integrity) == 0 || p.Integrity[0].Weak()) {
			c.Packages[i].Integrity = []digest.Digest{d}
			c.raw[p.Path]["integrity"], _ = json.Marshal(d.SRI())
		}
	}
}

// encodePackages writes the stored form of a closure of npm.
func (c *Closure) encodePackages() ([]byte, error) { return c.encode(nil) }

// ForInstall is the form that npm installs from: each package that is in tarballs comes
// from the file named there.
func (c *Closure) ForInstall(tarballs map[artifact.Ref]string) (lock, manifest []byte, err error) {
	if lock, err = c.encode(tarballs); err != nil {
		return nil, nil, err
	}
	manifest, err = sealed.Marshal(c.root())
	return lock, manifest, err
}

func (c *Closure) root() map[string]any {
	return map[string]any{
		"name": closureName, "private": true,
		"dependencies": map[string]string{c.Root.Name(): c.Root.Version()},
	}
}

func (c *Closure) encode(tarballs map[artifact.Ref]string) ([]byte, error) {
	root := c.root()
	delete(root, "private")
	packages := map[string]any{"": root}
	for _, p := range c.Packages {
		entry := maps.Clone(c.raw[p.Path])
		if file, ok := tarballs[p.Ref]; ok && !p.Ref.IsZero() {
			resolved, err := sealed.Marshal("file:" + file)
			if err != nil {
				return nil, err
			}
			entry["resolved"] = resolved
		}
		packages[p.Path] = entry
	}
	return sealed.MarshalIndented(map[string]any{
		"name": closureName, "lockfileVersion": 3, "requires": true, "packages": packages,
	})
}
