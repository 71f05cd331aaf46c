package installed

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/runline"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// clientOfTarget is the client whose file a target's servers are written into.
var clientOfTarget = map[string]string{
	project.TargetClaudeCode: "claude-code", project.TargetCodex: "codex", project.TargetOpencode: "opencode",
	project.TargetCursor: "cursor", project.TargetCopilot: "vscode",
}

// PlanClientEntries brings the files of the targets' clients to where they start the named servers by
// "hallmark run", and no other of a facet's. What was inserted is kept beside each file, so
// that it is taken away again exactly. A user's own entry of such a name is refused.
func PlanClientEntries(w *workspace.Workspace, names []string,
	owners map[string]string) (files []durable.File, changed []string, err error) {
	targets := Targets(w)
	for _, target := range slices.Sorted(maps.Keys(clientOfTarget)) {
		f, _ := clients.ServerFile(clientOfTarget[target], w.Dir, func(name string) bool {
			_, err := os.Lstat(w.Path(filepath.FromSlash(name)))
			return err == nil
		})
		var wanted []string
		if slices.Contains(targets, target) {
			wanted = names
		}
		more, err := planFileEntries(w, f, wanted, owners)
		if err != nil {
			return nil, nil, err
		}
		if len(more) > 0 {
			rel, err := filepath.Rel(w.Dir, f.Path)
			if err != nil {
				return nil, nil, err
			}
			changed = append(changed, filepath.ToSlash(rel))
		}
		files = append(files, more...)
	}
	return files, changed, nil
}

// planFileEntries changes one client's file; nothing if it is as it is to be.
func planFileEntries(w *workspace.Workspace, f clients.File, wanted []string,
	owners map[string]string) ([]durable.File, error) {
	refuse := func(err error) ([]durable.File, error) {
		return nil, evidence.Errorf(evidence.Refused, f.Path, "", err)
	}
	if err := w.RefuseLink(filepath.Dir(f.Path)); err != nil {
		return nil, err
	}
	kept, err := clients.LoadOriginals(f.Path)
	if err != nil {
		return refuse(err)
	}
	if len(kept) == 0 && len(wanted) == 0 {
		if data, err := clients.Read(f); err == nil {
			warnOfStarts(w, f, data)
		}
		return nil, nil
	}
	data, perm := []byte(nil), os.FileMode(0o644)
	info, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return refuse(errors.New("is not a regular file"))
	default:
		perm = info.Mode().Perm()
		if data, err = clients.Read(f); err != nil {
			return refuse(err)
		}
		if data == nil {
			data = []byte{}
		}
	}
	was, before := data != nil, string(data)
	ours := len(kept)
	started := map[string]bool{} // those that it starts by hallmark already
	if was {
		servers, err := clients.Parse(f, data)
		if err != nil {
			return refuse(err)
		}
		for _, s := range servers {
			switch {
			case !slices.Contains(wanted, s.Name) || s.Scope != "":
			case runline.IsRunEntry(s) && s.Args[1] == s.Name:
				started[s.Name] = true
			default:
				return nil, evidence.Errorf(evidence.Refused, fmt.Sprintf("%+q in %s line %d", s.Name, f.Path, s.Line),
					"rename or remove yours, or leave those of facets out with --no-servers",
					fmt.Errorf("is an entry of yours, and a server that %s declares", owners[s.Name]))
			}
		}
	}
	// Remove entries that are not wanted, the last first; then the object or file that was made for
	// them, if nothing is left in it.
	for i, o := range slices.Backward(kept) {
		switch {
		case data == nil && o.Added != "", o.Added == clients.AddedEntry && !slices.Contains(wanted, o.Name):
		case o.Added == clients.AddedFile || o.Added == clients.AddedHolder:
			if slices.ContainsFunc(kept[i+1:], func(o clients.Original) bool { return o.Added != "" }) ||
				len(wanted) > 0 {
				continue
			}
		default:
			continue
		}
		left, err := data, error(nil)
		if data != nil {
			left, err = clients.Restore(data, o.Change)
		}
		switch {
		case err == nil:
			data = left
		case errors.Is(err, clients.ErrGone) || o.Added != clients.AddedEntry:
		default: // it was edited, so it belongs to the user now
			w.Host.Logger.Warn(fmt.Sprintf("%+q was edited, and stays", o.Name), "file", f.Path)
		}
		kept = slices.Delete(kept, i, i+1)
	}
	for _, name := range wanted {
		if started[name] {
			continue
		}
		var changes []clients.Change
		if data, changes, err = clients.Insert(f, data, name, "hallmark", []string{"run", name}); err != nil {
			return refuse(err)
		}
		kept = slices.DeleteFunc(kept, func(o clients.Original) bool {
			return o.Added == clients.AddedEntry &&
				o.Name == name
		})
		for _, c := range changes {
			kept = append(kept, clients.Original{Change: c})
		}
	}
	warnOfStarts(w, f, data)
	if (data != nil) == was && string(data) == before && len(kept) == ours {
		return nil, nil
	}
	beside := durable.File{Path: clients.OriginalsPath(f.Path), Remove: true}
	if len(kept) > 0 {
		text, err := clients.EncodeOriginals(kept)
		if err != nil {
			return refuse(err)
		}
		beside = durable.File{Path: beside.Path, Data: text, Perm: perm}
	}
	file := durable.File{Path: f.Path, Data: data, Perm: perm}
	if data == nil {
		file = durable.File{Path: f.Path, Remove: true}
	}
	return []durable.File{file, beside}, nil
}

// warnOfStarts names the entries of a client's file that go on starting a server of this project
// which nothing declares or locks any more: what was noted beside the file of who wrote them is
// gone or was edited, so that they stay.
func warnOfStarts(w *workspace.Workspace, f clients.File, data []byte) {
	servers, _ := clients.Parse(f, data) // a file that cannot be read starts nothing
	for _, s := range servers {
		if runline.ProgramName(s.Command) != "hallmark" || len(s.Args) == 0 || s.Args[0] != "run" {
			continue
		}
		line, _ := runline.Read(s.Args[1:], false)
		_, declared := w.Config.Servers[line.Name]
		_, locked := w.Lock.Server(line.Name)
		if ours := line.Project == "" || line.Project == w.Dir; ours && !declared && !locked {
			w.Host.Logger.Warn(fmt.Sprintf("the entry %+q stays, and starts %+q, which nothing declares or locks any more; "+
				"take it out by hand", s.Name, line.Name), "file", f.Path)
		}
	}
}
