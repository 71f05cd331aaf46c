package place

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

var (
	windowsPath = regexp.MustCompile(`^(?:[A-Za-z]:[\\/]|\\\\)`)
	otherScheme = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9+.-]+:/|file:)`)
)

// refuseOdd refuses a path at which nothing is and that was hardly meant as it is written: to create it would make a
// file of a strange name. It returns nil for other paths.
func refuseOdd(s *roots.Scope, asked string) error {
	why := ""
	bare := strings.Trim(asked, " \t\r\n")
	switch n := len(bare); {
	case n == 0:
		return refusal.New("invalid", "a blank text is no path; give a path in %s", allowed(s))
	case n > 2 && strings.ContainsRune("'\"`", rune(bare[0])) && bare[n-1] == bare[0]:
		why = "stands in quotes; give it as " + refusal.Show(bare[1:n-1])
	case spelling.IsRepository(filepath.Base(bare)): // which is refused for what it is
		return nil
	case bare != asked:
		why = "has blanks around it; give it as " + refusal.Show(bare)
	case bare == "~" || strings.HasPrefix(bare, "~/"):
		why = "begins with ~, which stands for no directory here; give a path in " + allowed(s)
	case strings.HasPrefix(bare, "$"):
		why = "begins with a variable, which is not replaced here; give a path in " + allowed(s)
	case filepath.Separator == '/' && windowsPath.MatchString(bare):
		why = "is a path of Windows, and this server runs on another system; give a path in " + allowed(s)
	case otherScheme.MatchString(bare):
		why = "is no path, nor a URI as file:///DIRECTORY/NAME; give a path in " + allowed(s)
	}
	if why == "" {
		return nil
	}
	return refusal.New("invalid", "%s %s", refusal.Show(asked), why)
}

// allowed names the directories that may be used, for a refusal.
func allowed(s *roots.Scope) string { return refusal.NameDirectories(s.Directories()) }
