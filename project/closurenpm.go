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
	"github.com/hallmark-mcp/hallmark/internal/machine"
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
	dependencies, err := file.dependencies("dependencies")
	if err != nil {
		return nil, err
	}
	if len(dependencies) != 1 {
		return nil, fmt.Errorf("the root has %d dependencies, not one", len(dependencies))
	}
	c, err := file.readPackages()
	if err != nil {
		return nil, err
	}
	for name := range dependencies {
		if c.Root, err = c.direct(name); err != nil {
			return nil, err
		}
		if c.Root.IsZero() {
			return nil, fmt.Errorf("%s itself is missing", name)
		}
	}
	return c, nil
}

// dependencies reads a member of the root that maps names of packages to what is asked of them.
func (file packageLock) dependencies(member string) (map[string]string, error) {
	if file.Version != 3 {
		return nil, fmt.Errorf("lockfileVersion is %d; this build reads 3", file.Version)
	}
	var dependencies map[string]string
	return dependencies, decodeMember(file.Packages[""], member, &dependencies)
}

// readPackages reads all packages but the root into a closure without one.
func (file packageLock) readPackages() (*Closure, error) {
	if len(file.Packages) > MaxPackages {
		return nil, fmt.Errorf("%d packages; the limit is %d", len(file.Packages), MaxPackages)
	}
	c := &Closure{Engine: EngineNPM, raw: map[string]map[string]json.RawMessage{}}
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
	return c, nil
}

// direct returns the package directly below node_modules that the root names; zero if it is not there.
func (c *Closure) direct(name string) (artifact.Ref, error) {
	i := slices.IndexFunc(c.Packages, func(p ClosurePackage) bool { return p.Path == "node_modules/"+name })
	if i < 0 {
		return artifact.Ref{}, nil
	}
	ref := c.Packages[i].Ref
	if !ref.IsZero() && ref.Name() != name {
		return artifact.Ref{}, fmt.Errorf("%s is an alias of %s", name, ref.Name())
	}
	return ref, nil
}

// ParseDependencies reads a package lock as npm wrote it of several packages at exact versions,
// some of which may be optional. The closure has no Root; an optional package that npm left out is
// not in it.
func ParseDependencies(data []byte) (*Closure, error) {
	file, err := readPackageLock(data)
	if err != nil {
		return nil, err
	}
	required, err := file.dependencies("dependencies")
	if err != nil {
		return nil, err
	}
	optional, err := file.dependencies("optionalDependencies")
	if err != nil {
		return nil, err
	}
	c, err := file.readPackages()
	if err != nil {
		return nil, err
	}
	c.required, c.optional = map[string]string{}, map[string]string{}
	for _, of := range []struct {
		asked, kept map[string]string
		owed        bool
	}{{required, c.required, true}, {optional, c.optional, false}} {
		for _, name := range slices.Sorted(maps.Keys(of.asked)) {
			version := of.asked[name]
			ref, err := c.direct(name)
			switch {
			case err != nil:
				return nil, err
			case ref.IsZero() && of.owed:
				return nil, fmt.Errorf("%s itself is missing", name)
			case ref.IsZero():
				continue
			case ref.Version() != version:
				return nil, fmt.Errorf("%s is %s, and not %s", name, ref.Version(), version)
			}
			of.kept[name] = version
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

// decodeList is [decodeMember] of a list, for which a package may have one text.
func decodeList(entry map[string]json.RawMessage, name string, list *[]string) error {
	var one string
	if decodeMember(entry, name, &one) != nil {
		return decodeMember(entry, name, list)
	}
	if one != "" {
		*list = []string{one}
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
		decodeList(entry, "os", &p.OS), decodeList(entry, "cpu", &p.CPU), decodeList(entry, "libc", &p.Libc))
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
	case resolved != "":
		return p, fmt.Errorf("comes from %s; only packages of the npm registry can be pinned", surface.Escape(resolved))
	case bundled:
		return p, nil // in the tarball of the package above it
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
	file, err := readPackageLock(data)
	if err != nil {
		return nil, err
	}
	return file.closure()
}

// ParsePackageLockOf is [ParsePackageLock] for a package that npm was given as a tarball, which has to be root.
func ParsePackageLockOf(data []byte, root artifact.Ref) (*Closure, error) {
	file, err := readPackageLock(data)
	if err != nil {
		return nil, err
	}
	delete(file.Packages["node_modules/"+root.Name()], "resolved")
	c, err := file.closure()
	if err == nil && c.Root.Normal() != root.Normal() {
		err = fmt.Errorf("npm reads %s from it, and not %s", c.Root, root)
	}
	return c, err
}

// readPackageLock reads a package lock as npm wrote it.
func readPackageLock(data []byte) (file packageLock, err error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxClosure, Depth: 16}); err != nil {
		return file, err
	}
	return file, surface.DecodeKnown(data, &file)
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

// isDirect reports whether the root itself asks for a package.
func (c *Closure) isDirect(p ClosurePackage) bool {
	name, ok := strings.CutPrefix(p.Path, "node_modules/")
	if !ok || !c.Root.IsZero() {
		return ok && name == c.Root.Name()
	}
	return c.required[name] != "" || c.optional[name] != ""
}

// encodePackages writes the stored form of a closure of npm.
func (c *Closure) encodePackages() ([]byte, error) {
	root := map[string]any{"name": closureName, "dependencies": c.required}
	switch {
	case !c.Root.IsZero():
		root["dependencies"] = map[string]string{c.Root.Name(): c.Root.Version()}
	case len(c.optional) > 0:
		root["optionalDependencies"] = c.optional
	}
	packages := map[string]any{"": root}
	for at, entry := range c.raw {
		packages[at] = entry
	}
	return machine.MarshalIndented(map[string]any{
		"name": closureName, "lockfileVersion": 3, "requires": true, "packages": packages,
	})
}

// lookUp returns the path of the package that node would find from the one at a path.
func (c *Closure) lookUp(from, name string) (string, bool) {
	for {
		at := path.Join(from, "node_modules", name)
		if _, ok := c.raw[at]; ok {
			return at, true
		}
		if from == "" {
			return "", false
		}
		from, _ = splitPath(from)
	}
}
