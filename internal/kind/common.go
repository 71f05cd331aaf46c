package kind

import (
	"context"
	"errors"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// common is what most kinds answer: a kind embeds it, and says what is different.
type common struct{}

// Latest is nothing: nobody has another version of what has none.
func (common) Latest(_ context.Context, q Query) (Latest, error) { return unversioned(q) }

// unversioned is the answer of a source without versions. One that is named is an error.
func unversioned(q Query) (Latest, error) {
	out := Latest{Next: q.Server}
	if q.Version == "" {
		return out, nil
	}
	return out, evidence.Errorf(evidence.Validation, q.Server.Name, "write it into "+project.ConfigFile+
		", then run 'hallmark pin "+q.Server.Name+"'",
		errors.New("is no package whose version could be set"))
}

// Version is that of the artifact that the entry's ref names.
func (common) Version(entry project.ServerLock) Version {
	ref, err := artifact.Parse(entry.Ref)
	if err != nil {
		return Version{}
	}
	return Version{ref.Name(), ref.Version(), ref.Kind()}
}

// Preview tells what a server that is started gets.
func (common) Preview(h *host.Host, s project.Server) Preview {
	p := Preview{Environment: []string{"PATH"}, Hosts: commandHosts(h, s)}
	for _, name := range append(program.CommonVariables(), s.Variables...) {
		if foreign.HasVariable(h.Environ, name) {
			p.Environment = append(p.Environment, name)
		}
	}
	for name := range s.Environment {
		p.Environment = append(p.Environment, name)
	}
	slices.Sort(p.Environment)
	p.Environment = slices.Compact(p.Environment)
	return p
}

// Hosts are those of the packages of an ecosystem.
func (common) Hosts(h *host.Host, entry project.ServerLock) []string {
	ref, err := artifact.Parse(entry.Ref)
	if err != nil {
		return nil
	}
	return h.Fetch.Hosts(ref.Kind(), ref.Name())
}

// Slots are none.
func (common) Slots(project.ServerLock) []digest.Digest { return nil }

// judging judges what was found so far, together with what it gets, by the judge of the caller.
func judging(found *evidence.Report, by program.JudgeFunc) program.JudgeFunc {
	return func(more evidence.Report) (policy.Admitted, error) {
		return by(append(slices.Clone(*found), more...))
	}
}

// nonNil is s as a lock has it.
func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
