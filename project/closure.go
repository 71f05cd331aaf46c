package project

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
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

	required, optional map[string]string // npm: versions of the packages of a closure without Root, by name
}

// ClosurePackage is one installed package.
type ClosurePackage struct {
	Path      string          // "node_modules/a/node_modules/b"
	Ref       artifact.Ref    // zero for a package inside another's tarball
	Integrity []digest.Digest // any of which the tarball has; empty if npm gave none
	Optional  bool
	Scripts   bool // has install scripts, which are not run
	OS, CPU   []string
	Libc      []string // of Linux: "glibc", "musl"

	Marker string                         // Python: where it is installed; "" everywhere
	Wheels map[artifact.Ref]digest.Digest // Python: its files, one of which is installed
}

// MaxClosure bounds a package lock, in bytes, and MaxPackages its entries.
const (
	MaxClosure  = 32 << 20
	MaxPackages = 10_000
)

// The engines that resolve closures: npm for node's packages; uv for Python's, for every
// platform at once, or pip, for the one that it ran on; go for modules of Go.
const (
	EngineNPM = "npm"
	EngineUV  = "uv"
	EnginePip = "pip"
	EngineGo  = "go" // resolves and builds
)

// NodePlatform is what packages of npm are chosen for, by node's names.
type NodePlatform struct {
	OS, CPU string // "linux", "x64"
	Libc    string // of Linux: "glibc", "musl", or "" if node is linked with neither
}

// fits reports whether p is for a platform.
func (p ClosurePackage) fits(on NodePlatform) bool {
	return allowsPlatform(p.OS, on.OS) && allowsPlatform(p.CPU, on.CPU) &&
		(len(p.Libc) == 0 || on.Libc != "" && allowsPlatform(p.Libc, on.Libc))
}

// allowsPlatform applies npm's rule for os, cpu and libc: no list and "any" alone allow all, "!x" refuses x, and a list
// with a name allows the named ones only.
func allowsPlatform(list []string, name string) bool {
	if len(list) == 0 || len(list) == 1 && list[0] == "any" {
		return true
	}
	isNamed := func(item string) bool { return !strings.HasPrefix(item, "!") }
	return !slices.Contains(list, "!"+name) && (slices.Contains(list, name) || !slices.ContainsFunc(list, isNamed))
}
