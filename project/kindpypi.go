package project

import (
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// kindPyPI is a package of PyPI, by one of its files; its entry is the function that python calls.
var kindPyPI = serverKind{
	name: KindPyPI, title: "a package of PyPI", engines: []string{EngineUV, EnginePip},
	declared: func(_ Server, t launcher.Target) bool { // the package may come with others
		return downloads(t, "uvx", "uv tool run", "pipx run") && !slices.ContainsFunc(t.Packages,
			func(p launcher.Package) bool { return p.Ecosystem != launcher.PyPI })
	},
	whyOther: whyOtherPackage,
	checkRef: func(s ServerLock) error {
		ref, err := artifact.Parse(s.Ref)
		if err != nil || ref.Kind() != artifact.PyPI || ref.Filename() == "" {
			return fmt.Errorf("ref %+q is no file of PyPI", s.Ref)
		}
		return nil
	},
	checkEntry: func(s ServerLock) error {
		if !entryRE().MatchString(s.Entry) {
			return fmt.Errorf("entry %+q is not module:function", s.Entry)
		}
		return nil
	},
}

// entryRE is an entry point of a Python package: a module, and an object in it.
var entryRE = spelling.Form(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)
