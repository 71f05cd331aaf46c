// Package launcher reads how an MCP server is started: what its command line really
// runs, and whether that is pinned.
//
// Most servers are not started by their own name. "npx -y notes@1.4.0" downloads and
// runs a package, "docker run img" an image, "node server.js" a file, "./server" itself.
// [Parse] tells these apart by each launcher's own grammar and never guesses: an option
// that is not in a launcher's table, or a shell line that is more than one simple
// command, gives a [Target] that is [Target.Opaque] and says why. To take the wrong word
// for the package would be worse than to take none.
//
// # Grammar
//
//	npx, npm exec, npm x, bunx, bun x       [OPTION]... PACKAGE [ARG]...
//	pnpm dlx, pnpx, pnx, yarn dlx           -p|--package PACKAGE... COMMAND [ARG]...
//	uvx, uv tool run                        [OPTION]... PACKAGE [ARG]...
//	                                        --from REQUIREMENT [--with R]... COMMAND [ARG]...
//	pipx run                                [OPTION]... REQUIREMENT | --spec R COMMAND [ARG]...
//	uv run                                  [--with R]... [--directory DIR] COMMAND|FILE [ARG]...
//	docker, podman, nerdctl [container] run [OPTION]... IMAGE [ARG]...
//	go run                                  [FLAG]... MODULE/PATH@VERSION | DIRECTORY [ARG]...
//	deno run                                [OPTION]... npm:P@V | jsr:@S/P@V | FILE [ARG]...
//	dnx, dotnet tool exec                   PACKAGE[@VERSION] [--version V] [OPTION]... [-- ARG...]
//	node, python, java -jar, …              [OPTION]... FILE [ARG]...
//	python -m                               MODULE [ARG]...
//	env                                     [NAME=VALUE]... and one of these
//	cmd /c                                  and one of these
//	sh -c                                   "[exec] and one of these", one simple command
//
// # Pins
//
// A package is pinned if its spelling admits one version (version), one content (digest)
// or one commit; it is not pinned by a range, a tag, or nothing. [Target.Spell] writes
// the same command line with a version in the launcher's own syntax. A pinned version
// says which package is meant. It does not say what bytes it has, nor what versions its
// dependencies have.
//
// # Inner programs
//
// A wrapper, such as a proxy, starts what its arguments name, and no version or lock of the wrapper says
// anything of that. Wrappers cannot be listed; what they start is called by the programs of this grammar.
// [Target.InnerLine] therefore reads the server's own arguments, each with several words as a line: a word
// counts that is the name of such a program, also with a path, a Windows suffix or "--option=" before it,
// if what follows may be that program's command line. No command of another program is listed for that; where
// the word stands decides:
//
//	where                                        counts if
//	an argument of its own, or the first word    anything follows
//	of a line; neither path nor value
//	an option's value, --option=NAME, a path     a package or image follows, also behind options that another may
//	                                             read; after npx, bunx, pnpx, uvx and dnx anything; after an
//	                                             interpreter a module, a text (-c, -e) or, but for --option=NAME,
//	                                             a file with a suffix; after another program a word that is no
//	                                             option, no path and no such name
//	items of a list without blanks: docker,git   the same, but after another program an option in the list
//	inside a line                                the same, but after a launcher anything except a comma, and
//	                                             after another program an option or a file
//
// A package that is itself called as a program that starts another one, such as cross-env, is the first word.
//
// So a value that is only called as a program passes: "--shell bash", "--language go --port 80",
// "--language python src", "--runtime=node", "--toolsets docker,git". In an image only fetching counts, because
// its interpreters and files are its own. What cannot be told counts.
//
// The vectors are in spec/launcher.json.
package launcher

import (
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Target is what a command line runs.
type Target struct {
	Launcher string    // "npx", "uv tool run", "docker run", "node", … or "" if the command is the server itself
	Wrapper  string    // "env", "cmd" or "sh" around it, "" if it stands alone
	Packages []Package // what is downloaded and run; the first names the server, unless Bin comes from another
	Bin      string    // the executable, if the command line names one beside the package
	File     string    // the script, archive, directory or Go package of this machine that is run
	Module   string    // of python -m: found where the interpreter looks for modules
	Dir      string    // the directory whose project is used: uv run --directory, --project
	WorkDir  string    // that the server is started in: uv run --directory; "" for that of the launcher
	Args     []string  // arguments that reach the server
	Opaque   string    // why the grammar cannot tell, or ""
	Shell    bool      // it is opaque because a shell would read it
	Fetches  bool      // it is opaque, and downloads what it runs
	// options that the launcher follows and Hallmark does not: they choose an interpreter, or how versions are resolved
	IgnoredOptions []string

	// Direct reports that the command itself, or an interpreter and File, is all that is
	// started: their hashes cover all that the command line names.
	Direct bool

	inner []string // the command line in the wrapper, or in all of them that are cmd
	adds  bool     // the wrapper has options or variables of its own, or another one around it has
	words []string // all arguments as they were given
}

// Alone reports whether nothing around the launcher has a say in what the server gets: there is no wrapper, or it does
// nothing but start the command, as "cmd /c npx ..." does.
func (t Target) Alone() bool { return t.Wrapper == "" || !t.adds }

// Unwrap returns a command line without a "cmd /c" that does nothing but start the rest of it; an opaque one as it is.
func Unwrap(command string, args []string) (string, []string) {
	if t := Parse(command, args); t.Wrapper == "cmd" && !t.adds && t.Opaque == "" {
		return t.inner[0], t.inner[1:]
	}
	return command, args
}

// Package is the package or image that a launcher is told to run.
type Package struct {
	Text      string    // as written, "@acme/notes@^1"
	Ecosystem Ecosystem // where it comes from
	Name      string    // without version
	Spec      string    // its version, range, tag or digest as written, "" if none
	Pin       Pin       // how its version is written
	Ref       Ref       // the artifact, where the spelling is exact; an image also by its tag

	at            place
	bare          bool     // the word is the version alone
	before, after string   // an exact version stands between them
	lead, trail   []string // words around it where the pinned spelling needs more
}

// Pinned reports whether the spelling admits one version or content only.
func (p Package) Pinned() bool { return p.Pin == Version || p.Pin == Digest || p.Pin == Commit }

// Requirement is a package of PyPI as PEP 508 writes it: "name[extra]==1.2.3", "name>=1".
// A tag, which only launchers know, is left out: without a version it is the newest.
func (p Package) Requirement() string {
	m := requirementRE().FindStringSubmatch(p.Text)
	if p.Ecosystem != PyPI || m == nil {
		return ""
	}
	text := m[1] + m[2]
	switch {
	case p.Ref.Version() != "":
		text += "==" + p.Ref.Version()
	case !strings.HasPrefix(p.Spec, "@"):
		text += p.Spec
	}
	if _, marker, ok := strings.Cut(p.Text, ";"); ok {
		text += " ;" + marker
	}
	return text
}

// Ecosystem says where a package comes from.
type Ecosystem string

// The ecosystems.
const (
	NPM   Ecosystem = "npm"
	JSR   Ecosystem = "jsr"
	PyPI  Ecosystem = "pypi"
	OCI   Ecosystem = "oci"
	Go    Ecosystem = "go"
	NuGet Ecosystem = "nuget"
	Git   Ecosystem = "git"
	HTTPS Ecosystem = "https" // a script by its URL, over http too
)

// Pin says how a package's version is written.
type Pin string

// The pins. The first three admit one version or content only.
const (
	Version  Pin = "version"  // an exact version
	Digest   Pin = "digest"   // of an image
	Commit   Pin = "commit"   // 40 hex digits
	Range    Pin = "range"    // several versions
	Tag      Pin = "tag"      // a name that can move: latest, a branch, an image's tag
	Unpinned Pin = "unpinned" // nothing at all
)

// Pinned reports whether the target runs one package that is pinned.
func (t Target) Pinned() bool {
	return len(t.Packages) > 0 && !slices.ContainsFunc(t.Packages, func(p Package) bool { return !p.Pinned() })
}

// Limits of a command line. A longer one is opaque.
const (
	MaxArguments = 1024
	MaxLength    = 128 << 10 // of all arguments, in bytes
)

// maxDepth is how many wrappers may stand around each other.
const maxDepth = 4

// Parse reads a command and its arguments.
func Parse(command string, args []string) Target {
	length := len(command)
	words := make([]word, len(args))
	for i, arg := range args {
		length += len(arg)
		words[i] = word{arg, place{i, 0, len(arg), false}}
	}
	if len(args) > MaxArguments || length > MaxLength {
		return Target{Launcher: commandName(command), Args: args, words: args,
			Opaque: "the command line is too long to be read"}
	}
	t := parse(command, words, 0)
	if line, ok := wholeLine(command); ok {
		t = opaqueTarget(commandName(line), "the command is a whole line, which some clients give to a shell", words)
		t.Shell = true
	}
	t.words = args
	t.Fetches = t.Opaque != "" && (t.Fetches || InnerLine(t.Args, true) != nil)
	return t
}

// wholeLine reports whether a command is a whole line, and of which program: that of this package, with words behind
// it, or what a shell would do more with. A path may have blanks.
func wholeLine(command string) (program string, ok bool) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return "", false
	}
	program = strings.Trim(words[0], `"'`)
	if strings.ContainsAny(command, ";|`\n") || strings.Contains(command, "&&") {
		return program, true
	}
	return program, len(words) > 1 && startsOther(program) && (!isPath(program) || !isPath(words[1]))
}

// filledIn is a text that a client replaces by something else, with what stands there without a value.
var filledIn = spelling.Form(`\$\{[^}]*?(?::-([^}]*))?\}|\{\{.*?\}\}|\{(?:env|file):[^}]*\}` +
	`|%[A-Za-z0-9_]+%|^\$[A-Za-z_]+`)

// chosenLater reports whether a client fills in the name of the program of a command, not just its directory, and what
// that is without a value: "npx" of "${RUNNER:-npx}".
func chosenLater(command string) (instead string, ok bool) {
	for _, at := range filledIn().FindAllStringSubmatchIndex(command, -1) {
		if !isPath(command[at[1]:]) {
			if at[2] >= 0 {
				instead = commandName(command[at[2]:at[3]])
			}
			return instead, true
		}
	}
	return "", false
}

// parser reads the words behind the name of a launcher. The name is passed on because
// several launchers share a parser.
type parser func(name string, words []word) Target

// launchers are those that download what they run, or build it.
var launchers = map[string]parser{
	"npx": readNPX, "npm": readNPM, "bunx": readNPX, "bun": readBun,
	"pnpm": readPNPM, "pnpx": readNPX, "pnx": readNPX, "yarn": readYarn,
	"uvx": readUVX, "uv": readUV, "pipx": readPipx,
	"docker": readContainer, "podman": readContainer, "nerdctl": readContainer,
	"go": readGo, "deno": readDeno, "dnx": readDNX, "dotnet": readDotnet,
}

func parse(command string, words []word, depth int) Target {
	name := commandName(command)
	if instead, ok := chosenLater(command); ok {
		t := opaqueTarget(instead, "a variable says which program is started: "+quote(command), words)
		_, t.Fetches = launchers[instead]
		return t
	}
	if depth > maxDepth {
		return opaqueTarget(name, "too many programs that start each other", words)
	}
	if read := wrapperReader(name); read != nil {
		return read(name, words, depth)
	}
	if read, ok := launchers[name]; ok {
		t := read(name, words)
		t.Fetches = t.Fetches || t.Opaque != "" && len(t.Packages) == 0 && fetchesLater(read, name, words)
		return t.readOn(name, words, depth)
	}
	if i, ok := interpreterOf(name); ok {
		if i.shell && hasCommandOption(words) {
			return readShell(name, words, depth)
		}
		return i.read(name, words).readOn(name, words, depth)
	}
	isServer := len(words) > 0 && words[0].text != "" && words[0].text == serversThemselves[name]
	if fetches := slices.Contains(fetchers, name); !isServer && (fetches || slices.Contains(starters, name)) {
		t := opaqueTarget(name, name+" starts another program, which no hash of "+name+" covers", words)
		t.Shell, t.Fetches = slices.Contains(shells, name), fetches && !runsLocally(name, words)
		return t
	}
	return Target{Args: texts(words), Direct: true}
}

// readOn reads the rest of a line whose program, called name, starts a launcher in its turn: as the script or the
// module of an interpreter, or as the command of uv run.
func (t Target) readOn(name string, words []word, depth int) Target {
	if t.Launcher == "uv run" && t.Bin != "" {
		rest := make([]word, len(t.Args))
		for i, arg := range t.Args {
			rest[i].text = arg
		}
		if inner := parse(t.Bin, rest, depth+1); len(inner.Packages) > 0 || inner.Fetches {
			t.File, t.Module, t.Opaque, t.Fetches = "", "", "uv run starts "+inner.Launcher, true
		}
		return t
	}
	launcher := t.launcherBehind(name)
	at := slices.IndexFunc(words, func(w word) bool { return w.text == t.File+t.Module || w.text == "-m"+t.Module })
	if t.Opaque != "" || launcher == "" || at < 0 {
		return t
	}
	t = launchers[launcher](launcher, words[at+1:])
	t.Wrapper, t.Direct = name, false
	return t
}

// runsLocally reports whether nix is told to use what lies here alone: no word of its line names a package or a flake
// of another place.
func runsLocally(name string, words []word) bool {
	return strings.HasPrefix(name, "nix") && !slices.ContainsFunc(words, func(w word) bool {
		return strings.ContainsAny(w.text, ":#") || w.text == "-p" || w.text == "--packages"
	})
}

// startsOther reports whether a command is a program that this package knows to start others.
func startsOther(command string) bool {
	return RunsOtherCode(command) || slices.Contains(fetchers, commandName(command))
}

// RunsOtherCode reports whether a command is a launcher, an interpreter or a wrapper that is known
// here: a program that runs other code than its own.
func RunsOtherCode(command string) bool {
	name := commandName(command)
	_, interprets := interpreterOf(name)
	_, launches := launchers[name]
	return interprets || launches || wrapperReader(name) != nil || slices.Contains(starters, name)
}

// commandName is the name of a command without directory and Windows suffix, in lower case.
func commandName(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, suffix := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// opaqueTarget is the target of a command line that cannot be read, and why.
func opaqueTarget(launcher, why string, words []word) Target {
	return Target{Launcher: launcher, Args: texts(words)}.unread(why)
}

// unread is t as that of a command line that cannot be read, and why.
func (t Target) unread(why string) Target {
	t.Opaque = why
	return t
}
