package pin

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// ClientFiles selects configuration files of MCP clients: those of one client, the user's and the
// project's, or one file. The zero value selects none.
type ClientFiles struct {
	Client string   // id, as scan prints it
	Config string   // path
	Home   string   // the user's home directory
	Skip   []string // paths of files that are left out
}

func (c ClientFiles) isZero() bool { return c.Client == "" && c.Config == "" }

// leadOn has the hint of an error about the server called name, of a client's file in a project, name that file where
// it names 'hallmark pin NAME': nothing is declared yet. A program that is not found gets a hint.
func (o Options) leadOn(w *workspace.Workspace, err error, name string) {
	var problem *evidence.Error
	if !errors.As(err, &problem) {
		return
	}
	if problem.Hint == "" && errors.Is(err, foreign.ErrNotFound) {
		problem.Hint = "install it, or name the program by its path, and run the command again"
	}
	if o.From.isZero() || w.Home != "" {
		return
	}
	args := []string{"hallmark", "pin", name, "--config", o.From.Config}
	if o.From.Client != "" {
		args = []string{"hallmark", "pin", name, "--client", o.From.Client}
	}
	if o.WriteConfig {
		args = append(args, "--write-config")
	}
	for _, end := range []string{" ", "'"} {
		problem.Hint = strings.ReplaceAll(problem.Hint, "'hallmark pin "+name+end, "'"+host.QuoteArguments(args)+end)
	}
}

// refuseHome refuses to begin a project in the home directory: every project below it would be part of it, and what the
// user's own clients start belongs to no project.
func (c ClientFiles) refuseHome(dir string) error {
	if c.isZero() || c.Home == "" || !host.SameFile(dir, c.Home) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, project.ConfigFile)); err == nil {
		return nil
	}
	hint := "'hallmark protect' locks what your own clients start, and has a place for it"
	if c.Client != "" {
		hint = "'hallmark protect --client " + c.Client + "' locks what your own client starts, and has a place for it"
	}
	return evidence.Errorf(evidence.Refused, dir, hint, errors.New("is your home directory, which is no project"))
}

// find returns the selected files that exist. Only the user's own files are for the project of the user's own clients;
// those of an administrator, and of plugins and extensions, which their next version replaces, are left to who wrote
// them, unless one is named.
func (c ClientFiles) find(w *workspace.Workspace) ([]clients.File, error) {
	var found []clients.File
	if c.Config != "" {
		abs, err := filepath.Abs(c.Config)
		if err != nil {
			return nil, err
		}
		found = []clients.File{clients.FileAt(abs)}
	} else {
		var ids []string
		if c.Client != "" {
			ids = []string{c.Client}
		}
		var err error
		machine := clients.Machine{OS: runtime.GOOS, Home: c.Home, Getenv: w.Host.Getenv, Project: w.Dir}
		if w.Home != "" {
			machine.Project = ""
		}
		if found, err = clients.Find(machine, ids...); err != nil {
			return nil, evidence.Errorf(evidence.Validation, "", "", err)
		}
	}
	return slices.DeleteFunc(found, func(f clients.File) bool {
		return filepath.Base(f.Path) == project.ConfigFile || slices.Contains(c.Skip, f.Path) ||
			c.Config == "" && (f.Installed || f.System)
	}), nil
}

// findRewritten returns the selected files, and those of the same client that this machine remembers to have rewritten
// for w.
func (c ClientFiles) findRewritten(w *workspace.Workspace) ([]clients.File, error) {
	found, err := c.find(w)
	if err != nil || c.Config != "" {
		return found, err
	}
	paths, err := w.Rewritten()
	for _, path := range paths {
		f := clients.FileAt(path)
		if (c.Client == "" || f.Client == c.Client) && !slices.Contains(c.Skip, path) &&
			!slices.ContainsFunc(found, func(o clients.File) bool { return o.Path == path }) {
			found = append(found, f)
		}
	}
	return found, err
}

// hintAdoption returns err, of opening dir, with the command as its hint that takes over the servers called names, or
// all, if dir is no project yet and a client's file in it starts them.
func hintAdoption(err error, h *host.Host, dir string, names []string) error {
	problem := new(evidence.Error)
	if !errors.Is(err, workspace.ErrNoConfig) || !errors.As(err, &problem) {
		return err
	}
	files, _ := clients.Find(clients.Machine{OS: runtime.GOOS, Getenv: h.Getenv, Project: dir})
	i := slices.IndexFunc(files, func(f clients.File) bool { return !f.User && startsAll(f, names) })
	if i < 0 {
		return err
	}
	args := append(slices.Clone(names), "--config", filepath.ToSlash(files[i].Path), "--write-config")
	if !host.SameFile(dir, ".") {
		args = append(args, "--project", dir)
	}
	hinted := *problem
	hinted.Hint = "'hallmark pin " + host.QuoteArguments(args) + "' declares in " + project.ConfigFile +
		" what that file starts, and locks it"
	return &hinted
}

// startsAll reports whether a file of a client starts a program for each of names, or for any name if there are none.
func startsAll(f clients.File, names []string) bool {
	servers, err := clients.Load(f)
	if err != nil {
		return false
	}
	starts := func(name string) bool {
		return slices.ContainsFunc(servers, func(s clients.Server) bool {
			return s.Command != "" && !s.Disabled && !clients.IsRunEntry(s) && (name == "" || s.Name == name)
		})
	}
	if len(names) == 0 {
		return starts("")
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !starts(name) })
}

// realFile is a file of a client and its real place after all links. Writing it keeps the links.
type realFile struct {
	file clients.File
	real string
	perm os.FileMode
}

// resolveFile refuses a file of the project that is a link out of it, because the author of the
// checkout would choose what is read and written there.
func resolveFile(w *workspace.Workspace, f clients.File) (realFile, error) {
	real, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return realFile{}, err
	}
	if host.IsBelow(w.Dir, f.Path) {
		dir, err := filepath.EvalSymlinks(w.Dir)
		if err != nil {
			return realFile{}, err
		}
		if !host.IsBelow(dir, real) {
			return realFile{}, evidence.Errorf(evidence.Refused, f.Path, "name the file that is meant with --config",
				durable.ErrOutside)
		}
	}
	st, err := os.Stat(real)
	if err != nil {
		return realFile{}, err
	}
	return realFile{f, real, st.Mode().Perm()}, nil
}

// replacements returns the changes that replace a client's file and its originals.
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
