package plugin

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

// This file resolves specifiers as Node does: it finds the files that an import may load.

// mayBeRefused reports whether what Node loads for a path in the plugin's directory may be a link or lie
// below one: its bytes were not read then.
func (b *Bundle) mayBeRefused(target string) bool {
	return slices.ContainsFunc(b.Refused, func(r *tree.EntryError) bool {
		return strings.HasPrefix(target+"/", r.Path+"/") || mayLoad(target, r.Path)
	})
}

// mayLoad reports whether Node may load a file for a path: itself, with an extension, or as
// that of a directory.
func mayLoad(target, file string) bool {
	rest, ok := strings.CutPrefix(file, target)
	return ok && slices.Contains([]string{"", ".js", ".json", ".node", "/index.js", "/index.json", "/index.node",
		"/package.json"}, rest)
}

// skippedByNode reports whether Node loads a file of this name otherwise than as
// JavaScript or WebAssembly: require takes anything for a script whose extension, letter by letter, it does not know.
func skippedByNode(name string) bool {
	ext := path.Ext(name)
	return (ext == ".json" || ext == ".node") && ext != path.Base(name) // which is a dotfile without an extension
}

// spellings are the paths that a relative specifier can stand for: a module's is a URL,
// with escapes, query and fragment, a script's is a path.
func spellings(specifier string) []string {
	out := []string{specifier}
	plain := strings.TrimRight(specifier, " ") // at the end of a URL they vanish
	if i := strings.IndexAny(plain, "?#"); i >= 0 {
		plain = plain[:i]
	}
	if decoded, err := url.PathUnescape(plain); err == nil {
		plain = decoded
	}
	if plain != specifier && plain != "" {
		out = append(out, plain)
	}
	return out
}

// resolver knows what Node looks at in dist/ to find packages. Nobody but one goroutine uses it.
type resolver struct {
	*Bundle
	dirs     map[string]bool           // of dist/
	packages map[string]map[string]any // what was read of the package.json of a directory
}

func (b *Bundle) resolver() *resolver {
	r := &resolver{b, map[string]bool{}, map[string]map[string]any{}}
	for _, f := range b.Files {
		for dir := path.Dir(f.Path); !r.dirs[dir]; dir = path.Dir(dir) {
			r.dirs[dir] = true
		}
	}
	return r
}

// isUnclear reports whether a name of a package or of imports, or what lies below it, holds what has a meaning in a
// URL: what exports make of it is not followed.
func isUnclear(name string) bool {
	return strings.ContainsAny(name, "?#%") || strings.HasSuffix(name, " ")
}

// modulesAbove returns the directories of dist/ in which Node looks for a package that file imports, in order.
func modulesAbove(file string) (all []string) {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if path.Base(dir) != "node_modules" {
			all = append(all, path.Join(dir, "node_modules"))
		}
		if dir == "." {
			return all
		}
	}
}

// endsSearch reports whether Node looks for what is imported no further than in modules. For import the directory of
// the package does; require goes on, out of dist/ in the end, until a file is there.
func (r *resolver) endsSearch(modules string, imp Import) bool {
	name := packageOf(imp.Specifier)
	own, target := path.Join(modules, name), path.Join(modules, imp.Specifier)
	if imp.Kind != Require {
		return r.dirs[own]
	}
	ends := []string{"/index.js", "/index.json", "/index.node"}
	if !strings.HasSuffix(imp.Specifier, "/") {
		ends = append(ends, "", ".js", ".json", ".node")
	}
	main, _ := r.packageIn(target)["main"].(string)
	return main != "" || name[0] != '.' && r.packageIn(own)["exports"] != nil ||
		slices.ContainsFunc(ends, func(end string) bool { _, ok := r.Contents[target+end]; return ok })
}

// packageIn is the package.json of a directory of dist/; it is empty if none can be read.
func (r *resolver) packageIn(dir string) map[string]any {
	p, ok := r.packages[dir]
	content, there := r.Contents[path.Join(dir, "package.json")]
	if !ok && there && len(content) <= MaxManifest { // else it is an error by itself
		p, _ = readPackage(content)
		r.packages[dir] = p
	}
	return p
}

// packageOfFile reads the package.json that says what the imports of a file of dist/ mean, those that begin with #
// and those of its own package. It is empty if that is not in dist/, or a link.
func (r *resolver) packageOfFile(file string) map[string]any {
	for dir := path.Dir(file); path.Base(dir) != "node_modules"; dir = path.Dir(dir) {
		name := path.Join(dir, "package.json")
		if slices.ContainsFunc(r.Refused, func(e *tree.EntryError) bool { return e.Path == DistDir+"/"+name }) {
			break
		}
		if _, ok := r.Contents[name]; ok {
			return r.packageIn(dir)
		}
		if dir == "." {
			break
		}
	}
	return nil
}

// hasImports reports whether dist/ has a package.json that says what file's imports that begin with # mean: without
// one, require takes them for packages.
func (r *resolver) hasImports(file string) bool {
	_, ok := r.packageOfFile(file)["imports"].(map[string]any)
	return ok
}

// refersToItself reports whether name belongs to the package that file is part of. Node loads then what its exports
// name, which are classified with it.
func (r *resolver) refersToItself(file, name string) bool {
	p := r.packageOfFile(file)
	return p["name"] == name && p["exports"] != nil
}

// eachMatch calls each with the files that a target of a package.json is for: itself, or
// what one with stars matches.
func (b *Bundle) eachMatch(target string, each func(string)) {
	before, after, star := strings.Cut(target, "*")
	if !star {
		each(target)
		return
	}
	after = after[strings.LastIndexByte(after, '*')+1:] // what stands for one stands for each
	for _, f := range b.Files {
		if len(f.Path) >= len(before)+len(after) && strings.HasPrefix(f.Path, before) &&
			strings.HasSuffix(f.Path, after) && !skippedByNode(f.Path) {
			each(f.Path)
		}
	}
}

// readPackage reads a package.json. Its error says that Nodes may read it in other ways: some take what stands before
// a mistake, or the first of two members.
func readPackage(data []byte) (p map[string]any, err error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := json.Unmarshal(data, &p); err != nil {
		return p, err
	}
	return p, surface.CheckJSON(data, surface.Limits{Size: MaxManifest})
}

// packageTargets returns what a package.json may make Node load, as specifiers that are in it: the
// files that main, exports and imports name, and the packages that imports names.
func packageTargets(p map[string]any) []string {
	var out []string
	var walk func(v any, add func(string))
	walk = func(v any, add func(string)) {
		switch v := v.(type) {
		case string:
			add(v)
		case []any:
			for _, e := range v {
				walk(e, add)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], add)
			}
		}
	}
	file := func(v string) { out = append(out, "./"+strings.TrimPrefix(v, "./")) }
	walk(p["main"], func(v string) {
		if strings.HasPrefix(v, "/") { // of the whole machine, for require
			out = append(out, v)
		}
		file(v)
	})
	walk(p["exports"], file)
	walk(p["imports"], func(v string) { out = append(out, v) })
	return out
}
