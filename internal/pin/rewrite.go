package pin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// adoptionFiles returns the files that change when the servers of a are pinned. program is what entries of the user's
// own files start.
func adoptionFiles(w *workspace.Workspace, a *adoption, all []*Pinned, rewrite bool,
	program string) (files []durable.File,
	err error) {
	if a.config != nil {
		if err := checkConfigUnchanged(w); err != nil {
			return nil, err
		}
		files = append(files, durable.File{Path: w.Path(project.ConfigFile), Data: a.config, Perm: w.FilePerm()})
	}
	if !rewrite {
		return files, nil
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
		for _, s := range a.entries {
			if s.as == p.Name && !slices.Contains(p.Clients, s.File) {
				p.Clients = append(p.Clients, s.File)
			}
		}
	}
	more, err := rewriteEntries(w, a, names, program)
	return append(files, more...), err
}

// rewriteEntries returns the changes that make each adopted entry called one of names start
// "hallmark run", and that store what it was before. It must be called right before the files are
// replaced, because clients write them too.
func rewriteEntries(w *workspace.Workspace, a *adoption, names []string, program string) ([]durable.File, error) {
	var out []durable.File
	var rewritten []string
	for _, f := range a.files {
		if !slices.ContainsFunc(a.entries,
			func(s adoptedEntry) bool { return s.File == f.Path && slices.Contains(names, s.as) }) {
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
		command, owner := cmp.Or(program, "hallmark"), w.Dir
		args := func(name string) []string { return w.RunArguments(name) }
		if isInside(w, f.Path) { // others have the file, too, and the program elsewhere
			command, owner = "hallmark", ""
			args = func(name string) []string { return []string{"run", name} }
		}
		for _, entry := range a.entries {
			if entry.File != f.Path || !slices.Contains(names, entry.as) {
				continue
			}
			now, err := clients.Parse(f, data)
			if err != nil {
				return refuse(err)
			}
			i := slices.IndexFunc(now, func(s clients.Server) bool {
				return s.Name == entry.Name && s.Scope == entry.Scope && s.Command == entry.Command &&
					slices.Equal(s.Args, entry.Args) && s.URL == entry.URL
			})
			if i < 0 {
				return refuse(fmt.Errorf("%+q %w", entry.Name, clients.ErrChanged))
			}
			var change clients.Change
			if entry.URL != "" {
				data, change, err = clients.RewriteRemote(data, now[i], command, args(entry.as),
					headerVariables(entry.Server))
			} else {
				data, change, err = clients.Rewrite(data, now[i], command, args(entry.as))
			}
			if err != nil {
				return refuse(err)
			}
			// The user edited that entry since an older original was stored, so that original must
			// never be restored.
			kept = slices.DeleteFunc(kept,
				func(o clients.Original) bool { return o.Name == change.Name && o.Scope == change.Scope })
			original := clients.Original{Project: owner, Change: change}
			if entry.as != entry.Name {
				original.Server = entry.as
			}
			kept = append(kept, original)
		}
		more, err := at.replacements(data, kept)
		if err != nil {
			return refuse(err)
		}
		out, rewritten = append(out, more...), append(rewritten, f.Path)
	}
	remembered, err := w.RememberRewritten(rewritten)
	return append(out, remembered...), err
}

// checkConfigUnchanged fails if hallmark.toml changed since w read it.
func checkConfigUnchanged(w *workspace.Workspace) error {
	data, err := workspace.ReadPlain(w.Path(project.ConfigFile), project.MaxConfig)
	if err == nil && ((data == nil) != (w.Text == nil) || !bytes.Equal(data, w.Text)) {
		err = evidence.Errorf(evidence.Operation, w.Path(project.ConfigFile), "",
			errors.New("was changed by another program while servers were pinned"))
	}
	return err
}
