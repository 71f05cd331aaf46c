package hallmark

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// A launch line says what kind of server it starts: which program, or which package of whom. An
// entry has the same launch line, and a kind and an artifact of its own, which are what runs.

// unlike says why an entry is not one that pinning s could have made: of another kind, of another
// package, or of another image; "" if it may be. What a record of a registry names is in its
// document, and what is packed from source and what is reached by a URL the lock itself compares.
func unlike(s project.Server, locked *project.ServerLock) string {
	if locked == nil || s.Type == "http" || s.Source != "" {
		return ""
	}
	if s.Record != "" {
		switch locked.Source {
		case "npm", "pypi", "go":
			return ""
		}
		return fmt.Sprintf("it names a package by its record, and the entry is of kind %q", locked.Source)
	}
	t, kind := launcher.Parse(s.Command, s.Arguments), "command"
	switch {
	case runsImage(t):
		kind = "image"
	case downloads(t, s.Arguments):
		kind = string(t.Packages[0].Ecosystem)
	}
	switch {
	case kind != locked.Source:
		return fmt.Sprintf("it starts a server of kind %q, and the entry is of kind %q", kind, locked.Source)
	case kind == "command":
		return ""
	case kind == "image" && t.Packages[0].Pin == launcher.Digest && !strings.HasSuffix(t.Packages[0].Text, "@"+locked.Digest.String()):
		return fmt.Sprintf("it names the image %s, and the entry %s", t.Packages[0].Text, locked.Digest)
	case kind == "image":
		return untagged(s, locked)
	case kind == "go" && t.Packages[0].Name != locked.Entry:
		return fmt.Sprintf("it starts the package %s, and the entry %s", t.Packages[0].Name, locked.Entry)
	case kind == "go":
		return ""
	}
	of, err := artifact.Parse(locked.Ref)
	if err != nil || of.Normal().Name() != packageName(t.Packages[0]) {
		return fmt.Sprintf("it starts the package %s, and the entry is of %s", t.Packages[0].Name, locked.Ref)
	}
	if exact := t.Packages[0].Ref.Version(); kind == "npm" && t.Packages[0].Pin == launcher.Version && exact != "" && exact != of.Version() {
		return fmt.Sprintf("it starts the package %s, and the entry is of %s", t.Packages[0].Text, locked.Ref)
	}
	return ""
}

// packageName is the name of a package of npm or PyPI as an artifact has it.
func packageName(p launcher.Package) string {
	if p.Ecosystem == launcher.PyPI {
		name, _, _ := strings.Cut(p.Name, "[") // without extras
		if ref, err := artifact.NewPyPI(name, "0", ""); err == nil {
			return ref.Normal().Name()
		}
	}
	return p.Name
}
