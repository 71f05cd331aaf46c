package project

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// TestArtifactLock: what an entry starts is what its declaration allows, also where
// somebody wrote a lock by hand that holds in itself.
func TestArtifactLock(t *testing.T) {
	s := shown("Adds.")
	source := func() ServerLock {
		return ServerLock{
			Source: KindArtifact, Ref: "@acme/notes@1.5.0", Entry: "main.js", Runtime: "node",
			Launch:    Server{Source: "@acme/notes@1.4.0"}.Launch(),
			Artifacts: map[string]digest.Digest{"@acme/notes@1.5.0": digest.FromBytes([]byte("contents"))},
			Record:    &RecordLock{Registry: "registry.example.com", Name: "@acme/notes", Version: "1.5.0", Document: digest.FromBytes([]byte("{}"))},
			Surface:   s.Digest(), APISurface: s.APISurface(),
		}
	}
	record := func() ServerLock {
		e, _ := sample()
		e.Launch = Server{Record: "io.github.acme/notes@1.4.0"}.Launch()
		e.Record = &RecordLock{Registry: "registry.example.com", Name: "io.github.acme/notes", Version: "1.4.0", Document: digest.FromBytes([]byte("{}"))}
		e.Surface, e.APISurface = s.Digest(), s.APISurface()
		return e
	}
	for name, c := range map[string]struct {
		of     func() ServerLock
		change func(*ServerLock)
		good   bool
	}{
		"source":              {source, func(*ServerLock) {}, true},
		"source, facet":       {source, func(s *ServerLock) { s.Launch.Facet = "kit" }, true},
		"another's archive":   {source, func(s *ServerLock) { s.Launch.Source = "@acme/tasks@1.4.0" }, false},
		"below the floor":     {source, func(s *ServerLock) { s.Launch.Source = "@acme/notes@1.6.0" }, false},
		"another major":       {source, func(s *ServerLock) { s.Launch.Source = "@acme/notes@0.9.0" }, false},
		"no floor":            {source, func(s *ServerLock) { s.Launch.Source = "" }, false},
		"runtime":             {source, func(s *ServerLock) { s.Runtime = "sh" }, false},
		"entry":               {source, func(s *ServerLock) { s.Entry = "../main.js" }, false},
		"record":              {record, func(*ServerLock) {}, true},
		"another record":      {record, func(s *ServerLock) { s.Record.Name = "io.github.evil/notes" }, false},
		"another version":     {record, func(s *ServerLock) { s.Record.Version = "1.3.0" }, false},
		"no record":           {record, func(s *ServerLock) { s.Record = nil }, false},
		"a package's floor":   {record, func(s *ServerLock) { s.Launch.Source = "@acme/notes@1.4.0" }, false},
		"a package's runtime": {record, func(s *ServerLock) { s.Runtime = "node" }, false},
	} {
		e := c.of()
		c.change(&e)
		if err := e.check(); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
