package pin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/runline"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// realFile is a file of a client and where it really lies: links are followed, and stay.
type realFile struct {
	file clients.File
	real string
	perm os.FileMode
}

// resolveFile refuses a file of the project that is a link out of it: whoever wrote the
// checkout chose what would be read and written there.
func resolveFile(w *workspace.Workspace, f clients.File) (realFile, error) {
	real, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return realFile{}, err
	}
	if isInside(w, f.Path) {
		dir, err := filepath.EvalSymlinks(w.Dir)
		if err != nil {
			return realFile{}, err
		}
		if below, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(below) {
			return realFile{}, evidence.Errorf(evidence.Refused, f.Path, "name the file that is meant with --config",
				beneath.ErrOutside)
		}
	}
	st, err := os.Stat(real)
	if err != nil {
		return realFile{}, err
	}
	return realFile{f, real, st.Mode().Perm()}, nil
}

// adoptionFiles are the files that change when the servers of a are pinned.
func adoptionFiles(w *workspace.Workspace, a *adoption, all []*Pinned, rewrite bool) (files []durable.File, err error) {
	if a.config != nil {
		if err := checkConfigUnchanged(w); err != nil {
			return nil, err
		}
		files = append(files, durable.File{Path: w.Path(project.ConfigFile), Data: a.config, Perm: 0o644})
	}
	if !rewrite {
		return files, nil
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
		for _, s := range a.entries {
			if s.Name == p.Name && !slices.Contains(p.Clients, s.File) {
				p.Clients = append(p.Clients, s.File)
			}
		}
	}
	more, err := rewriteEntries(w, a, names)
	return append(files, more...), err
}

// rewriteEntries are the files, and what is kept beside them, with each adopted entry called
// one of names started by "hallmark run". It is called right before they are replaced, as
// clients write their files too.
func rewriteEntries(w *workspace.Workspace, a *adoption, names []string) ([]durable.File, error) {
	var out []durable.File
	for _, f := range a.files {
		if !slices.ContainsFunc(a.entries,
			func(s clients.Server) bool { return s.File == f.Path && slices.Contains(names, s.Name) }) {
			continue
		}
		refuse := func(err error) ([]durable.File, error) {
			return nil, evidence.Errorf(evidence.Refused, f.Path, "", err)
		}
		at, err := resolveFile(w, f)
		if err != nil {
			return nil, err
		}
		data, err := clients.Read(f)
		if err != nil {
			return refuse(err)
		}
		kept, err := clients.LoadOriginals(f.Path)
		if err != nil {
			return refuse(err)
		}
		args, owner := func(name string) []string { return []string{"run", name, "--project", w.Dir} }, w.Dir
		if isInside(w, f.Path) {
			args, owner = func(name string) []string { return []string{"run", name} }, ""
		}
		for _, entry := range a.entries {
			if entry.File != f.Path || !slices.Contains(names, entry.Name) {
				continue
			}
			now, err := clients.Parse(f, data)
			if err != nil {
				return refuse(err)
			}
			i := slices.IndexFunc(now, func(s clients.Server) bool {
				return s.Name == entry.Name && s.Scope == entry.Scope && s.Command == entry.Command &&
					slices.Equal(s.Args, entry.Args)
			})
			if i < 0 {
				return refuse(fmt.Errorf("%+q %w", entry.Name, clients.ErrChanged))
			}
			var change clients.Change
			if data, change, err = clients.Rewrite(data, now[i], "hallmark", args(entry.Name)); err != nil {
				return refuse(err)
			}
			// An older original of that entry was overtaken by an edit, and never restored.
			kept = slices.DeleteFunc(kept,
				func(o clients.Original) bool { return o.Name == change.Name && o.Scope == change.Scope })
			kept = append(kept, clients.Original{Project: owner, Change: change})
		}
		more, err := at.replacements(data, kept)
		if err != nil {
			return refuse(err)
		}
		out = append(out, more...)
	}
	return out, nil
}

// isInside reports whether a file lies in the project.
func isInside(w *workspace.Workspace, name string) bool {
	rel, err := filepath.Rel(w.Dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// replacements replaces a client's file and its originals.
func (p realFile) replacements(data []byte, kept []clients.Original) ([]durable.File, error) {
	beside := durable.File{Path: clients.OriginalsPath(p.file.Path), Remove: true}
	if len(kept) > 0 {
		text, err := clients.EncodeOriginals(kept)
		if err != nil {
			return nil, err
		}
		beside = durable.File{Path: beside.Path, Data: text, Perm: p.perm}
	}
	return []durable.File{{Path: p.real, Data: data, Perm: p.perm}, beside}, nil
}

// restoreEntries are the files in which an entry of one of names was rewritten, as they were
// before, by name of the server. An entry that is not there any more is forgotten; one that
// nobody knows what it was is refused. What a file inside the project is restored to came with
// the project: it is consented to.
func restoreEntries(w *workspace.Workspace,
	o UnpinOptions, names []string) (files []durable.File, where map[string][]string, err error) {
	found, err := o.Files.find(w.Host, w.Dir)
	if err != nil {
		return nil, nil, err
	}
	var foreign []clients.Original
	where = map[string][]string{}
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		refuse := func(err error) ([]durable.File, map[string][]string, error) {
			return nil, nil, evidence.Errorf(evidence.Refused, f.Path, "restore it by hand: what it was stands in "+
				clients.OriginalsPath(f.Path), err)
		}
		kept, err := clients.LoadOriginals(f.Path)
		if err != nil {
			return refuse(err)
		}
		at, err := resolveFile(w, f)
		if err != nil {
			return nil, nil, err
		}
		data, err := clients.Read(f)
		if err != nil {
			return refuse(err)
		}
		changed := false
		var left []clients.Original
		for _, o := range slices.Backward(kept) {
			ours := o.Project == w.Dir || o.Project == "" && isInside(w, f.Path)
			if !ours || !slices.Contains(names, o.Name) {
				left = append([]clients.Original{o}, left...)
				continue
			}
			changed = true
			before, err := clients.Restore(data, o.Change)
			switch {
			case errors.Is(err, clients.ErrGone):
				w.Host.Logger.Warn(fmt.Sprintf("%+q is not in its file any more", o.Name), "file", f.Path)
			case err != nil:
				return refuse(err)
			default:
				data = before
				where[o.Name] = append(where[o.Name], f.Path)
				if isInside(w, f.Path) && o.Added == "" { // what was inserted is only taken away
					foreign = append(foreign, o)
				}
			}
		}
		if err := refuseStillStarted(w, f, data, names); err != nil {
			return nil, nil, err
		}
		if !changed {
			continue
		}
		more, err := at.replacements(data, left)
		if err != nil {
			return refuse(err)
		}
		files = append(files, more...)
	}
	return files, where, o.requireConsent(foreign)
}

// refuseStillStarted is an error if an entry of a client's file would go on starting one of names by
// "hallmark run": what it was before is not known.
func refuseStillStarted(w *workspace.Workspace, f clients.File, data []byte, names []string) error {
	entries, err := clients.Parse(f, data)
	if err != nil {
		return nil // a file that cannot be read starts nothing
	}
	for _, e := range entries {
		if runline.ProgramName(e.Command) != "hallmark" || len(e.Args) == 0 || e.Args[0] != "run" {
			continue
		}
		line, _ := runline.Read(e.Args[1:], false)
		entry, _ := w.Lock.Server(line.Name)
		ours := line.Project == w.Dir || line.Project == "" && isInside(w, f.Path)
		if !ours || !slices.Contains(names, line.Name) || entry.Launch.Facet != "" { // which 'install' takes away
			continue
		}
		return evidence.Errorf(evidence.Refused, f.Path,
			fmt.Sprintf("restore %s from version control or a backup; "+
				"or write by hand what the entry is to start, and run the command again", clients.OriginalsPath(f.Path)),
			fmt.Errorf("starts %s by 'hallmark run', and what it started before is not known", line.Name))
	}
	return nil
}

// checkConfigUnchanged is an error if hallmark.toml is not what w read.
func checkConfigUnchanged(w *workspace.Workspace) error {
	data, err := workspace.ReadPlain(w.Path(project.ConfigFile), project.MaxConfig)
	if err == nil && ((data == nil) != (w.Text == nil) || !bytes.Equal(data, w.Text)) {
		err = evidence.Errorf(evidence.Operation, w.Path(project.ConfigFile), "",
			errors.New("was changed by another program while servers were pinned"))
	}
	return err
}
