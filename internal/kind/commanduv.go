package kind

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
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
	script  string          // the file among the arguments that counts as the script; "" if the line tells
	workDir string          // that it is started in; "" for that of the project
}

// throughEnvironment returns c with what its line starts in the environment of a project of uv, if it is a line of "uv
// run"; c itself if it is not.
func (c commandLine) throughEnvironment() (_ commandLine, found environmentLine, _ error) {
	w, s := c.workspace, c.declared
	t := parseTarget(w, s, c.approval.Path)
	if t.Launcher != "uv run" || t.Opaque != "" || t.Wrapper != "" || t.Module != "" {
		return c, found, nil // which is refused, or needs nothing of uv
	}
	refuse := func(hint, format string, args ...any) (commandLine, environmentLine, error) {
		return c, found, evidence.Errorf(evidence.Refused, s.Name, hint, fmt.Errorf(format, args...))
	}
	switch {
	case len(t.Packages) > 0 && t.Packages[0].Ecosystem == launcher.PyPI:
		return refuse(hintInstead(t), "'uv run --with %s' adds packages to an environment, which no lock of Hallmark "+
			"holds", wire.Quoted(t.Packages[0].Text))
	case len(t.Packages) > 0:
		return refuse("keep it as a file", "uv run would download and run %s", wire.Quoted(t.Packages[0].Text))
	case len(t.IgnoredOptions) > 0:
		return refuse("leave it out; the environment is used as 'uv sync' made it",
			"its option %s is of uv, which is not started", wire.Quoted(t.IgnoredOptions[0]))
	case t.WorkDir != "" && t.WorkDir != t.Dir:
		return refuse("name one directory, with --directory", "--project and --directory name two directories")
	}
	at := w.Absolute(w.Dir, t.Dir)
	env := findUVEnvironment(at)
	if env == "" {
		return refuse(fmt.Sprintf("run 'uv sync --project %s', which makes it", host.QuoteArguments([]string{at})),
			"there is no environment .venv in %s or above, and uv, which would make one, is not started",
			surface.Escape(at))
	}
	found.written = &s
	if work := w.Absolute(w.Dir, t.WorkDir); work != w.Dir {
		found.workDir = work
	}
	if t.File != "" {
		c, err := c.throughScript(t, env, found.workDir)
		return c, found, err
	}
	file, entry, err := findConsoleScript(env, t.Bin)
	if err != nil {
		return refuse("name the script's file: uv run FILE.py", "%w", err)
	}
	found.script = file
	c.declared.Command = environmentPython(env)
	c.declared.Arguments = append([]string{"-c", startConsole, file, entry, t.Bin}, t.Args...)
	return c, found, nil
}

// throughScript is throughEnvironment for a file.
func (c commandLine) throughScript(t launcher.Target, env, workDir string) (commandLine, error) {
	w, s := c.workspace, c.declared
	if t.Bin != "" && launcher.InterpreterName(t.Bin) != "python" {
		return c, nil
	}
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
	if t.Bin == "" && bytes.Contains(append([]byte("\n"), data...), []byte("\n# /// script")) {
		return c, evidence.Errorf(evidence.Refused, s.Name, "write them into a project with 'uv init --bare' and 'uv "+
			"add', and leave that part of the head out",
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
	if t.Bin == "" {
		return add
	}
	line := []string{"uvx", "--from", t.Packages[0].Text}
	for _, p := range t.Packages[1:] {
		line = append(line, "--with", p.Text)
	}
	_, command, args := launcher.DescribeInner(append(append(line, t.Bin), t.Args...))
	return "declare command = " + command + ", arguments = " + args + "; or " + add
}

// findUVEnvironment returns the environment that "uv run" uses in dir, "" if there is none yet.
func findUVEnvironment(dir string) string {
	for {
		env := filepath.Join(dir, ".venv")
		if _, err := os.Stat(filepath.Join(env, "pyvenv.cfg")); err == nil {
			return env
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// environmentPython is the python of an environment.
func environmentPython(env string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(env, "Scripts", "python.exe")
	}
	return filepath.Join(env, "bin", "python")
}

// findConsoleScript returns the entry point that an environment has under a name, and the file that says so.
func findConsoleScript(env, name string) (file, entry string, err error) {
	places := "lib/python3*/site-packages/*.dist-info/entry_points.txt"
	if runtime.GOOS == "windows" {
		places = "Lib/site-packages/*.dist-info/entry_points.txt"
	}
	files, err := fs.Glob(os.DirFS(env), places)
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
		case file != "":
			return "", "", fmt.Errorf("two packages of its environment have a command %s", wire.Quoted(name))
		default:
			file, entry = at, found
		}
	}
	if file == "" {
		return "", "", errors.New("no package of its environment has a command " + wire.Quoted(name))
	}
	return file, entry, nil
}

// maxEntryPoints bounds a file with entry points, in bytes.
const maxEntryPoints = 1 << 20
