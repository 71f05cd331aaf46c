package launcher

import (
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// goOptions are the build flags of go run that name no other code: -exec, -overlay,
// -toolexec and -modfile do.
var goOptions = grammar{
	single: true,
	flags:  []string{"-a", "-n", "-race", "-v", "-x", "-trimpath", "-msan", "-asan", "-cover", "-modcacherw"},
	values: []string{"-p", "-tags", "-mod", "-ldflags", "-buildvcs", "-C"},
}

// readGo reads what follows go.
func readGo(name string, words []word) Target {
	if len(words) == 0 || words[0].text != "run" {
		return opaqueTarget(name, "go starts servers by 'go run' only", words)
	}
	t := Target{Launcher: "go run"}
	options, rest, unknown := goOptions.readOptions(words[1:])
	switch {
	case unknown != "":
		t.Opaque = unknownOption(t.Launcher, unknown)
		t.Fetches = slices.ContainsFunc(words, func(w word) bool {
			host, _, _ := strings.Cut(w.text, "/")
			return goPackage(w).Ecosystem != "" && strings.Contains(host, ".") && !strings.Contains(host, "@")
		})
		return t
	case len(rest) == 0:
		return t.unread("go run without a package")
	}
	for _, w := range valuesOf(options, "-C") {
		t.Dir = w.text
	}
	t.Args = texts(rest[1:])
	if !strings.Contains(rest[0].text, "@") {
		// A path of this module or of one that its go.mod requires, or files.
		t.File = rest[0].text
		return t
	}
	p := goPackage(rest[0])
	if p.Ecosystem == "" {
		return t.unread("not a Go package: " + quote(p.Text))
	}
	t.Packages = []Package{p}
	return t
}

// goPackage reads "path@version". Whether the version exists is not asked.
func goPackage(w word) Package {
	p := Package{Text: w.text, at: w.at}
	path, version, _ := strings.Cut(w.text, "@")
	if module.CheckImportPath(path) != nil || version == "" {
		return p
	}
	p.Ecosystem, p.Name, p.Spec, p.before = Go, path, version, path+"@"
	isFull := semver.Canonical(version)+semver.Build(version) == version && strings.Count(version, ".") >= 2
	switch {
	case semver.IsValid(version) && isFull:
		p.Pin = Version
	case commitRE().MatchString(version):
		p.Pin = Commit
	case strings.HasPrefix(version, "v") && semver.IsValid(version) || strings.ContainsAny(version[:1], "<>="):
		p.Pin = Range
	default: // latest, upgrade, a branch, an abbreviated commit
		p.Pin = Tag
	}
	return p
}

// denoPackage reads a word of deno run that names something from outside; ok is false
// if it names a file.
func denoPackage(w word) (p Package, ok bool) {
	scheme, _, found := strings.Cut(w.text, ":")
	if !found {
		return p, false
	}
	switch scheme {
	case "npm":
		return denoNPM(w), true
	case "jsr":
		return jsrPackage(w), true
	case "http", "https":
		return Package{Text: w.text, Ecosystem: HTTPS, Name: w.text, Pin: Unpinned, at: w.at}, true
	}
	return Package{Text: w.text}, len(scheme) > 1 // one letter is a drive of Windows
}

// denoNPM reads "npm:[/]name[@version][/path]".
func denoNPM(w word) Package {
	rest := strings.TrimPrefix(strings.TrimPrefix(w.text, "npm:"), "/")
	name, path := cutPath(rest)
	p := npmPackage(word{name, w.at})
	if p.Ecosystem != NPM {
		return Package{Text: w.text}
	}
	p.Text, p.before, p.after = w.text, "npm:"+p.before, path
	return p
}

// cutPath cuts the path off "[@scope/]name@version/path".
func cutPath(s string) (name, path string) {
	from := 0
	if strings.HasPrefix(s, "@") {
		from = strings.IndexByte(s, '/') + 1
	}
	if i := strings.IndexByte(s[from:], '/'); i >= 0 {
		return s[:from+i], s[from+i:]
	}
	return s, ""
}

var jsrNameRE = spelling.Form(`^@[a-z0-9-]{2,32}/[a-z0-9-]{2,64}$`)

// jsrPackage reads "jsr:[/]@scope/name[@version][/path]".
func jsrPackage(w word) Package {
	p := Package{Text: w.text, at: w.at}
	rest, path := cutPath(strings.TrimPrefix(strings.TrimPrefix(w.text, "jsr:"), "/"))
	p.Name, p.Spec = splitNPM(rest)
	if !jsrNameRE().MatchString(p.Name) {
		return Package{Text: p.Text}
	}
	p.Ecosystem, p.before, p.after = JSR, "jsr:"+p.Name+"@", path
	_, err := artifact.NewNPM("x", p.Spec) // the same versions
	p.Pin = pinOf(p.Spec, err == nil)
	return p
}

// dnxOptions are the options of dnx, which may come before the package and after it. A source
// makes the line opaque.
var dnxOptions = grammar{
	flags: []string{"-y", "--yes", "--prerelease", "--interactive", "--allow-roll-forward", "--ignore-failed-sources",
		"--disable-parallel", "--no-cache", "--no-http-cache", "--allow-downgrade"},
	values: []string{"--version", "-v", "--verbosity", "--framework"},
}

func readDotnet(name string, words []word) Target {
	switch {
	case len(words) > 0 && words[0].text == "dnx":
		return readDNX("dnx", words[1:])
	case len(words) > 1 && words[0].text == "tool" && (words[1].text == "exec" || words[1].text == "execute"):
		return readDNX("dotnet tool exec", words[2:])
	case len(words) > 0 && strings.HasSuffix(strings.ToLower(words[0].text), ".dll"):
		return Target{Launcher: name, File: words[0].text, Args: texts(words[1:])}
	}
	return opaqueTarget(name, "dotnet starts servers by 'dotnet tool exec' and with a .dll only", words)
}

// readDNX reads what follows dnx. Its options end where "--" or the server's own begin.
func readDNX(name string, words []word) Target {
	t := Target{Launcher: name, Fetches: true}
	options, rest, unknown := dnxOptions.readOptions(words)
	if unknown != "" {
		return t.unread(unknownOption(name, unknown))
	}
	if len(rest) == 0 {
		return opaqueTarget(name, name+" without a package", nil)
	}
	p := nugetPackage(rest[0])
	more, rest, unknown := dnxOptions.readOptions(rest[1:])
	if unknown != "" {
		return t.unread(unknownOption(name, unknown))
	}
	versions := valuesOf(append(options, more...), "--version")
	switch {
	case p.Ecosystem == "":
		return t.unread("not a package of the NuGet registry: " + quote(p.Text))
	case len(versions) > 1 || len(versions) == 1 && p.Spec != "":
		return t.unread(name + " is given several versions")
	case len(versions) == 1:
		text := p.Text
		p = nugetPackage(word{p.Name + "@" + versions[0].text, versions[0].at})
		p.Text, p.before, p.after = text+" --version "+versions[0].text, "", ""
		p.bare = true
	}
	t.Packages, t.Args = []Package{p}, texts(rest)
	return t
}

// nugetPackage reads "Id[@version]".
func nugetPackage(w word) Package {
	p := Package{Text: w.text, at: w.at}
	p.Name, p.Spec, _ = strings.Cut(w.text, "@")
	if _, err := artifact.NewNuGet(p.Name, "1.0.0"); err != nil {
		return Package{Text: w.text}
	}
	p.Ecosystem, p.before = NuGet, p.Name+"@"
	var err error
	p.Ref, err = artifact.NewNuGet(p.Name, p.Spec)
	p.Pin = pinOf(p.Spec, err == nil)
	return p
}
