package workspace

import (
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// inheritApprovals takes over what was approved in the main work tree of the repository, in a linked one of which this
// machine remembers nothing yet: approvals of the very entries that are locked here.
func (w *Workspace) inheritApprovals() {
	if w.approvalsRead != nil {
		return
	}
	main := w.mainProject()
	if main == "" {
		return
	}
	other := &Workspace{Host: w.Host, Dir: main, State: ProjectState(w.Host, main), Release: func() {}}
	if other.ReadApprovals() != nil {
		return // the command that needs them says why
	}
	for name, approval := range other.Approvals.Servers {
		if entry, ok := w.Lock.Server(name); ok && evidence.Same(approval.Entry, entry.Approvable()) {
			w.Approvals.Servers[name] = approval
		}
	}
	for name, approval := range other.Approvals.Unlocked {
		if s, ok := w.Config.Servers[name]; ok && evidence.Same(approval.Entry, s.Launch().Digest()) {
			w.Approvals.Unlocked[name] = approval
		}
	}
	w.inherited = project.NewApprovals(w.Dir)
	maps.Copy(w.inherited.Servers, w.Approvals.Servers)
	maps.Copy(w.inherited.Unlocked, w.Approvals.Unlocked)
}

// mainProject returns the directory in the main work tree of a repository that is this project's in a linked one, and
// "" if there is none. Both must name each other, as git has them do: the checkout alone could name any.
func (w *Workspace) mainProject() string {
	for dir, below := w.Dir, "."; ; dir, below = filepath.Dir(dir), filepath.Join(filepath.Base(dir), below) {
		link := filepath.Join(dir, ".git")
		info, err := os.Lstat(link)
		switch {
		case err != nil && dir == filepath.Dir(dir):
			return ""
		case err != nil:
			continue
		case !info.Mode().IsRegular():
			return ""
		}
		of, ok := strings.CutPrefix(readLine(link), "gitdir: ")
		if !ok || !filepath.IsAbs(of) || filepath.Base(filepath.Dir(of)) != "worktrees" {
			return ""
		}
		back := readLine(filepath.Join(of, "gitdir"))
		repository := filepath.Dir(filepath.Dir(of))
		if !host.SameFile(back, link) || filepath.Base(repository) != ".git" {
			return ""
		}
		main, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(repository), below))
		if err != nil {
			return ""
		}
		return main
	}
}

// readLine returns the only line of a small file, and "" if it cannot be read.
func readLine(path string) string {
	data, err := host.ReadFile(path, project.MaxConfig)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
