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
	"github.com/hallmark-mcp/hallmark/surface"
)

// Closure is a package with everything that it depends on, at exact versions. Of npm it is
// the package-lock (lockfileVersion 3) cut down to what an offline installation needs; of
// Python the wheels of every package; of Go the modules that a program is built from. It records an
// integrity for each package and no download address.
type Closure struct {
	Engine   string // EngineNPM, EngineUV, EnginePip or EngineGo
	Platform string // the only one that it is for; "" if it is for every one
	Root     artifact.Ref
	Packages []ClosurePackage // by path, or by name
	Program  string           // Go: the package that is built
	GoMod    []byte           // Go: of the module that requires it
	GoSum    []byte           // Go: the hashes of all modules

	raw map[string]map[string]json.RawMessage
}

// ClosurePackage is one installed package.
type ClosurePackage struct {
	Path      string          // "node_modules/a/node_modules/b"
	Ref       artifact.Ref    // zero for a package inside another's tarball
	Integrity []digest.Digest // any of which the tarball has; empty if npm gave none
	Optional  bool
	Scripts   bool // has install scripts, which are not run
	OS, CPU   []string

	Marker string                         // Python: where it is installed; "" everywhere
	Wheels map[artifact.Ref]digest.Digest // Python: its files, one of which is installed
}

// MaxClosure bounds a package lock, in bytes, and MaxPackages its entries.
const (
	MaxClosure  = 32 << 20
	MaxPackages = 10_000
)

// closureName is the name of the package that npm is told to install for.
const closureName = "hallmark-closure"

// keptMembers are the members of a package-lock entry that an installation needs.
var keptMembers = []string{
	"name", "version", "integrity", "dependencies", "optionalDependencies", "peerDependencies",
	"peerDependenciesMeta", "bin", "engines", "os", "cpu", "libc", "optional", "dev", "devOptional",
	"peer", "inBundle", "bundleDependencies", "hasInstallScript", "hasShrinkwrap",
}

// ParseClosure reads what [Closure.Encode] wrote, and nothing else: a member that is another
// one, or spelled in another case, would be read by npm and not here, or here and not by npm.
func ParseClosure(data []byte) (*Closure, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxClosure, Depth: 16}); err != nil {
		return nil, err
	}
	stored := engineOf(data)
	i := slices.IndexFunc(closureForms, func(f closureForm) bool { return f.stored == stored })
	if i < 0 {
		return nil, fmt.Errorf("unknown engine %+q", stored)
	}
	return closureForms[i].parse(data)
}

// closureForm is how the closures of an engine are stored.
type closureForm struct {
	engine string
	stored string // what the file says that its engine is
	parse  func([]byte) (*Closure, error)
	encode func(*Closure) ([]byte, error)
}

// closureForms are those of all engines. A package-lock, which npm reads too, says nothing of its engine.
var closureForms = []closureForm{
	{engine: EngineNPM, parse: parsePackages, encode: (*Closure).encodePackages},
	{EngineUV, EngineUV, parseWheels, (*Closure).encodeWheels},
	{EnginePip, EnginePip, parseWheels, (*Closure).encodeWheels},
	{EngineGo, EngineGo, parseModules, (*Closure).encodeModules},
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

// SetIntegrity records the digest of the tarball of ref, where npm gave none or a weak one.
func (c *Closure) SetIntegrity(ref artifact.Ref, d digest.Digest) {
	for i, p := range c.Packages {
		if p.Ref == ref && (len(p.Integrity) == 0 || p.Integrity[0].Weak()) {
			c.Packages[i].Integrity = []digest.Digest{d}
			c.raw[p.Path]["integrity"], _ = json.Marshal(d.SRI())
		}
	}
}

// Encode is the stored form: JSON with sorted keys, indented, without addresses.
func (c *Closure) Encode() ([]byte, error) {
	i := slices.IndexFunc(closureForms, func(f closureForm) bool { return f.engine == c.Engine })
	if i < 0 {
		return nil, fmt.Errorf("unknown engine %+q", c.Engine)
	}
	return closureForms[i].encode(c)
}

// encodePackages writes the stored form of a closure of npm.
func (c *Closure) encodePackages() ([]byte, error) { return c.encode(nil) }

// ForInstall is the form that npm installs from: each package that is in tarballs comes
// from the file named there.
func (c *Closure) ForInstall(tarballs map[artifact.Ref]string) (lock, manifest []byte, err error) {
	if lock, err = c.encode(tarballs); err != nil {
		return nil, nil, err
	}
	manifest, err = marshal(c.root())
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
			resolved, err := marshal("file:" + file)
			if err != nil {
				return nil, err
			}
			entry["resolved"] = resolved
		}
		packages[p.Path] = entry
	}
	return marshalIndented(map[string]any{
		"name": closureName, "lockfileVersion": 3, "requires": true, "packages": packages,
	})
}

// Fits reports whether npm installs p on a platform, by node's names for it. Only
// optional packages are ever left out.
func (p ClosurePackage) Fits(os, cpu string) bool {
	return !p.Optional || allowsPlatform(p.OS, os) && allowsPlatform(p.CPU, cpu)
}

// allowsPlatform applies npm's rule for os and cpu: no list allows all, "!x" refuses x, and a
// list with a positive name allows the named ones only.
func allowsPlatform(list []string, name string) bool {
	if len(list) == 0 {
		return true
	}
	positive := false
	for _, item := range list {
		if refused, ok := strings.CutPrefix(item, "!"); ok {
			if refused == name {
				return false
			}
			continue
		}
		if item == name || item == "any" {
			return true
		}
		positive = true
	}
	return !positive
}
