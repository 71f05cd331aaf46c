package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// image is an OCI image. A container engine runs it by its digest.
type image struct{ common }

// Resolve resolves an image to its digest, reads its manifest, and opens the engine that runs it by that digest.
func (image) Resolve(ctx context.Context, d Declaration) (r Resolved, err error) {
	r.Report = program.VerifyEvidence(d.Workspace, d.Server, d.Path, "", nil)
	if _, err := judgeWith(&r.Report, d.Judge)(nil); err != nil {
		return r, err
	}
	t, entry := launcher.Parse(d.Server.Command, d.Server.Arguments), &r.Entry
	entry.Source = project.KindImage
	entry.Arguments, entry.Variables = nonNil(t.Args), nonNil(d.Server.Variables)
	found, err := r.fetchNamed(ctx, d, t.Packages[0])
	if err != nil {
		return r, host.NoAnswer("oci:"+t.Packages[0].Text, err)
	}
	defer found.Close()
	entry.Digest = found.Observed.SHA256()
	ref, err := artifact.NewOCI(t.Packages[0].Repository() + "@" + entry.Digest.String())
	if err != nil {
		return r, evidence.Errorf(evidence.Validation, "oci:"+t.Packages[0].Text, "", err)
	}
	manifest, err := ReadImage(found.Path(), ref)
	if err != nil {
		return r, err
	}
	entry.Platforms = manifest.Platforms
	config, err := readConfig(ctx, d.Workspace, ref, manifest)
	if err != nil {
		return r, err
	}
	if !manifest.Config.IsZero() {
		entry.Platforms = map[string]digest.Digest{config.platform(): entry.Digest}
	}
	r.Report = append(r.Report, workspace.InnerLineEvidence(d.Server.Name, config.inner(t))...)
	r.compareNamed(d, found, ref)
	if _, err := judgeWith(&r.Report, d.Judge)(nil); err != nil {
		return r, err
	}
	r.Program, err = openImage(d.Workspace, d.Server, entry.Digest, project.Approval{Path: d.Path}, process.Open)
	if err != nil {
		return r, err
	}
	entry.Ref, entry.Artifacts = ref.String(), map[string]digest.Digest{ref.String(): entry.Digest}
	return r, nil
}

// compareNamed compares the manifest with what its registry says of it, and with where its tag led before.
func (r *Resolved) compareNamed(d Declaration, found *fetch.Download, ref artifact.Ref) {
	r.Report = append(r.Report, document.RegistryEvidence(found)...)
	r.Report = append(r.Report, (*obtain.Record)(nil).ClaimsOf(ref, found.Observed)...)
	r.Report = append(r.Report, evidence.Compare(evidence.Claim{
		Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Lock,
	}, found.Observed))
	if old := d.Before; old != nil && old.Image != "" && old.Image == r.Entry.Image {
		moved := ImageTagEvidence(*old, found.Observed)
		r.Report = append(r.Report, moved)
		if moved.Outcome != evidence.Match {
			r.Moved = append(r.Moved, MovedPackage{Ref: ref.String()})
		}
	}
}

// fetchNamed fetches the manifest or index that a declaration names by its digest or a tag, and
// returns which of them it is.
func (r *Resolved) fetchNamed(ctx context.Context, d Declaration, named launcher.Package) (*fetch.Download, error) {
	pinned := evidence.Claim{Subject: d.Server.Name, Scheme: evidence.Pin, Authority: evidence.Caller,
		Text: named.Text, Where: project.ConfigFile}
	if named.Pinned() {
		r.Report = append(r.Report, evidence.Fact(pinned, named.Text))
		return d.Workspace.Host.Fetch.Fetch(ctx, named.Ref)
	}
	e := evidence.Fact(pinned, "")
	e.Reason = "the tag leads to what its publisher lets it lead to; write the digest into " + project.ConfigFile
	r.Report = append(r.Report, e)
	r.Entry.Image = named.Repository() + ":" + named.Tag()
	return d.Workspace.Host.Fetch.FetchTag(ctx, named.Repository(), named.Tag())
}

// Open opens the engine. The engine itself verifies that the image has the locked digest.
func (image) Open(_ context.Context, l Locked) (o Opened, err error) {
	o.Report = program.VerifyEvidence(l.Workspace, l.Server, l.Approval.Path, "", nil)
	if _, err := judgeWith(&o.Report, l.Judge)(nil); err != nil {
		return o, err
	}
	o.Report = append(o.Report, engineEvidence(l.Entry))
	if o.Program, err = openImage(l.Workspace, l.Server, l.Entry.Digest, l.Approval, process.Open); err == nil {
		o.Report = append(o.Report, o.Program.Report...)
	}
	return o, err
}

// OpenRuntime looks at the engine.
func (image) OpenRuntime(_ context.Context, l Locked) (*program.Program, error) {
	return openImage(l.Workspace, l.Server, l.Entry.Digest, l.Approval,
		host.KeptOf[process.Seen](l.Workspace.Host.Kept).Look)
}

// Check compares the engine with the one that was approved, and the tag, if there is one, with where it led.
func (image) Check(ctx context.Context, l Locked) (report evidence.Report, err error) {
	path := cmp.Or(l.Approval.Path, l.Workspace.Host.Getenv("PATH"))
	report = program.VerifyEvidence(l.Workspace, l.Server, path, "", nil)
	report = append(report, checkEngine(l)...)
	if l.Offline {
		return report, nil
	}
	tag, err := checkTag(ctx, l.Workspace, l.Entry)
	return append(report, tag...), err
}

// Latest returns where the tag leads now. An image that is declared by its digest has no other
// version.
func (image) Latest(ctx context.Context, q Query) (Latest, error) {
	named := launcher.Parse(q.Server.Command, q.Server.Arguments).Packages[0]
	if q.Version != "" || named.Pinned() {
		return unversioned(q)
	}
	d, err := q.Workspace.Host.Fetch.FetchTag(ctx, named.Repository(), named.Tag())
	if err != nil {
		return Latest{Next: q.Server}, host.NoAnswer("oci:"+named.Text, err)
	}
	defer d.Close()
	found := d.Observed.SHA256().String()
	return Latest{Wanted: found, Newest: found, Next: q.Server}, nil
}

// Version returns the digest, which has no order.
func (image) Version(entry project.ServerLock) Version {
	return Version{Version: entry.Digest.String()}
}

// ReadImage reads a manifest or an index of the image ref from a file.
func ReadImage(file string, ref artifact.Ref) (*fetch.Image, error) {
	data, err := host.ReadFile(file, maxImageManifest)
	if err != nil {
		return nil, err
	}
	read, err := fetch.ReadImage(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Refused, ref.String(), "", err)
	}
	return read, nil
}

// maxImageManifest bounds a manifest, and a configuration, in bytes.
const maxImageManifest = 4 << 20

// imageConfig is what is read of the configuration of an image: its platform, and what it starts.
type imageConfig struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant"`
	Config       struct {
		Entrypoint []string
		Cmd        []string
	} `json:"config"`
}

// platform returns the platform that an image is for.
func (c imageConfig) platform() string {
	return strings.TrimSuffix(c.OS+"/"+c.Architecture+"/"+c.Variant, "/")
}

// inner returns the command line of another program that the image fetches, started as t says; nil if
// it fetches none.
func (c imageConfig) inner(t launcher.Target) []string {
	if t.Bin != "" { // --entrypoint
		return nil // the command line itself says what is started
	}
	command := c.Config.Cmd
	if len(t.Args) > 0 {
		command = t.Args
	}
	return launcher.InnerLine(slices.Concat(c.Config.Entrypoint, command), true)
}

// readConfig reads the configuration of an image, or of the image of an index that this machine would
// run. It is zero if an index has none for this machine.
func readConfig(ctx context.Context, w *workspace.Workspace, ref artifact.Ref,
	named *fetch.Image) (c imageConfig, err error) {
	of := named
	if of.Config.IsZero() {
		for _, platform := range slices.Sorted(maps.Keys(of.Platforms)) {
			if platform != "linux/"+runtime.GOARCH && !strings.HasPrefix(platform, "linux/"+runtime.GOARCH+"/") {
				continue
			}
			data, err := readBlob(ctx, ref, of.Platforms[platform], "the index of the image",
				func(ctx context.Context, at artifact.Ref) (*fetch.Download, error) {
					return w.Host.Fetch.Fetch(ctx, at)
				})
			if err != nil {
				return c, err
			}
			if of, err = fetch.ReadImage(data); err != nil || of.Config.IsZero() {
				return c, evidence.Errorf(evidence.Refused, ref.String(), "",
					errors.Join(errors.New("has an image of "+platform+" that cannot be read"), err))
			}
			break
		}
	}
	if of.Config.IsZero() {
		return c, nil
	}
	data, err := readBlob(ctx, ref, of.Config, "the manifest of the image", w.Host.Fetch.FetchBlob)
	if err != nil {
		return c, err
	}
	err = surface.DecodeKnown(data, &c)
	if isIndex := of != named; err != nil || !isIndex && (c.OS == "" || c.Architecture == "") {
		return c, evidence.Errorf(evidence.Refused, ref.String(), "",
			errors.Join(errors.New("does not say which platform the image is for"), err))
	}
	return c, nil
}

// readBlob fetches what named, a manifest, names by its digest, and compares it.
func readBlob(ctx context.Context, image artifact.Ref, want digest.Digest, named string,
	get func(context.Context, artifact.Ref) (*fetch.Download, error)) ([]byte, error) {
	at, err := BlobRef(image, want)
	if err != nil {
		return nil, err
	}
	d, err := get(ctx, at)
	if err != nil {
		return nil, host.NoAnswer(at.String(), err)
	}
	defer d.Close()
	claim := evidence.Claim{Subject: at.String(), Scheme: evidence.File, Authority: evidence.Lock,
		Want: []digest.Digest{want}, Where: named}
	if v := policy.Judge(policy.Pin, policy.Settings{},
		evidence.Report{evidence.Compare(claim, d.Observed)}); !v.Allowed() {
		return nil, v.Err()
	}
	return host.ReadFile(d.Path(), maxImageManifest)
}

// BlobRef returns the ref of another manifest or a blob in the repository of an image.
func BlobRef(image artifact.Ref, d digest.Digest) (artifact.Ref, error) {
	return artifact.NewOCI(image.Name() + "@" + d.String())
}

// ImageTagEvidence compares where a tag leads now with where it led when it was locked.
func ImageTagEvidence(locked project.ServerLock, o evidence.Observed) evidence.Evidence {
	return evidence.Compare(evidence.Claim{
		Subject: "oci:" + locked.Image, Scheme: evidence.OCI, Authority: evidence.Lock,
		Want: []digest.Digest{locked.Digest}, Where: project.LockFile,
	}, o)
}

// openImage opens the container engine, which runs the image by its digest. It takes the search
// path and the approved engine from approval; nil permits any engine.
func openImage(w *workspace.Workspace, s project.Server, image digest.Digest,
	approval project.Approval, open process.Opener) (p *program.Program, err error) {
	p = &program.Program{Server: s.Name, Path: approval.Path, Variables: s.Variables}
	s.Command, s.Arguments = launcher.Unwrap(s.Command, s.Arguments)
	words, ok := launcher.Parse(s.Command, s.Arguments).SpellAtDigest(image.String())
	if !ok {
		return p, evidence.Errorf(evidence.Refused, s.Name, "name the image in an argument of its own",
			errors.New("its command line cannot name the image by its digest"))
	}
	found, err := w.FindCommand(s.Command, approval.Path)
	if err != nil {
		return p, err
	}
	if p.Executable, err = open(found); err != nil {
		return p, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	if _, _, script := p.Executable.Interpreter(); script {
		return p, evidence.Errorf(evidence.Refused, s.Name,
			cmp.Or(closure.ShimHint(w, found), "name the engine that it starts in 'command'"),
			fmt.Errorf("%s is a script that starts another program", found))
	}
	p.UseRuntime(p.Executable, "", approval.Runtime)
	p.Args = append([]string{s.Command}, words...)
	return p, nil
}

// engineEvidence returns evidence that the engine is told to run the locked digest. The engine
// compares the image's bytes with it.
func engineEvidence(entry project.ServerLock) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: entry.Ref, Scheme: evidence.Pin, Authority: evidence.Lock, Text: entry.Digest.String(),
		Where: project.LockFile,
	}, entry.Digest.String())
	e.Reason = "the container engine compares the image with this digest; no byte of it was read here"
	return e
}

// checkEngine returns evidence of the container engine that this machine approved for an image.
func checkEngine(l Locked) evidence.Report {
	approval, report := l.Approval, evidence.Report{engineEvidence(l.Entry)}
	if approval.Runtime == nil {
		return report
	}
	p, err := openImage(l.Workspace, l.Server, l.Entry.Digest, approval,
		host.KeptOf[process.Seen](l.Workspace.Host.Kept).Look)
	if err != nil {
		return append(report, evidence.CannotVerify(evidence.Claim{
			Subject: approval.Runtime.Path, Scheme: evidence.File, Authority: evidence.Machine,
			Want: []digest.Digest{approval.Runtime.Digest},
		}, evidence.Unreadable, err.Error()))
	}
	defer p.Close()
	return append(report, p.Report...)
}

// checkTag asks the registry of a locked image where its tag leads now, and returns evidence of
// that; nothing for an image that is declared by its digest.
func checkTag(ctx context.Context, w *workspace.Workspace, entry project.ServerLock) (evidence.Report, error) {
	if entry.Image == "" {
		return nil, nil
	}
	repository, tag, _ := host.CutLast(entry.Image, ":")
	d, err := w.Host.Fetch.FetchTag(ctx, repository, tag)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if refusal := wire.NotAgreed(err); refusal != nil {
			return nil, refusal
		}
		return evidence.Report{evidence.CannotVerify(ImageTagEvidence(entry, evidence.Observed{}).Claim,
			evidence.Unreachable, err.Error())}, nil
	}
	defer d.Close()
	return evidence.Report{ImageTagEvidence(entry, d.Observed)}, nil
}
