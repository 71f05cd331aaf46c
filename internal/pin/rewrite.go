package pin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
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
		var entries []adoptedEntry
		for _, e := range a.entries {
			if e.File == f.Path && slices.Contains(names, e.as) {
				entries = append(entries, e)
			}
		}
		if len(entries) == 0 {
			continue
		}
		more, err := rewriteFile(w, f, entries, program)
		if err != nil {
			return nil, err
		}
		out, rewritten = append(out, more...), append(rewritten, f.Path)
		warnOfHeaders(w, f.Path, entries)
	}
	remembered, err := w.RememberRewritten(rewritten)
	return append(out, remembered...), err
}

// rewriteFile returns the changes that make entries of one client's file start "hallmark run".
func rewriteFile(w *workspace.Workspace, f clients.File, entries []adoptedEntry,
	program string) ([]durable.File, error) {
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
	if host.IsBelow(w.Dir, f.Path) { // others have the file, too, and the program elsewhere
		command, owner = "hallmark", ""
		args = func(name string) []string { return []string{"run", name} }
	}
	for _, entry := range entries {
		now, err := findUnchanged(f, data, entry)
		if err != nil {
			return refuse(err)
		}
		var change clients.Change
		data, change, err = rewriteData(data, now, command, args(entry.as), headerVariables(entry.Server))
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
	files, err := at.replacements(data, kept)
	if err != nil {
		return refuse(err)
	}
	return files, nil
}

// warnOfHeaders says that what entries of one of the project's own files were is kept in another file of the project.
func warnOfHeaders(w *workspace.Workspace, file string, entries []adoptedEntry) {
	var names []string
	for _, e := range entries {
		if len(e.HeaderValues()) > 0 {
			names = append(names, surface.Escape(e.Name))
		}
	}
	if len(names) > 0 && host.IsBelow(w.Dir, file) {
		w.Host.Logger.Warn(surface.Escape(filepath.Base(clients.OriginalsPath(file)))+" has the headers of "+
			evidence.NameSome(names, 3)+", too: keep both files out of version control if they are secret",
			"file", file)
	}
}

// findUnchanged returns an adopted entry as data has it. It fails if the entry was changed since it was taken
// over.
func findUnchanged(f clients.File, data []byte, entry adoptedEntry) (clients.Server, error) {
	now, err := clients.Parse(f, data)
	if err != nil {
		return clients.Server{}, err
	}
	i := slices.IndexFunc(now, func(s clients.Server) bool {
		return s.Name == entry.Name && s.Scope == entry.Scope && s.Command == entry.Command &&
			slices.Equal(s.Args, entry.Args) && s.URL == entry.URL &&
			maps.Equal(headerVariables(s), headerVariables(entry.Server))
	})
	if i < 0 {
		return clients.Server{}, fmt.Errorf("%+q %w", entry.Name, clients.ErrChanged)
	}
	return now[i], nil
}

// rewriteData returns data, of a client's file, in which the entry s starts command. Headers are the variables in which
// command is given the headers of an entry with a URL.
func rewriteData(data []byte, s clients.Server, command string, args []string,
	headers map[string]string) ([]byte, clients.Change, error) {
	if s.URL != "" {
		return clients.RewriteRemote(data, s, command, args, headers)
	}
	return clients.Rewrite(data, s, command, args)
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
