package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

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
	found, err := w.find("node", path)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, "node", "install Node.js", errors.Unwrap(err))
	}
	cmd := exec.CommandContext(ctx, found, "-p", `process.execPath + "\n" + process.versions.node`)
	cmd.Env = []string{"PATH=" + path, "HOME=" + w.host.Getenv("HOME"), "SystemRoot=" + w.host.Getenv("SystemRoot")}
	out, err := cmd.Output()
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, found, "", err)
	}
	exe, version, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	major, _, ok2 := strings.Cut(strings.TrimSpace(version), ".")
	if !ok || !ok2 || !filepath.IsAbs(exe) {
		return nil, evidence.Errorf(evidence.Operation, found, "", errors.New("is not Node.js"))
	}
	return &project.Runtime{Path: strings.TrimSpace(exe), Version: major}, nil
}

// nodeProgram opens node on this machine for the package of a server. approved may be nil.
func (w *workspace) nodeProgram(ctx context.Context, name, path string, approved *project.Runtime) (*program, error) {
	p := &program{server: name, path: path}
	rt := approved
	if rt == nil {
		var err error
		if rt, err = w.findNode(ctx, path); err != nil {
			return p, err
		}
	}
	image, err := guard.OpenImage(rt.Path)
	if err != nil {
		return p, evidence.Errorf(evidence.Operation, rt.Path, "run 'hallmark pin' again if Node.js was moved", err)
	}
	p.exe = image
	p.useRuntime(image, rt.Version, approved)
	return p, nil
}

// onSlot makes p run the entry script of a package from a slot of the store.
func (p *program) onSlot(slot *store.Slot, entry string, args, variables []string) {
	p.args = append([]string{"node", filepath.Join(slot.Dir(), filepath.FromSlash(entry))}, args...)
	p.variables = variables
	p.subjects = append(p.subjects, guard.Subject{Name: project.TreeSubject(p.server, platform(p.runtime)), Digest: slot.Digest})
}

// admit judges a report and gives the admission that storing and starting need.
type admit func(report evidence.Report) (policy.Admitted, error)

// installed is a package in the store, with all the evidence of how it got there.
type installed struct {
	slot   *store.Slot
	report evidence.Report
}

// auditSlot looks a locked tree up in the store. A slot that is not what the lock says
// is moved to quarantine; its evidence refuses whatever was to be done with it. Without
// a slot both results are empty.
func auditSlot(ctx context.Context, s *store.Store, server, platform string, want digest.Digest) (*installed, error) {
	subject := project.TreeSubject(server, platform)
	slot, report, err := s.Audit(ctx, subject, want)
	switch {
	case errors.Is(err, store.ErrNotStored):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if slot == nil {
		if _, err := s.Quarantine(ctx, want, "audit of "+subject); err != nil {
			return nil, fmt.Errorf("%s: moving the slot to quarantine: %w", subject, err)
		}
		// The file that differs says more than the tree that holds it.
		slices.SortStableFunc(report, func(a, b evidence.Evidence) int {
			return cmp.Compare(schemeOrder(a), schemeOrder(b))
		})
	}
	return &installed{slot, report}, nil
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
	where    string        // who gives the integrities of the closure
	want     digest.Digest // the tree that the lock names for this platform, or zero
	// fetched adds evidence about the packages before anything is unpacked; may be nil.
	fetched func(*tarballs) (evidence.Report, error)
}

// install fetches a closure, has the evidence judged, lets npm unpack it and puts the
// tree into the store.
func (w *workspace) install(ctx context.Context, s *store.Store, in installation, judge admit) (*installed, error) {
	work, err := s.Stage()
	if err != nil {
		return nil, err
	}
	defer work.Discard()
	t, err := fetchClosure(ctx, w.host, in.closure, in.where, work.Dir())
	if err != nil {
		return nil, err
	}
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
	if err := installClosure(ctx, w.host, in.closure, t, st); err != nil {
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
	adm, err := judge(out.report)
	if err != nil {
		return out, err
	}
	out.slot, err = s.Put(ctx, adm, claim.Subject, st, in.closure.Root.String())
	return out, err
}
