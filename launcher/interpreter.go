package launcher

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// interpreter is how an interpreter's command line is read: options that load no code,
// then the file. An option that is not listed makes the target opaque, because it may
// name more code (node --import, python -m, ruby -r), or take the next word as its value.
type interpreter struct {
	flags    []string // whole options without a value
	prefixes []string // beginnings of options with a joined value: "-Xmx"
	first    string   // a word that must come first: "run"
	paths    bool     // a path, which holds a slash, may come first in its place
	file     string   // the option before the file, "" if the file is the first plain word
	module   string   // the option before a module's name, "" if there is none
	shell    bool     // it reads shell lines after -c
}

var interpreters = map[string]interpreter{
	"node": {
		flags: []string{"--no-warnings", "--trace-warnings", "--no-deprecation", "--enable-source-maps",
			"--use-system-ca"},
		prefixes: []string{"--max-old-space-size=", "--stack-size=", "--max-http-header-size="},
	},
	"python": {flags: []string{"-u", "-B", "-b", "-E", "-I", "-P", "-s", "-S", "-O", "-OO", "-q", "-v"}, module: "-m",
		prefixes: []string{"-2", "-3"}}, // of py, which starts a version of python

	"ruby": {flags: []string{"-w", "-W0", "-W1", "-W2", "--disable-gems"}},
	"perl": {flags: []string{"-w", "-W", "-X", "-t", "-T"}},
	"php":  {flags: []string{"-n", "-q"}},
	"lua":  {flags: []string{"-W", "-E"}},
	"java": {flags: []string{"-server", "-client"}, prefixes: []string{"-Xmx", "-Xms", "-Xss"}, file: "-jar"},
	"deno": {
		flags: []string{"-A", "--allow-all", "--no-prompt", "--quiet", "-q", "--cached-only", "--no-remote",
			"--no-npm", "--no-config", "--no-lock"},
		prefixes: []string{"--allow-read", "--allow-write", "--allow-net", "--allow-env", "--allow-run", "--allow-sys",
			"--allow-ffi", "--deny-"},
		first: "run",
	},
	"bun": {flags: []string{"--silent", "--smol"}, first: "run", paths: true},
	"sh":  {flags: []string{"-e", "-u", "-x", "-f", "-eu", "-ex", "-ue", "-eux"}, shell: true},
}

// interpreterAliases are other names of interpreters with the same options.
var interpreterAliases = map[string]string{
	"nodejs": "node", "pypy": "python", "jruby": "ruby", "luajit": "lua", "javaw": "java", "pythonw": "python",
	"py": "python", "bash": "sh", "dash": "sh", "zsh": "sh", "ksh": "sh", "ash": "sh",
}

var versionSuffix = spelling.Form(`^([a-z]+?)-?[0-9]+(\.[0-9]+)*$`)

// interpreterOf finds an interpreter by its name, with a version or without: python3.11.
func interpreterOf(name string) (interpreter, bool) {
	i, ok := interpreters[interpreterName(name)]
	return i, ok
}

// interpreterName is the name under which interpreters has an interpreter that name may be.
func interpreterName(name string) string {
	if m := versionSuffix().FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	return cmp.Or(interpreterAliases[name], name)
}

// InterpreterName is the name of the interpreter that a command is, without version and path:
// "python" for /usr/bin/python3.11, "node" for nodejs. It is "" for any other command.
func InterpreterName(command string) string {
	name := interpreterName(commandName(command))
	if _, ok := interpreters[name]; !ok {
		return ""
	}
	return name
}

// read reads the words behind an interpreter's name.
func (i interpreter) read(name string, words []word) Target {
	t := Target{Launcher: name, Args: texts(words)}
	rest := words
	switch {
	case i.first == "":
	case len(rest) > 0 && rest[0].text == i.first:
		rest = rest[1:]
	case !i.paths || len(rest) == 0 || !strings.Contains(rest[0].text, "/"):
		return t.unread(name + " without '" + i.first + "', which alone says that a file follows")
	}
	for n, w := range rest {
		arg := w.text
		switch {
		case i.file != "" && arg == i.file && n+1 < len(rest):
			t.File, t.Direct = rest[n+1].text, true
			return t
		case i.module != "" && arg == i.module && n+1 < len(rest):
			t.Module = rest[n+1].text
			return t
		case i.module != "" && len(arg) > len(i.module) && strings.HasPrefix(arg, i.module):
			t.Module = arg[len(i.module):]
			return t
		case i.isHarmlessOption(arg):
			continue
		case strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+") || strings.HasPrefix(arg, "@"):
			return t.unread("the option " + arg + " of " + name + " may run code that no hash covers")
		case i.file != "":
			return t.unread(name + " without " + i.file)
		}
		if i.first != "" {
			if p, ok := denoPackage(w); ok {
				if p.Ecosystem == "" || name != "deno" {
					return t.unread(name + " run " + quote(arg) + " names nothing that is known here")
				}
				t.Packages, t.Args = []Package{p}, texts(rest[n+1:])
				t.Launcher = name + " run"
				return t
			}
		}
		t.File, t.Direct = arg, true
		return t
	}
	return t.unread(name + " without a file")
}

// launcherBehind returns the launcher whose program t, which an interpreter runs, is: "python -m pipx run ...",
// "node .../npm/bin/npx-cli.js ...". It is "" if there is none.
func (t Target) launcherBehind(interpreter string) string {
	switch interpreterName(interpreter) {
	case "node", "bun":
		return launcherIn(t.File)
	case "python":
		if found := cmp.Or(t.Module, commandName(t.File)); slices.Contains([]string{"uv", "uvx", "pipx"}, found) {
			return found
		}
	}
	return ""
}

// ofNode are the launchers that are programs in JavaScript.
var ofNode = []string{"npx", "npm", "pnpm", "pnpx", "yarn"}

// launcherIn returns the launcher whose own program a file of JavaScript is, "" if it is none: a file called npx or
// npx-cli.js, what yarn keeps in a project (yarn-4.9.1.cjs), or the file of a package called so, .../pnpm/bin/pnpm.cjs
// and .../yarn/lib/cli.js.
func launcherIn(file string) string {
	file = strings.ToLower(strings.ReplaceAll(file, `\`, "/"))
	base := path.Base(file)
	name := strings.TrimSuffix(base, path.Ext(base))
	if versioned, _, ok := strings.Cut(base, "-"); ok && versioned == "yarn" {
		return "yarn"
	}
	if found, isCommand := strings.CutSuffix(name, "-cli"); slices.Contains(ofNode, found) &&
		(isCommand || base == name) {
		return found
	}
	parts := strings.Split(file, "/")
	if len(parts) < 3 {
		return ""
	}
	switch of := parts[len(parts)-3]; {
	case slices.Contains(ofNode, name) && (of == name || of == "corepack"):
		return name
	case slices.Contains(ofNode, of) && name == "cli":
		return of
	}
	return ""
}

// isHarmlessOption reports whether arg is an option that loads no code.
func (i interpreter) isHarmlessOption(arg string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(arg, prefix) }
	return slices.Contains(i.flags, arg) || slices.ContainsFunc(i.prefixes, begins)
}

// readDeno reads what follows deno.
func readDeno(name string, words []word) Target {
	t := interpreters["deno"].read(name, words)
	t.Fetches = slices.ContainsFunc(words, func(w word) bool {
		return strings.HasPrefix(w.text, "npm:") || strings.HasPrefix(w.text, "jsr:")
	}) || len(words) > 1 && webURL().MatchString(words[1].text)
	return t
}

// CheckShebang says why the #! line of a script may run other code than the script, or code
// that cannot be told; it is "" if the line runs file alone. The words name, args and file
// are read as a server's command line. An interpreter that is not known here may have plain
// options only, such as "-f".
func CheckShebang(name string, args []string, file string) string {
	words := append(slices.Clone(args), file)
	t := Parse(name, words)
	if i, ok := interpreterOf(commandName(name)); ok && i.first != "" && len(args) == 0 {
		t = Parse(name, append([]string{i.first}, words...)) // "deno FILE" is "deno run FILE"
	}
	switch {
	case t.Opaque != "":
		return t.Opaque
	case t.Launcher == "" && t.Wrapper == "":
		for _, arg := range args {
			if !plainOption().MatchString(arg) {
				return "what the argument " + quote(arg) + " of " + commandName(name) + " loads is not known"
			}
		}
		return ""
	case t.Wrapper != "" || !t.Direct || t.File != file:
		return commandName(name) + " would not start the script itself, but what its arguments name"
	}
	return ""
}

// plainOption is one that names no file.
var plainOption = spelling.Form(`^--?[A-Za-z0-9-]+$`)
