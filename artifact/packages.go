package artifact

import (
	"strings"

	"golang.org/x/mod/module"
)

// NewNPM names the tarball of an npm package.
func NewNPM(name, version string) (Ref, error) { return Parse("npm:" + name + "@" + version) }

// NewNuGet names the .nupkg of a NuGet package.
func NewNuGet(id, version string) (Ref, error) { return Parse("nuget:" + id + "@" + version) }

// NewCargo names the .crate of a crate.
func NewCargo(name, version string) (Ref, error) { return Parse("cargo:" + name + "@" + version) }

// NewGo names the zip of a Go module.
func NewGo(path, version string) (Ref, error) { return Parse("go:" + path + "@" + version) }

// NewPyPI names a file of a PyPI release, or the release itself if filename is empty.
func NewPyPI(name, version, filename string) (Ref, error) {
	s := "pypi:" + name + "==" + version
	if filename != "" {
		s += "/" + filename
	}
	return Parse(s)
}

// WithVersion names the same package at another version; of PyPI the release itself. It is an error for refs of other
// kinds than packages.
func (r Ref) WithVersion(version string) (Ref, error) {
	switch r.kind {
	case NPM, NuGet, Cargo, Go:
		return Parse(string(r.kind) + ":" + r.name + "@" + version)
	case PyPI:
		return NewPyPI(r.name, version, "")
	}
	return Ref{}, refuse(PartVersion, "is no package that has versions")
}

// parseAtVersion reads name@version. The name may begin with "@": the version follows the
// last one.
func parseAtVersion(kind Kind, s string, checkName, checkVersion func(string) error) (Ref, error) {
	i := strings.LastIndexByte(s, '@')
	if i <= 0 {
		if err := checkName(s); err != nil {
			return Ref{}, err
		}
		return Ref{}, refuse(PartVersion, "has no version; write %s:name@1.2.3", kind)
	}
	name, version := s[:i], s[i+1:]
	if err := checkName(name); err != nil {
		return Ref{}, err
	}
	if err := checkVersion(version); err != nil {
		return Ref{}, err
	}
	return Ref{kind: kind, name: name, version: version}, nil
}

// checkNPMName follows npm's rules, old ones included: upper case was once allowed.
// Two departures are deliberate: the characters !'()* of a few old names are refused,
// and so is a leading hyphen, which a command would take for an option.
func checkNPMName(s string) error {
	if len(s) > 214 { // npm's limit, scope included
		return refuse(PartName, "an npm name has at most 214 characters")
	}
	scope, name, scoped := strings.Cut(s, "/")
	if !scoped {
		scope, name = "", s
	} else if len(scope) < 2 || scope[0] != '@' {
		return refuse(PartName, "an npm scope is written @scope/name")
	} else if !onlyAlnumOr(scope[1:], "._~-") || scope[1] == '.' || scope[1] == '-' {
		return refuse(PartName, "malformed npm scope")
	}
	switch {
	case !onlyAlnumOr(name, "._~-"):
		return refuse(PartName, "malformed npm name")
	case name[0] == '.' || !scoped && (name[0] == '_' || name[0] == '-'):
		return refuse(PartName, `an npm name does not begin with ".", "_" or "-"`)
	case !scoped && (strings.EqualFold(name, "node_modules") || strings.EqualFold(name, "favicon.ico")):
		return refuse(PartName, "npm reserves this name")
	}
	return nil
}

// checkNuGetID follows NuGet's pattern for ids, for ASCII.
func checkNuGetID(s string) error {
	if len(s) > 100 {
		return refuse(PartName, "a NuGet id has at most 100 characters")
	}
	if !onlyAlnumOr(s, "._-") || strings.ContainsAny(s[:1], ".-") || strings.ContainsAny(s[len(s)-1:], ".-") {
		return refuse(PartName, "malformed NuGet id")
	}
	for i := 1; i < len(s); i++ {
		if strings.IndexByte(".-", s[i]) >= 0 && strings.IndexByte(".-", s[i-1]) >= 0 {
			return refuse(PartName, "malformed NuGet id")
		}
	}
	return nil
}

// checkCrateName follows the public crate registry's rule.
func checkCrateName(s string) error {
	if len(s) > 64 {
		return refuse(PartName, "a crate's name has at most 64 characters")
	}
	if !onlyAlnumOr(s, "_-") || !isLetter(s[0]) {
		return refuse(PartName, "malformed crate name")
	}
	return nil
}

// checkModulePath refuses what the go command refuses as the path of a module.
func checkModulePath(s string) error {
	if module.CheckPath(s) != nil {
		return refuse(PartName, "malformed module path")
	}
	return nil
}

// checkModuleVersion accepts canonical versions, pseudo-versions included.
func checkModuleVersion(s string) error {
	if len(s) > maxVersion || s == "" || module.CanonicalVersion(s) != s {
		return refuse(PartVersion, "not a module's version, such as v1.2.3")
	}
	return nil
}

func parsePyPI(s string) (Ref, error) {
	name, rest, ok := strings.Cut(s, "==")
	// PEP 508: letters, digits, ".", "_", "-"; a letter or digit at both ends.
	if !onlyAlnumOr(name, "._-") || !isAlnum(name[0]) || !isAlnum(name[len(name)-1]) {
		return Ref{}, refuse(PartName, "malformed PyPI name; write pypi:name==1.2.3/filename")
	}
	if !ok {
		return Ref{}, refuse(PartVersion, "has no version; write pypi:name==1.2.3/filename")
	}
	version, filename, ok := strings.Cut(rest, "/")
	if err := checkPEP440(version); err != nil {
		return Ref{}, err
	}
	// Wheel and sdist names, PEP 427 and 625, and what old tools made.
	if ok && (!onlyAlnumOr(filename, "._+!~-") || !isAlnum(filename[0])) {
		return Ref{}, refuse(PartFilename, "malformed file name")
	}
	return Ref{kind: PyPI, name: name, version: version, filename: filename}, nil
}

// normalPyPIName is PEP 503: lower case, runs of ".", "_" and "-" become one "-".
func normalPyPIName(s string) string {
	var b strings.Builder
	run := false
	for i := range len(s) {
		if !isAlnum(s[i]) {
			run = true
			continue
		}
		if run {
			b.WriteByte('-')
			run = false
		}
		b.WriteByte(s[i])
	}
	return strings.ToLower(b.String())
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlnum(c byte) bool { return isLetter(c) || isDigit(c) }

// onlyAlnumOr reports whether s is not empty and each byte is a letter, a digit or in extra.
func onlyAlnumOr(s, extra string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte(extra, s[i]) < 0 {
			return false
		}
	}
	return s != ""
}
