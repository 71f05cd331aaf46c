package launcher

import (
	"regexp"
	"slices"
	"strings"
)

// interpreter is how an interpreter's command line is read: options that load no code,
// then the file. An option that is not listed makes the target opaque, because it may
// name more code (node --import, python -m, ruby -r), or take the next word as its value.
type interpreter struct {
	flags    []string // whole options without a value
	prefixes []string // beginnings of options with a joined value: "-Xmx"
	first    string   // a word that must come first: "run"
	file     string   // the option before the file, "" if the file is the first plain word
}

var interpreters = map[string]interpreter{
	"node": {
		flags:    []string{"--no-warnings", "--trace-warnings", "--no-deprecation", "--enable-source-maps", "--use-system-ca"},
		prefixes: []string{"--max-old-space-size=", "--stack-size=", "--max-http-header-size="},
	},
	"python": {flags: []string{"-u", "-B", "-b", "-E", "-I", "-P", "-s", "-S", "-O", "-OO", "-q", "-v"}},
	"ruby":   {flags: []string{"-w", "-W0", "-W1", "-W2", "--disable-gems"}},
	"perl":   {flags: []string{"-w", "-W", "-X", "-t", "-T"}},
	"php":    {flags: []string{"-n", "-q"}},
	"lua":    {flags: []string{"-W", "-E"}},
	"java":   {flags: []string{"-server", "-client"}, prefixes: []string{"-Xmx", "-Xms", "-Xss"}, file: "-jar"},
	"deno": {
		flags:    []string{"-A", "--allow-all", "--no-prompt", "--quiet", "-q", "--cached-only", "--no-remote", "--no-npm", "--no-config", "--no-lock"},
		prefixes: []string{"--allow-read", "--allow-write", "--allow-net", "--allow-env", "--allow-run", "--allow-sys", "--allow-ffi", "--deny-"},
		first:    "run",
	},
	"bun": {flags: []string{"--silent", "--smol"}, first: "run"},
	"sh":  {flags: []string{"-e", "-u", "-x", "-f", "-eu", "-eux"}},
}

// aliases are other names of interpreters with the same options.
var aliases = map[string]string{
	"nodejs": "node", "pypy": "python", "jruby": "ruby", "luajit": "lua", "javaw": "java", "pythonw": "python",
	"bash": "sh", "dash": "sh", "zsh": "sh", "ksh": "sh", "ash": "sh",
}

// wrappers start the program that their arguments name, by rules of their own.
var wrappers = []string{"env", "cmd", "powershell", "pwsh", "fish", "sudo", "doas", "su", "nice", "ionice", "nohup", "setsid", "timeout", "time",
	"stdbuf", "xargs", "exec", "chroot", "unshare", "nsenter", "flatpak", "snap", "tsx", "ts-node", "nodemon", "poetry", "pdm", "hatch",
	"rye", "pixi", "conda", "mamba", "micromamba", "mise", "asdf", "volta", "fnm", "nvm", "direnv", "nix", "nix-shell", "npm", "busybox", "wine"}

var versionSuffix = regexp.MustCompile(`^([a-z]+?)-?[0-9]+(\.[0-9]+)*$`)

// interpreterOf finds an interpreter by its name, with a version or without: python3.11.
func interpreterOf(name string) (interpreter, bool) {
	if m := versionSuffix.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if other, ok := aliases[name]; ok {
		name = other
	}
	i, ok := interpreters[name]
	return i, ok
}

func (i interpreter) parse(name string, args []string) Target {
	t := Target{Launcher: name, Args: args}
	rest := args
	if i.first != "" {
		if len(rest) == 0 || rest[0] != i.first {
			t.Opaque = name + " without '" + i.first + "'"
			return t
		}
		rest = rest[1:]
	}
	for n, arg := range rest {
		switch {
		case i.file != "" && arg == i.file && n+1 < len(rest):
			t.File = rest[n+1]
			return t
		case slices.Contains(i.flags, arg) || slices.ContainsFunc(i.prefixes, func(p string) bool { return strings.HasPrefix(arg, p) }):
			continue
		case strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+") || strings.HasPrefix(arg, "@"):
			t.Opaque = "the option " + arg + " of " + name + " may run code that no hash covers"
			return t
		case i.file != "":
			t.Opaque = name + " without " + i.file
			return t
		case strings.Contains(arg, ":") && i.first != "":
			t.Opaque = name + " run " + arg + " cannot be pinned yet"
			return t
		}
		t.File = arg
		return t
	}
	t.Opaque = name + " without a file"
	return t
}
