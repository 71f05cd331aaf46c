package workspace

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// applyEdit applies an edit, and verifies that it changed what it should and nothing else.
func applyEdit(data []byte, e tomltext.Edit, want *project.Config, change func(*project.Config)) ([]byte, error) {
	out := tomltext.Apply(data, e)
	got, err := project.ParseConfig(out)
	if err != nil {
		return nil, invalid(project.ConfigFile, fmt.Errorf("is written in a way that cannot be edited: %w", err))
	}
	change(want)
	if !reflect.DeepEqual(withoutLines(want), withoutLines(got)) {
		return nil, invalid(project.ConfigFile,
			errors.New("is written in a way that cannot be edited; edit it by hand"))
	}
	return out, nil
}

// withoutLines returns c without line numbers and the warnings that hold them.
func withoutLines(c *project.Config) project.Config {
	out := *c
	out.Warnings = nil
	out.Facets, out.Servers = maps.Clone(c.Facets), maps.Clone(c.Servers)
	for name, f := range out.Facets {
		f.Line = 0
		out.Facets[name] = f
	}
	for name, s := range out.Servers {
		out.Servers[name] = withoutLine(s)
	}
	return out
}

// withoutLine returns s without line numbers.
func withoutLine(s project.Server) project.Server {
	s.Line = 0
	if s.Verify != nil {
		block := *s.Verify
		block.Line, s.Verify = 0, &block
	}
	return s
}

// invalidServer returns an error about the table of a server; what says what is wrong with it.
func invalidServer(name, what string) error {
	return invalid(project.ConfigFile, errors.New("providers.mcp."+surface.Escape(name)+what))
}

// invalid returns an error of class Validation about the file, or about a name that cannot be
// written into it.
func invalid(subject string, err error) error {
	return &evidence.Error{Subject: subject, Kind: evidence.Validation, Err: err}
}
