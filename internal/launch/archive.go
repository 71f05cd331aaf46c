package launch

import (
	"context"
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// CaptureArchive starts a server from the bytes of its archive, as pinning it does, and lists the
// tools that it shows. The caller has judged the archive's own claims.
func CaptureArchive(ctx context.Context, h *host.Host, a *facet.Archive, body io.Reader,
	o publish.Options) (digest.Digest, error) {
	x, report, err := obtain.UnpackSource(ctx, h, a, body)
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
	entry := project.ServerLock{Ref: x.Subject(), Entry: x.Source.Entry, Runtime: x.Source.Runtime,
		Variables: o.Variables}
	prog, err := program.OpenSource(ctx, w, program.Packed{Name: declared.Name, Entry: entry, Slot: x.Slot},
		project.Approval{Path: h.Getenv("PATH")})
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
	shown, err := prog.Capture(ctx, w, declared, v.Admitted(), o.Capture)
	if err != nil {
		return digest.Digest{}, err
	}
	if err := shown.ToolsError(declared.Name); err != nil {
		return digest.Digest{}, err // nobody could hold a claim about them against what is shown
	}
	return shown.Surface.APISurface(), nil
}
