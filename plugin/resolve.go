package plugin

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

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
	return ext == ".json" || ext == ".node"
}

// spellings are the paths that a relative specifier can stand for: a module's is a URL,
// with escapes, query and fragment, a script's is a path.
func spellings(specifier string) []string {
	out := []string{specifier}
	plain := specifier
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

// vendorDirs returns the set of directories node_modules/NAME of the bundle, relative to dist/.
func (b *Bundle) vendorDirs() map[string]bool {
	out := map[string]bool{}
	for _, f := range b.Files {
		const modules = "node_modules/"
		for at := 0; ; {
			i := strings.Index(f.Path[at:], modules)
			if i < 0 {
				break
			}
			at += i + len(modules)
			if begin := at - len(modules); begin > 0 && f.Path[begin-1] != '/' {
				continue
			}
			name := packageOf(f.Path[at:])
			if end := at + len(name); end < len(f.Path) { // a file below it
				out[f.Path[:end]] = true
			}
		}
	}
	return out
}

// vendorOf returns the directory node_modules of dist/ in which Node finds the package name for an import
// of file.
func vendorOf(vendored map[string]bool, file, name string) (modules string, ok bool) {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		modules := path.Join(dir, "node_modules")
		if path.Base(dir) != "node_modules" && vendored[path.Join(modules, name)] {
			return modules, true
		}
		if dir == "." {
			return "", false
		}
	}
}

// hasPackageScope reports whether dist/ has a package.json that says what file's imports that
// begin with # mean.
func (b *Bundle) hasPackageScope(file string) bool {
	for dir := path.Dir(file); path.Base(dir) != "node_modules"; dir = path.Dir(dir) {
		if _, ok := b.Contents[path.Join(dir, "package.json")]; ok {
			return true
		}
		if dir == "." {
			break
		}
	}
	return false
}

// eachMatch calls each with the files that a target of a package.json is for: itself, or
// what one with a star matches.
func (b *Bundle) eachMatch(target string, each func(string)) {
	before, after, star := strings.Cut(target, "*")
	if !star {
		each(target)
		return
	}
	for _, f := range b.Files {
		if len(f.Path) >= len(before)+len(after) && strings.HasPrefix(f.Path, before) &&
			strings.HasSuffix(f.Path, after) && !skippedByNode(f.Path) {
			each(f.Path)
		}
	}
}

// packageTargets returns what a package.json may make Node load, as specifiers that stand in it: the
// files that main, exports and imports name, and the packages that imports names.
func packageTargets(data []byte) []string {
	var p map[string]any
	if len(data) > MaxManifest || json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &p) != nil {
		return nil
	}
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
	walk(p["main"], file)
	walk(p["exports"], file)
	walk(p["imports"], func(v string) {
		if !strings.HasPrefix(v, "#") {
			out = append(out, v)
		}
	})
	return out
}
