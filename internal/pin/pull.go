package pin

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
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// PullOptions say what to pull, and where to.
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

// Pull fetches the locked image of a server by its digest into an OCI layout and verifies the
// manifest and every blob. If anything differs it leaves nothing behind.
func Pull(ctx context.Context, h *host.Host, dir, name string, o PullOptions) (*Pulled, error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return nil, err
	}
	defer done()
	entry, err := lockedImage(w, name)
	if err != nil {
		return nil, err
	}
	w.Release()
	root, err := artifact.Parse(entry.Ref)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(o.Output); err == nil {
		return nil, evidence.Errorf(evidence.Validation, o.Output, "name another directory with --output",
			errors.New("is there already"))
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
	holds, mediaType, err := l.fetchLocked(ctx, entry, o.Platform)
	if err != nil {
		return l.result(o), err
	}
	out := l.result(o)
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	out.Digest = holds
	return out, l.finish(o.Output, holds, mediaType)
}

// lockedImage returns the entry of a server that is a locked image.
func lockedImage(w *workspace.Workspace, name string) (project.ServerLock, error) {
	entry, ok := w.Lock.Server(name)
	switch {
	case !ok:
		return entry, project.NoSuch("server", project.LockFile, name, w.Lock.Servers())
	case !entry.Source.Pulled():
		return entry, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name),
			"'hallmark check' shows what is locked", errors.New("is no image that is locked"))
	}
	return entry, nil
}

// layout is an OCI layout that is being filled.
type layout struct {
	h      *host.Host
	image  artifact.Ref
	dir    string
	report evidence.Report
	sizes  map[string]int64 // by digest
}

// result judges what was fetched so far.
func (l *layout) result(o PullOptions) *Pulled {
	return &Pulled{Verdict: policy.Judge(policy.Launch, policy.Settings{}, l.report), Output: o.Output,
		Files: len(l.sizes)}
}

// keep compares a download with the digest that led to it, and puts it into the layout.
func (l *layout) keep(d *fetch.Download, want digest.Digest, where string) (string, error) {
	e := evidence.Compare(evidence.Claim{
		Subject: d.Ref.String(), Scheme: evidence.File, Authority: evidence.Lock, Want: []digest.Digest{want},
		Where: where,
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
	return to, errors.Join(d.MoveTo(to), os.Chmod(to, 0o644))
}

// fetchLocked fetches the locked image, of an index the images that platform names, with all their blobs. It returns
// the digest and the media type of what the layout is to hold.
func (l *layout) fetchLocked(ctx context.Context, entry project.ServerLock,
	platform string) (holds digest.Digest, mediaType string, err error) {
	top, err := l.fetchManifest(ctx, entry.Digest, project.LockFile)
	if err != nil {
		return holds, "", err
	}
	one := len(top.Children) > 0 && platform != "all"
	holds, children := entry.Digest, top.Children
	if one {
		if holds, err = findPlatform(top, entry.Ref, platform); err != nil {
			return holds, "", err
		}
		children = []digest.Digest{holds}
	}
	images := []*fetch.Image{top}
	for _, d := range children {
		m, err := l.fetchManifest(ctx, d, "the index "+entry.Digest.String())
		if err != nil {
			return holds, "", err
		}
		if len(m.Children) > 0 {
			return holds, "", evidence.Errorf(evidence.Refused, entry.Ref, "", errors.New("is an index of indexes"))
		}
		images = append(images, m)
	}
	for _, m := range images {
		for _, d := range m.Blobs {
			if err := l.fetchBlob(ctx, d); err != nil {
				return holds, "", err
			}
		}
	}
	if one {
		return holds, images[1].MediaType, nil
	}
	return holds, top.MediaType, nil
}

// findPlatform returns the image of an index, called ref, that is for a platform; "" is linux on this machine's
// processor.
func findPlatform(index *fetch.Image, ref, platform string) (digest.Digest, error) {
	platform = cmp.Or(platform, "linux/"+runtime.GOARCH)
	for _, spelled := range []string{platform, platform + "/v8"} {
		if image, ok := index.Platforms[spelled]; ok {
			return image, nil
		}
	}
	return digest.Digest{}, evidence.Errorf(evidence.Validation, ref, "", fmt.Errorf("has no image for %s, but for %s",
		platform, strings.Join(slices.Sorted(maps.Keys(index.Platforms)), ", ")))
}

// fetchManifest fetches a manifest or an index by its digest and puts it into the layout.
func (l *layout) fetchManifest(ctx context.Context, want digest.Digest, where string) (*fetch.Image, error) {
	ref, err := kind.BlobRef(l.image, want)
	if err != nil {
		return nil, err
	}
	d, err := l.h.Fetch.Fetch(ctx, ref)
	if err != nil {
		return nil, host.NoAnswer(ref.String(), err)
	}
	defer d.Close()
	file, err := l.keep(d, want, where)
	if err != nil {
		return nil, err
	}
	return kind.ReadImage(file, ref)
}

// fetchBlob fetches a blob, unless the layout has it.
func (l *layout) fetchBlob(ctx context.Context, want digest.Digest) error {
	if _, ok := l.sizes[want.String()]; ok {
		return nil
	}
	ref, err := kind.BlobRef(l.image, want)
	if err != nil {
		return err
	}
	d, err := l.h.Fetch.FetchBlob(ctx, ref)
	if err != nil {
		return host.NoAnswer(ref.String(), err)
	}
	defer d.Close()
	_, err = l.keep(d, want, "the manifest of the image")
	return err
}

// finish writes the layout's own files and renames it to its final name.
func (l *layout) finish(output string, holds digest.Digest, mediaType string) error {
	index, err := json.MarshalIndent(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": []any{map[string]any{"mediaType": mediaType, "digest": holds.String(),
			"size": l.sizes[holds.String()]}},
	}, "", "  ")
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`),
		"index.json": index} {
		if err := os.WriteFile(filepath.Join(l.dir, name), append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(l.dir, 0o755); err != nil {
		return err
	}
	return os.Rename(l.dir, output)
}
