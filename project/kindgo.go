package project

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// kindGo is a module of Go; its entry is the package of it that is built.
var kindGo = serverKind{
	name: KindGo, title: "a module of Go", engines: []string{EngineGo}, built: true,
	// Options of go run change what is built, and are in no closure: it runs one package, and has none.
	declared: func(s Server, t launcher.Target) bool {
		return t.Opaque == "" && t.Wrapper == "" && t.Launcher == "go run" && len(t.Packages) == 1 &&
			t.Packages[0].Ecosystem == launcher.Go && len(s.Arguments) > 1 && s.Arguments[1] == t.Packages[0].Text
	},
	whyOther: func(_ Server, t launcher.Target, s ServerLock) string { // it names a package of the module of the ref
		named := t.Packages[0]
		ref, err := artifact.Parse(s.Ref)
		sameVersion := named.Pin != launcher.Version ||
			strings.TrimSuffix(ref.Version(), "+incompatible") == strings.TrimSuffix(named.Spec, "+incompatible")
		return whyUnnamed(err == nil && s.Entry == named.Name && sameVersion, named, s)
	},
	checkRef: func(s ServerLock) error { return checkRefOf(s, artifact.Go, "module of Go") },
	checkEntry: func(s ServerLock) error {
		ref, err := artifact.Parse(s.Ref)
		if err != nil {
			return err
		}
		if !inModule(s.Entry, ref.Name()) {
			return fmt.Errorf("entry %+q is no package of the module", s.Entry)
		}
		return nil
	},
}
