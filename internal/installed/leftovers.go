package installed

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Files of these names are left in any directory that somebody looks at, by the file managers of macOS and Windows.
var ofFileManagers = []string{".DS_Store", "Thumbs.db", "desktop.ini"}

// bytecodeDir is the directory that python makes beside the modules that it imports.
const bytecodeDir = "__pycache__"

// leftBySystem returns who left a file or directory that is no file of a skill, and "" if it may be anybody's. A
// directory of bytecode counts only if it holds nothing else.
func leftBySystem(name string, d fs.DirEntry) (who string, err error) {
	switch {
	case d.Type().IsRegular() && slices.Contains(ofFileManagers, d.Name()):
		return "a file manager", nil
	case !d.IsDir() || d.Name() != bytecodeDir:
		return "", nil
	}
	entries, err := os.ReadDir(filepath.Clean(name))
	for _, e := range entries {
		if !e.Type().IsRegular() || path.Ext(e.Name()) != ".pyc" {
			return "", nil
		}
	}
	return "python", err
}

// leftoverOfSystemEvidence names what the system left in the directory of a locked skill. Nothing claims it, and
// nothing stops for it: it comes back by itself.
func leftoverOfSystemEvidence(at, who string) evidence.Evidence {
	c := evidence.Claim{Subject: at, Scheme: evidence.Installed, Authority: evidence.Machine}
	e := evidence.Fact(c, "")
	e.Reason = "was left in the directory of a locked skill by " + who + ", and no claim covers it"
	if strings.HasSuffix(at, bytecodeDir) {
		e.Reason += "; python runs it in place of the locked source if it is as new, so delete it if in doubt"
	}
	return e
}

// privateEvidence names a file of the user in the directory of a locked skill. Nothing claims it, and nothing stops for
// it: it was left out of the skill when that was adopted.
func privateEvidence(at string) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{Subject: at, Scheme: evidence.Installed, Authority: evidence.Machine}, "")
	e.Reason = "is your own file in the directory of a locked skill, was left out of it, and no claim covers it"
	return e
}
