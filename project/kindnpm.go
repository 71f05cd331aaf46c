package project

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// kindNPM is a package of npm; its entry is the script of the package that node runs, inside the slot.
var kindNPM = serverKind{
	name: KindNPM, title: "an npm package", engines: []string{EngineNPM}, scripts: true,
	declared: func(_ Server, t launcher.Target) bool {
		return downloads(t, "npx") && len(t.Packages) == 1 && t.Packages[0].Ecosystem == launcher.NPM
	},
	whyOther: whyOtherPackage,
	checkRef: func(s ServerLock) error { return checkRefOf(s, artifact.NPM, "npm package") },
	checkEntry: func(s ServerLock) error {
		ref, err := artifact.Parse(s.Ref)
		if err != nil {
			return err
		}
		inside, ok := strings.CutPrefix(s.Entry, "node_modules/"+ref.Name()+"/")
		if !ok || archive.CheckInstalledPath(inside) != nil || strings.Contains(inside, ":") {
			return fmt.Errorf("entry %+q is not a file of the package", s.Entry)
		}
		return nil
	},
}
