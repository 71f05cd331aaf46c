package project

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// kindGo is a module of Go; its entry is the package of it that is built.
var kindGo = serverKind{
	name: KindGo, title: "a module of Go", engines: []string{EngineGo},
	checkRef: func(s ServerLock) error {
		ref, err := artifact.Parse(s.Ref)
		if err != nil || ref.Kind() != artifact.Go {
			return fmt.Errorf("ref %+q is no module of Go", s.Ref)
		}
		return nil
	},
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
