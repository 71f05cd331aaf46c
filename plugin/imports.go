package plugin

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/nodecore"
)

// Kind is how code imports.
type Kind string

// The kinds.
const (
	Static  Kind = "import"         // import … from "x"
	Export  Kind = "export"         // export … from "x"
	Dynamic Kind = "import()"       // import("x")
	Require Kind = "require"        // also by createRequire, module.require and under another name
	Resolve Kind = "resolve"        // require.resolve, import.meta.resolve
	Builtin Kind = "builtin module" // process.getBuiltinModule, process.binding
	Native  Kind = "dlopen"         // process.dlopen
	Global  Kind = "global"         // a global of Node that needs a permission, and no module
	Use     Kind = "use"            // computed: what imports, or evaluates a text, is used in another way
)

// Import is one import of a file.
type Import struct {
	Line      int // from 1; 0 if it is not known
	Kind      Kind
	Specifier string // what is imported; with Computed the expression, for a person
	Computed  bool   // what is imported is known only when the code runs
	Optional  bool   // it is in a try block, and its failure is caught
}

// Scan finds the imports of a file of JavaScript. Its error says that the file could not
// be parsed. It is called from several goroutines at once.
type Scan func(path string, content []byte) ([]Import, error)

// isScript reports whether a file below dist/ is scanned whatever refers to it.
func isScript(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".js", ".mjs", ".cjs":
		return true
	}
	return false
}

// scanResult is what one file imports.
type scanResult struct {
	imports []Import
	err     error
}

// site is an import and the file that has it, relative to dist/.
type site struct {
	Import
	file string
}

func (s site) String() string {
	if s.Line == 0 {
		return DistDir + "/" + s.file
	}
	return fmt.Sprintf("%s/%s:%d", DistDir, s.file, s.Line)
}

// sites are the places of one finding; the first is named, the others are counted.
type sites []site

// optional reports whether the code does without what it imports at each place.
func (s sites) optional() bool {
	return !slices.ContainsFunc(s, func(one site) bool { return !one.Optional })
}

func (s sites) others() string {
	if len(s) < 2 {
		return ""
	}
	return fmt.Sprintf(", and at %s more", evidence.Count(len(s)-1, "place"))
}

// usage is what all code of a plugin imports, sorted into what it means.
type usage struct {
	files     int // that were scanned
	imports   int
	external  map[string]sites // packages that are not part of dist, by name
	core      map[string]sites // modules of Node that need a permission
	globals   map[string]sites // that need a permission, by name
	native    map[string]sites // .node files that are imported, by specifier
	computed  map[string]sites // by file
	outside   map[string]sites // files that are not in dist, or links in it, by path in the plugin's directory
	dotted    map[string]sites // what a dotfile of dist may be loaded for, by path
	forbidden map[string]sites // whatever else is not part of the plugin: URLs, absolute paths
	unparsed  map[string]error // by file
}

// scanAll scans each script of the bundle, and each other file that one of them loads as
// if it were a script.
func (b *Bundle) scanAll(ctx context.Context, scan Scan) (*usage, error) {
	u := newUsage()
	resolver := b.resolver()
	var queue []string
	seen, starred := map[string]bool{}, map[string]bool{}
	enqueue := func(file string) {
		if _, ok := b.Contents[file]; ok && !seen[file] {
			seen[file] = true
			queue = append(queue, file)
		}
	}
	for _, f := range b.Files {
		switch {
		case isScript(f.Path):
			enqueue(f.Path)
		case path.Base(f.Path) == "package.json":
			u.followTargets(resolver, f.Path, func(match string, starry bool) {
				starred[match] = starred[match] || starry && !isScript(match) && !seen[match]
				enqueue(match)
			})
		}
	}
	for len(queue) > 0 {
		now := queue
		queue = nil
		found, err := b.scanFiles(ctx, now, scan)
		if err != nil {
			return nil, err
		}
		for i, file := range now {
			u.files++
			switch {
			case found[i].err == nil:
			case starred[file]: // a document, most likely, that exports would let anybody load
				u.computed[file] = append(u.computed[file],
					site{Import{Kind: Require, Specifier: found[i].err.Error(), Computed: true}, file})
			default:
				u.unparsed[file] = found[i].err
			}
			for _, imp := range found[i].imports {
				if imp.Kind != Global {
					u.imports++
				}
				u.classify(resolver, site{imp, file}, enqueue)
			}
		}
	}
	return u, nil
}

func newUsage() *usage {
	return &usage{external: map[string]sites{}, core: map[string]sites{}, globals: map[string]sites{},
		native: map[string]sites{}, computed: map[string]sites{}, outside: map[string]sites{},
		dotted: map[string]sites{}, forbidden: map[string]sites{}, unparsed: map[string]error{}}
}

// scanFiles scans files at the same time, and returns what each of them imports.
func (b *Bundle) scanFiles(ctx context.Context, files []string, scan Scan) ([]scanResult, error) {
	found := make([]scanResult, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if content := b.Contents[file]; bytes.HasPrefix(content, wasmMagic) {
				found[i].imports, found[i].err = scanWasm(content)
			} else {
				found[i].imports, found[i].err = scan(file, content)
			}
			return nil
		})
	}
	return found, group.Wait()
}

// followTargets follows what a package.json names. It calls each with the files that Node may load for it, and
// whether only a star stands for one.
func (u *usage) followTargets(b *resolver, file string, each func(file string, starry bool)) {
	if len(b.Contents[file]) > MaxManifest {
		u.unparsed[file] = fmt.Errorf("more than %d bytes", MaxManifest)
		return
	}
	p, err := readPackage(b.Contents[file])
	if err != nil {
		u.computed[file] = append(u.computed[file], site{Import{Kind: Use, Specifier: err.Error(), Computed: true},
			file})
	}
	for _, target := range packageTargets(p) {
		u.classify(b, site{Import{Kind: Require, Specifier: target}, file}, func(target string) {
			b.eachMatch(target, func(match string) { each(match, match != target) })
		})
	}
}

// classify sorts one import into what it means.
func (u *usage) classify(b *resolver, s site, enqueue func(string)) {
	put := func(m map[string]sites, key string) { m[key] = append(m[key], s) }
	specifier := s.Specifier
	switch {
	case s.Kind == Global:
		put(u.globals, specifier)
		return
	case s.Kind == Native: // whatever the file is called
		put(u.native, specifier)
		return
	case s.Computed:
		put(u.computed, s.file)
		return
	case strings.Contains(specifier, `\`), specifier == "",
		// in the URL that the specifier is in a module, tabs and line ends vanish
		strings.ContainsFunc(specifier, unicode.IsControl):
		put(u.forbidden, specifier)
		return
	case s.Kind == Builtin:
		u.followBuiltin(s)
		return
	case strings.HasPrefix(specifier, "#"):
		// the targets of a package.json are classified with it
		switch {
		case isUnclear(specifier[1:]), hasRelativeSegment(specifier[1:]), path.Base(s.file) == "package.json":
			put(u.computed, s.file)
		case !b.hasImports(s.file): // the package.json beside dist/ is no part of the plugin
			put(u.forbidden, specifier)
		}
		return
	case specifier == ".", specifier == "..", strings.HasPrefix(specifier, "./"), strings.HasPrefix(specifier, "../"):
		u.followRelative(b, s, enqueue)
		return
	case strings.HasPrefix(specifier, "/"), strings.HasPrefix(specifier, ".."): // which require follows as ./..
		put(u.forbidden, specifier)
		return
	}
	if b, ok := nodecore.OfModule(specifier); ok {
		if b.Need != "" {
			put(u.core, b.Module)
		}
		if !nodecore.IsPackageElsewhere(specifier) {
			return
		}
	}
	u.followPackage(b, s, enqueue)
}

// followBuiltin notes what a name gives that process is asked for.
func (u *usage) followBuiltin(s site) {
	found := nodecore.OfBuiltin(s.Specifier)
	for _, b := range found {
		if b.Need != "" {
			u.core[b.Module] = append(u.core[b.Module], s)
		}
	}
	if len(found) == 0 {
		name := "node:" + strings.TrimPrefix(s.Specifier, "node:")
		u.forbidden[name] = append(u.forbidden[name], s)
	}
}

// followPackage follows an import of a package. What it may load in each node_modules of dist/ is scanned.
func (u *usage) followPackage(b *resolver, s site, enqueue func(string)) {
	put := func(m map[string]sites, key string) { m[key] = append(m[key], s) }
	specifier, name := s.Specifier, packageOf(s.Specifier)
	if scheme, _, ok := strings.Cut(specifier, ":"); ok && !strings.Contains(scheme, "/") {
		put(u.forbidden, specifier) // data:, file:, https:, a drive, or node: with an unknown name
		return
	}
	// require follows a package's name with any path, and the name is part of a URL that import looks in
	if isUnclear(name) || slices.ContainsFunc(spellings(specifier), hasRelativeSegment) {
		put(u.forbidden, specifier)
		return
	}
	if strings.HasSuffix(strings.ToLower(specifier), ".node") {
		put(u.native, specifier)
	}
	if isUnclear(specifier) {
		put(u.computed, s.file)
	}
	found := b.refersToItself(s.file, name)
	for _, modules := range modulesAbove(s.file) {
		u.reach(b, s, path.Join(DistDir, modules, name), enqueue) // its package.json may be a link
		u.reach(b, s, path.Join(DistDir, modules, specifier), enqueue)
		found = found || b.endsSearch(modules, s.Import)
	}
	if !found && name != SDK {
		put(u.external, name)
	}
}

// hasDotSegment reports whether a segment of a path begins with a dot.
func hasDotSegment(file string) bool {
	return strings.HasPrefix(file, ".") || strings.Contains(file, "/.")
}

// hasRelativeSegment reports whether a segment of a path is "." or "..".
func hasRelativeSegment(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// followRelative follows an import of a file. What it loads is scanned, whatever its name.
func (u *usage) followRelative(b *resolver, s site, enqueue func(string)) {
	for _, specifier := range spellings(s.Specifier) {
		if strings.HasSuffix(strings.ToLower(specifier), ".node") {
			u.native[specifier] = append(u.native[specifier], s)
		}
		if strings.Contains(specifier, "//") && strings.Contains(specifier, "..") { // which takes back less in a URL
			u.computed[s.file] = append(u.computed[s.file], s)
		}
		u.reach(b, s, path.Join(DistDir, path.Dir(s.file), specifier), enqueue)
	}
}

// reach notes what Node may load for a path in the plugin's directory. Of a file of dist/, its imports count as well.
func (u *usage) reach(b *resolver, s site, target string, enqueue func(string)) {
	put := func(m map[string]sites, key string) { m[key] = append(m[key], s) }
	file, inside := strings.CutPrefix(target, DistDir+"/")
	switch {
	case target == ".." || strings.HasPrefix(target, "../"):
		put(u.forbidden, s.Specifier)
	case !inside && target != DistDir, b.mayBeRefused(target):
		put(u.outside, target)
	case inside:
		if hasDotSegment(file) {
			put(u.dotted, file)
		}
		if s.Kind != Resolve && !skippedByNode(file) {
			enqueue(file)
		}
	}
}

// importEvidence states what the code imports and what the manifest says of it.
func (c *check) importEvidence() (*usage, error) {
	u, err := c.usedBy()
	if err != nil {
		return nil, err
	}
	claim := c.claim(evidence.Import, ManifestFile+", dependenciesPolicy")
	claim.Text = string(c.m.Policy)
	c.add(evidence.Evidence{Claim: claim, Outcome: evidence.Match,
		Observed: evidence.Observed{Text: fmt.Sprintf("%s in %s", evidence.Count(u.imports, "import"),
			evidence.Count(u.files, "script"))}})
	for _, file := range slices.Sorted(maps.Keys(u.unparsed)) {
		c.add(evidence.CannotVerify(importClaim(site{file: file}, ""), evidence.Unreadable, u.unparsed[file].Error()))
	}
	for _, file := range slices.Sorted(maps.Keys(u.computed)) {
		all := u.computed[file]
		e := evidence.CannotVerify(importClaim(all[0], ""), evidence.Computed, "what it imports is known only when "+
			"it runs"+
			sites(all).others())
		e.Observed.Text = clip(all[0].Specifier)
		if all[0].Kind != Use {
			e.Observed.Text = string(all[0].Kind) + " of " + e.Observed.Text
		}
		c.add(e)
	}
	for _, specifier := range slices.Sorted(maps.Keys(u.forbidden)) {
		all := u.forbidden[specifier]
		c.add(evidence.Evidence{Claim: importClaim(all[0], ""), Outcome: evidence.Mismatch,
			Observed: evidence.Observed{Text: clip(specifier)},
			Reason:   "it imports what is neither part of the plugin nor a package" + all.others()})
	}
	c.unhashedImports(u)
	c.externalEvidence(u, importClaim)
	c.globalEvidence(u, importClaim)
	return u, nil
}

// importClaim is what the manifest, at where, claims of an import.
func importClaim(s site, where string) evidence.Claim {
	return evidence.Claim{Subject: s.String(), Scheme: evidence.Import, Authority: evidence.Manifest, Where: where}
}

// unhashedImports states which files the code imports that no hash covers.
func (c *check) unhashedImports(u *usage) {
	for _, target := range slices.Sorted(maps.Keys(u.outside)) {
		all := u.outside[target]
		unhashed := importClaim(all[0], "")
		unhashed.Scheme = evidence.Unhashed
		e := evidence.Evidence{Claim: unhashed, Outcome: evidence.Mismatch,
			Observed: evidence.Observed{Text: clip(target)},
			Reason:   "it imports what no hash covers" + all.others()}
		if target == ManifestFile { // which is data, and compared
			e.Outcome, e.Reason = evidence.Absent, "it imports a file outside of "+DistDir+"/"+all.others()
		}
		c.add(e)
	}
	for _, file := range slices.Sorted(maps.Keys(u.dotted)) {
		all := u.dotted[file]
		if slices.ContainsFunc(c.uncovered, func(f string) bool { return mayLoad(file, f) }) {
			unhashed := importClaim(all[0], "")
			unhashed.Scheme = evidence.Unhashed
			c.add(evidence.Evidence{Claim: unhashed, Outcome: evidence.Mismatch,
				Observed: evidence.Observed{Text: clip(DistDir + "/" + file)},
				Reason:   "it imports what no hash covers" + all.others()})
		}
	}
}

// externalEvidence compares the packages that the code imports with those that are declared.
func (c *check) externalEvidence(u *usage, at func(site, string) evidence.Claim) {
	const where = ManifestFile + ", externalDependencies"
	declared := map[string]External{}
	for _, e := range c.m.Externals {
		declared[e.Name] = e
	}
	for _, name := range slices.Sorted(maps.Keys(u.external)) {
		all := u.external[name]
		claim := at(all[0], where)
		e := evidence.Evidence{Claim: claim, Outcome: evidence.Absent, Observed: evidence.Observed{Text: name},
			Reason: "the package is not declared" + all.others()}
		if d, ok := declared[name]; !ok && c.b.HasModule(name) {
			e.Reason = "the package is not declared, and lies in " + modulesDir + all.others()
		} else if !ok && all.optional() {
			// The code does without it, and a host refuses to load what is not declared.
			e = evidence.CannotVerify(claim, evidence.NotFound, "the package is optional and not declared; to let it "+
				`be loaded, add it to externalDependencies with "optional": true`+all.others())
			e.Observed.Text = name
		} else if ok {
			e.Text, e.Outcome, e.Reason = d.Name, evidence.Match, ""
			if c.m.Policy == BundledOnly {
				e.Text, e.Outcome, e.Reason = "no external package, by policy "+string(BundledOnly), evidence.Mismatch,
					strings.TrimPrefix(all.others(), ", ")
			}
		}
		c.add(e)
	}
	if n := c.m.countExternals(); c.m.Policy == BundledOnly && n > 0 {
		claim := c.claim(evidence.Import, where)
		claim.Text = "no external package, by policy " + string(BundledOnly)
		c.add(evidence.Evidence{Claim: claim, Outcome: evidence.Mismatch,
			Observed: evidence.Observed{Text: evidence.Count(n, "declared package")}})
	}
	for _, module := range slices.Sorted(maps.Keys(u.core)) {
		all := u.core[module]
		claim := evidence.Claim{Subject: all[0].String(), Scheme: evidence.Permission, Authority: evidence.Manifest,
			Where: ManifestFile + ", permissions"}
		e := evidence.Evidence{Claim: claim, Outcome: evidence.Match,
			Observed: evidence.Observed{Text: "node:" + module}}
		need := nodecore.NeedOf(module)
		if e.Text = need; !c.m.Permissions.has(need) {
			e.Text, e.Outcome = "", evidence.Absent
			e.Reason = "the permission " + need + " is not declared" + all.others()
			e.Fix = spellPermission(need)
		}
		c.add(e)
	}
}

// globalEvidence warns of globals whose permission is not declared. Much code asks for one by typeof and does
// without it, or calls it only where a browser is, and a host refuses it when it is called: unlike a module it is no
// reason to refuse a plugin, but under --strict.
func (c *check) globalEvidence(u *usage, at func(site, string) evidence.Claim) {
	for _, name := range slices.Sorted(maps.Keys(u.globals)) {
		all, need := u.globals[name], nodecore.NeedOfGlobal(name)
		if c.m.Permissions.has(need) {
			continue
		}
		e := evidence.CannotVerify(at(all[0], ManifestFile+", permissions"), evidence.Computed,
			"whether it calls this global is known only when it runs; the permission "+need+" is not declared"+
				all.others())
		e.Observed.Text, e.Fix = name, spellPermission(need)
		c.add(e)
	}
}
