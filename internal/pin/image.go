package pin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/guard/executable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// prepareImage resolves an image to its digest, reads its manifest and makes it startable
// by that digest.
func (p *Pinning) prepareImage(ctx context.Context, t launcher.Target) (*program.Program, error) {
	named := t.Packages[0]
	pinned := evidence.Claim{Subject: p.Declared.Name, Scheme: evidence.Pin, Authority: evidence.Caller,
		Text: named.Text, Where: project.ConfigFile}
	entry := &p.Result.Entry
	entry.Source = "image"
	entry.Arguments, entry.Variables = nonNil(t.Args), nonNil(p.Declared.Variables)
	var d *fetch.Download
	var err error
	if named.Pinned() {
		p.report = append(p.report, evidence.Fact(pinned, named.Text))
		d, err = p.Workspace.Host.Fetch.Fetch(ctx, named.Ref)
	} else {
		e := evidence.Fact(pinned, "")
		e.Reason = "the tag leads to what its publisher lets it lead to; write the digest into " + project.ConfigFile
		p.report = append(p.report, e)
		tag := lockentry.TagOf(named)
		entry.Image = named.Repository() + ":" + tag
		d, err = p.Workspace.Host.Fetch.FetchTag(ctx, named.Repository(), tag)
	}
	if err != nil {
		return nil, host.NoAnswer("oci:"+named.Text, err)
	}
	defer d.Close()
	entry.Digest = d.Observed.SHA256()
	ref, err := artifact.NewOCI(named.Repository() + "@" + entry.Digest.String())
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "oci:"+named.Text, "", err)
	}
	data, err := host.ReadFile(d.Path(), maxImageManifest)
	if err != nil {
		return nil, err
	}
	image, err := fetch.ReadImage(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Refused, ref.String(), "", err)
	}
	entry.Platforms = image.Platforms
	if !image.Config.IsZero() {
		platform, err := imagePlatform(ctx, p.Workspace, ref, image.Config)
		if err != nil {
			return nil, err
		}
		entry.Platforms = map[string]digest.Digest{platform: entry.Digest}
	}
	p.report = append(p.report, document.RegistryEvidence(d)...)
	p.report = append(p.report, (*record.Record)(nil).ClaimsOf(ref, d.Observed)...)
	p.report = append(p.report, evidence.Compare(evidence.Claim{
		Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Lock,
	}, d.Observed))
	if old := p.Result.Before; old != nil && old.Image != "" && old.Image == entry.Image {
		moved := ImageTagEvidence(*old, d.Observed)
		p.report = append(p.report, moved)
		if moved.Outcome != evidence.Match {
			p.Result.Moved = append(p.Result.Moved, ref.String())
		}
	}
	if _, err := p.judge(nil); err != nil {
		return nil, err
	}
	prog, err := OpenImage(p.Workspace, p.Declared, entry.Digest, project.Approval{Path: p.Path})
	if err != nil {
		return prog, err
	}
	prog.OwnKey = ref.String()
	prog.Artifacts = map[string]digest.Digest{prog.OwnKey: entry.Digest}
	return prog, nil
}

// maxImageManifest bounds a manifest, and a configuration, in bytes.
const maxImageManifest = 4 << 20

// imagePlatform is what the configuration of an image says that it is for.
func imagePlatform(ctx context.Context, w *workspace.Workspace,
	ref artifact.Ref, config digest.Digest) (string, error) {
	at, err := blobRef(ref, config)
	if err != nil {
		return "", err
	}
	d, err := w.Host.Fetch.FetchBlob(ctx, at)
	if err != nil {
		return "", host.NoAnswer(at.String(), err)
	}
	defer d.Close()
	claim := evidence.Claim{Subject: at.String(), Scheme: evidence.File, Authority: evidence.Lock,
		Want: []digest.Digest{config}, Where: "the manifest of the image"}
	if v := policy.Judge(policy.Pin, policy.Settings{},
		evidence.Report{evidence.Compare(claim, d.Observed)}); !v.Allowed() {
		return "", v.Err()
	}
	data, err := host.ReadFile(d.Path(), maxImageManifest)
	if err != nil {
		return "", err
	}
	var platform struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
		Variant      string `json:"variant"`
	}
	if err := surface.DecodeKnown(data, &platform); err != nil || platform.OS == "" || platform.Architecture == "" {
		return "", evidence.Errorf(evidence.Refused, at.String(), "",
			errors.Join(errors.New("does not say which platform the image is for"), err))
	}
	return strings.TrimSuffix(platform.OS+"/"+platform.Architecture+"/"+platform.Variant, "/"), nil
}

func blobRef(image artifact.Ref, d digest.Digest) (artifact.Ref, error) {
	return artifact.NewOCI(image.Name() + "@" + d.String())
}

// ImageTagEvidence compares where a tag leads now with where it led when it was locked.
func ImageTagEvidence(locked project.ServerLock, o evidence.Observed) evidence.Evidence {
	return evidence.Compare(evidence.Claim{
		Subject: "oci:" + locked.Image, Scheme: evidence.OCI, Authority: evidence.Lock,
		Want: []digest.Digest{locked.Digest}, Where: project.LockFile,
	}, o)
}

// OpenImage opens the container engine, which runs the image by its digest. Of approval it uses the
// path that is searched for the engine, and the engine that was approved; nil means any.
func OpenImage(w *workspace.Workspace, s project.Server, image digest.Digest,
	approval project.Approval) (p *program.Program, err error) {
	p = &program.Program{Server: s.Name, Path: approval.Path, Variables: s.Variables}
	words, ok := launcher.Parse(s.Command, s.Arguments).SpellAtDigest(image.String())
	if !ok {
		return p, evidence.Errorf(evidence.Refused, s.Name, "name the image in an argument of its own",
			errors.New("its command line cannot name the image by its digest"))
	}
	found, err := w.FindCommand(s.Command, approval.Path)
	if err != nil {
		return p, err
	}
	if p.Executable, err = executable.Open(found); err != nil {
		return p, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	if _, _, script := p.Executable.Interpreter(); script {
		return p, evidence.Errorf(evidence.Refused, s.Name,
			cmp.Or(tool.ShimHint(w, found), "name the engine that it starts in 'command'"),
			fmt.Errorf("%s is a script that starts another program", found))
	}
	p.UseRuntime(p.Executable, "", approval.Runtime)
	p.Args = append([]string{s.Command}, words...)
	return p, nil
}

// EngineEvidence says what is known of an image that a container engine is told to run: the
// digest is the one that is locked, and the engine is who holds the bytes against it.
func EngineEvidence(entry project.ServerLock) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: entry.Ref, Scheme: evidence.Pin, Authority: evidence.Lock, Text: entry.Digest.String(),
		Where: project.LockFile,
	}, entry.Digest.String())
	e.Reason = "the container engine compares the image with this digest; no byte of it was read here"
	return e
}

// CheckEngine is evidence of the container engine that this machine approved for an image.
func CheckEngine(w *workspace.Workspace, s project.Server, entry project.ServerLock,
	approval project.Approval) evidence.Report {
	report := evidence.Report{EngineEvidence(entry)}
	if approval.Runtime == nil {
		return report
	}
	p, err := OpenImage(w, s, entry.Digest, approval)
	if err != nil {
		return append(report, evidence.CannotVerify(evidence.Claim{
			Subject: approval.Runtime.Path, Scheme: evidence.File, Authority: evidence.Machine,
			Want: []digest.Digest{approval.Runtime.Digest},
		}, evidence.Unreadable, err.Error()))
	}
	defer p.Close()
	return append(report, p.Report...)
}

// CheckImageTag asks the registry of a locked image where its tag leads now, and is evidence of
// that; nothing for an image that is declared by its digest.
func CheckImageTag(ctx context.Context, w *workspace.Workspace, entry project.ServerLock) (evidence.Report, error) {
	if entry.Image == "" {
		return nil, nil
	}
	repository, tag, _ := host.CutLast(entry.Image, ":")
	d, err := w.Host.Fetch.FetchTag(ctx, repository, tag)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if refusal := consent.NotAgreed(err); refusal != nil {
			return nil, refusal
		}
		return evidence.Report{evidence.CannotVerify(ImageTagEvidence(entry, evidence.Observed{}).Claim,
			evidence.Unreachable, err.Error())}, nil
	}
	defer d.Close()
	return evidence.Report{ImageTagEvidence(entry, d.Observed)}, nil
}
