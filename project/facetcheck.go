package project

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// check refuses an entry that Hallmark would not have written.
func (f FacetLock) check(name string) error {
	s := f.Source
	switch {
	case !facet.CheckName(name):
		return errors.New("cannot be the name of a facet")
	case !isExact(f.Version):
		return fmt.Errorf("version %+q is not M.N.P", f.Version)
	case f.Integrity.Algorithm() != digest.SHA256:
		return errors.New("has no integrity that is sha256")
	case f.Assets[facet.ManifestFile].IsZero():
		return errors.New("has no digest of its " + facet.ManifestFile)
	}
	for path, d := range f.Assets {
		if d.Algorithm() != digest.SHA256 {
			return errors.New("holds a digest that is not sha256")
		}
		if err := archive.CheckPath(path); err != nil {
			return err
		}
	}
	for other, version := range f.Composes {
		if !facet.CheckName(other) || !isExact(version) {
			return fmt.Errorf("composes %+q, which is no facet at an exact version", other+"@"+version)
		}
	}
	kind, ok := s.Kind.kind()
	if !ok {
		return fmt.Errorf("unknown source %+q", string(s.Kind))
	}
	if err := kind.check(s); err != nil {
		return err
	}
	known, of := facet.WrapRule, "skills"
	if facet.IsPlugin(slices.Collect(maps.Keys(f.Assets))) {
		known, of = facet.NewestWrapRule, "plugins"
	}
	if s.Wrapped < 0 || s.Wrapped > known {
		return fmt.Errorf("was wrapped by rule %d, and this build knows rule %d for %s", s.Wrapped, known, of)
	}
	if err := (Facet{Prefix: f.Prefix, Parts: f.Parts}).checkParts(); err != nil {
		return err
	}
	if f.Proof+f.Log != "" && !kind.records {
		return errors.New("has a proof or a log, and is not of a registry")
	}
	return checkProof(f.Proof, f.Log)
}

// isExact reports whether a requirement is one version, M.N.P.
func isExact(version string) bool {
	r, err := artifact.ParseRequirement(version)
	return err == nil && r.Exact()
}
