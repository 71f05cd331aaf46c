package installed

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// ClientPlan is what becomes of the files of clients that start servers of facets. Paths are relative
// to [workspace.Workspace.PlaceDir].
type ClientPlan struct {
	Files   []durable.File
	Started []string // files that change and start servers of facets
	Stopped []string // files that change and start none of them any more
	// Noted are the files of the user's own clients that have entries of Hallmark's, as [machine.Receipt] has them.
	Noted map[string]string
}

// PlanClientEntries plans the files of the targets' clients so that they start the named servers by
// "hallmark run", and no other server of a facet. What was inserted is kept beside each file, so
// that it is taken away again exactly. A user's own entry of such a name is refused. Owners are the
// facets that declare servers, by name of the server. Noted are the files of the user's own clients with
// such entries: in one in which its client does not look now, none is wanted.
func PlanClientEntries(w *workspace.Workspace, names []string, owners, noted map[string]string) (*ClientPlan, error) {
	plan := &ClientPlan{Noted: map[string]string{}}
	looked := map[string]bool{}
	err := forEachClientFile(w, names, func(f clients.File, wanted []string) error {
		looked[f.Path] = true
		return plan.add(w, f, wanted, owners)
	})
	if err != nil || w.Home == "" {
		return plan, err
	}
	for _, path := range slices.Sorted(maps.Keys(noted)) {
		if f, ok := clients.UserServerFileAt(noted[path], path); ok && !looked[path] {
			if err := plan.add(w, f, nil, owners); err != nil {
				return plan, err
			}
		}
	}
	return plan, nil
}

// add plans one client's file. One in which nothing is wanted, and beside which nothing is noted, is the
// user's own, wherever its directory leads.
func (p *ClientPlan) add(w *workspace.Workspace, f clients.File, wanted []string, owners map[string]string) error {
	if len(wanted) == 0 && !exists(clients.OriginalsPath(f.Path)) {
		if w.RefuseLink(filepath.Dir(f.Path)) == nil {
			if data, err := clients.Read(f); err == nil {
				warnOfStarts(w, f, clientText{data: data})
			}
		}
		return nil
	}
	before, err := readClientText(w, f)
	if err != nil {
		return err
	}
	missing, err := missingServers(w, f, before.data, wanted, owners)
	if err != nil {
		return err
	}
	now := removeEntries(w, f, before.clone(), wanted)
	if now, err = insertEntries(w, f, now, missing); err != nil {
		return err
	}
	warnOfStarts(w, f, now)
	noted := slices.ContainsFunc(now.originals, func(o clients.Original) bool { return o.Added == clients.AddedEntry })
	if noted && w.Home != "" {
		p.Noted[f.Path] = f.Client
	}
	if (now.data == nil) == (before.data == nil) && bytes.Equal(now.data, before.data) &&
		len(now.originals) == len(before.originals) {
		return nil
	}
	files, err := now.files(f)
	p.Files = append(p.Files, files...)
	list := &p.Stopped
	if noted || len(wanted) > 0 {
		list = &p.Started
	}
	*list = append(*list, host.RelativeTo(w.PlaceDir(), f.Path))
	return err
}

// exists reports whether there is a file, or a link, of a name.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// CheckClientFiles refuses the files of clients that [PlanClientEntries] would refuse for the named
// servers. So a command can tell before it starts a server.
func CheckClientFiles(w *workspace.Workspace, names []string, owners map[string]string) error {
	return forEachClientFile(w, names, func(f clients.File, wanted []string) error {
		if len(wanted) == 0 {
			return nil
		}
		t, err := readClientText(w, f)
		if err != nil {
			return err
		}
		missing, err := missingServers(w, f, t.data, wanted, owners)
		if err != nil {
			return err
		}
		_, err = insertEntries(w, f, t, missing)
		return err
	})
}

// forEachClientFile calls do with the file of each client, and with those of the named servers that it
// is to start: all if the client is of a target, else none.
func forEachClientFile(w *workspace.Workspace, names []string, do func(f clients.File, wanted []string) error) error {
	targets := Targets(w)
	byName := func(a, b Target) int { return strings.Compare(a.Name, b.Name) }
	for _, target := range slices.SortedFunc(slices.Values(All()), byName) {
		if target.Client == "" || w.Home != "" && !target.HasUser() {
			continue
		}
		f, err := serverFile(w, target.Client)
		if err != nil {
			return err
		}
		var wanted []string
		if slices.Contains(targets, target.Name) {
			wanted = names
		}
		if err := do(f, wanted); err != nil {
			return err
		}
	}
	return nil
}

// serverFile is the file in which a client looks for the servers of a project, or for the user's own.
func serverFile(w *workspace.Workspace, client string) (clients.File, error) {
	if w.Home != "" {
		f, err := clients.UserServerFile(client, clients.Machine{OS: runtime.GOOS, Home: w.Home, Getenv: w.Host.Getenv})
		if rel, local := filepath.Rel(w.Home, f.Path); err == nil && local == nil && filepath.IsLocal(rel) {
			f.Path = w.Place(Reached(w, filepath.ToSlash(rel)))
		}
		return f, err
	}
	isThere := func(name string) bool { return exists(w.Path(filepath.FromSlash(name))) }
	f, _ := clients.ServerFile(client, w.Dir, isThere)
	return f, nil
}

// runArguments are the arguments of the entry that starts a server.
func runArguments(w *workspace.Workspace, name string) []string {
	if w.Home != "" {
		return w.RunArguments(name)
	}
	return []string{"run", name}
}

// clientText is a client's file: its text, and what was inserted into it, which is kept beside it.
type clientText struct {
	data      []byte // nil if there is no file
	perm      os.FileMode
	originals []clients.Original
}

func (t clientText) clone() clientText {
	return clientText{slices.Clone(t.data), t.perm, slices.Clone(t.originals)}
}

// insertEntries inserts an entry for each of the named servers.
func insertEntries(w *workspace.Workspace, f clients.File, t clientText, names []string) (clientText, error) {
	for _, name := range names {
		data, changes, err := clients.Insert(f, t.data, name, "hallmark", runArguments(w, name))
		if err != nil {
			return t, unreadableFile(f, err)
		}
		t.data = data
		t.originals = slices.DeleteFunc(t.originals, func(o clients.Original) bool {
			return o.Added == clients.AddedEntry && o.Name == name
		})
		for _, c := range changes {
			t.originals = append(t.originals, clients.Original{Change: c})
		}
	}
	return t, nil
}

// clientFileError is the error for a client's file that cannot be changed.
func clientFileError(f clients.File, hint string, err error) error {
	return evidence.Errorf(evidence.Refused, f.Path, hint, err)
}

// unreadableFile is the error for a client's file whose text cannot be read or changed.
func unreadableFile(f clients.File, err error) error {
	return clientFileError(f, "correct the file, and run the command again", err)
}

// readClientText reads a client's file, which need not exist, and what is kept beside it. It follows no
// link in a project, and none in the home directory that [Reached] does not follow.
func readClientText(w *workspace.Workspace, f clients.File) (t clientText, err error) {
	if err := w.RefuseLink(filepath.Dir(f.Path)); err != nil {
		return t, err
	}
	if _, err := statPlain(clients.OriginalsPath(f.Path)); err != nil {
		return t, err
	}
	if t.originals, err = clients.LoadOriginals(f.Path); err != nil {
		return t, clientFileError(f, "", err)
	}
	info, err := statPlain(f.Path)
	if t.perm = 0o644; info == nil {
		return t, err
	}
	t.perm = info.Mode().Perm()
	if t.data, err = clients.Read(f); err != nil {
		return t, unreadableFile(f, err)
	}
	return t, nil
}

// statPlain describes a file; nil if there is none. It refuses a link, which leads elsewhere, and anything
// else that is not a regular file.
func statPlain(name string) (fs.FileInfo, error) {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, evidence.Errorf(evidence.Refused, name, "put the file itself there, or remove it, and run the "+
			"command again",
			errors.New("is not a regular file"))
	}
	return info, nil
}

// missingServers are the wanted servers that a client's file does not start by Hallmark yet. A user's
// own entry of such a name is refused.
func missingServers(w *workspace.Workspace, f clients.File, data []byte, wanted []string,
	owners map[string]string) ([]string, error) {
	if data == nil {
		return wanted, nil
	}
	missing := slices.Clone(wanted)
	servers, err := clients.Parse(f, data)
	if err != nil {
		return nil, unreadableFile(f, err)
	}
	for _, s := range servers {
		switch {
		case !slices.Contains(wanted, s.Name) || s.Scope != "":
		case clients.IsRunEntry(s) && startsOwn(w, s):
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.Name })
		default:
			return nil, evidence.Errorf(evidence.Refused, fmt.Sprintf("%+q in %s line %d", s.Name, f.Path, s.Line),
				"rename or remove yours, or leave those of facets out with --no-servers",
				fmt.Errorf("is an entry of yours, and a server that %s declares", owners[s.Name]))
		}
	}
	return missing, nil
}

// startsOwn reports whether an entry of hallmark run starts the server of this project that it is called after.
func startsOwn(w *workspace.Workspace, s clients.Server) bool {
	line, _ := clients.ReadRunLine(s.Args[1:], false)
	return line.Name == s.Name && (w.Home == "" || line.Project == w.Dir)
}

// removeEntries removes the inserted entries that are not wanted, the last first; then the object or
// file that was made for them, if nothing is left in it.
func removeEntries(w *workspace.Workspace, f clients.File, t clientText, wanted []string) clientText {
	for i, o := range slices.Backward(t.originals) {
		switch {
		case t.data == nil && o.Added != "", o.Added == clients.AddedEntry && !slices.Contains(wanted, o.Name):
		case o.Added == clients.AddedFile || o.Added == clients.AddedRoot || o.Added == clients.AddedHolder:
			if len(wanted) > 0 || slices.ContainsFunc(t.originals[i+1:],
				func(o clients.Original) bool { return o.Added != "" }) {
				continue
			}
		default:
			continue
		}
		left, err := t.data, error(nil)
		if t.data != nil {
			left, err = clients.Restore(t.data, o.Change)
		}
		switch {
		case err == nil:
			t.data = left
		case errors.Is(err, clients.ErrGone) || o.Added != clients.AddedEntry:
		default: // the user edited it. What is known of it stays too, so that it goes once it is what it was.
			why := "was edited since Hallmark wrote it, and stays"
			if !errors.Is(err, clients.ErrChanged) {
				why = "stays, as it " + strings.TrimPrefix(err.Error(), fmt.Sprintf("%+q ", o.Name))
			}
			w.Host.Logger.Warn(fmt.Sprintf("the entry %+q %s; take it out by hand if you do not need it", o.Name, why),
				"file", f.Path)
			continue
		}
		t.originals = slices.Delete(t.originals, i, i+1)
	}
	return t
}

// files are a client's file and the one beside it, as they are to be.
func (t clientText) files(f clients.File) ([]durable.File, error) {
	beside := durable.File{Path: clients.OriginalsPath(f.Path), Remove: true}
	if len(t.originals) > 0 {
		text, err := clients.EncodeOriginals(t.originals)
		if err != nil {
			return nil, clientFileError(f, "", err)
		}
		beside = durable.File{Path: beside.Path, Data: text, Perm: t.perm}
	}
	file := durable.File{Path: f.Path, Data: t.data, Perm: t.perm}
	if t.data == nil {
		file = durable.File{Path: f.Path, Remove: true}
	}
	return []durable.File{file, beside}, nil
}

// warnOfStarts names the entries of a client's file that go on starting a server of this project
// which nothing declares or locks any more: what was noted beside the file of who wrote them is
// gone, so that they stay. Of those that are still noted, removeEntries says what there is to say.
func warnOfStarts(w *workspace.Workspace, f clients.File, t clientText) {
	servers, _ := clients.Parse(f, t.data) // a file that cannot be read starts nothing
	for _, s := range servers {
		noted := func(o clients.Original) bool { return o.Added == clients.AddedEntry && o.Name == s.Name }
		if clients.ProgramName(s.Command) != "hallmark" || len(s.Args) == 0 || s.Args[0] != "run" ||
			slices.ContainsFunc(t.originals, noted) {
			continue
		}
		line, _ := clients.ReadRunLine(s.Args[1:], false)
		_, declared := w.Config.Servers[line.Name]
		_, locked := w.Lock.Server(line.Name)
		if ours := line.Project == "" && w.Home == "" || line.Project == w.Dir; ours && !declared && !locked {
			w.Host.Logger.Warn(fmt.Sprintf("the entry %+q stays, and starts %+q, which nothing declares or locks "+
				"any more; take it out by hand", s.Name, line.Name), "file", f.Path)
		}
	}
}
