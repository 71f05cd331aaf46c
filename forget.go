package hallmark

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Forget drops what this machine remembers of servers and facets of the project in dir: that
// it approved or installed them, and drift that was noted. Then their lock entries are not
// owed to this machine any more. The project's files stay as they are. Without a name there is
// nothing to forget, and one of which nothing is remembered is an error: nothing is written.
func Forget(ctx context.Context, h *Host, dir string, names []string) error {
	w, done, err := openProject(ctx, h, dir, true, true)
	if err != nil {
		return err
	}
	defer done()
	names, remembered := slices.Clone(names), w.approvals.Names()
	slices.Sort(names)
	var files []durable.File
	for _, name := range slices.Compact(names) {
		_, server := w.approvals.Servers[name]
		if !w.approvals.Forget(name) {
			return project.NoSuch("server or facet", "what this machine remembers of this project", name, remembered)
		}
		if server {
			files = append(files, durable.File{Path: w.driftPath(name), Remove: true})
		}
	}
	data, err := w.approvals.Encode()
	if err != nil {
		return err
	}
	return w.replace(ctx, append(files, durable.File{Path: w.approvalsPath(), Data: data, Perm: 0o600}))
}

// ForgetHost takes back, for every project, that a host is asked because a file of a checkout
// names it, and that variables are sent there. One that nobody agreed to is an error.
func ForgetHost(h *Host, text string) error {
	host, err := project.ParseHost(text)
	if err != nil {
		return evidence.Errorf(evidence.Validation, "--host", "", err)
	}
	return h.changeVariables(func(known *project.Variables) error {
		if !known.RemoveHost(host) {
			return evidence.Errorf(evidence.Validation, host, rememberedHint(known.AllHosts(), func(host string) string { return "hallmark forget --host " + host }), errors.New("nobody agreed on this machine that it is asked"))
		}
		return nil
	})
}

// maxHinted is how many names a hint lists.
const maxHinted = 20

// rememberedHint says what could be forgotten, with the command that does so.
func rememberedHint(names []string, command func(name string) string) string {
	if len(names) == 0 {
		return "nothing is remembered, and nothing needs to be forgotten"
	}
	names = slices.Sorted(slices.Values(names))
	first, more := names[0], ""
	if len(names) > maxHinted {
		names, more = names[:maxHinted], ", ..."
	}
	return surface.Escape("what can be forgotten: " + strings.Join(names, ", ") + more + "; for the first: '" + command(first) + "'")
}
