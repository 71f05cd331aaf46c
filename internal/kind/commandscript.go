package kind

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// A script is not all that its interpreter runs: python looks for modules beside it before it looks among its own,
// node follows what it imports, a shell runs what it names. Nothing tells from outside what that will be. So a script
// lies in a directory of its own, or in the one that 'tree' in hallmark.toml names, every file of which is hashed.

// addTree adds the directory that the declaration names as its tree. Without one it refuses a script that has
// neighbours. It keeps the script's runtime from what is not hashed, and adds the files that it looks for above.
func (c commandLine) addTree(r *commandFiles) error {
	s, script := c.declared, r.p.Script
	if s.Tree == "" {
		if script == nil {
			return nil
		}
		if err := c.refuseNeighbours(r); err != nil {
			return err
		}
		return r.addAbove(script, filepath.Dir(script.File))
	}
	t, err := r.addDeclaredTree(s, "a directory that holds all of it")
	if err != nil || script == nil {
		return err
	}
	if t.language == "python" {
		ignoreBytecode(r.p)
	}
	return r.addAbove(script, t.dir)
}

// addDeclaredTree adds the directory that a declaration names, and returns it. Of one that cannot be the tree, the
// error leads on to another.
func (r *commandFiles) addDeclaredTree(s project.Server, another string) (*commandTree, error) {
	t, err := newCommandTree(r.w, s, r.p)
	if err != nil {
		return nil, evidence.Errorf(evidence.Refused, s.Name,
			"name "+another+": 'hallmark pin "+s.Name+" --tree DIRECTORY'", err)
	}
	r.addItem(project.TreeKey(s.Tree), commandItem{path: t.dir, tree: t, named: true})
	return t, nil
}

// refuseNeighbours refuses a script without a tree that does not lie in a directory of its own, beside nothing but
// files that its declaration names and those that Hallmark itself keeps.
func (c commandLine) refuseNeighbours(r *commandFiles) error {
	w, s, script := c.workspace, c.declared, r.p.Script
	file, env := script.File, findEnvironment(w, r.p)
	if r.p.Modules != "" {
		file = filepath.Join(host.RealPath(r.p.Modules), filepath.Base(file))
	}
	dir := filepath.Dir(file)
	more, err := r.neighbour(file)
	if err != nil {
		return evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	if more == "" && env == "" {
		return nil
	}
	what := "packages of " + host.RelativeTo(w.Dir, env)
	if more != "" {
		what = wire.Quoted(more) + " and all else in " + host.RelativeTo(w.Dir, dir)
		if dir == w.Dir {
			what = wire.Quoted(more) + " and all else in the project"
		}
	}
	name := filepath.Base(script.File)
	if strings.HasSuffix(dir, ".dist-info") { // which names a command of the environment
		name, what = "its command", "all packages of its environment"
	}
	s.Tree = proposeTree(w, file, env)
	fix := fmt.Sprintf("run 'hallmark pin %s --tree %s'", s.Name, host.QuoteArguments([]string{s.Tree}))
	if s.Tree == "" {
		fix = moveScript(s.Name, script.File)
	} else if t, err := newCommandTree(w, s, r.p); errors.Is(err, errPackageOutside) && !w.Contains(script.File) {
		fix = ""
	} else if err != nil {
		fix += ": " + err.Error()
	} else if files, bytes, err := t.list(); err != nil {
		fix += fmt.Sprintf(", once this is mended: %v", err)
	} else {
		fix += fmt.Sprintf(", which locks all %d files of it (%d kB)", len(files), (bytes+999)/1000)
	}
	if !w.Contains(script.File) {
		fix = strings.TrimPrefix(fix+"; or "+r.declarePackage(script, env), "; or ")
	}
	r.refused = append(r.refused, &evidence.Error{Subject: s.Name, Kind: evidence.Refused, Hint: fix,
		Err: fmt.Errorf("%s may load %s, which no hash of the script covers", name, what)})
	return nil
}

// declarePackage says how the package of a script that a package manager installed is declared itself.
func (r *commandFiles) declarePackage(script *program.Script, env string) string {
	var line []string
	name := filepath.Base(script.File)
	if module := moduleRE().FindStringSubmatch(filepath.ToSlash(script.File)); module != nil {
		line = []string{"npx", "-y", module[1]}
	} else if entries := findPackage(env, script.File); entries != "" {
		dist, _, _ := strings.Cut(filepath.Base(filepath.Dir(entries)), "-")
		if line = []string{"uvx", "--from", strings.ReplaceAll(dist, "_", "-"), name}; line[2] == name {
			line = []string{"uvx", name}
		}
	}
	if line == nil || script != r.p.Script {
		return "declare the package itself, with npx or uvx as its command"
	}
	args := r.arguments[len(script.Words):]
	if !script.First {
		args = args[1:]
	}
	_, command, arguments := launcher.DescribeInner(append(line, args...))
	return "declare the package itself: command = " + command + ", arguments = " + arguments
}

// findPackage returns the file that names a command of a package of python: of env, or of the python of the machine or
// the user beside whose packages the command lies; "" if there is none.
func findPackage(env, command string) string {
	file, _, _ := findConsoleScript(cmp.Or(env, filepath.Dir(filepath.Dir(command))), filepath.Base(command))
	return file
}

// moduleRE finds the package that a file is of, by the name that it is installed under.
var moduleRE = spelling.Form(`^.*/node_modules/((?:@[^/]+/)?[^/@]+)/`)

// proposeTree returns the directory that is the likely tree of a script, as hallmark.toml would name it: the outermost
// one of the project, or the innermost elsewhere, that a package manager keeps its files in, or the one that holds its
// environment, too: that itself for a command of an environment elsewhere, beside which may be those of other tools. It
// is only a proposal; "" if that one [isShared].
func proposeTree(w *workspace.Workspace, script, env string) string {
	best, top := filepath.Dir(script), host.RealPath(w.Dir)
	within := w.Contains(script)
	if modules, _, ok := strings.Cut(filepath.ToSlash(script), "/node_modules/"); ok && !within {
		return modules + "/node_modules" // each package finds all others
	}
	inEnv := env != "" && strings.HasPrefix(script, host.RealPath(env)+string(filepath.Separator))
	for dir := best; dir != filepath.Dir(dir) && !isShared(w.Host, dir); dir = filepath.Dir(dir) {
		marks := slices.ContainsFunc([]string{"package.json", "node_modules", "deno.json", "pyproject.toml",
			"requirements.txt"},
			func(name string) bool {
				_, err := os.Lstat(filepath.Join(dir, name))
				return err == nil
			})
		if marks || env != "" && host.RealPath(filepath.Dir(env)) == dir && (within || !inEnv) {
			best = dir
		}
		if within && dir == top || !within && marks {
			break
		}
	}
	for env != "" && best != filepath.Dir(best) {
		if host.IsBelow(best, host.RealPath(env)) {
			break
		}
		best = filepath.Dir(best)
	}
	if isShared(w.Host, best) {
		return ""
	}
	rel, err := filepath.Rel(top, best)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.ToSlash(best)
	}
	return filepath.ToSlash(rel)
}

// isShared reports whether a directory holds far more than a server: it is the user's home, or holds that or a
// directory of Hallmark's own, whose files change with each command.
func isShared(h *host.Host, dir string) bool {
	return slices.ContainsFunc([]string{host.FindHome(h.Environ), h.Places.Config, h.Places.State, h.Places.Cache},
		func(place string) bool { return place != "" && host.IsBelow(dir, host.RealPath(place)) })
}

// moveScript is the hint of a server whose script is in a directory that [isShared].
func moveScript(name, script string) string {
	return fmt.Sprintf("move %s, with all that it loads, into a directory of its own, change its path in the entry, "+
		"and run 'hallmark pin %s'", filepath.Base(script), name)
}

// lookedForAbove are the files that runtimes of JavaScript look for in the directories above a script, by the names of
// package launcher. All look for node_modules there too.
var lookedForAbove = map[string][]string{
	"node": {"package.json"},
	"bun":  {"package.json", "tsconfig.json", "jsconfig.json"},
	"deno": {"deno.json", "deno.jsonc", "package.json", "deno.lock"},
}

// addAbove adds the files that the runtime of a script looks for above dir, and says what cannot be known of others.
func (r *commandFiles) addAbove(s *program.Script, dir string) error {
	switch s.Language {
	case "python", "java":
		return nil
	case "bun":
		if err := r.restrictBun(s); err != nil {
			return err
		}
	case "node":
	default:
		r.unknown = append(r.unknown, "what "+cmp.Or(s.Language, "the interpreter")+" loads besides the script is "+
			"not known")
	}
	names, ok := lookedForAbove[s.Language]
	if !ok {
		return nil
	}
	if err := program.NoModulesAbove(s.Language, dir, r.w.Host.Getenv("HOME")); err != nil {
		hint := "move that directory"
		if tree := proposeTree(r.w, s.File, ""); tree != "" && host.RealPath(r.w.Absolute(r.w.Dir, tree)) != dir {
			hint = "run 'hallmark pin " + r.p.Server + " --tree " + host.QuoteArguments([]string{tree}) + "'"
		}
		if s == r.p.Script && !r.w.Contains(s.File) && moduleRE().MatchString(filepath.ToSlash(s.File)) {
			hint = r.declarePackage(s, "") + "; or " + hint
		}
		r.refused = append(r.refused, &evidence.Error{Subject: r.p.Server, Kind: evidence.Refused,
			Hint: hint, Err: err})
	}
	for _, name := range names {
		for at := dir; ; at = filepath.Dir(at) {
			found := r.addFound(filepath.Join(at, name), dir)
			// Deno looks for a workspace above the nearest file too.
			if at == filepath.Dir(at) || found && s.Language != "deno" {
				break
			}
		}
	}
	return nil
}

// addFound adds a file that a runtime looks for by itself, unless it lies in dir, and reports whether there is one.
// Once there is one, it is refused as added.
func (r *commandFiles) addFound(file, dir string) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if filepath.Dir(file) != dir {
		key, err := filepath.Rel(r.w.Dir, file) // stays the same if the project is moved with what is around it
		if err != nil {
			key = file
		}
		r.addItem(r.w.LockKey(file, filepath.ToSlash(key)), commandItem{path: file})
	}
	return true
}

// restrictBun keeps bun from code and settings that nobody verified: packages that it would fetch if they are missing,
// and the variables of .env, which differ between machines. It adds what bun reads in its working directory.
func (r *commandFiles) restrictBun(s *program.Script) error {
	if s.First {
		return evidence.Errorf(evidence.Refused, r.p.Server,
			"name bun itself in 'command', and the script as its first argument",
			errors.New("the #! line lets bun fetch packages that are missing"))
	}
	r.p.Args = slices.Insert(r.p.Args, 1, "--no-install", "--no-env-file")
	for _, name := range []string{"bunfig.toml", "package.json", "tsconfig.json", "jsconfig.json"} {
		r.addFound(r.w.Path(name), filepath.Dir(s.File))
	}
	return nil
}

// ignoreBytecode keeps python from loading compiled code that was left beside a module, since the source is what is
// hashed.
func ignoreBytecode(p *program.Program) {
	s := p.Script
	ignoresVariables := slices.ContainsFunc(s.Words, func(w string) bool { // those of python
		return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, "EI")
	})
	// Also where python itself ignores them: other pythons that the script starts do not.
	p.RuntimeVariables = append(p.RuntimeVariables, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPYCACHEPREFIX="+os.DevNull)
	words := []string{"-B", "-X", "pycache_prefix=" + os.DevNull}
	switch {
	case !ignoresVariables:
	case s.First:
		p.InterpreterWords = words
	default:
		p.Args = slices.Insert(p.Args, 1, words...)
	}
}

// findEnvironment returns the environment of python whose interpreter is started, "" if there is none. One of the
// machine, outside of the project and found in PATH, counts as its python.
func findEnvironment(w *workspace.Workspace, p *program.Program) string {
	if p.Environment != "" {
		return p.Environment
	}
	for _, image := range []*process.Image{p.Executable, p.Interpreter} {
		if image == nil {
			continue
		}
		for _, name := range image.Chain {
			bin := filepath.Dir(name)
			inPath, dir := slices.Contains(filepath.SplitList(p.Path), bin), filepath.Dir(bin)
			if _, err := os.Lstat(filepath.Join(dir, "pyvenv.cfg")); err == nil && (w.Contains(dir) || !inPath) {
				return dir
			}
		}
	}
	return ""
}

// ownFiles are the paths below dir, with slashes, of the files that Hallmark keeps in a project, and of the clients'
// files, which it rewrites. None holds code.
func ownFiles(w *workspace.Workspace, dir string) (paths []string) {
	for _, name := range append(clients.ProjectFiles(), project.LockFile, project.SurfacesDir, project.ClosuresDir) {
		if rel, err := filepath.Rel(dir, filepath.Join(host.RealPath(w.Dir), name)); err == nil &&
			filepath.IsLocal(rel) {
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	return paths
}
