package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// FindRuntime finds an interpreter in path and asks it for its own path and version.
type FindRuntime func(ctx context.Context, w *workspace.Workspace, path string) (*project.Runtime, error)

// OpenInterpreter opens the interpreter that starts a server: the approved one, or the one that
// find finds. It also takes the search path from approval.
func OpenInterpreter(ctx context.Context, w *workspace.Workspace, name string, approval project.Approval,
	find FindRuntime, open process.Opener) (*Program, error) {
	p := &Program{Server: name, Path: approval.Path}
	rt := approval.Runtime
	if rt == nil {
		var err error
		if rt, err = find(ctx, w, approval.Path); err != nil {
			return p, err
		}
	}
	if _, err := closure.InterpreterPath(w, name, rt.Path, rt.Path); err != nil { // the process is started by this path
		return p, err
	}
	image, err := open(rt.Path)
	if err != nil {
		return p, evidence.Errorf(evidence.Operation, rt.Path,
			"if it was moved or replaced, run 'hallmark review "+name+"'", err)
	}
	p.Executable = image
	p.UseRuntime(image, rt.Version, approval.Runtime)
	return p, nil
}

// UseNodePackage makes p run the entry script of a package from a slot of the store.
func (p *Program) UseNodePackage(slot *store.Slot, e project.ServerLock, home string) error {
	if err := NoModulesAbove("node", slot.Dir(), home); err != nil {
		return evidence.Errorf(evidence.Refused, p.Server, "move that directory, or the store by setting HALLMARK_HOME",
			err)
	}
	if !filepath.IsLocal(filepath.FromSlash(e.Entry)) {
		return evidence.Errorf(evidence.Validation, p.Server, "",
			fmt.Errorf("entry %+q lies outside the package", e.Entry))
	}
	p.Args = append([]string{p.Executable.Path(), filepath.Join(slot.Dir(), filepath.FromSlash(e.Entry))},
		e.Arguments...)
	p.useTree(slot, closure.NPM{}, e.Variables)
	return nil
}

// useTree makes the tree of a slot one of the subjects that must be admitted.
func (p *Program) useTree(slot *store.Slot, by closure.Installer, variables []string) {
	p.Variables = variables
	p.Subjects = append(p.Subjects, process.Subject{
		Name: project.TreeSubject(p.Server, by.PlatformKey(p.Runtime)), Digest: slot.Digest,
	})
}

// NoModulesAbove refuses a place from which node, or the named runtime, would load unverified
// modules: node_modules in a directory above the slot, which may be one itself, and two legacy directories in the
// user's home.
func NoModulesAbove(runtime, slot, home string) error {
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
		if _, err := os.Lstat(place); err == nil && place != slot {
			return fmt.Errorf("%s would load modules from %s, which nobody verified", runtime, place)
		}
	}
	return nil
}

// JudgeFunc judges a report and returns the admission that storing and starting need.
type JudgeFunc func(report evidence.Report) (policy.Admitted, error)

// Installed is a package in the store, with the evidence of how it got there.
type Installed struct {
	Slot   *store.Slot
	Report evidence.Report
}

// AuditSlot looks up in the store the tree that a lock names, or the one that this machine made. Without a slot both
// results are nil. If the slot differs from that, the slot in installed is nil and its evidence refuses any use of it.
func AuditSlot(ctx context.Context, s *store.Store, server, platform string, locked,
	made digest.Digest) (*Installed, error) {
	claim := evidence.Claim{Subject: project.TreeSubject(server, platform), Authority: evidence.Lock,
		Where: project.LockFile,
		Want:  []digest.Digest{locked}}
	if locked.IsZero() {
		claim.Authority, claim.Where, claim.Want = evidence.Machine, madeBefore, []digest.Digest{made}
	}
	slot, report, err := s.AuditClaim(ctx, claim)
	if errors.Is(err, store.ErrNotStored) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// The file that differs says more than the tree that holds it.
	slices.SortStableFunc(report, func(a,
		b evidence.Evidence) int {
		return cmp.Compare(schemeOrder(a), schemeOrder(b))
	})
	return &Installed{slot, report}, nil
}

// Quarantine moves a slot that differs away, so that the next run installs it again. A slot that
// cannot be read or moved stays; the evidence refuses it anyway.
func Quarantine(ctx context.Context, w *workspace.Workspace, s *store.Store, in *Installed, want digest.Digest) {
	if in.Report.Count(evidence.Mismatch) == 0 {
		return
	}
	if _, err := s.Quarantine(ctx, want, "it differs from its lock entry"); err != nil {
		w.Host.Logger.Warn("a slot of the store cannot be moved to quarantine", "error", err)
	}
}

// madeBefore says where a machine's own claim about a tree stands.
const madeBefore = "what this machine installed before"

// OwnTreeEvidence compares a tree with the one that this machine made of the same closure before.
func OwnTreeEvidence(c evidence.Claim, made digest.Digest, o evidence.Observed) evidence.Evidence {
	c.Authority, c.Where, c.Want = evidence.Machine, madeBefore, []digest.Digest{made}
	return evidence.Compare(c, o)
}

func schemeOrder(e evidence.Evidence) int {
	if e.Scheme == evidence.File {
		return 0
	}
	return 1
}

// InstallRequest says what to install.
type InstallRequest struct {
	Server    string
	Platform  string
	Installer closure.Installer
	Closure   *project.Closure
	Runtime   *project.Runtime
	Where     string        // who gives the integrities of the closure
	Want      digest.Digest // the tree that the lock names for this platform, or zero
	Made      digest.Digest // the tree that this machine made of it before, or zero
	Scripts   []string      // npm: packages whose install scripts are run
	// Fetched returns evidence about the packages before anything is unpacked; may be nil.
	Fetched func(*closure.Packages) (evidence.Report, error)
}

// Install fetches a closure, has the evidence judged, unpacks it if that is allowed, and puts the
// tree into the store.
func Install(ctx context.Context, w *workspace.Workspace, s *store.Store, in InstallRequest,
	judge JudgeFunc) (*Installed, error) {
	// Judge the interpreter before asking it which packages it needs.
	if _, err := judge(nil); err != nil {
		return nil, err
	}
	work, err := s.Stage()
	if err != nil {
		return nil, err
	}
	defer work.Discard()
	order := closure.Order{Closure: in.Closure, Runtime: in.Runtime, Where: in.Where}
	t, err := in.Installer.Fetch(ctx, w.Host, order, work.Dir())
	if err != nil {
		return nil, err
	}
	t.Scripts = in.Scripts
	i := &installation{w: w, s: s, in: in, judge: judge, order: order, packages: t, out: &Installed{Report: t.Report}}
	if err := i.judgeFetched(); err != nil {
		return i.out, err
	}
	return i.out, i.install(ctx)
}

// installation is one call of [Install] whose packages were fetched.
type installation struct {
	w        *workspace.Workspace
	s        *store.Store
	in       InstallRequest
	judge    JudgeFunc
	order    closure.Order
	packages *closure.Packages
	out      *Installed
}

// judgeFetched has the evidence about the fetched packages judged.
func (i *installation) judgeFetched() error {
	if i.in.Fetched != nil {
		more, err := i.in.Fetched(i.packages)
		if err != nil {
			return err
		}
		i.out.Report = append(i.out.Report, more...)
	}
	_, err := i.judge(i.out.Report)
	return err
}

// install unpacks the packages, has the tree judged and puts it into the store.
func (i *installation) install(ctx context.Context) error {
	st, err := i.s.Stage()
	if err != nil {
		return err
	}
	defer st.Discard()
	installed := i.w.Host.Announce("installing %s: %s", i.in.Closure.Root,
		evidence.Count(len(i.packages.Files), "file"))
	err = i.in.Installer.Install(ctx, i.w.Host, i.order, i.packages, st)
	installed()
	if err != nil {
		return err
	}
	observed, err := st.Measure(ctx)
	if err != nil {
		return err
	}
	adm, err := i.judgeTree(i.in.Made, observed)
	if err != nil {
		return err
	}
	i.out.Slot, err = i.s.Put(ctx, adm, i.claim().Subject, st, i.in.Closure.Root.String())
	return err
}

// judgeTree has a tree judged, against the one that the lock names and the one that this machine made before; either
// may be zero.
func (i *installation) judgeTree(made digest.Digest, observed evidence.Observed) (policy.Admitted, error) {
	claim := i.claim()
	if !i.in.Want.IsZero() {
		claim.Want = []digest.Digest{i.in.Want}
	}
	i.out.Report = append(i.out.Report, evidence.Compare(claim, observed))
	if !made.IsZero() {
		i.out.Report = append(i.out.Report, OwnTreeEvidence(claim, made, observed))
	}
	return i.judge(i.out.Report)
}

// claim is what the lock claims of the tree, without a digest.
func (i *installation) claim() evidence.Claim {
	return evidence.Claim{
		Subject: project.TreeSubject(i.in.Server, i.in.Platform), Scheme: evidence.Tree, Authority: evidence.Lock,
		Where: project.LockFile,
	}
}
