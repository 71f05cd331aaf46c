package closure

import (
	"cmp"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// MissingError says that a registry does not have what a declaration names.
type MissingError struct {
	Name    string
	Version string // an exact one, a range or a tag; "" if there is no package of that name
}

func (e *MissingError) Error() string {
	if e.Version == "" {
		return "the registry has no package " + e.Name + ", or does not show it to you"
	}
	return "the registry has no version " + e.Version + " of " + e.Name
}

// What npm and uv say of a package, and of a version, that the registry does not have.
var (
	noPackage = spelling.Form(`npm error 404 .*'(@?[^@']+)@[^']*' (?:could not be found|is not in)|` +
		`Because (\S+) was not found in the package registry`)
	noVersion = spelling.Form(`No matching version found for (@?[^@\s]+)@(.+)\.|Because (?:there is no ` +
		`version of \S+|only \S+ is available) and you require ([\w.-]+(?:\[.*?\])?)(\S+), we can conclude`)
)

// findMissing returns what the output of a resolver says that the registry does not have, if subject names it, and nil
// else: what a dependency requires is its author's.
func findMissing(subject string, output []byte) error {
	found := new(MissingError)
	if m := noPackage().FindSubmatch(output); m != nil {
		found.Name = cmp.Or(string(m[1]), string(m[2]))
	} else if m := noVersion().FindSubmatch(output); m != nil {
		found.Name = cmp.Or(string(m[1]), string(m[3]))
		found.Version = strings.TrimPrefix(cmp.Or(string(m[2]), string(m[4])), "==")
	}
	if found.Name == "" || !strings.Contains(subject, found.Name) {
		return nil
	}
	return found
}
