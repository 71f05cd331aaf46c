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

// common holds the methods that most kinds share: a kind embeds it, and overrides what differs.
type common struct{}

// Latest returns nothing, because these kinds have no versions.
func (common) Latest(_ context.Context, q Query) (Latest, error) { return unversioned(q) }

// unversioned is the answer of a source without versions. It fails if the query names a version.
func unversioned(q Query) (Latest, error) {
	out := Latest{Next: q.Server}
	if q.Version == "" {
		return out, nil
	}
	return out, evidence.Errorf(evidence.Validation, q.Server.Name, "write it into "+project.ConfigFile+
		", then run 'hallmark pin "+q.Server.Name+"'",
		errors.New("is no package whose version could be set"))
}

// Version returns the version of the artifact that the entry's ref names.
func (common) Version(entry project.ServerLock) Version {
	ref, err := artifact.Parse(entry.Ref)
	if err != nil {
		return Version{}
	}
	return Version{ref.Name(), ref.Version(), ref.Kind()}
}

// Preview tells which variables and hosts a server uses that is started on this machine.
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

// Hosts returns the hosts of the packages of an ecosystem.
func (common) Hosts(h *host.Host, entry project.ServerLock) []string {
	ref, err := artifact.Parse(entry.Ref)
	if err != nil {
		return nil
	}
	return h.Fetch.Hosts(ref.Kind(), ref.Name())
}

// Slots returns nothing.
func (common) Slots(project.ServerLock) []digest.Digest { return nil }

// judgeWith returns a function that adds its evidence to found, and lets the caller's judge decide on
// all of it.
func judgeWith(found *evidence.Report, by program.JudgeFunc) program.JudgeFunc {
	return func(more evidence.Report) (policy.Admitted, error) {
		return by(append(slices.Clone(*found), more...))
	}
}

// nonNil returns s as a lock stores it: an empty list is not nil.
func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
