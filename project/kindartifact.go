package project

import (
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// kindArtifact is an archive that an MCP registry has, packed from source: its record names it, and its entry is the
// file that its runtime starts, inside the slot.
var kindArtifact = serverKind{
	name: KindArtifact, title: "a server that is packed from source",
	declared: func(s Server, _ launcher.Target) bool { return s.Source != "" },
	checkRef: func(s ServerLock) error {
		if s.Record == nil || s.Ref != s.Record.Subject() || !facet.CheckName(s.Record.Name) {
			return fmt.Errorf("ref %+q is not its record's", s.Ref)
		}
		return nil
	},
	checkEntry: func(s ServerLock) error {
		if !slices.Contains(facet.Runtimes(), s.Runtime) || archive.CheckPath(s.Entry) != nil || s.Closure != nil {
			return fmt.Errorf("entry %+q is not a file of the server, or its runtime %+q is unknown", s.Entry,
				s.Runtime)
		}
		name, floor, err := ParseSourceName(s.Launch.Source)
		if err != nil || name != s.Record.Name || !floor.Matches(s.Record.Version) {
			return fmt.Errorf("ref %+q is not one that its source %+q allows", s.Ref, s.Launch.Source)
		}
		return nil
	},
	complete: func(s *ServerLock) {
		if s.Record == nil {
			return
		}
		r := *s.Record
		r.Kind, r.Integrity = ledger.Artifact, s.Artifacts[s.Ref]
		s.Record = &r
	},
	own: &ownMembers{
		in:        func(s ServerLock) bool { return s.Runtime != "" || s.Launch.Source != "" },
		misplaced: "is not packed from source, and has a runtime or a floor",
	},
}
