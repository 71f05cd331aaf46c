package hallmark

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/project"
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
	names = slices.Clone(names)
	slices.Sort(names)
	var files []durable.File
	remembered := slices.Collect(maps.Keys(w.approvals.Servers))
	remembered = slices.AppendSeq(slices.AppendSeq(remembered, maps.Keys(w.approvals.Unlocked)), maps.Keys(w.approvals.Facets))
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
			return evidence.Errorf(evidence.Validation, host, "", errors.New("nobody agreed on this machine that it is asked"))
		}
		return nil
	})
}
