package hallmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// prepareSource resolves a server that is packed from source to the newest version that
// its floor allows, and makes that startable from the store.
func (p *pinning) prepareSource(ctx context.Context) (*program, error) {
	name, floor, err := project.ParseSourceName(p.declared.Source)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, p.declared.Name, "", err)
	}
	a, err := openSources(p.w, sourceOptions{Log: p.o.Log}, nil)
	if err != nil {
		return nil, err
	}
	x := &heldFacet{kind: ledger.Artifact, floor: floor, want: project.Facet{Name: name}}
	err = a.fromRegistry(ctx, x, nil)
	p.report = append(p.report, x.report...)
	if err != nil {
		return nil, err
	}
	if err := x.readSource(); err != nil {
		return nil, err
	}
	document, err := x.record.Document()
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, x.subject(), "", err)
	}
	entry, ref := &p.out.Entry, x.subject()
	entry.Source, entry.Ref, entry.Entry, entry.Runtime = project.KindArtifact, ref, x.source.Entry, x.source.Runtime
	entry.Arguments, entry.Variables = nonNil(p.declared.Arguments), nonNil(p.declared.Variables)
	entry.Record = &project.RecordLock{
		Kind: ledger.Artifact, Registry: p.w.config.Registry.Name(), Name: name, Version: x.entry.Version,
		Document: document, Integrity: x.entry.Integrity, Proof: x.entry.Proof,
	}
	p.out.Claimed = x.record.APISurface
	shown, err := x.documentEvidence(document)
	if err != nil {
		return nil, err
	}
	p.report = append(p.report, shown)
	if old := p.out.Before; old != nil { // the bytes of a version never change
		if want, ok := old.Artifacts[ref]; ok {
			p.report = append(p.report, evidence.Compare(
				evidence.Claim{Subject: ref, Scheme: evidence.FacetTar, Authority: evidence.Lock, Want: []digest.Digest{want}, Where: project.LockFile},
				evidence.Observed{Digests: []digest.Digest{x.entry.Integrity}, From: "the contents of the archive"}))
		}
	}
	if _, err := p.judge(nil); err != nil {
		return nil, err
	}
	prog, err := p.w.sourceProgram(ctx, p.declared, *entry, x.slot, p.path, nil)
	if prog != nil {
		prog.own, prog.artifacts = ref, map[string]digest.Digest{ref: x.entry.Integrity}
	}
	return prog, err
}

// readSource parses the server.json of a server from its slot, whose bytes were just audited.
func (x *heldFacet) readSource() error {
	data, err := readFile(filepath.Join(x.slot.Dir(), facet.SourceFile), facet.MaxManifest)
	if err != nil {
		return err
	}
	if !evidence.Same(x.slot.Assets[facet.SourceFile], digest.FromBytes(data)) {
		return evidence.Errorf(evidence.Integrity, x.subject(), "", errors.New(facet.SourceFile+" changed after the audit"))
	}
	if x.source, err = facet.ParseSource(data); err != nil {
		return err
	}
	if x.source.Name != x.want.Name || x.source.Version != x.entry.Version {
		return evidence.Errorf(evidence.Integrity, x.subject(), "", fmt.Errorf("its %s is that of %s", facet.SourceFile, project.FacetSubject(x.source.Name, x.source.Version)))
	}
	return nil
}

// startedAs is an error if the lock starts something else of the archive than its author says.
func (x *heldFacet) startedAs(entry project.ServerLock) error {
	if x.source.Entry == entry.Entry && x.source.Runtime == entry.Runtime {
		return nil
	}
	return evidence.Errorf(evidence.Integrity, x.subject(), "run 'hallmark pin' for this server again",
		fmt.Errorf("its %s names another entry or runtime than %s", facet.SourceFile, project.LockFile))
}

// documentEvidence compares the server.json of the slot with what the registry shows as
// the manifest of its record.
func (x *heldFacet) documentEvidence(recorded digest.Digest) (evidence.Evidence, error) {
	canonical, err := serverjson.Canonical(x.source.Raw)
	if err != nil {
		return evidence.Evidence{}, evidence.Errorf(evidence.Validation, x.subject(), "", err)
	}
	return evidence.Compare(
		evidence.Claim{Subject: x.subject(), Scheme: evidence.Document, Authority: evidence.Record, Where: "the registry's record, manifest", Want: []digest.Digest{recorded}},
		evidence.Observed{Digests: []digest.Digest{digest.FromBytes(canonical)}, Size: int64(len(canonical)), From: facet.SourceFile + " in the store"}), nil
}

// claimedEvidence compares the tools that a server shows here with what its publisher
// says that they are. A person who was shown the difference may accept it.
func claimedEvidence(name string, claimed, shown digest.Digest, answer Consent) evidence.Evidence {
	c := evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.APISurface, Authority: evidence.Record, Where: "the registry's record, api_surface"}
	if !claimed.IsZero() {
		c.Want = []digest.Digest{claimed}
	}
	o := evidence.Observed{Digests: []digest.Digest{shown}, From: "the server's answers"}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Mismatch {
		return e
	}
	const why = "it shows other tools here than its publisher says"
	if answer == Given {
		return evidence.Waive(c, o, why+", which was accepted")
	}
	e.Reason = why
	return e
}

// prepareSource gets the locked archive of a server into the store, if it is not there,
// and makes it startable.
func (l *launch) prepareSource(ctx context.Context, approval project.Approval) (*program, error) {
	a, err := openSources(l.w, sourceOptions{Log: l.w.logOptions}, nil)
	if err != nil {
		return nil, err
	}
	r := l.entry.Record
	locked := &project.FacetLock{
		Version: r.Version, Source: project.SourceLock{Kind: project.FromRegistry, Registry: r.Registry}, Integrity: l.entry.Artifacts[l.entry.Ref],
	}
	x := &heldFacet{kind: ledger.Artifact, want: project.Facet{Name: r.Name}, entry: *locked}
	err = a.fromRegistry(ctx, x, locked)
	l.report = append(l.report, x.report...)
	if err != nil {
		return nil, err
	}
	if err := x.readSource(); err != nil {
		return nil, err
	}
	if err := x.startedAs(*l.entry); err != nil {
		return nil, err
	}
	prog, err := l.w.sourceProgram(ctx, l.declared, *l.entry, x.slot, approval.Path, approval.Runtime)
	if prog != nil {
		l.report = append(l.report, prog.report...)
	}
	return prog, err
}

// checkSource audits the contents of a server in the store, and its interpreter.
func (w *workspace) checkSource(ctx context.Context, name string, entry project.ServerLock, approval project.Approval) (evidence.Report, error) {
	st, err := w.host.store()
	if err != nil {
		return nil, err
	}
	want := entry.Artifacts[entry.Ref]
	slot, report, err := st.WithScheme(evidence.FacetTar).Audit(ctx, entry.Ref, want)
	switch {
	case errors.Is(err, store.ErrNotStored):
		report = evidence.Report{evidence.CannotVerify(evidence.Claim{
			Subject: entry.Ref, Scheme: evidence.FacetTar, Authority: evidence.Lock, Want: []digest.Digest{want}, Where: project.LockFile,
		}, evidence.NotFound, "not in this machine's store; the next run fetches and verifies it")}
	case err != nil:
		return nil, err
	case slot != nil:
		x := &heldFacet{kind: ledger.Artifact, want: project.Facet{Name: entry.Record.Name}, entry: project.FacetLock{Version: entry.Record.Version}, slot: slot}
		if err := x.readSource(); err != nil {
			return nil, err
		}
		if err := x.startedAs(entry); err != nil {
			return nil, err
		}
	}
	return append(report, checkRuntime(name, approval)...), nil
}

// sourceProgram makes the entry of a server startable from a slot of the store, by the
// runtime that its server.json names. approved may be nil.
func (w *workspace) sourceProgram(ctx context.Context, s project.Server, entry project.ServerLock, slot *store.Slot, path string, approved *project.Runtime) (*program, error) {
	file := filepath.Join(slot.Dir(), filepath.FromSlash(entry.Entry))
	p, err := w.sourceRuntime(ctx, s.Name, entry.Runtime, path, approved)
	if err != nil {
		return p, err
	}
	if entry.Runtime == facet.RuntimeBinary {
		if p.exe, err = guard.OpenImage(file); err != nil {
			return p, evidence.Errorf(evidence.Operation, s.Name, "", err)
		}
		if _, _, script := p.exe.Interpreter(); script {
			return p, evidence.Errorf(evidence.Refused, s.Name, "tell its publisher", errors.New("its runtime is binary, and its entry is a script"))
		}
		p.judged(evidence.Claim{
			Subject: facet.MemberSubject(entry.Ref, entry.Entry), Scheme: evidence.File, Authority: evidence.Sidecar, Want: []digest.Digest{slot.Assets[entry.Entry]},
		}, p.exe.Observed())
		p.args = []string{entry.Entry}
	} else {
		if entry.Runtime != "python" {
			if err := noModulesAbove(entry.Runtime, slot.Dir(), w.host.Getenv("HOME")); err != nil {
				return p, evidence.Errorf(evidence.Refused, s.Name, "move that directory, or the store by setting HALLMARK_HOME", err)
			}
		}
		p.args = append(runtimes[entry.Runtime].starts(), file)
		p.args[0] = p.exe.Path() // by its name it would look for itself in PATH
		p.set = runtimes[entry.Runtime].set
	}
	p.args = append(p.args, entry.Arguments...)
	p.variables = entry.Variables
	p.subjects = append(p.subjects, guard.Subject{Name: entry.Ref, Digest: slot.Digest})
	return p, nil
}

// sourceRuntime opens the interpreter on this machine for a runtime; there is none for a
// binary.
func (w *workspace) sourceRuntime(ctx context.Context, name, runtime, path string, approved *project.Runtime) (*program, error) {
	if runtime == facet.RuntimeBinary {
		return &program{server: name, path: path}, nil
	}
	r, ok := runtimes[runtime]
	if !ok {
		return nil, evidence.Errorf(evidence.Validation, name, "", fmt.Errorf("its runtime %+q is not known", runtime))
	}
	return w.interpreter(ctx, name, path, approved, func(ctx context.Context, path string) (*project.Runtime, error) {
		return w.askRuntime(ctx, path, r)
	})
}

// sourceRuntime is an interpreter of servers that are packed from source.
type sourceRuntime struct {
	commands []string // the first of these in PATH
	probe    []string // makes it print its own executable and its version, a line each
	words    []string // the command line before the entry: nothing is loaded from elsewhere
	set      []string // variables, to the same end: "NAME=VALUE"
}

func (r sourceRuntime) starts() []string { return append([]string{r.commands[0]}, r.words...) }

// runtimes by what server.json calls them. Dependencies are part of the archive: what is
// missing there is not looked for in the environment, and not fetched.
var runtimes = map[string]sourceRuntime{
	"node": {
		commands: []string{"node"}, probe: []string{"-p", `process.execPath + "\n" + process.versions.node`},
	},
	"python": {
		commands: []string{"python3", "python"}, probe: []string{"-I", "-B", "-c", "import os, sys; print(os.path.realpath(sys.executable)); print('%d.%d' % sys.version_info[:2])"},
		words: []string{"-E", "-s", "-S", "-B"},
	},
	"bun": {
		commands: []string{"bun"}, probe: []string{"--config=" + os.DevNull, "-p", `process.execPath + "\n" + process.versions.bun`},
		words: []string{"--no-install", "--no-env-file", "--config=" + os.DevNull, "run"}, // a bunfig.toml names code to load first
		set:   []string{"BUN_RUNTIME_TRANSPILER_CACHE_PATH=0"},
	},
	"deno": {
		commands: []string{"deno"}, probe: []string{"eval", "--no-config", `console.log(Deno.execPath() + "\n" + Deno.version.deno)`},
		words: []string{"run", "--no-remote", "--no-npm", "--no-lock", "--no-config", "--allow-all"},
		set:   []string{"DENO_DIR=" + os.DevNull}, // where it would keep compiled code, which nobody verified
	},
}

// askRuntime asks the interpreter in path for its own executable and version: what stands
// in PATH may be a shim.
func (w *workspace) askRuntime(ctx context.Context, path string, r sourceRuntime) (*project.Runtime, error) {
	found, err := w.askable(path, "install it: the server is started by it", r.commands...)
	if err != nil {
		return nil, err
	}
	said, err := w.host.ask(ctx, found, append([]string{"PATH=" + path}, r.set...), "", r.probe...)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, found, "", err)
	}
	exe, version, ok := strings.Cut(strings.TrimSpace(string(said.Stdout)), "\n")
	major, _, _ := strings.Cut(strings.TrimSpace(version), ".")
	if r.commands[0] == "python3" {
		major = strings.TrimSpace(version)
	}
	if exe = strings.TrimSpace(exe); !ok || !filepath.IsAbs(exe) || major == "" {
		return nil, evidence.Errorf(evidence.Operation, found, "", errors.New("is not "+r.commands[0]))
	}
	return &project.Runtime{Path: exe, Version: major}, nil
}

// captureSource starts a server from the bytes of its archive, as who pins it will, and
// lists the tools that it shows. What was recomputed of the archive was judged by its caller.
func captureSource(ctx context.Context, h *Host, a *facet.Archive, body io.Reader, variables []string, within time.Duration) (digest.Digest, error) {
	x, err := unpackSource(ctx, h, a, body)
	if err != nil {
		return digest.Digest{}, err
	}
	dir, err := os.MkdirTemp("", "hallmark-capture-")
	if err != nil {
		return digest.Digest{}, err
	}
	defer os.RemoveAll(dir)
	w := emptyWorkspace(h, dir)
	declared := project.Server{Name: a.Name(), Variables: variables}
	entry := project.ServerLock{Source: project.KindArtifact, Ref: x.subject(), Entry: x.source.Entry, Runtime: x.source.Runtime, Variables: variables}
	prog, err := w.sourceProgram(ctx, declared, entry, x.slot, h.Getenv("PATH"), nil)
	report := x.report
	if prog != nil {
		defer prog.close()
		report = append(report, prog.report...)
	}
	if err != nil {
		return digest.Digest{}, err
	}
	v := policy.Judge(policy.Pin, policy.Settings{}, report)
	if err := v.Err(); err != nil {
		return digest.Digest{}, err
	}
	shown, err := w.capture(ctx, declared, prog, v.Admitted(), within)
	if err != nil {
		return digest.Digest{}, err
	}
	return shown.APISurface(), nil
}

// unpackSource gets an archive that was packed on this machine into the store.
func unpackSource(ctx context.Context, h *Host, a *facet.Archive, body io.Reader) (*heldFacet, error) {
	st, err := h.store()
	if err != nil {
		return nil, err
	}
	s := &archiveSources{store: st.WithScheme(evidence.FacetTar)}
	x := &heldFacet{kind: ledger.Artifact, want: project.Facet{Name: a.Name()}, entry: project.FacetLock{Version: a.Version(), Source: project.SourceLock{Kind: project.FromLocal, Path: "archive"}}}
	err = s.unpack(ctx, x, unpacking{body: body, from: "the archive", claims: []evidence.Claim{{
		Subject: a.Name() + "@" + a.Version(), Scheme: evidence.FacetTar, Authority: evidence.Manifest, Where: archive.BuildManifest, Want: []digest.Digest{a.Integrity},
	}}})
	if err != nil {
		return nil, err
	}
	return x, x.readSource()
}
