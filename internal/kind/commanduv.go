package kind

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// "uv run" makes the environment of a project as its uv.lock says, downloading what is missing, and starts a script or
// a command in it. It is not started itself: the python of the environment is, as 'uv sync' left it, on the script, and
// the directory with both is the server's tree.

// startConsole calls an entry point of an environment as its script would. Nothing is imported from the working
// directory, which python puts first, before that is taken out.
const startConsole = `import sys
if sys.path[0] == "": del sys.path[0]
import functools, importlib
_, entry, *sys.argv = sys.argv[1:]
module, _, name = entry.partition(":")
sys.exit(functools.reduce(getattr, name.split("."), importlib.import_module(module))())`

// environmentLine says what the line of [commandLine.throughEnvironment] does not.
type environmentLine struct {
	written *project.Server // the declaration as it is written; nil if the line is
	env     string          // the environment of python that it is started in
	script  string          // the file among the arguments that counts as the script; "" if the line tells
	workDir string          // that it is started in; "" for that of the project
	modules string          // the working directory, if python imports from it
}

// throughEnvironment returns c with what its line starts in the environment of a project of uv, if it is a line of "uv
// run"; c itself if it is not.
func (c commandLine) throughEnvironment() (_ commandLine, found environmentLine, _ error) {
	w, s := c.workspace, c.declared
	t := parseTarget(w, s, c.approval.Path)
	switch {
	case t.Opaque != "" || t.Wrapper != "": // which is refused
		return c, found, nil
	case t.Module != "" && launcher.InterpreterName(s.Command) == "python":
		return c.throughPython(t.Module)
	case t.Launcher != "uv run":
		return c, found, nil
	}
	env, err := openUVEnvironment(s.Name, w.Absolute(w.Dir, t.Dir))
	if refused := refuseUVLine(t, s.Name); refused != nil && evidence.ClassOf(err) != evidence.Validation {
		return c, found, refused
	}
	if err != nil {
		return c, found, err
	}
	found.written, found.env = &s, env
	if work := w.Absolute(w.Dir, t.WorkDir); work != w.Dir {
		found.workDir = work
	}
	switch {
	case t.File != "":
		c, err := c.throughScript(t, env, found.workDir)
		return c, found, err
	case t.Module != "":
		before, after := []string(nil), t.Args
		if at := slices.Index(t.Args, t.Module); t.Bin != "" {
			if at < 1 || t.Args[at-1] != "-m" {
				return c, environmentLine{}, nil
			}
			before, after = t.Args[:at-1], t.Args[at+1:]
		}
		if c, found = c.throughModule(t.Module, before, after, found); found.script != "" {
			c.declared.Command = environmentPython(env)
		}
		return c, found, nil
	}
	file, entry, err := findConsoleScript(env, t.Bin)
	if err != nil {
		return c, found, evidence.Errorf(evidence.Refused, s.Name,
			"run 'uv sync' if the project declares it; else name the script's file: uv run FILE.py", err)
	}
	found.script = file
	c.declared.Command = environmentPython(env)
	c.declared.Arguments = append([]string{"-c", startConsole, file, entry, t.Bin}, t.Args...)
	return c, found, nil
}

// startModule runs a module as "python -m" does, but imports from the working directory only if the module was found
// there, and only from the file that was found: python may have a module of its own, a package or compiled code of that
// name.
const startModule = `import sys
working = sys.path[0] == ""
if working: del sys.path[0]
import importlib.util, os, runpy
file, module, place, *sys.argv[1:] = sys.argv[1:]
if working and place == ".": sys.path.insert(0, os.getcwd())
found = importlib.util.find_spec(module)
if not found or not found.has_location or not os.path.samefile(found.origin, file):
    sys.exit("python takes module %s from %s, not from %s" % (module, found.origin if found else "nowhere", file))
runpy.run_module(module, run_name="__main__", alter_sys=True)`

// throughPython is throughEnvironment for "python -m MODULE".
func (c commandLine) throughPython(module string) (_ commandLine, found environmentLine, _ error) {
	s := c.declared
	at := max(0, slices.Index(s.Arguments, module)-1)
	python, err := c.workspace.FindCommand(s.Command, c.approval.Path)
	if err != nil || s.Arguments[at] != "-m" {
		return c, found, nil // which says why, or refuses it
	}
	env := filepath.Dir(filepath.Dir(python))
	if _, err := os.Stat(filepath.Join(env, "pyvenv.cfg")); err == nil {
		found.env = env
	}
	found.written = &s
	started, found := c.throughModule(module, s.Arguments[:at], s.Arguments[at+2:], found)
	if found.modules != "" && !c.workspace.Contains(found.env) {
		found.env = "" // [findEnvironment] finds it, as for a script of the project
	}
	if found.modules != "" && found.env == "" && s.Tree == "" {
		return c, found, evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+" --tree .'",
			fmt.Errorf("the option -m of %s may run code that no hash covers, unless pin locks the directory that it "+
				"starts in", surface.Escape(filepath.Base(s.Command))))
	}
	return started, found, nil
}

// throughModule has python start a module: the first of that name in the working directory, in the packages of its
// environment, or where one of their *.pth leads. One that is nowhere there is left as it is, and refused. Before and
// after are the arguments around "-m MODULE".
func (c commandLine) throughModule(module string, before, after []string,
	found environmentLine) (commandLine, environmentLine) {
	w := c.workspace
	var dirs []string
	isolated := slices.Contains(before, "-I") || slices.Contains(before, "-P")
	if !isolated && (w.Home == "" || found.workDir != "") { // else nobody knows where a client starts it
		dirs = []string{cmp.Or(found.workDir, w.Dir)}
	}
	work := len(dirs)
	dirs = append(dirs, packageDirs(found.env)...)
	for i, dir := range dirs {
		for _, module := range []string{module + ".__main__", module} {
			file := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))+".py")
			info, err := os.Stat(file)
			if err != nil || !info.Mode().IsRegular() || !moduleName().MatchString(module) {
				continue
			}
			place := "-"
			if found.script = file; i < work {
				found.modules, place = dir, "."
			}
			c.declared.Arguments = slices.Concat(before, []string{"-c", startModule, file, module, place}, after)
			return c, found
		}
	}
	return c, environmentLine{}
}

// packageDirs returns the directories that the python of an environment imports from after its own: that of its
// packages, and those that the lines of *.pth files in it name.
func packageDirs(env string) (dirs []string) {
	if env == "" {
		return nil
	}
	sites, _ := filepath.Glob(filepath.Join(env, filepath.FromSlash(sitePackages)))
	for _, site := range sites {
		dirs = append(dirs, site)
		files, _ := filepath.Glob(filepath.Join(site, "*.pth"))
		for _, file := range files {
			data, _ := host.ReadFile(file, closure.MaxVenv) // of one that cannot be read nothing is found
			for _, line := range pathLines(data) {
				if filepath.IsAbs(line) {
					dirs = append(dirs, line)
				}
			}
		}
	}
	return dirs
}

// pathLines returns the lines of a *.pth file as python reads them, whichever version: without a mark before the first
// or blanks behind.
func pathLines(data []byte) []string {
	lines := strings.FieldsFunc(strings.TrimPrefix(string(data), "\ufeff"), func(r rune) bool {
		return strings.ContainsRune("\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", r)
	})
	for i, line := range lines {
		lines[i] = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	return lines
}

// moduleName is the name of a module of python.
var moduleName = spelling.Form(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// refuseUVLine refuses what only uv would do of a line of "uv run", and what needs nothing of it.
func refuseUVLine(t launcher.Target, server string) error {
	refuse := func(hint, format string, args ...any) error {
		return evidence.Errorf(evidence.Refused, server, hint, fmt.Errorf(format, args...))
	}
	switch {
	case len(t.Packages) > 0 && t.Packages[0].Ecosystem == launcher.PyPI:
		return refuse(hintInstead(t), "'--with %s' adds packages that no lock of Hallmark holds",
			surface.Escape(t.Packages[0].Text))
	case len(t.Packages) > 0:
		return refuse("download it into the project, and name that file", "uv run would download and run %s",
			wire.Quoted(t.Packages[0].Text))
	case len(t.IgnoredOptions) > 0:
		return refuse("leave it out: the environment is used as 'uv sync' made it, and variables are named under "+
			"'variables' in hallmark.toml",
			"its option %s is of uv, which is not started", wire.Quoted(t.IgnoredOptions[0]))
	case t.WorkDir != "" && t.WorkDir != t.Dir:
		return refuse("leave --project out", "--project and --directory name two directories")
	case t.File+t.Module != "" && t.Bin != "" && t.Bin != "python" && t.Bin != "python3":
		return refuse("declare that program itself as 'command'", "uv run would only start %s", wire.Quoted(t.Bin))
	case t.File == ".":
		return refuse("name that file", "'uv run .' starts the file __main__.py")
	case t.File != "" && t.Bin != "" && !slices.Contains(t.Args, t.File):
		return refuse("write the script as an argument of its own", "its script is joined to an option")
	case strings.ContainsAny(t.Bin, `/\`):
		return refuse("name the program itself in 'command'", "uv run would only start %s", wire.Quoted(t.Bin))
	}
	return nil
}

// openUVEnvironment returns the environment that "uv run" uses in the directory at, and refuses one that is not there.
func openUVEnvironment(server, at string) (string, error) {
	env, makes, err := findUVEnvironment(at)
	if err != nil {
		return "", evidence.Errorf(evidence.Validation, server, "mend the file, and run the command again", err)
	}
	if _, err := os.Stat(filepath.Join(env, "pyvenv.cfg")); err == nil {
		return env, nil
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return "", evidence.Errorf(evidence.Refused, server, "name the directory of the project",
			fmt.Errorf("there is no directory %s", surface.Escape(at)))
	}
	return "", evidence.Errorf(evidence.Refused, server,
		fmt.Sprintf("run '%s %s', which makes it", makes, host.QuoteArguments([]string{filepath.Dir(env)})),
		fmt.Errorf("there is no environment %s, and uv, which would make it, is not started", surface.Escape(env)))
}

// throughScript is throughEnvironment for a file.
func (c commandLine) throughScript(t launcher.Target, env, workDir string) (commandLine, error) {
	w, s := c.workspace, c.declared
	file := t.File
	if workDir != "" {
		file = w.Absolute(workDir, file)
	}
	args := append([]string{file}, t.Args...)
	if t.Bin != "" { // the file is among its arguments
		args = slices.Clone(t.Args)
		args[slices.Index(args, t.File)] = file
	}
	data, err := host.ReadFile(w.Absolute(w.Dir, file), maxScript)
	if err != nil {
		return c, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	if data == nil {
		return c, evidence.Errorf(evidence.Operation, s.Name, "name the script by its path from there",
			fmt.Errorf("there is no file %s in %s", wire.Quoted(t.File), surface.Escape(cmp.Or(workDir, w.Dir))))
	}
	if t.Bin == "" && bytes.Contains(append([]byte("\n"), data...), []byte("\n# /// script")) {
		return c, evidence.Errorf(evidence.Refused, s.Name, "run 'uv init' and 'uv add NAME' for each, and "+
			"delete the lines from '# /// script' to '# ///'",
			fmt.Errorf("%s names packages in its head, which uv would install at each start", wire.Quoted(t.File)))
	}
	c.declared.Command, c.declared.Arguments = environmentPython(env), args
	return c, nil
}

// maxScript bounds a script whose head is looked at, in bytes.
const maxScript = 16 << 20

// hintInstead says how a line of "uv run --with" is written so that its packages are locked.
func hintInstead(t launcher.Target) string {
	add := "add it to the project with 'uv add', and leave --with out"
	line, project, more := t.OutsideProject(), t.Dir, []string(nil)
	for _, option := range t.IgnoredOptions {
		switch name, value, _ := strings.Cut(option, " "); name {
		case "--with-editable":
			project = cmp.Or(project, value)
		case "--with-requirements":
			more = append(more, "-r", value)
		}
	}
	switch {
	case t.Bin != "" && project != "":
		for _, p := range t.Packages {
			more = append(more, p.Text)
		}
		add = host.QuoteArguments(append([]string{"uv", "add", "--project", project}, more...))
		line = append([]string{"uv", "run", "--project", project, t.Bin}, t.Args...)
		_, command, args := launcher.DescribeInner(line)
		return "run '" + add + "', and declare command = " + command + ", arguments = " + args
	case more != nil:
		return "name each package of " + surface.Escape(more[1]) + " by a --with of its own, and leave " +
			"--with-requirements out"
	case line == nil:
		return add
	}
	_, command, args := launcher.DescribeInner(line)
	return "declare command = " + command + ", arguments = " + args + "; or " + add
}

// makesProject makes the environment of a project.
const makesProject = "uv sync --project"

// findUVEnvironment returns the environment that "uv run" uses in dir, which may not be there yet, and the command of
// uv that makes it: that of the workspace around the project, of the project, or, without one, the nearest.
func findUVEnvironment(dir string) (env, makes string, err error) {
	var nearest, projectDir string
	for at := dir; ; at = filepath.Dir(at) {
		file := filepath.Join(at, "pyproject.toml")
		text, err := host.ReadFile(file, maxScript)
		var values struct {
			Tool struct{ UV struct{ Workspace any } }
		}
		if err == nil { // uv skips the mark, too
			err = tomltext.Explain(toml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &values))
		}
		if err != nil {
			return "", "", fmt.Errorf("%s cannot be read, which uv would read: %w", surface.Escape(file), err)
		}
		if text != nil && (projectDir == "" || values.Tool.UV.Workspace != nil) {
			projectDir = at
		}
		if _, err := os.Stat(filepath.Join(at, ".venv", "pyvenv.cfg")); err == nil && nearest == "" {
			nearest = at
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if projectDir != "" {
		return filepath.Join(projectDir, ".venv"), makesProject, nil
	}
	return filepath.Join(cmp.Or(nearest, dir), ".venv"), "uv venv --directory", nil
}

// HasUVEnvironment reports whether "uv run" in dir uses a project, or an environment that is there already; also a
// project that cannot be read, which is an error when it is pinned.
func HasUVEnvironment(dir string) bool {
	env, makes, unread := findUVEnvironment(dir)
	_, err := os.Stat(filepath.Join(env, "pyvenv.cfg"))
	return unread != nil || err == nil || makes == makesProject
}

// environmentPython is the python of an environment.
func environmentPython(env string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(env, "Scripts", "python.exe")
	}
	return filepath.Join(env, "bin", "python")
}

// sitePackages is the pattern of the directory, in an environment, that packages are installed into.
var sitePackages = map[bool]string{false: "lib/python3*/site-packages/", true: "Lib/site-packages/"}[runtime.GOOS ==
	"windows"]

// findConsoleScript returns the entry point that an environment has under a name, and the file that says so: also of
// two, which is an error.
func findConsoleScript(env, name string) (file, entry string, err error) {
	files, err := fs.Glob(os.DirFS(env), sitePackages+"*.dist-info/entry_points.txt")
	if err != nil {
		return "", "", err
	}
	for _, at := range files {
		at = filepath.Join(env, filepath.FromSlash(at))
		text, err := host.ReadFile(at, maxEntryPoints)
		if err != nil {
			return "", "", err
		}
		scripts, err := fetch.ReadConsoleScripts(text)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", surface.Escape(at), err)
		}
		found := scripts[name]
		switch {
		case found == "":
		case !entryPointRE().MatchString(found):
			return "", "", fmt.Errorf("its entry point %s is none that can be called", wire.Quoted(found))
		case file != "":
			return file, "", fmt.Errorf("two packages of its environment have a command %s", wire.Quoted(name))
		default:
			file, entry = at, found
		}
	}
	if file == "" {
		return "", "", errors.New("no package of its environment has a command " + wire.Quoted(name))
	}
	return file, entry, nil
}

// entryPointRE is an entry point: a module, and an object in it.
var entryPointRE = spelling.Form(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// maxEntryPoints bounds a file with entry points, in bytes.
const maxEntryPoints = 1 << 20
