package hallmark

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// runsImage reports whether t is a container engine that is told to run one image.
func runsImage(t launcher.Target) bool {
	return t.Opaque == "" && t.Wrapper == "" && len(t.Packages) == 1 && t.Packages[0].Repository() != ""
}

// tagOf is the tag by which an image is named.
func tagOf(named launcher.Package) string { return cmp.Or(named.Spec, "latest") }

// prepareImage resolves an image to its digest, reads its manifest and makes it startable
// by that digest.
func (p *pinning) prepareImage(ctx context.Context, t launcher.Target) (*program, error) {
	named := t.Packages[0]
	pinned := evidence.Claim{Subject: p.declared.Name, Scheme: evidence.Pin, Authority: evidence.Caller, Text: named.Text, Where: project.ConfigFile}
	entry := &p.out.Entry
	entry.Source = "image"
	entry.Arguments, entry.Variables = nonNil(t.Args), nonNil(p.declared.Variables)
	var d *fetch.Download
	var err error
	if named.Pinned() {
		p.report = append(p.report, evidence.Fact(pinned, named.Text))
		d, err = p.w.host.Fetch.Fetch(ctx, named.Ref)
	} else {
		e := evidence.Fact(pinned, "")
		e.Reason = "the tag leads to what its publisher lets it lead to; write the digest into " + project.ConfigFile
		p.report = append(p.report, e)
		tag := tagOf(named)
		entry.Image = named.Repository() + ":" + tag
		d, err = p.w.host.Fetch.FetchTag(ctx, named.Repository(), tag)
	}
	if err != nil {
		return nil, unanswered("oci:"+named.Text, err)
	}
	defer d.Close()
	entry.Digest = d.Observed.SHA256()
	ref, err := artifact.NewOCI(named.Repository() + "@" + entry.Digest.String())
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, "oci:"+named.Text, "", err)
	}
	data, err := readFile(d.Path(), maxImageManifest)
	if err != nil {
		return nil, err
	}
	image, err := fetch.ReadImage(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Refused, ref.String(), "", err)
	}
	entry.Platforms = image.Platforms
	if !image.Config.IsZero() {
		platform, err := p.w.imagePlatform(ctx, ref, image.Config)
		if err != nil {
			return nil, err
		}
		entry.Platforms = map[string]digest.Digest{platform: entry.Digest}
	}
	p.report = append(p.report, registryEvidence(d)...)
	p.report = append(p.report, (*record)(nil).about(ref, d.Observed)...)
	p.report = append(p.report, evidence.Compare(evidence.Claim{
		Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Lock,
	}, d.Observed))
	if old := p.out.Before; old != nil && old.Image != "" && old.Image == entry.Image {
		moved := imageTagEvidence(*old, d.Observed)
		p.report = append(p.report, moved)
		if moved.Outcome != evidence.Match {
			p.out.Moved = append(p.out.Moved, ref.String())
		}
	}
	if _, err := p.judge(nil); err != nil {
		return nil, err
	}
	prog, err := p.w.imageProgram(p.declared, entry.Digest, p.path, nil)
	if err != nil {
		return prog, err
	}
	prog.own = ref.String()
	prog.artifacts = map[string]digest.Digest{prog.own: entry.Digest}
	return prog, nil
}

// maxImageManifest bounds a manifest, and a configuration, in bytes.
const maxImageManifest = 4 << 20

// imagePlatform is what the configuration of an image says that it is for.
func (w *workspace) imagePlatform(ctx context.Context, ref artifact.Ref, config digest.Digest) (string, error) {
	at, err := blobRef(ref, config)
	if err != nil {
		return "", err
	}
	d, err := w.host.Fetch.FetchBlob(ctx, at)
	if err != nil {
		return "", unanswered(at.String(), err)
	}
	defer d.Close()
	claim := evidence.Claim{Subject: at.String(), Scheme: evidence.File, Authority: evidence.Lock, Want: []digest.Digest{config}, Where: "the manifest of the image"}
	if v := policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{evidence.Compare(claim, d.Observed)}); !v.Allowed() {
		return "", v.Err()
	}
	data, err := readFile(d.Path(), maxImageManifest)
	if err != nil {
		return "", err
	}
	var said struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
		Variant      string `json:"variant"`
	}
	if err := surface.DecodeKnown(data, &said); err != nil || said.OS == "" || said.Architecture == "" {
		return "", evidence.Errorf(evidence.Refused, at.String(), "", errors.Join(errors.New("does not say which platform the image is for"), err))
	}
	return strings.TrimSuffix(said.OS+"/"+said.Architecture+"/"+said.Variant, "/"), nil
}

func blobRef(image artifact.Ref, d digest.Digest) (artifact.Ref, error) {
	return artifact.NewOCI(image.Name() + "@" + d.String())
}

// imageTagEvidence compares where a tag leads now with where it led when it was locked.
func imageTagEvidence(locked project.ServerLock, o evidence.Observed) evidence.Evidence {
	return evidence.Compare(evidence.Claim{
		Subject: "oci:" + locked.Image, Scheme: evidence.OCI, Authority: evidence.Lock, Want: []digest.Digest{locked.Digest}, Where: project.LockFile,
	}, o)
}

// imageProgram opens the container engine, which runs the image by its digest.
func (w *workspace) imageProgram(s project.Server, image digest.Digest, path string, approved *project.Runtime) (p *program, err error) {
	p = &program{server: s.Name, path: path, variables: s.Variables}
	words, ok := launcher.Parse(s.Command, s.Arguments).SpellAtDigest(image.String())
	if !ok {
		return p, evidence.Errorf(evidence.Refused, s.Name, "name the image in an argument of its own", errors.New("its command line cannot name the image by its digest"))
	}
	found, err := w.find(s.Command, path)
	if err != nil {
		return p, err
	}
	if p.exe, err = guard.OpenImage(found); err != nil {
		return p, evidence.Errorf(evidence.Operation, s.Name, "", err)
	}
	if _, _, script := p.exe.Interpreter(); script {
		return p, evidence.Errorf(evidence.Refused, s.Name, cmp.Or(w.shimHint(found), "name the engine that it starts in 'command'"), fmt.Errorf("%s is a script that starts another program", found))
	}
	p.useRuntime(p.exe, "", approved)
	p.args = append([]string{s.Command}, words...)
	return p, nil
}

// untagged says of an image that is declared by its tag, if the entry does not: without it
// nobody would be told where the tag leads now.
func untagged(s project.Server, locked *project.ServerLock) string {
	if locked == nil || locked.Source != "image" {
		return ""
	}
	t := launcher.Parse(s.Command, s.Arguments)
	if !runsImage(t) || t.Packages[0].Pinned() {
		return ""
	}
	if want := t.Packages[0].Repository() + ":" + tagOf(t.Packages[0]); locked.Image != want {
		return fmt.Sprintf("it names the image by the tag %s, and the entry %+q", want, locked.Image)
	}
	return ""
}

// engineEvidence says what is known of an image that a container engine is told to run: the
// digest is the one that is locked, and the engine is who holds the bytes against it.
func engineEvidence(entry project.ServerLock) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: entry.Ref, Scheme: evidence.Pin, Authority: evidence.Lock, Text: entry.Digest.String(), Where: project.LockFile,
	}, entry.Digest.String())
	e.Reason = "the container engine compares the image with this digest; no byte of it was read here"
	return e
}

// checkImage is evidence of the engine, and unless offline of where the tag leads now.
func (w *workspace) checkImage(ctx context.Context, s project.Server, entry project.ServerLock, approval project.Approval, offline bool) (evidence.Report, error) {
	report := evidence.Report{engineEvidence(entry)}
	if approval.Runtime != nil {
		p, err := w.imageProgram(s, entry.Digest, approval.Path, approval.Runtime)
		if err != nil {
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: approval.Runtime.Path, Scheme: evidence.File, Authority: evidence.Machine, Want: []digest.Digest{approval.Runtime.Digest},
			}, evidence.Unreadable, err.Error()))
		} else {
			defer p.close()
			report = append(report, p.report...)
		}
	}
	if offline || entry.Image == "" {
		return report, nil
	}
	repository, tag, _ := cutLast(entry.Image, ":")
	d, err := w.host.Fetch.FetchTag(ctx, repository, tag)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if refusal := consent.NotAgreed(err); refusal != nil {
			return nil, refusal
		}
		return append(report, evidence.CannotVerify(imageTagEvidence(entry, evidence.Observed{}).Claim, evidence.Unreachable, err.Error())), nil
	}
	defer d.Close()
	return append(report, imageTagEvidence(entry, d.Observed)), nil
}

// PullOptions say what to pull and where to.
type PullOptions struct {
	Output   string // the OCI layout, a directory that is not there yet
	Platform string // "linux/amd64"; "" is this machine's, "all" the whole index
}

// Pulled is what [Pull] fetched.
type Pulled struct {
	Verdict policy.Verdict
	Digest  digest.Digest // what the layout holds: the index, or the image of the platform
	Output  string
	Files   int
}

// Pull fetches the locked image of a server by its digest into an OCI layout and verifies
// the manifest and every blob. Nothing is left behind if anything differs.
func Pull(ctx context.Context, h *Host, dir, name string, o PullOptions) (*Pulled, error) {
	w, done, err := openWorkspace(ctx, h, dir, false)
	if err != nil {
		return nil, err
	}
	defer done()
	entry, ok := w.lock.Server(name)
	if !ok || entry.Source != "image" {
		if !ok {
			return nil, project.NoSuch("server", project.LockFile, name, w.lock.Servers())
		}
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "'hallmark check' shows what is locked", errors.New("is no image that is locked"))
	}
	w.release()
	root, err := artifact.Parse(entry.Ref)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(o.Output); err == nil {
		return nil, evidence.Errorf(evidence.Validation, o.Output, "name another directory with --output", errors.New("is there already"))
	}
	work, err := os.MkdirTemp(filepath.Dir(o.Output), ".hallmark-pull-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	l := &layout{h: h, image: root, dir: work}
	if err := os.MkdirAll(filepath.Join(work, "blobs", "sha256"), 0o755); err != nil {
		return nil, err
	}
	top, err := l.manifest(ctx, entry.Digest, project.LockFile)
	if err != nil {
		return l.pulled(o), err
	}
	holds, children := entry.Digest, top.Children
	if len(children) > 0 && o.Platform != "all" {
		platform := o.Platform
		if platform == "" {
			platform = "linux/" + runtime.GOARCH
		}
		var ok bool
		if holds, ok = top.Platforms[platform]; !ok {
			if holds, ok = top.Platforms[platform+"/v8"]; !ok {
				return l.pulled(o), evidence.Errorf(evidence.Validation, entry.Ref, "",
					fmt.Errorf("has no image for %s, but for %s", platform, strings.Join(slices.Sorted(maps.Keys(top.Platforms)), ", ")))
			}
		}
		children = []digest.Digest{holds}
	}
	images := []*fetch.Image{top}
	for _, d := range children {
		m, err := l.manifest(ctx, d, "the index "+entry.Digest.String())
		if err != nil {
			return l.pulled(o), err
		}
		if len(m.Children) > 0 {
			return l.pulled(o), evidence.Errorf(evidence.Refused, entry.Ref, "", errors.New("is an index of indexes"))
		}
		images = append(images, m)
	}
	for _, m := range images {
		for _, d := range m.Blobs {
			if err := l.blob(ctx, d); err != nil {
				return l.pulled(o), err
			}
		}
	}
	out := l.pulled(o)
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	out.Digest = holds
	mediaType := top.MediaType
	if len(children) == 1 && o.Platform != "all" {
		mediaType = images[1].MediaType
	}
	return out, l.finish(o.Output, holds, mediaType)
}

// layout is an OCI layout that is being filled.
type layout struct {
	h      *Host
	image  artifact.Ref
	dir    string
	report evidence.Report
	sizes  map[string]int64 // by digest
}

func (l *layout) pulled(o PullOptions) *Pulled {
	return &Pulled{Verdict: policy.Judge(policy.Launch, policy.Settings{}, l.report), Output: o.Output, Files: len(l.sizes)}
}

// keep compares what was fetched with the digest that led to it, and puts it into place.
func (l *layout) keep(d *fetch.Download, want digest.Digest, where string) (string, error) {
	e := evidence.Compare(evidence.Claim{
		Subject: d.Ref.String(), Scheme: evidence.File, Authority: evidence.Lock, Want: []digest.Digest{want}, Where: where,
	}, d.Observed)
	l.report = append(l.report, e)
	if v := policy.Judge(policy.Launch, policy.Settings{}, evidence.Report{e}); !v.Allowed() {
		return "", v.Err()
	}
	if l.sizes == nil {
		l.sizes = map[string]int64{}
	}
	l.sizes[want.String()] = d.Observed.Size
	to := filepath.Join(l.dir, "blobs", "sha256", want.Hex())
	return to, errors.Join(moveFile(d.Path(), to), os.Chmod(to, 0o644))
}

func (l *layout) manifest(ctx context.Context, want digest.Digest, where string) (*fetch.Image, error) {
	ref, err := blobRef(l.image, want)
	if err != nil {
		return nil, err
	}
	d, err := l.h.Fetch.Fetch(ctx, ref)
	if err != nil {
		return nil, unanswered(ref.String(), err)
	}
	defer d.Close()
	file, err := l.keep(d, want, where)
	if err != nil {
		return nil, err
	}
	data, err := readFile(file, maxImageManifest)
	if err != nil {
		return nil, err
	}
	m, err := fetch.ReadImage(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Refused, ref.String(), "", err)
	}
	return m, nil
}

func (l *layout) blob(ctx context.Context, want digest.Digest) error {
	if _, ok := l.sizes[want.String()]; ok {
		return nil
	}
	ref, err := blobRef(l.image, want)
	if err != nil {
		return err
	}
	d, err := l.h.Fetch.FetchBlob(ctx, ref)
	if err != nil {
		return unanswered(ref.String(), err)
	}
	defer d.Close()
	_, err = l.keep(d, want, "the manifest of the image")
	return err
}

// finish writes the layout's own files and gives it its name.
func (l *layout) finish(output string, holds digest.Digest, mediaType string) error {
	index, err := json.MarshalIndent(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": []any{map[string]any{"mediaType": mediaType, "digest": holds.String(), "size": l.sizes[holds.String()]}},
	}, "", "  ")
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index} {
		if err := os.WriteFile(filepath.Join(l.dir, name), append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(l.dir, 0o755); err != nil {
		return err
	}
	return os.Rename(l.dir, output)
}
