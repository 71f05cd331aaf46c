package pin

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/configedit"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/runline"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// adoption holds the servers that are taken over from files of clients.
type adoption struct {
	files   []clients.File
	entries []clients.Server // those that are pinned, save those that run hallmark already
	config  []byte           // hallmark.toml with those that it did not declare; nil if it had them all
}

// adopt finds the servers called names, or all, in the files of clients and declares them in
// w.Config. It returns the names of the servers to pin. rewrite means that the entries are
// rewritten afterwards.
func adopt(w *workspace.Workspace, from ClientFiles, names []string, rewrite bool) (*adoption, []string, error) {
	files, err := from.find(w.Host, w.Dir)
	if err != nil {
		return nil, nil, err
	}
	a := &adoption{files: files}
	wanted := slices.Clone(names)
	var add []project.Server
	for _, f := range files {
		if _, err := resolveFile(w, f); err != nil {
			return nil, nil, err
		}
		servers, err := clients.Load(f)
		if err != nil {
			return nil, nil, evidence.Errorf(evidence.Validation, f.Path, "", err)
		}
		for _, s := range servers {
			declared, ok := w.Config.Servers[s.Name]
			i := slices.IndexFunc(add, func(o project.Server) bool { return o.Name == s.Name })
			switch {
			case len(names) > 0 && !slices.Contains(names, s.Name), !isForProject(w, s):
				continue
			case runline.ProgramName(s.Command) == "hallmark" && !runline.IsRunEntry(s):
				w.Host.Logger.Warn("not pinned: "+surface.Escape(s.Name)+
					" names hallmark, and is not guarded; see 'hallmark scan'", "file", f.Path)
				continue
			case runline.IsRunEntry(s):
				if ok && !slices.Contains(wanted, s.Name) {
					wanted = append(wanted, s.Name)
				}
				continue
			case s.Disabled && len(names) == 0:
				continue
			case s.URL != "" && len(names) == 0 && (rewrite || len(s.Headers) > 0):
				w.Host.Logger.Warn("not pinned: "+surface.Escape(s.Name)+" is reached by its URL", "file", f.Path)
				continue
			}
			mine, err := importEntry(fillWorkspaceFolder(w, s), rewrite)
			if err != nil {
				return nil, nil, err
			}
			if s.EnvFile != "" {
				mine.Variables = addVariables(mine.Variables, envFileNames(w, s))
			}
			other := ""
			switch {
			case ok && !sameCommand(declared, mine):
				other = project.ConfigFile
			case i >= 0 && !sameCommand(add[i], mine):
				other = "another entry of that name"
			}
			if other != "" {
				return nil, nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q in %s", s.Name, f.Path),
					"name one file with --config, or make them agree",
					fmt.Errorf("starts something else than %s says", other))
			}
			if s.Verify != "" && rewrite {
				return nil, nil, evidence.Errorf(evidence.Refused, fmt.Sprintf("%+q in %s", s.Name, f.Path),
					"move it to "+project.ConfigFile,
					errors.New("has a verify block, which its client would hold against hallmark"))
			}
			if s.Verify != "" && !ok && i < 0 {
				w.Host.Logger.Warn("the verify block of "+surface.Escape(s.Name)+" is not taken over", "file", f.Path)
			}
			if !ok && i < 0 {
				add = append(add, mine)
			}
			a.entries = append(a.entries, s)
			if !slices.Contains(wanted, s.Name) {
				wanted = append(wanted, s.Name)
			}
		}
	}
	for _, name := range names {
		if _, ok := w.Config.Servers[name]; !ok &&
			!slices.ContainsFunc(add, func(s project.Server) bool { return s.Name == name }) {
			return nil, nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "see 'hallmark scan'",
				errors.New("no such server in "+cmp.Or(from.Config, "the files of "+from.Client)+" or "+
					project.ConfigFile))
		}
	}
	if len(wanted) == 0 {
		return nil, nil, evidence.Errorf(evidence.Validation, cmp.Or(from.Config, from.Client), "see 'hallmark scan'",
			errors.New("no server that a program is started for"))
	}
	if len(add) == 0 {
		return a, wanted, nil
	}
	if a.config, err = configedit.AddServers(w.Text, add); err != nil {
		return nil, nil, err
	}
	w.Config, err = project.ParseConfig(a.config)
	return a, wanted, err
}

// isForProject reports whether an entry is for every project or for this one.
func isForProject(w *workspace.Workspace, s clients.Server) bool {
	if s.Scope == "" {
		return true
	}
	real, err := filepath.EvalSymlinks(s.Scope)
	return err == nil && real == w.Dir
}

func sameCommand(a, b project.Server) bool {
	return a.Command == b.Command && slices.Equal(a.Arguments, b.Arguments) && a.URL == b.URL
}

// importEntry returns an entry as hallmark.toml declares it. It refuses secrets and text that a
// client fills in, which cannot stand there. An entry with a URL cannot be rewritten, so it fails
// with rewrite.
func importEntry(s clients.Server, rewrite bool) (project.Server, error) {
	refuse := func(hint string, err error) (project.Server, error) {
		return project.Server{}, evidence.Errorf(evidence.Refused,
			fmt.Sprintf("%+q in %s line %d", s.Name, s.File, s.Line), hint, err)
	}
	words := append([]string{s.Command}, s.Args...)
	const declare = `declare it in hallmark.toml with type = "http", and let the client start 'hallmark run`
	switch {
	case s.URL != "" && rewrite:
		return refuse(declare+" "+s.Name+"'", errors.New("is reached by its URL, and is not rewritten"))
	case len(s.Headers) > 0:
		return refuse(declare+" "+s.Name+"'",
			errors.New("is reached by its URL and has headers, whose values are not taken over"))
	case s.URL != "":
		words = []string{s.URL}
	}
	switch {
	case !slices.Equal(launcher.Redact(words), words):
		return refuse("give it to the server in a variable",
			errors.New("has what looks like a secret in its arguments, which would be written into "+
				project.ConfigFile))
	}
	for _, word := range words {
		if runline.Placeholder.MatchString(word) {
			return refuse("declare the server in "+project.ConfigFile+" with the value",
				fmt.Errorf("its argument %+q is filled in by the client", word))
		}
	}
	if s.URL != "" {
		return project.Server{Name: s.Name, Type: "http", URL: s.URL}, nil
	}
	mine := project.Server{Name: s.Name, Command: s.Command, Arguments: s.Args}
	mine.Variables = addVariables(nil, s.Variables)
	return mine, nil
}

// addVariables adds names to those of variables that a server gets.
func addVariables(all, names []string) []string {
	for _, name := range names {
		if name != "PATH" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// workspaceFolder is what VS Code and Cursor replace by the directory that is open in them.
const workspaceFolder = "${workspaceFolder}"

// fillWorkspaceFolder returns an entry of the project's own file as it is started there: 'hallmark run' starts servers
// in the project's directory, so that "." is what the client would fill in.
func fillWorkspaceFolder(w *workspace.Workspace, s clients.Server) clients.Server {
	open := filepath.Dir(filepath.Dir(s.File)) // whose .vscode or .cursor the file is in
	if s.Client != "vscode" && s.Client != "cursor" || !isInside(w, s.File) || !host.SameFile(open, w.Dir) {
		return s
	}
	s.Args = slices.Clone(s.Args)
	for i, word := range s.Args {
		before, after, found := strings.Cut(word, workspaceFolder)
		if found && (after == "" || after[0] == '/') && (before == "" || strings.HasSuffix(before, "=")) {
			s.Args[i] = before + "." + after
		}
	}
	return s
}

// envFileLine is a line of a file of variables that sets one.
var envFileLine = regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=`)

// envFileNames returns the names of the variables that a file sets which the client reads for an entry, if it is one of
// the project. Their values stay there.
func envFileNames(w *workspace.Workspace, s clients.Server) (names []string) {
	const most = 1 << 20 // bytes
	name := strings.TrimPrefix(s.EnvFile, workspaceFolder+"/")
	if filepath.IsLocal(name) {
		if data, err := w.ReadFile(filepath.Join(w.Dir, name), most); err == nil && data != nil {
			for _, m := range envFileLine.FindAllSubmatch(data, -1) {
				names = append(names, string(m[1]))
			}
			return names
		}
	}
	w.Host.Logger.Warn(surface.Escape(s.Name)+": the variables of its envFile are not taken over; name those that it "+
		"needs under variables in "+project.ConfigFile, "file", s.EnvFile)
	return nil
}
