package launcher

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Ref is the name of an artifact.
type Ref = artifact.Ref

// npxOptions are the options of npx and npm exec that do not change what runs. An option that
// names another registry, another shell or another place to look is left out on purpose:
// it makes the line opaque.
var npxOptions = grammar{
	flags: []string{"-y", "--yes", "-n", "--no", "--no-install", "-q", "--quiet", "-s", "--silent", "-d", "--verbose",
		"--prefer-offline", "--prefer-online", "--offline", "--ignore-scripts", "--ignore-existing",
		"--no-audit", "--no-fund", "--no-update-notifier"},
	values: []string{"-p", "--package", "-c", "--call", "--loglevel"},
}

// The options of the other runners, by the same rule.
var (
	bunxOptions = grammar{
		flags:  []string{"-y", "--yes", "--bun", "--silent", "--verbose", "--no-install"},
		values: []string{"-p", "--package"},
	}
	pnpmOptions = grammar{flags: []string{"-s", "--silent", "--prefer-offline", "--offline"},
		values: []string{"--package", "-c", "--shell-mode", "--allow-build", "--reporter", "--loglevel"}}
	yarnOptions = grammar{flags: []string{"-q", "--quiet"}, values: []string{"-p", "--package"}}
)

func readNPM(name string, words []word) Target {
	if len(words) > 0 && (words[0].text == "exec" || words[0].text == "x") {
		return readNPX("npx", words[1:])
	}
	return opaqueTarget(name, "npm runs what package.json says", words)
}

func readBun(name string, words []word) Target {
	if len(words) > 0 && words[0].text == "x" {
		return readNPX("bunx", words[1:])
	}
	i, _ := interpreterOf(name)
	return i.read(name, words)
}

func readPNPM(name string, words []word) Target {
	_, rest, unknown := pnpmOptions.readOptions(words)
	if unknown == "" && len(rest) > 0 && rest[0].text == "dlx" {
		return readNPX("pnpm dlx", slices.Concat(words[:len(words)-len(rest)], rest[1:]))
	}
	return opaqueTarget(name, "pnpm runs what package.json says", words)
}

func readYarn(name string, words []word) Target {
	if len(words) > 0 && words[0].text == "dlx" {
		return readNPX("yarn dlx", words[1:])
	}
	return opaqueTarget(name, "yarn runs what package.json says", words)
}

// readNPX reads what follows any runner of npm packages: options, the package, its
// arguments; or options with --package, the executable, its arguments. The first word
// that is no option ends the runner's own.
func readNPX(name string, words []word) Target {
	g := npxOptions
	switch name {
	case "bunx":
		g = bunxOptions
	case "pnpm dlx", "pnpx", "pnx":
		g = pnpmOptions
		name = "pnpm dlx"
	case "yarn dlx":
		g = yarnOptions
	}
	options, rest, unknown := g.readOptions(words)
	t := Target{Launcher: name, Fetches: true}
	switch {
	case unknown != "":
		return t.unread(unknownOption(name, unknown))
	case isGiven(options, "-c", "--call", "--shell-mode"):
		t.Opaque, t.Shell = name+" --call runs a shell line", true
		return t
	}
	for _, w := range valuesOf(options, "-p", "--package") {
		t.Packages = append(t.Packages, npmPackage(w))
	}
	switch {
	case len(rest) == 0 && len(t.Packages) == 0:
		return opaqueTarget(name, name+" without a package", nil)
	case len(t.Packages) == 0:
		t.Packages, rest = []Package{npmPackage(rest[0])}, rest[1:]
	case len(rest) > 0:
		t.Bin, rest = rest[0].text, rest[1:]
	}
	t.Args = texts(rest)
	for _, p := range t.Packages {
		if p.Ecosystem == "" {
			t.Opaque = "not a package of the npm registry: " + quote(p.Text)
			t.Fetches = !isLocal(p.Text)
		}
	}
	return t
}

// isLocal reports whether a package is named by its place on this machine.
func isLocal(name string) bool { return localPath().MatchString(name) }

// localPath is the beginning of a path, which a client may fill in.
var localPath = spelling.Form(`^(?:\.|/|~|file:|[A-Za-z]:[\\/]` +
	`|\$\{[A-Za-z]*(?:[Ff]older|[Rr]oot|HOME|[Dd]ir)[A-Za-z_]*\}|%[A-Za-z]+%[\\/])`)

var (
	commitRE = spelling.Form(`^[0-9a-f]{40}$`)
	tagRE    = spelling.Form(`^[A-Za-z][A-Za-z0-9._-]*$`)
	// npmGitRE is how npm spells a git repository.
	npmGitRE = spelling.Form(`^(git(\+(ssh|https?|file))?:|git@|(github|gitlab|bitbucket|gist):|` +
		`https?://[^#]*\.git(#|$)|[A-Za-z0-9_-]+/[A-Za-z0-9._-]+(#|$))`)
)

// npmPackage reads "[@scope/]name[@version, range or tag]", or a git repository. What
// is neither has no ecosystem.
func npmPackage(w word) Package {
	p := Package{Text: w.text, at: w.at}
	if npmGitRE().MatchString(w.text) {
		return gitPackage(p, "#")
	}
	p.Name, p.Spec = splitNPM(w.text)
	if _, err := artifact.NewNPM(p.Name, "0.0.0"); err != nil {
		return p
	}
	if strings.ContainsAny(p.Spec, ":/\\") { // an alias, a URL, a path
		return p
	}
	p.Ecosystem, p.before = NPM, p.Name+"@"
	var err error
	p.Ref, err = artifact.NewNPM(p.Name, p.Spec)
	p.Pin = pinOf(p.Spec, err == nil)
	return p
}

// pinOf is the pin of a package with that spec; exact says that the spec is one version.
func pinOf(spec string, exact bool) Pin {
	switch {
	case exact:
		return Version
	case spec == "":
		return Unpinned
	case tagRE().MatchString(spec) && spec != "x" && spec != "X":
		return Tag
	}
	return Range
}

// splitNPM cuts "[@scope/]name[@spec]".
func splitNPM(s string) (name, spec string) {
	if i := strings.LastIndexByte(s, '@'); i > 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// gitPackage fills p, whose commit or branch follows the last sep of its text.
func gitPackage(p Package, sep string) Package {
	text := p.Text
	if before, fragment, ok := strings.Cut(text, "#"); ok && sep == "@" { // "#subdirectory=…"
		text, p.after = before, "#"+fragment
	}
	p.Ecosystem, p.Name, p.Pin = Git, text, Unpinned
	i := strings.LastIndex(text, sep)
	if sep == "@" && i <= strings.LastIndexByte(text, '/') { // a user's name, not a revision
		i = -1
	}
	if i >= 0 {
		p.Name, p.Spec, p.Pin = text[:i], text[i+len(sep):], Tag
		if commitRE().MatchString(p.Spec) {
			p.Pin = Commit
		}
	}
	p.before = p.Name + sep
	return p
}
