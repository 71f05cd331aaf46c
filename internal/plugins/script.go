package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/jsscan"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
)

// A Script is a plugin as one function of (exports, require, module), made of the bytes that were
// checked. A host can run it where there is no loader of modules: it has neither import() nor
// import.meta, both of which hand objects of the host to the code that runs.
type Script struct {
	Format   int      `json:"format"` // 1
	Plugin   string   `json:"plugin"` // NAME@VERSION
	Tree     string   `json:"tree"`   // of dist/, as the verdict has it
	Requires []string `json:"requires"`
	Code     string   `json:"code"` // an expression
}

// writeScript writes the plugin as a script to a new file.
func (s *Source) writeScript(r *plugin.Result, file string) error {
	if err := r.Verdict.Admitted().Permits(r.Manifest.Subject(), r.Tree, policy.Place); err != nil {
		return err
	}
	script, err := s.makeScript(r.Manifest)
	if err != nil {
		return err
	}
	script.Tree = r.Tree.String()
	data, err := json.Marshal(script)
	if err != nil {
		return evidence.Errorf(evidence.Operation, file, "", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return evidence.Errorf(evidence.Validation, file, "name a file that does not exist", fs.ErrExist)
	}
	if err == nil {
		_, err = f.Write(append(data, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return evidence.Errorf(evidence.Operation, file, "", err)
	}
	return nil
}

// distSpace is the name that esbuild knows the files of dist/ by: none of them is read from the disk.
const distSpace = "dist"

// nowhere is the directory that esbuild resolves against where it asks nobody, for computed
// targets such as "./" + name. There is nothing below it, so that such an import fails when it runs.
var nowhere = filepath.Join(os.DevNull, distSpace)

// makeScript joins the entry of m and all that it imports from dist/. Modules of Node, the SDK and
// other packages that are not in dist/ are required when the script runs.
func (s *Source) makeScript(m *plugin.Manifest) (*Script, error) {
	x := &scriptFiles{contents: s.Bundle.Contents, requires: map[string]bool{}}
	cwd, err := filepath.Abs(".")
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, m.Subject(), "", err)
	}
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{strings.TrimPrefix(m.Entry, plugin.DistDir+"/")}, Bundle: true, Outfile: "script.js",
		AbsWorkingDir: cwd, Format: api.FormatCommonJS, Platform: api.PlatformNeutral, Target: api.ES2022,
		Supported:   withoutImports,
		TsconfigRaw: "{}", LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent,
		Define: map[string]string{"__dirname": "undefined", "__filename": "undefined"},
		Plugins: []api.Plugin{{Name: distSpace, Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: ".*"}, x.resolve)
			b.OnLoad(api.OnLoadOptions{Filter: ".*"}, x.load)
		}}},
	})
	if len(built.Errors) > 0 {
		return nil, noScript(m, built.Errors[0])
	}
	if len(built.OutputFiles) != 1 {
		return nil, evidence.Errorf(evidence.Operation, m.Subject(), "",
			fmt.Errorf("the script is %d files", len(built.OutputFiles)))
	}
	// An import() with a second argument has lost that now, and is left: it goes in a second round.
	again := api.Transform(string(built.OutputFiles[0].Contents), api.TransformOptions{
		Platform: api.PlatformNeutral, Target: api.ES2022, Supported: withoutImports, TsconfigRaw: "{}",
		LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent, Sourcefile: "script.js",
		Banner: "(function (exports, require, module) {", Footer: "\n})",
	})
	if len(again.Errors) > 0 {
		return nil, noScript(m, again.Errors[0])
	}
	if jsscan.HoldsImport(again.Code) {
		return nil, noScript(m, api.Message{Text: "an import() that cannot be rewritten"})
	}
	script := &Script{Format: 1, Plugin: m.Subject(), Code: string(again.Code), Requires: []string{}}
	for name := range x.requires {
		script.Requires = append(script.Requires, name)
	}
	slices.Sort(script.Requires)
	return script, nil
}

// withoutImports says what the syntax of a script lacks. Without attributes import() has no second
// argument, with which it would be kept.
var withoutImports = map[string]bool{
	"dynamic-import": false, "import-meta": false, "top-level-await": false,
	"import-attributes": false, "import-assertions": false,
}

// noScript is the error of a plugin that cannot be one script.
func noScript(m *plugin.Manifest, e api.Message) error {
	text := e.Text
	if e.Location != nil {
		text = fmt.Sprintf("%s:%d: %s", strings.TrimPrefix(e.Location.File, distSpace+":"), e.Location.Line, text)
	}
	return evidence.Errorf(evidence.Refused, m.Subject(), "run it in tier 3, or have its author bundle it without this",
		fmt.Errorf("cannot be one script: %s", text))
}

// scriptFiles resolves and loads files of dist/ for esbuild, which asks for several at once.
type scriptFiles struct {
	contents map[string][]byte
	mu       sync.Mutex
	requires map[string]bool
}

func (x *scriptFiles) resolve(a api.OnResolveArgs) (api.OnResolveResult, error) {
	inside := func(file string) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: file, Namespace: distSpace}, nil
	}
	outside := func() (api.OnResolveResult, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.requires[a.Path] = true
		return api.OnResolveResult{Path: a.Path, External: true}, nil
	}
	dir := path.Dir(a.Importer)
	switch {
	case a.Kind == api.ResolveEntryPoint:
		if _, ok := x.contents[a.Path]; !ok {
			return api.OnResolveResult{}, fmt.Errorf("no %s", a.Path)
		}
		return inside(a.Path)
	case strings.HasPrefix(a.Path, "#"):
		return api.OnResolveResult{}, fmt.Errorf("%q is named by a package.json", a.Path)
	case a.Path == ".", a.Path == "..", strings.HasPrefix(a.Path, "./"), strings.HasPrefix(a.Path, "../"):
		if file, ok := x.findFile(path.Join(dir, a.Path)); ok {
			return inside(file)
		}
		if a.Kind == api.ResolveJSRequireCall || a.Kind == api.ResolveJSRequireResolve {
			return outside() // often optional: it throws when it is called
		}
		return api.OnResolveResult{}, fmt.Errorf("no %q in %s", a.Path, plugin.DistDir)
	case path.IsAbs(a.Path), strings.HasPrefix(a.Path, "file:"), strings.HasPrefix(a.Path, "data:"):
		return api.OnResolveResult{}, fmt.Errorf("%q is no file of the plugin", a.Path)
	}
	if strings.HasPrefix(a.Path, "node:") || plugin.IsCore(a.Path) {
		return outside()
	}
	if file, ok := x.findPackage(dir, a.Path, a.Kind); ok {
		return inside(file)
	}
	return outside()
}

func (x *scriptFiles) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	data, ok := x.contents[a.Path]
	if a.Namespace != distSpace || !ok {
		return api.OnLoadResult{}, fmt.Errorf("no %q in %s", a.Path, plugin.DistDir)
	}
	loader := api.LoaderJS
	switch strings.ToLower(path.Ext(a.Path)) {
	case ".json":
		loader = api.LoaderJSON
	case ".ts", ".mts", ".cts":
		loader = api.LoaderTS
	case ".node", ".wasm":
		return api.OnLoadResult{}, fmt.Errorf("%s is no script", a.Path)
	}
	code := string(data)
	if strings.HasPrefix(code, "#!") {
		code = "//" + code[2:]
	}
	return api.OnLoadResult{Contents: &code, Loader: loader, ResolveDir: nowhere}, nil
}

// scriptEndings are what Node tries after a path, in its order.
var scriptEndings = []string{"", ".js", ".json", ".cjs", ".mjs"}

// findFile returns the file of dist/ that a path stands for: itself, with an ending, or as a directory.
func (x *scriptFiles) findFile(name string) (string, bool) {
	try := func(name string) (string, bool) {
		for _, ending := range scriptEndings {
			if _, ok := x.contents[name+ending]; ok {
				return name + ending, true
			}
		}
		return "", false
	}
	if file, ok := try(name); ok {
		return file, true
	}
	if main, _ := x.packageOf(name)["main"].(string); main != "" {
		for _, target := range []string{path.Join(name, main), path.Join(name, main, "index")} {
			if file, ok := try(target); ok {
				return file, true
			}
		}
	}
	return try(path.Join(name, "index"))
}

// packageOf returns the package.json of a directory of dist/.
func (x *scriptFiles) packageOf(dir string) map[string]any {
	var p map[string]any
	data := x.contents[path.Join(dir, "package.json")]
	if len(data) > plugin.MaxManifest || json.Unmarshal(data, &p) != nil {
		return nil
	}
	return p
}

// findPackage returns the file of a package in a directory node_modules of dist/, nearest to dir.
func (x *scriptFiles) findPackage(dir, specifier string, kind api.ResolveKind) (string, bool) {
	parts := strings.SplitN(specifier, "/", 3)
	name, rest := parts[0], strings.Join(parts[1:], "/")
	if strings.HasPrefix(specifier, "@") && len(parts) > 1 {
		name, rest = parts[0]+"/"+parts[1], strings.Join(parts[2:], "/")
	}
	for ; ; dir = path.Dir(dir) {
		home := path.Join(dir, "node_modules", name)
		if path.Base(dir) != "node_modules" {
			if file, ok := x.findExport(home, rest, kind); ok {
				return file, true
			}
		}
		if dir == "." {
			return "", false
		}
	}
}

// findExport returns the file of the package in home that a subpath stands for; "" is the package itself.
func (x *scriptFiles) findExport(home, rest string, kind api.ResolveKind) (string, bool) {
	exports := x.packageOf(home)["exports"]
	if exports == nil {
		return x.findFile(path.Join(home, rest))
	}
	conditions := []string{"node", "import", "module-sync", "default"}
	if kind == api.ResolveJSRequireCall || kind == api.ResolveJSRequireResolve {
		conditions = []string{"node", "require", "module-sync", "default"}
	}
	target, star := exports, ""
	if paths, ok := exports.(map[string]any); ok && hasSubpaths(paths) {
		target, star = subpathTarget(paths, path.Join(".", rest))
	} else if rest != "" {
		return "", false
	}
	name, ok := conditionTarget(target, conditions)
	if !ok {
		return "", false
	}
	file := path.Join(home, strings.ReplaceAll(name, "*", star))
	_, ok = x.contents[file]
	return file, ok && strings.HasPrefix(file, home+"/")
}

func hasSubpaths(exports map[string]any) bool {
	for key := range exports {
		return strings.HasPrefix(key, ".")
	}
	return false
}

// subpathTarget returns the target of a subpath, and what the star of its key stands for. The
// longest key before a star decides.
func subpathTarget(paths map[string]any, subpath string) (target any, star string) {
	if subpath == "." {
		return paths["."], ""
	}
	subpath = "./" + subpath
	if t, ok := paths[subpath]; ok {
		return t, ""
	}
	longest := -1
	for key, t := range paths {
		before, after, ok := strings.Cut(key, "*")
		if ok && len(before) > longest && len(subpath) >= len(before)+len(after) &&
			strings.HasPrefix(subpath, before) && strings.HasSuffix(subpath, after) {
			longest, target, star = len(before), t, subpath[len(before):len(subpath)-len(after)]
		}
	}
	return target, star
}

// conditionTarget returns the path of a target for the first of conditions that it has. Node takes the order
// of the object, which is the same in nearly all packages; another choice is a file of dist/ too.
func conditionTarget(target any, conditions []string) (string, bool) {
	switch t := target.(type) {
	case string:
		return t, true
	case []any:
		for _, one := range t {
			if name, ok := conditionTarget(one, conditions); ok {
				return name, true
			}
		}
	case map[string]any:
		for _, condition := range conditions {
			if one, ok := t[condition]; ok {
				if name, ok := conditionTarget(one, conditions); ok {
					return name, true
				}
			}
		}
	}
	return "", false
}
