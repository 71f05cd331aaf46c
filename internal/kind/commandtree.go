package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
	"github.com/hallmark-mcp/hallmark/tree"
)

// commandTree is the directory of a local server, which is hashed as a whole: every file in it but those that
// [commandTree.leavesOut] names.
type commandTree struct {
	dir         string   // with links resolved
	written     []string // paths in dir that hallmark.toml names as data, or that Hallmark itself keeps there
	language    string   // of the script, as package launcher calls its interpreter
	environment string   // the path in dir of python's environment; "" if there is none
	whole       bool     // all of the environment is hashed: no project's that others check out, or imported from
	started     []string // executables that are hashed on their own, with links resolved
}

// newCommandTree returns the tree that a declaration names, for the script that p starts. Nothing in it is read yet.
func newCommandTree(w *workspace.Workspace, s project.Server, p *program.Program) (*commandTree, error) {
	top := host.RealPath(w.Dir)
	dir := host.RealPath(w.Absolute(top, filepath.FromSlash(s.Tree)))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("tree names %s, which is no directory", wire.Quoted(s.Tree))
	}
	t := &commandTree{dir: dir, written: ownFiles(w, dir)}
	own := len(t.written)
	if p.Runtime != nil {
		t.started = append(t.started, p.Runtime.Path)
	}
	for _, image := range []*process.Image{p.Executable, p.Interpreter} {
		if image != nil {
			t.started = append(t.started, image.Path())
		}
	}
	for _, name := range s.Data {
		rel, ok := t.inside(w.Absolute(top, filepath.FromSlash(name)))
		if !ok || rel == "." {
			return nil, fmt.Errorf("data names %s, which does not lie in the directory %s", wire.Quoted(name),
				wire.Quoted(s.Tree))
		}
		t.written = append(t.written, rel)
	}
	if p.Script == nil {
		return t, nil
	}
	t.language = p.Script.Language
	if t.language == "python" {
		if err := t.findEnvironment(w, s, p, t.written[own:]); err != nil {
			return nil, err
		}
	}
	for _, loaded := range []string{p.Script.File, host.RealPath(cmp.Or(p.Modules, p.Script.File))} {
		if !t.hashes(loaded) {
			return nil, fmt.Errorf("%s is not hashed with the directory %s", wire.Quoted(loaded), wire.Quoted(s.Tree))
		}
	}
	return t, nil
}

// errPackageOutside is wrapped when a tree holds the command of a package, and not the package.
var errPackageOutside = errors.New("its packages lie in")

// findEnvironment finds python's environment, which must lie in the tree, and nothing of which is data.
func (t *commandTree) findEnvironment(w *workspace.Workspace, s project.Server, p *program.Program,
	data []string) error {
	env := findEnvironment(w, p)
	if env == "" {
		entries := findPackage("", p.Script.File)
		if _, ok := t.inside(host.RealPath(entries)); entries != "" && !ok {
			return fmt.Errorf("%w %s, outside of the directory %s", errPackageOutside,
				wire.Quoted(filepath.Dir(filepath.Dir(entries))), wire.Quoted(s.Tree))
		}
		return nil
	}
	shared, err := closure.SharesPackages(env)
	if err != nil {
		return err
	}
	project, inEnv := filepath.Dir(env), host.IsBelow(host.RealPath(env), p.Script.File)
	if _, ok := t.inside(host.RealPath(project)); p.Environment != "" && !inEnv && !ok {
		return fmt.Errorf("the project %s is not in the directory %s", wire.Quoted(host.RelativeTo(w.Dir, project)),
			wire.Quoted(s.Tree))
	}
	env = host.RealPath(env)
	rel, ok := t.inside(env)
	switch {
	case shared:
		return fmt.Errorf("its environment loads the packages of the machine, too: make it without " +
			"--system-site-packages")
	case !ok:
		return fmt.Errorf("its packages lie in %s, outside of the directory %s",
			wire.Quoted(host.RelativeTo(w.Dir, env)), wire.Quoted(s.Tree))
	}
	imported := env == host.RealPath(cmp.Or(p.Modules, filepath.Dir(p.Script.File)))
	t.environment, t.whole = rel, imported || p.Environment == "" && !w.Contains(env)
	packages := rel
	if imported || rel == "." { // beside which lies what is no package's
		top, _, _ := strings.Cut(sitePackages, "/")
		packages = path.Join(rel, top)
	}
	for _, data := range data {
		if strings.HasPrefix(packages+"/", data+"/") || strings.HasPrefix(data, packages+"/") {
			return fmt.Errorf("data names %s, from which code is loaded", wire.Quoted(data))
		}
	}
	if !t.hashes(env) {
		return fmt.Errorf("its packages lie in %s, which is not hashed", wire.Quoted(host.RelativeTo(w.Dir, env)))
	}
	return nil
}

// inside returns the path of a file in the tree, with slashes.
func (t *commandTree) inside(file string) (string, bool) {
	rel, err := filepath.Rel(t.dir, file)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// leavesOut reports whether a path of the tree is not hashed: what hallmark.toml declares as data, git's own
// directory, and what a runtime or its package manager writes there without loading code from it, so that the tree is
// the same on each machine.
func (t *commandTree) leavesOut(rel string) bool {
	in, name := path.Split(rel)
	switch {
	case slices.ContainsFunc(t.written, func(w string) bool { return rel == w || strings.HasPrefix(rel, w+"/") }):
		return true
	case name == ".git":
		return true
	case t.language == "node" || t.language == "bun" || t.language == "deno":
		return path.Base(in) == "node_modules" && strings.HasPrefix(name, ".") && name != ".pnpm"
	case t.language != "python":
		return false
	case name == "__pycache__": // [ignoreBytecode] keeps python from it
		return true
	}
	below, ok := strings.CutPrefix(rel, t.environment+"/")
	switch {
	case t.whole:
		return false
	case t.environment == ".":
		below = rel
	case t.environment == "" || !ok:
		return false
	}
	switch {
	case strings.HasSuffix(in, ".dist-info/"):
		return slices.Contains(fetch.InstallerNotes, name)
	default:
		return name == ".lock" || slices.Contains([]string{"bin", "Scripts", "pyvenv.cfg", ".gitignore",
			"CACHEDIR.TAG"}, below)
	}
}

// hashes reports whether a file, or all of a directory but what is left out below it, is hashed with the tree: it is in
// it, and neither it nor a directory around it is left out.
func (t *commandTree) hashes(file string) bool {
	rel, ok := t.inside(file)
	for ; ok && rel != "."; rel = path.Dir(rel) {
		ok = !t.leavesOut(rel)
	}
	return ok
}

// A tree is hashed at each start, so it is bounded.
const (
	maxTreeFiles = 200_000
	maxTreeBytes = 2 << 30
)

// treeEntry is a file of a tree, or a link in it.
type treeEntry struct {
	path string // relative, with slashes
	size int64
	text string // what is hashed in its place; "" if it is hashed as it is
}

// list lists the files of a tree and the links that stay in it. A link that leads out of it is an error: what is
// loaded through it is hashed by nobody.
func (t *commandTree) list() (files []treeEntry, bytes int64, err error) {
	err = filepath.WalkDir(t.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == t.dir {
			return err
		}
		rel, _ := t.inside(name)
		switch out := t.leavesOut(rel); {
		case out && e.IsDir():
			return fs.SkipDir
		case out || e.IsDir():
			return nil
		}
		entry, err := t.readEntry(name, rel, e)
		if err != nil {
			return err
		}
		files = append(files, entry)
		if bytes += entry.size; len(files) > maxTreeFiles || bytes > maxTreeBytes {
			return fmt.Errorf("%w: it has more than %d files or %d bytes", tree.ErrTooLarge, maxTreeFiles, maxTreeBytes)
		}
		return nil
	})
	return files, bytes, err
}

// readEntry reads what is hashed of the file or link e, which is at rel in the tree.
func (t *commandTree) readEntry(name, rel string, e fs.DirEntry) (entry treeEntry, err error) {
	entry.path = rel
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		if err != nil {
			return entry, err
		}
		entry.text = linkText(target)
		entry.size = int64(len(entry.text))
		// A link that leads nowhere is looked at again at the next start.
		if real, err := filepath.EvalSymlinks(name); err == nil {
			if _, ok := t.inside(real); !ok && !slices.Contains(t.started, real) {
				return entry, fmt.Errorf("the link %s leads out of it, to %s", surface.Escape(rel),
					surface.Escape(real))
			}
		}
		return entry, nil
	}
	info, err := e.Info()
	if err != nil {
		return entry, err
	}
	if entry.size = info.Size(); !info.Mode().IsRegular() {
		return entry, &tree.EntryError{Path: entry.path, Kind: tree.Kind(info.Mode())}
	}
	if err := t.checkAddedPaths(rel); err != nil {
		return entry, err
	}
	if entry.text, err = t.placeFree(rel); entry.text != "" {
		entry.size = int64(len(entry.text))
	}
	return entry, err
}

// checkAddedPaths refuses a file of python's packages that adds packages from outside of the tree: *.pth, each line of
// which may name a directory, and what setuptools writes for packages that are edited in place.
func (t *commandTree) checkAddedPaths(rel string) error {
	in, name := path.Split(rel)
	editable := strings.HasPrefix(name, "__editable__") && strings.HasSuffix(name, ".py")
	if t.language != "python" || !editable && (t.environment == "" || !strings.HasSuffix(name, ".pth")) {
		return nil
	}
	site := filepath.Join(t.dir, filepath.FromSlash(in))
	data, err := host.ReadFile(filepath.Join(site, name), closure.MaxVenv)
	if err != nil {
		return err
	}
	named := pathLines(data)
	if editable {
		named = strings.FieldsFunc(string(data), func(r rune) bool { return r == '\'' || r == '"' })
	}
	for _, at := range named {
		if editable && !filepath.IsAbs(at) {
			continue
		}
		if !filepath.IsAbs(at) {
			at = filepath.Join(site, at)
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			continue // a comment, code, or nothing that exists
		}
		if below, ok := t.inside(real); ok && !t.hashes(real) {
			return fmt.Errorf("%s adds the packages of %s, which is not hashed", surface.Escape(rel),
				surface.Escape(below))
		} else if !ok {
			return fmt.Errorf("%s adds the packages of %s, which lies outside of it", surface.Escape(rel),
				surface.Escape(real))
		}
	}
	return nil
}

// placeFree returns what is hashed in place of a *.pth of python's environment that names directories of the tree by
// their whole paths, as package managers write it for the project itself: it is the same wherever the tree lies. "" if
// the file is hashed as it is.
func (t *commandTree) placeFree(rel string) (string, error) {
	if t.language != "python" || t.environment == "" || !strings.HasSuffix(rel, ".pth") {
		return "", nil
	}
	data, err := host.ReadFile(filepath.Join(t.dir, filepath.FromSlash(rel)), closure.MaxVenv)
	if err != nil {
		return "", err
	}
	lines, placed := strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' }), false
	for i, line := range lines {
		if below, ok := t.inside(host.RealPath(line)); ok && filepath.IsAbs(line) {
			lines[i], placed = "\x00tree\x00"+below, true
		}
	}
	if !placed {
		return "", nil
	}
	return "\x00pth\x00" + strings.Join(lines, "\n"), nil
}

// linkText is what is hashed in place of a link. No text file begins like it.
func linkText(target string) string { return "\x00link\x00" + filepath.ToSlash(target) }

// hash returns the fingerprint hallmark-tree-v1 of a tree. Links count as files, and no file as executable, since an
// interpreter reads them all.
func (t *commandTree) hash(ctx context.Context) (o evidence.Observed, err error) {
	entries, _, err := t.list()
	if err != nil {
		return o, evidence.Errorf(evidence.Refused, t.dir,
			"copy what it leads to into the directory, name one that holds both as 'tree', or, if the server loads "+
				"nothing from there, name it as 'data'", err)
	}
	files, texts := make([]tree.File, len(entries)), map[string]string{}
	for i, e := range entries {
		files[i] = tree.File{Path: e.path, Size: e.size}
		if e.text != "" {
			texts[e.path] = e.text
		}
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return o, err
	}
	defer root.Close()
	below := tree.OpenFS(root.FS())
	d, size, err := tree.V1(ctx, files, func(path string) (io.ReadCloser, error) {
		if text, ok := texts[path]; ok {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		return below(path)
	}, runtime.GOMAXPROCS(0))
	if err != nil {
		return o, evidence.Errorf(evidence.Operation, t.dir, "", err)
	}
	return evidence.Observed{Digests: []digest.Digest{d}, Size: size, From: t.dir}, nil
}
