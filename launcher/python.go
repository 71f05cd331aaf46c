package launcher

import (
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// uvxOptions are the options of uvx and uv tool run that do not change where packages come
// from: an index, a constraints file or a link directory makes the line opaque.
var uvxOptions = grammar{
	flags: []string{"-q", "--quiet", "-v", "--verbose", "--isolated", "--no-cache", "-n", "--offline", "--no-progress",
		"--native-tls", "--refresh", "-U", "--upgrade", "--no-config", "--no-env-file", "--managed-python",
		"--no-managed-python", "--no-python-downloads", "--compile-bytecode", "--no-build", "--no-sources",
		"--no-binary", "--reinstall", "--system-certs", "--lfs"},
	values: []string{"--from", "--with", "-w", "-p", "--python", "--python-preference", "--color", "--cache-dir",
		"--prerelease", "--resolution", "--exclude-newer", "--refresh-package", "-P", "--upgrade-package",
		"--link-mode", "--allow-insecure-host", "--fork-strategy", "--reinstall-package", "--no-build-package",
		"--no-binary-package", "--no-sources-package", "--prerelease-package", "--exclude-newer-package"},
}

var uvRunOptions = grammar{
	flags: slices.Concat(uvxOptions.flags,
		[]string{"--frozen", "--locked", "--no-sync", "--exact", "--no-project", "--active", "--no-dev", "--dev",
			"--only-dev", "--all-extras", "--all-groups", "--no-editable", "--all-packages",
			"--no-default-groups", "-s", "--script", "-m", "--module"}),
	values: slices.Concat(uvxOptions.values,
		[]string{"--directory", "--project", "--package", "--extra", "--group", "--no-group", "--only-group",
			"--env-file", "--with-editable", "--with-requirements", "--no-extra"}),
}

var pipxOptions = grammar{
	flags: []string{"--no-cache", "--verbose", "-v", "-q", "--quiet", "--pypackages", "--no-path-check",
		"--fetch-missing-python"},
	values: []string{"--spec", "--python", "--with", "--pip-args", "--path", "--index-url", "-i"},
}

// choosing are the options of uvx, uv run and pipx that choose an interpreter or how versions are resolved,
// which only the launcher itself follows.
var choosing = []string{"-p", "--python", "--python-preference", "--managed-python", "--no-managed-python",
	"--prerelease", "--resolution", "--exclude-newer", "--fetch-missing-python"}

// elsewhere are the options of uv run that choose another environment, or variables.
var elsewhere = []string{"--env-file", "--with-editable", "--with-requirements", "--isolated", "--no-project",
	"--active", "--package"}

// ignoredOptions returns those of options with one of names, which the launcher follows and Hallmark does not, as they
// are written.
func ignoredOptions(options []option, names ...string) (out []string) {
	for _, o := range options {
		if !slices.Contains(names, o.name) {
			continue
		}
		text := o.name
		if o.value.text != "" {
			text += " " + o.value.text
		}
		out = append(out, text)
	}
	return out
}

// uvOptions stand between uv and its command.
var uvOptions = grammar{
	flags: []string{"-q", "--quiet", "-v", "--verbose", "--no-cache", "-n", "--offline", "--no-progress",
		"--native-tls", "--system-certs", "--no-config", "--no-python-downloads"},
	values: []string{"--directory", "--project", "--color", "--cache-dir", "--python-preference",
		"--allow-insecure-host"},
}

func readUV(name string, words []word) Target {
	options, rest, unknown := uvOptions.readOptions(words)
	switch {
	case unknown != "":
		return opaqueTarget(name, unknownOption(name, unknown), words)
	case len(rest) > 1 && rest[0].text == "tool" && rest[1].text == "run":
		return readUVX("uv tool run", rest[2:])
	case len(rest) > 0 && rest[0].text == "x":
		return readUVX("uv tool run", rest[1:])
	case len(rest) > 0 && rest[0].text == "run":
		return readUVRun(rest[1:], options)
	}
	return opaqueTarget(name, "uv runs servers by 'uv tool run' and 'uv run' only", words)
}

// readUVX reads what follows uvx: options, the package, its arguments.
func readUVX(name string, words []word) Target {
	options, rest, unknown := uvxOptions.readOptions(words)
	t := Target{Launcher: name, IgnoredOptions: ignoredOptions(options, choosing...), Fetches: true}
	if unknown != "" {
		return t.unread(unknownOption(name, unknown))
	}
	from := valuesOf(options, "--from")
	switch {
	case len(rest) == 0:
		t.Opaque, t.Fetches = name+" without a package", false
		return t
	case len(from) > 1:
		return t.unread(name + " with --from twice")
	case len(from) == 1:
		t.Packages = []Package{requirementPackage(from[0])}
		t.Bin = rest[0].text
	default:
		t.Packages = []Package{uvToolPackage(rest[0])}
	}
	return t.withRequirements(rest[1:], valuesOf(options, "--with", "-w"))
}

// withRequirements is t with the packages of --with and the server's arguments.
func (t Target) withRequirements(args, with []word) Target {
	for _, w := range with {
		for _, part := range splitRequirements(w) {
			t.Packages = append(t.Packages, requirementPackage(part))
		}
	}
	t.Args = texts(args)
	for _, p := range t.Packages {
		if p.Ecosystem == "" {
			t.Opaque = "not a requirement that names a package: " + quote(p.Text)
			t.Fetches = !isLocal(p.Text)
		}
	}
	return t
}

// splitRequirements cuts the value of --with, such as "a,b==1", at its commas. A value in which
// a requirement itself has commas, such as "a>=1,<2", stays whole.
func splitRequirements(w word) []word {
	if !strings.Contains(w.text, ",") || w.at.shell || strings.ContainsAny(w.text, "<>!~[;") {
		return []word{w}
	}
	var out []word
	start := w.at.start
	for text := range strings.SplitSeq(w.text, ",") {
		end := start + len(text)
		out = append(out, word{text, place{w.at.arg, start, end, false}})
		start = end + 1
	}
	return out
}

func readPipx(name string, words []word) Target {
	if len(words) == 0 || words[0].text != "run" {
		return opaqueTarget(name, "pipx starts servers by 'pipx run' only", words)
	}
	name = "pipx run"
	options, rest, unknown := pipxOptions.readOptions(words[1:])
	t := Target{Launcher: name, IgnoredOptions: ignoredOptions(options, choosing...), Fetches: true}
	spec := valuesOf(options, "--spec")
	switch {
	case unknown != "":
		return t.unread(unknownOption(name, unknown))
	case isGiven(options, "--pip-args", "--index-url", "-i", "--path"):
		return t.unread(name + " gets packages from elsewhere than the package index")
	case len(rest) == 0:
		t.Opaque, t.Fetches = name+" without a package", false
		return t
	case len(spec) > 1:
		return t.unread(name + " with --spec twice")
	case len(spec) == 1:
		t.Packages = []Package{requirementPackage(spec[0])}
		t.Bin = rest[0].text
	case webURL().MatchString(rest[0].text):
		t.Packages = []Package{{Text: rest[0].text, Ecosystem: HTTPS, Name: rest[0].text,
			Pin: Unpinned, at: rest[0].at}}
	case strings.HasSuffix(rest[0].text, ".py") || strings.Contains(rest[0].text, "/"):
		t.File = rest[0].text
	default:
		t.Packages = []Package{requirementPackage(rest[0])}
	}
	return t.withRequirements(rest[1:], valuesOf(options, "--with"))
}

// readUVRun reads what follows uv run: a command in the environment of a project, which the
// project's own uv.lock pins, and packages that are added to it, which it does not. before are
// the options of uv itself.
func readUVRun(words []word, before []option) Target {
	options, rest, unknown := uvRunOptions.readOptions(words)
	t := Target{Launcher: "uv run", Fetches: true}
	switch {
	case unknown != "":
		return t.unread(unknownOption(t.Launcher, unknown))
	case len(rest) == 0:
		return opaqueTarget(t.Launcher, "uv run without a command", nil)
	}
	places := slices.Concat(before, options)
	for _, w := range valuesOf(places, "--directory") {
		t.Dir, t.WorkDir = w.text, w.text
	}
	for _, w := range valuesOf(places, "--project") {
		t.Dir = w.text
	}
	t.IgnoredOptions = ignoredOptions(options, slices.Concat(choosing, elsewhere)...)
	first := rest[0].text
	switch {
	case isGiven(options, "-m", "--module"):
		t.Module = first
	case strings.HasPrefix(first, "https://") || strings.HasPrefix(first, "http://"):
		t.Packages = []Package{{Text: first, Ecosystem: HTTPS, Name: first, Pin: Unpinned, at: rest[0].at}}
	case isGiven(options, "-s", "--script") || strings.HasSuffix(first, ".py") || first == ".":
		t.File = first
	case first == "-":
		t.Opaque, t.Fetches = "uv run reads a program from standard input", false
		return t
	default:
		t.Bin, t.Fetches = first, false
		if i, ok := interpreterOf(commandName(first)); ok {
			inner := i.read(commandName(first), rest[1:])
			t.File, t.Module, t.Opaque = inner.File, inner.Module, inner.Opaque
		}
	}
	return t.withRequirements(rest[1:], valuesOf(options, "--with", "-w"))
}

// OutsideProject returns the line of uvx that starts what a line of "uv run" with packages and a command of theirs
// does where there is no project: nil if the line is another. Client entries that the Python SDKs write are such lines.
func (t Target) OutsideProject() []string {
	if t.Launcher != "uv run" || t.Opaque != "" || t.Wrapper != "" || t.Dir != "" || t.Bin == "" ||
		t.File != "" || t.Module != "" || len(t.Packages) == 0 {
		return nil
	}
	line := []string{"uvx"}
	for _, option := range t.IgnoredOptions {
		words := strings.SplitN(option, " ", 2)
		switch {
		case slices.Contains(choosing, words[0]):
			line = append(line, words...)
		case words[0] != "--no-project" && words[0] != "--isolated":
			return nil
		}
	}
	named := func(p Package) bool { return p.Name == t.Bin } // whose command it is, wherever it stands
	at := max(0, slices.IndexFunc(t.Packages, named))
	for i, p := range slices.Concat(t.Packages[at:at+1], t.Packages[:at], t.Packages[at+1:]) {
		if p.Ecosystem != PyPI {
			return nil
		}
		line = append(line, []string{"--from", "--with"}[min(i, 1)], p.Text)
	}
	return append(append(line, t.Bin), t.Args...)
}

// requirementRE cuts a PEP 508 requirement: name, extras, and the rest.
var requirementRE = spelling.Form(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[A-Za-z0-9._, -]*\])?\s*(.*)$`)

// requirementPackage reads what pip would: "name[extra]==1.2.3", or "git+https://…@commit".
func requirementPackage(w word) Package {
	p := Package{Text: w.text, at: w.at}
	if strings.HasPrefix(w.text, "git+") {
		return gitPackage(p, "@")
	}
	m := requirementRE().FindStringSubmatch(w.text)
	if m == nil || strings.HasPrefix(m[3], ":") { // a URL
		return p
	}
	name, extras, spec := m[1], m[2], m[3]
	if _, err := artifact.NewPyPI(name, "0", ""); err != nil {
		return p
	}
	spec, marker, _ := strings.Cut(spec, ";")
	spec = strings.TrimSpace(spec)
	version := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(spec, "=="), "="))
	exact := strings.HasPrefix(spec, "==")
	if at, ok := strings.CutPrefix(spec, "@"); ok { // uv: name@1.2.3; pip: name @ URL
		at = strings.TrimSpace(at)
		if strings.HasPrefix(at, "git+") {
			p.Text = at
			p = gitPackage(p, "@")
			p.Text, p.before = w.text, name+extras+" @ "+p.before
			return p
		}
		if strings.ContainsAny(at, "/:") {
			return p
		}
		version, exact = at, true
	}
	p.Ecosystem, p.Name, p.Spec = PyPI, name, spec
	p.before = name + extras + "=="
	if marker != "" {
		p.after = ";" + marker
	}
	ref, err := artifact.NewPyPI(name, version, "")
	exact = exact && err == nil
	if exact {
		p.Ref = ref
	}
	p.Pin = pinOf(strings.TrimPrefix(spec, "@"), exact)
	return p
}

// uvToolPackage reads uvx's own word for a package: "name", "name@1.2.3", "name@latest".
func uvToolPackage(w word) Package {
	p := requirementPackage(w)
	if p.Ecosystem != PyPI {
		return p
	}
	if strings.Contains(p.before, "[") || p.after != "" { // uvx takes extras and markers by --from
		p.lead, p.trail = []string{"--from"}, []string{p.Name}
		return p
	}
	p.before, p.after = p.Name+"@", ""
	return p
}
