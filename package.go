package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// findNode asks the node in path for its own executable and major version: what stands
// in PATH may be a shim.
func (w *workspace) findNode(ctx context.Context, path string) (*project.Runtime, error) {
	found, err := w.askable(path, "install Node.js", "node")
	if err != nil {
		return nil, err
	}
	said, err := w.host.ask(ctx, found, []string{"PATH=" + path}, "", "-p", `process.execPath + "\n" + process.versions.node`)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, found, "", err)
	}
	exe, version, ok := strings.Cut(strings.TrimSpace(string(said.Stdout)), "\n")
	major, _, ok2 := strings.Cut(strings.TrimSpace(version), ".")
	if !ok || !ok2 || !filepath.IsAbs(exe) {
		return nil, evidence.Errorf(evidence.Operation, found, "", errors.New("is not Node.js"))
	}
	return &project.Runtime{Path: strings.TrimSpace(exe), Version: major}, nil
}

// packageProgram opens the interpreter, or finds the compiler, on this machine for the
// package of a server.
// approved may be nil.
func (w *workspace) packageProgram(ctx context.Context, name, engine, path string, approved *project.Runtime) (*program, error) {
	switch engine {
	case project.EngineNPM:
		return w.interpreter(ctx, name, path, approved, func(ctx context.Context, path string) (*project.Runtime, error) { return w.findNode(ctx, path) })
	case project.EngineGo:
		return w.goProgram(ctx, name, path, approved)
	}
	return w.interpreter(ctx, name, path, approved, func(ctx context.Context, path string) (*project.Runtime, error) { return w.findPython(ctx, path) })
}

// interpreter opens the one that was approved, or else finds one.
func (w *workspace) interpreter(ctx context.Context, name, path string, approved *project.Runtime, find func(context.Context, string) (*project.Runtime, error)) (*program, error) {
	p := &program{server: name, path: path}
	rt := approved
	if rt == nil {
		var err error
		if rt, err = find(ctx, path); err != nil {
			return p, err
		}
	}
	if _, err := w.interpreterFor(name, rt.Path, rt.Path); err != nil { // it is started by this path
		return p, err
	}
	image, err := guard.OpenImage(rt.Path)
	if err != nil {
		return p, evidence.Errorf(evidence.Operation, rt.Path, "run 'hallmark pin' again if it was moved", err)
	}
	p.exe = image
	p.useRuntime(image, rt.Version, approved)
	return p, nil
}

// onSlot makes p run the entry script of a package from a slot of the store.
func (p *program) onSlot(slot *store.Slot, entry, home string, args, variables []string) error {
	if err := noModulesAbove("node", slot.Dir(), home); err != nil {
		return evidence.Errorf(evidence.Refused, p.server, "move that directory, or the store by setting HALLMARK_HOME", err)
	}
	if !filepath.IsLocal(filepath.FromSlash(entry)) {
		return evidence.Errorf(evidence.Validation, p.server, "", fmt.Errorf("entry %+q lies outside the package", entry))
	}
	p.args = append([]string{p.exe.Path(), filepath.Join(slot.Dir(), filepath.FromSlash(entry))}, args...)
	p.onTree(slot, project.EngineNPM, variables)
	return nil
}

// onTree makes the tree of a slot one of the subjects that must be admitted.
func (p *program) onTree(slot *store.Slot, engine string, variables []string) {
	p.variables = variables
	p.subjects = append(p.subjects, guard.Subject{Name: project.TreeSubject(p.server, platform(engine, p.runtime)), Digest: slot.Digest})
}

// onPackage makes p start the package of a lock entry from a slot of the store.
func (p *program) onPackage(slot *store.Slot, e project.ServerLock, home string) error {
	switch e.Source {
	case "npm":
		return p.onSlot(slot, e.Entry, home, e.Arguments, e.Variables)
	case "go":
		return p.onProgram(slot, e.Entry, e.Arguments, e.Variables)
	}
	name := e.Ref
	if ref, err := artifact.Parse(e.Ref); err == nil {
		name = ref.Name()
	}
	p.onSite(slot, e.Closure.Engine, e.Entry, name, e.Arguments, e.Variables)
	return nil
}

// noModulesAbove refuses places from which node, or the runtime that is named, would load
// modules that the package lacks: node_modules in any directory above the slot, and two old
// ones in the user's home. What lies there was verified by nobody.
func noModulesAbove(runtime, slot, home string) error {
	var places []string
	for dir := filepath.Dir(slot); ; dir = filepath.Dir(dir) {
		places = append(places, filepath.Join(dir, "node_modules"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if home != "" {
		places = append(places, filepath.Join(home, ".node_modules"), filepath.Join(home, ".node_libraries"))
	}
	for _, place := range places {
		if _, err := os.Lstat(place); err == nil {
			return fmt.Errorf("%s would load modules from %s, which nobody verified", runtime, place)
		}
	}
	return nil
}

// admit judges a report and gives the admission that storing and starting need.
type admit func(report evidence.Report) (policy.Admitted, error)

// installed is a package in the store, with all the evidence of how it got there.
type installed struct {
	slot   *store.Slot
	report evidence.Report
}

// auditSlot looks a tree up in the store. Without a slot both results are nil; if the
// slot is not what want says it is nil in installed, whose evidence refuses whatever
// was to be done with it.
func auditSlot(ctx context.Context, s *store.Store, server, platform string, want digest.Digest) (*installed, error) {
	slot, report, err := s.Audit(ctx, project.TreeSubject(server, platform), want)
	if errors.Is(err, store.ErrNotStored) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// The file that differs says more than the tree that holds it.
	slices.SortStableFunc(report, func(a, b evidence.Evidence) int { return cmp.Compare(schemeOrder(a), schemeOrder(b)) })
	return &installed{slot, report}, nil
}

// quarantine moves a slot away that was found different, so that the next run installs
// it again. A slot that could not be read, or cannot be moved, stays: the evidence
// refuses it either way.
func (w *workspace) quarantine(ctx context.Context, s *store.Store, in *installed, want digest.Digest) {
	if in.report.Count(evidence.Mismatch) == 0 {
		return
	}
	if _, err := s.Quarantine(ctx, want, "it differs from its lock entry"); err != nil {
		w.host.Logger.Warn("a slot of the store cannot be moved to quarantine", "error", err)
	}
}

// madeEvidence compares a tree with the one that this machine made of the closure before.
func madeEvidence(c evidence.Claim, made digest.Digest, o evidence.Observed) evidence.Evidence {
	c.Authority, c.Where, c.Want = evidence.Machine, "what this machine installed before", []digest.Digest{made}
	return evidence.Compare(c, o)
}

func schemeOrder(e evidence.Evidence) int {
	if e.Scheme == evidence.File {
		return 0
	}
	return 1
}

// installation is what to install.
type installation struct {
	server   string
	platform string
	closure  *project.Closure
	runtime  *project.Runtime
	where    string        // who gives the integrities of the closure
	want     digest.Digest // the tree that the lock names for this platform, or zero
	made     digest.Digest // the tree that this machine made of it before, or zero
	scripts  []string      // npm: packages whose install scripts are run
	// fetched adds evidence about the packages before anything is unpacked; may be nil.
	fetched func(*packages) (evidence.Report, error)
}

// install fetches a closure, has the evidence judged, lets it be unpacked and puts the
// tree into the store.
func (w *workspace) install(ctx context.Context, s *store.Store, in installation, judge admit) (*installed, error) {
	// The interpreter is asked which packages it needs: not before it was judged.
	if _, err := judge(nil); err != nil {
		return nil, err
	}
	work, err := s.Stage()
	if err != nil {
		return nil, err
	}
	defer work.Discard()
	t, err := fetchClosure(ctx, w.host, in.closure, in.runtime, in.where, work.Dir())
	if err != nil {
		return nil, err
	}
	t.scripts = in.scripts
	out := &installed{report: t.report}
	if in.fetched != nil {
		more, err := in.fetched(t)
		if err != nil {
			return out, err
		}
		out.report = append(out.report, more...)
	}
	if _, err := judge(out.report); err != nil {
		return out, err
	}
	st, err := s.Stage()
	if err != nil {
		return out, err
	}
	defer st.Discard()
	if err := installClosure(ctx, w.host, in.closure, t, in.runtime, st); err != nil {
		return out, err
	}
	observed, err := st.Measure(ctx)
	if err != nil {
		return out, err
	}
	claim := evidence.Claim{
		Subject: project.TreeSubject(in.server, in.platform), Scheme: evidence.Tree, Authority: evidence.Lock, Where: project.LockFile,
	}
	if !in.want.IsZero() {
		claim.Want = []digest.Digest{in.want}
	}
	out.report = append(out.report, evidence.Compare(claim, observed))
	if !in.made.IsZero() {
		out.report = append(out.report, madeEvidence(claim, in.made, observed))
	}
	adm, err := judge(out.report)
	if err != nil {
		return out, err
	}
	out.slot, err = s.Put(ctx, adm, claim.Subject, st, in.closure.Root.String())
	return out, err
}
