package publish

import (
	"context"
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// captureSource starts a server from the bytes of its archive, as hallmark pin will, and returns the
// digest of the tools that it shows. The caller has judged the evidence about the archive.
func captureSource(ctx context.Context, h *host.Host, a *facet.Archive, body io.Reader,
	o Options) (digest.Digest, error) {
	x, err := obtain.UnpackSource(ctx, h, a, body)
	if err != nil {
		return digest.Digest{}, err
	}
	dir, err := os.MkdirTemp("", "hallmark-capture-")
	if err != nil {
		return digest.Digest{}, err
	}
	defer os.RemoveAll(dir)
	w := workspace.Empty(h, dir)
	declared := project.Server{Name: a.Name(), Variables: o.Variables}
	entry := project.ServerLock{Source: project.KindArtifact, Ref: x.Subject(), Entry: x.Source.Entry,
		Runtime: x.Source.Runtime, Variables: o.Variables}
	prog, err := program.OpenSource(ctx, w, declared, entry, x.Slot, h.Getenv("PATH"), nil)
	report := x.Report
	if prog != nil {
		defer prog.Close()
		report = append(report, prog.Report...)
	}
	if err != nil {
		return digest.Digest{}, err
	}
	v := policy.Judge(policy.Pin, policy.Settings{}, report)
	if err := v.Err(); err != nil {
		return digest.Digest{}, err
	}
	shown, err := program.Capture(ctx, w, declared, prog, v.Admitted(), o.Capture)
	if err != nil {
		return digest.Digest{}, err
	}
	return shown.APISurface(), nil
}
