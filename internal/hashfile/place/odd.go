package place

import (
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

var (
	windowsPath = spelling.Form(`^(?:[A-Za-z]:[\\/]|\\\\)`)
	otherScheme = spelling.Form(`^(?:[A-Za-z][A-Za-z0-9+.-]+:/|file:)`)
)

// oddness says why a path at which nothing is was hardly meant as it is written, and what to give; "" of other paths.
func oddness(s *Scope, asked string) string {
	bare := strings.Trim(asked, " \t\r\n")
	switch n := len(bare); {
	case n == 0:
		return "is blank; give a path in " + allowed(s)
	case n > 2 && strings.ContainsRune("'\"`", rune(bare[0])) && bare[n-1] == bare[0]:
		return "stands in quotes; give it as " + Show(bare[1:n-1])
	case bare != asked:
		return "has blanks around it; give it as " + Show(bare)
	case bare == "~" || strings.HasPrefix(bare, "~/"):
		return "begins with ~, which stands for no directory here; give a path in " + allowed(s)
	case strings.HasPrefix(bare, "$"):
		return "begins with a variable, which is not replaced here; give a path in " + allowed(s)
	case filepath.Separator == '/' && windowsPath().MatchString(bare):
		return "is a path of Windows, and this server runs on another system; give a path in " + allowed(s)
	case otherScheme().MatchString(bare):
		return "is no path, nor a URI as file:///DIRECTORY/NAME; give a path in " + allowed(s)
	}
	return ""
}

// CheckName fails if the path is one that is hardly meant as it is written, and nothing is there: to create it would
// make a file of a strange name.
func (p *Place) CheckName() error {
	if p.odd == "" {
		return nil
	}
	return Refuse("invalid", "%s %s", Show(p.Asked), p.odd)
}

// allowed names the directories that may be used, for a refusal.
func allowed(s *Scope) string { return nameDirectories(s.Directories()) }
