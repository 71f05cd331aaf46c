// Package launcher reads how an MCP server is started: what its command line really
// runs, and whether that is pinned.
//
// Most servers are not started by their own name. "npx -y notes@1.4.0" downloads and
// runs a package, "node server.js" runs a file, "./server" runs itself. [Parse] tells
// these apart by the launcher's own grammar. A launcher that is known but whose grammar
// is not read here gives a [Target] that says so: guessing which word is the package
// would pin the wrong thing.
package launcher

import (
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Target is what a command line runs.
type Target struct {
	Launcher string       // "npx", "node", … or "" if the command is the server itself
	Package  string       // the package as written: "@acme/notes@^1", "" if none
	Ref      artifact.Ref // that package, if it is written with an exact version
	Name     string       // the package's name without version
	Spec     string       // its version, range or tag as written, "" if none
	Bin      string       // the package's executable, if the command line names one
	File     string       // the script or archive that an interpreter is told to run
	Args     []string     // arguments that reach the server
	Opaque   string       // why the grammar cannot tell, or ""
}

// Exact reports whether the target names a package with an exact version.
func (t Target) Exact() bool { return !t.Ref.IsZero() }

// Parse reads a command and its arguments.
func Parse(command string, args []string) Target {
	switch name := base(command); name {
	case "npx":
		return npx(args)
	case "npm":
		if len(args) > 0 && (args[0] == "exec" || args[0] == "x") {
			return npx(args[1:])
		}
		return Target{Launcher: name, Args: args, Opaque: "npm runs what package.json says"}
	case "uvx", "uv", "bunx", "pnpm", "pnpx", "yarn", "pipx", "docker", "podman", "go", "dnx", "dotnet", "cargo", "just":
		return Target{Launcher: name, Args: args, Opaque: "servers started by " + name + " cannot be pinned yet"}
	default:
		if i, ok := interpreterOf(name); ok {
			return i.parse(name, args)
		}
		if slices.Contains(wrappers, name) {
			return Target{Launcher: name, Args: args, Opaque: name + " starts another program, which no hash of " + name + " covers"}
		}
	}
	return Target{Args: args}
}

// base is the command's name without directory and Windows suffix, in lower case.
func base(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, suffix := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// npxFlags are npx's options that take no value.
var npxFlags = []string{"-y", "--yes", "-n", "--no", "--no-install", "-q", "--quiet", "-s", "--silent", "-d", "--verbose",
	"--prefer-offline", "--prefer-online", "--offline", "--ignore-scripts", "--ignore-existing", "--no-audit", "--no-fund"}

// npx reads the arguments of npx and npm exec: options, the package, its arguments;
// or options with -p, the executable, its arguments. The first word that is no option
// ends npx's own.
func npx(args []string) Target {
	t := Target{Launcher: "npx"}
	var named []string
	for len(args) > 0 {
		arg := args[0]
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			args = args[1:]
		case slices.Contains(npxFlags, flag):
			args = args[1:]
			continue
		case flag == "-p" || flag == "--package":
			if !joined {
				if len(args) < 2 {
					t.Opaque = "-p needs a package"
					return t
				}
				value, args = args[1], args[1:]
			}
			named = append(named, value)
			args = args[1:]
			continue
		case flag == "-c" || flag == "--call":
			t.Opaque = "npx --call runs a shell line"
			return t
		case strings.HasPrefix(arg, "-") && arg != "-":
			t.Opaque = "npx option " + arg + " is not known; write '--' before the package or leave the option out"
			return t
		}
		break
	}
	switch {
	case len(named) > 1:
		t.Opaque = "npx with several packages"
		return t
	case len(named) == 1:
		t.Package = named[0]
		if len(args) > 0 {
			t.Bin, args = args[0], args[1:]
		}
	case len(args) == 0:
		t.Opaque = "npx without a package"
		return t
	default:
		t.Package, args = args[0], args[1:]
	}
	t.Args = args
	t.Name, t.Spec = splitNPM(t.Package)
	if ref, err := artifact.NewNPM(t.Name, t.Spec); err == nil {
		t.Ref = ref
		return t
	}
	if _, err := artifact.NewNPM(t.Name, "0.0.0"); err != nil {
		t.Opaque = "not a package of the npm registry: " + t.Package
	}
	return t
}

// splitNPM cuts "[@scope/]name[@spec]".
func splitNPM(s string) (name, spec string) {
	if i := strings.LastIndexByte(s, '@'); i > 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}
