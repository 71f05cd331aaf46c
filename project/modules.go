package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/surface"
)

// modulesWire is the stored form of a closure of Go modules: the go.mod and go.sum of a
// module that needs nothing but the program, line by line.
type modulesWire struct {
	Engine  string   `json:"engine"`
	Root    string   `json:"root"`    // "go:path@version"
	Program string   `json:"program"` // the package that is built
	GoMod   []string `json:"go_mod"`
	GoSum   []string `json:"go_sum"`
}

// ParseModules reads what go wrote for the program of a module at ref. go.mod may require
// modules and do nothing else: whatever else it can say leads to other code than the
// hashes of go.sum are of.
func ParseModules(ref artifact.Ref, program string, goMod, goSum []byte) (*Closure, error) {
	return modulesWire{EngineGo, ref.String(), program, lines(goMod), lines(goSum)}.closure()
}

func lines(data []byte) []string {
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func parseModules(data []byte) (*Closure, error) {
	var w modulesWire
	if err := surface.Decode(data, &w); err != nil {
		return nil, err
	}
	return w.closure()
}

func (w modulesWire) closure() (*Closure, error) {
	for _, line := range slices.Concat(w.GoMod, w.GoSum) {
		if strings.ContainsAny(line, "\r\n") {
			return nil, fmt.Errorf("%+q is more than one line", line)
		}
	}
	root, err := artifact.Parse(w.Root)
	if err != nil || root.Kind() != artifact.Go {
		return nil, fmt.Errorf("root %+q is no module of Go", w.Root)
	}
	if !inModule(w.Program, root.Name()) {
		return nil, fmt.Errorf("program %+q is no package of the module", w.Program)
	}
	c := &Closure{Engine: EngineGo, Root: root, Program: w.Program}
	c.GoMod, c.GoSum = []byte(strings.Join(w.GoMod, "\n")+"\n"), []byte(strings.Join(w.GoSum, "\n")+"\n")
	required, err := requires(c.GoMod)
	if err != nil {
		return nil, err
	}
	sums, err := parseGoSum(w.GoSum)
	if err != nil {
		return nil, err
	}
	found := false
	for _, m := range required {
		d, ok := sums[m]
		if !ok {
			continue // no package of it is used, only its go.mod, whose hash go.sum has
		}
		ref, err := artifact.NewGo(m.Path, m.Version)
		if err != nil {
			return nil, err
		}
		found = found || ref == root
		c.Packages = append(c.Packages, ClosurePackage{Path: m.Path, Ref: ref, Integrity: []digest.Digest{d}})
	}
	if !found {
		return nil, fmt.Errorf("%s itself is missing", root)
	}
	return c, nil
}

// requires reads a go.mod that may say nothing but what it requires.
func requires(data []byte) ([]module.Version, error) {
	f, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, errors.New(surface.Escape(err.Error()))
	}
	if len(f.Require) > MaxPackages {
		return nil, fmt.Errorf("%d modules; the limit is %d", len(f.Require), MaxPackages)
	}
	if f.Module == nil || f.Module.Mod.Path != ModuleName || f.Go == nil {
		return nil, fmt.Errorf("go.mod is not that of the module %s", ModuleName)
	}
	if f.Toolchain != nil || len(f.Godebug)+len(f.Exclude)+len(f.Replace)+len(f.Retract)+len(f.Tool)+len(f.Ignore) > 0 {
		return nil, errors.New("go.mod says more than what it requires")
	}
	var all []module.Version
	for _, r := range f.Require {
		all = append(all, r.Mod)
	}
	return all, nil
}

// parseGoSum gives the hashes of modules, without those of their go.mod files.
func parseGoSum(lines []string) (map[module.Version]digest.Digest, error) {
	sums := map[module.Version]digest.Digest{}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, fmt.Errorf("%+q is no line of go.sum", line)
		}
		d, err := ParseH1(words[2])
		if err != nil {
			return nil, err
		}
		m := module.Version{Path: words[0], Version: words[1]}
		if strings.HasSuffix(m.Version, "/go.mod") {
			continue
		}
		if _, ok := sums[m]; ok {
			return nil, fmt.Errorf("go.sum has %+q twice", words[0]+" "+words[1])
		}
		sums[m] = d
	}
	return sums, nil
}

// ParseH1 reads a hash of go.sum, "h1:" and base64, which is a sha256.
func ParseH1(text string) (digest.Digest, error) {
	sum, ok := strings.CutPrefix(text, "h1:")
	all, err := digest.ParseSRI("sha256-" + sum)
	if err != nil || !ok || len(all) != 1 {
		return digest.Digest{}, fmt.Errorf("%+q is no h1 hash", text)
	}
	return all[0], nil
}

// ModuleName is the path of the module that Hallmark writes to build a program: it requires the
// module of the program.
const ModuleName = closureName

// inModule reports whether pkg is a package of the module at path.
func inModule(pkg, path string) bool {
	return module.CheckImportPath(pkg) == nil && (pkg == path || strings.HasPrefix(pkg, path+"/"))
}

func (c *Closure) encodeModules() ([]byte, error) {
	return machine.MarshalIndented(modulesWire{c.Engine, c.Root.String(), c.Program, lines(c.GoMod), lines(c.GoSum)})
}
