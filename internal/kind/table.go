package kind

import (
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// kinds is the table of all kinds. A kind is a file of this package and a line here, and a file and a line in the table
// of package project.
var kinds = map[project.ServerKind]Kind{
	project.KindCommand:  command{},
	project.KindHTTP:     remote{},
	project.KindNPM:      npm,
	project.KindPyPI:     pypi,
	project.KindGo:       golang,
	project.KindImage:    image{},
	project.KindArtifact: packed{},
}

// Of returns the kind called name. It returns nil for a name that package project does not know,
// which no lock entry has.
func Of(name project.ServerKind) Kind { return kinds[name] }

// VersionOf returns the version of what an entry runs: that of its record, if its declaration names
// one.
func VersionOf(entry project.ServerLock) Version {
	if entry.Launch.Server != "" {
		name, version, _ := host.CutLast(entry.Launch.Server, "@")
		return Version{Name: name, Version: version}
	}
	if k := Of(entry.Source); k != nil {
		return k.Version(entry)
	}
	return Version{}
}

// PreviewOf returns what a person is told about a server, from its declaration alone.
func PreviewOf(h *host.Host, s project.Server) Preview {
	if k := Of(s.Kind()); k != nil {
		return k.Preview(h, s)
	}
	return common{}.Preview(h, s) // a record says of which kind it is
}
