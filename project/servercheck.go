package project

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/surface"
)

// complete fills in what the rest of the entry says and its text leaves out.
func (s ServerLock) complete() ServerLock {
	if kind := s.Source.kind(); kind.complete != nil {
		kind.complete(&s)
	}
	return s
}

// check refuses an entry that Hallmark would not have written: a lock comes from a
// checkout, and what it names is executed.
func (s ServerLock) check() error {
	kind := s.Source.kind()
	switch {
	case !kind.remote && s.Artifacts[s.Ref].IsZero():
		return fmt.Errorf("ref %+q is not among the artifacts", s.Ref)
	case s.Launch.Tree != "" && s.Artifacts[TreeKey(s.Launch.Tree)].IsZero():
		return fmt.Errorf("%+q is not among the artifacts", TreeKey(s.Launch.Tree))
	case s.Surface.IsZero() || s.APISurface.IsZero():
		return errors.New("has no surface")
	case !s.Source.Known():
		return fmt.Errorf("unknown source %+q", s.Source)
	}
	for _, check := range []func(ServerLock, serverKind) error{
		checkStarted, checkOwnMembers, checkClosure, checkRecord, checkDigests, checkVarying,
	} {
		if err := check(s, kind); err != nil {
			return err
		}
	}
	return nil
}

// checkStarted refuses an entry that starts something else than its kind does.
func checkStarted(s ServerLock, kind serverKind) error {
	if kind.checkRef != nil {
		if err := kind.checkRef(s); err != nil {
			return err
		}
	}
	if len(kind.engines) > 0 && (s.Closure == nil || !slices.Contains(kind.engines, s.Closure.Engine)) {
		return fmt.Errorf("%s needs its closure", kind.title)
	}
	return kind.checkEntry(s)
}

// checkOwnMembers refuses members that only entries of another kind have.
func checkOwnMembers(s ServerLock, kind serverKind) error {
	for _, other := range serverKinds {
		if other.name != kind.name && other.own != nil && other.own.in(s) {
			return errors.New(other.own.misplaced)
		}
	}
	return nil
}

// checkClosure refuses install scripts that name no package of npm, and any of a kind that runs
// none.
func checkClosure(s ServerLock, kind serverKind) error {
	if s.Closure == nil {
		return nil
	}
	for _, text := range s.Closure.Scripts {
		if ref, err := artifact.Parse(text); err != nil || ref.Kind() != artifact.NPM || !kind.scripts {
			return fmt.Errorf("%+q is no package with install scripts", text)
		}
	}
	return nil
}

// checkRecord refuses another record than the declared one, and a malformed proof.
func checkRecord(s ServerLock, _ serverKind) error {
	if s.Launch.Server != "" && (s.Record == nil || s.Launch.Server != s.Record.Subject()) {
		return fmt.Errorf("its record is not %+q", s.Launch.Server)
	}
	if s.Record == nil {
		return nil
	}
	return checkProof(s.Record.Proof, s.Record.Log)
}

// checkDigests refuses a digest that can be forged.
func checkDigests(s ServerLock, _ serverKind) error {
	digests := []digest.Digest{s.Surface, s.APISurface}
	for _, of := range []map[string]digest.Digest{s.Artifacts, s.SurfaceItems, s.Platforms} {
		digests = slices.AppendSeq(digests, maps.Values(of))
	}
	if s.Closure != nil {
		digests = append(slices.AppendSeq(digests, maps.Values(s.Closure.Trees)), s.Closure.Lock)
	}
	if s.Record != nil {
		digests = append(digests, s.Record.Document)
	}
	for _, d := range digests {
		if d.Algorithm() != digest.SHA256 {
			return errors.New("holds a digest that is not sha256")
		}
	}
	return nil
}

// checkVarying refuses items that are said to vary and are no items, are locked, or are out of order.
func checkVarying(s ServerLock, _ serverKind) error {
	for i, key := range s.Varying {
		_, locked := s.SurfaceItems[key]
		if surface.KindOf(key) == "" || locked || i > 0 && key <= s.Varying[i-1] {
			return fmt.Errorf("surface_varying has %+q, which is no item, is locked, or is out of order", key)
		}
	}
	return nil
}

// withEmptyMembers is s with members of no value in place of those that are not there, as it is written.
func (s ServerLock) withEmptyMembers() ServerLock {
	for _, list := range []*[]string{&s.Arguments, &s.Variables, &s.Launch.Arguments, &s.Launch.Variables} {
		if *list == nil {
			*list = []string{}
		}
	}
	for _, digests := range []*map[string]digest.Digest{&s.Artifacts, &s.SurfaceItems} {
		if *digests == nil {
			*digests = map[string]digest.Digest{}
		}
	}
	return s
}

// checkMembers refuses an entry without one of the members that each entry of its kind owes,
// where nothing is not a value of it.
func (s ServerLock) checkMembers() error {
	for _, m := range []struct {
		name string
		gone bool
	}{
		{"artifacts", s.Artifacts == nil},
		{"arguments", s.Arguments == nil},
		{"variables", s.Variables == nil},
		{"surface_items", s.SurfaceItems == nil},
	} {
		if m.gone {
			return fmt.Errorf("has no %s, which an entry of source %q has", m.name, s.Source)
		}
	}
	if kind := s.Source.kind(); kind.checkLaunch != nil {
		return kind.checkLaunch(s)
	}
	return nil
}
