package pin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// adoption holds the servers that are taken over from files of clients.
type adoption struct {
	files   []clients.File
	entries []adoptedEntry   // those that are pinned, save those that run hallmark already
	add     []project.Server // those that hallmark.toml did not declare
	changed []project.Server // those that it declares in the version that no client starts any more
	config  []byte           // hallmark.toml with these; nil if it had them all
	failed  []*Pinned        // those that cannot be taken over
	seen    []string         // names of the entries that were looked at
	wanted  []string         // names of the servers to pin
}

// adoptedEntry is an entry of a client's file, and what its server is called in hallmark.toml.
type adoptedEntry struct {
	clients.Server
	as string
}

// entriesOf returns the entries that start the server called name.
func (a *adoption) entriesOf(name string) (out []Entry) {
	if a != nil {
		for _, e := range a.entries {
			if e.as == name {
				out = append(out, Entry{e.File, e.Scope, e.Name})
			}
		}
	}
	return out
}

// failures returns the entries that cannot be taken over, and why.
func (a *adoption) failures() (all []*Pinned, errs []error) {
	if a != nil {
		for _, p := range a.failed {
			all, errs = append(all, p), append(errs, p.Err)
		}
	}
	return all, errs
}

// values returns the values that a client gives a declared server in its variables. What it takes from the environment
// is among them only if the entry is the user's own: that of a project may name any variable, for any host.
func (a *adoption) values(w *workspace.Workspace, s project.Server) map[string]string {
	out := map[string]string{}
	if a == nil {
		return out
	}
	getenv := func(string) string { return "" }
	if w.Home != "" {
		getenv = w.Host.Getenv
	}
	for _, e := range a.entries {
		if e.as == s.Name {
			addGiven(out, s, e.Server, getenv)
		}
	}
	return out
}

// givenVariables returns the values that the user's clients give a server of their project in its variables, which the
// entries that start it keep.
func givenVariables(w *workspace.Workspace, s project.Server) map[string]string {
	out := map[string]string{}
	if w.Home == "" || len(s.Variables)+len(s.Headers) == 0 {
		return out
	}
	files, _ := clients.Find(clients.Machine{OS: runtime.GOOS, Home: w.Home, Getenv: w.Host.Getenv})
	for _, f := range files {
		servers, _ := clients.Load(f) // of a file that cannot be read nothing is known
		for _, e := range servers {
			if runs(w, e, s.Name) {
				addGiven(out, s, e, w.Host.Getenv)
			}
		}
	}
	return out
}

// addGiven adds the values to out that an entry gives a server in variables that it may have, or will once it is
// rewritten. getenv looks up what its client fills in.
func addGiven(out map[string]string, s project.Server, e clients.Server, getenv func(string) string) {
	may := slices.Concat(s.Variables, s.HeaderVariables())
	for name, value := range e.Values() {
		if slices.Contains(may, name) && !clients.ChangesHallmark(name) {
			out[name] = value
		}
	}
	filled := e.HeaderValues()
	for header, name := range headerVariables(e) {
		value := cmp.Or(filled[header], getenv(name))
		if value != "" && slices.Contains(may, name) && !clients.ChangesHallmark(name) {
			out[name] = value
		}
	}
}

// adopt finds the servers called names, or all, in the files of clients and declares them in
// w.Config. It returns the names of the servers to pin. What cannot be taken over is in the result, and does not stop
// the others.
func adopt(w *workspace.Workspace, names []string, o Options) (*adoption, []string, error) {
	from := o.From
	files, err := from.find(w)
	if err != nil {
		return nil, nil, err
	}
	a := &adoption{files: files}
	for _, f := range files {
		if err := a.takeFile(w, f, names, o); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range names {
		switch _, ok := w.Config.Servers[name]; {
		case ok && !slices.ContainsFunc(a.failed, func(p *Pinned) bool { return p.Name == name }):
			a.want(name)
		case !ok && !slices.Contains(a.seen, name):
			return nil, nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "see 'hallmark scan'",
				errors.New("no such server in "+cmp.Or(from.Config, "the files of "+from.Client)+" or "+
					project.ConfigFile))
		}
	}
	if len(a.wanted) == 0 && len(a.failed) == 0 {
		return nil, nil, evidence.Errorf(evidence.Validation, cmp.Or(from.Config, from.Client), "see 'hallmark scan'",
			errors.New("no server that a program is started for"))
	}
	return a, a.wanted, a.declare(w, a.wanted)
}

// want adds a server to those that are to be pinned.
func (a *adoption) want(name string) {
	if !slices.Contains(a.wanted, name) {
		a.wanted = append(a.wanted, name)
	}
}

// takeFile takes the entries of a client's file over that are called one of names, or all. Its error is one that stops
// the others, too.
func (a *adoption) takeFile(w *workspace.Workspace, f clients.File, names []string, o Options) error {
	if _, err := resolveFile(w, f); errors.Is(err, fs.ErrNotExist) {
		hint, hidden := "'hallmark scan' shows the files of your clients", filepath.Join(filepath.Dir(f.Path), "."+
			filepath.Base(f.Path))
		if _, err := os.Stat(hidden); err == nil {
			hint = "did you mean " + hidden + "?"
		}
		return evidence.Errorf(evidence.Validation, f.Path, hint, errors.New("there is no such file"))
	} else if err != nil {
		return err
	}
	data, err := clients.Read(f)
	var servers []clients.Server
	if err == nil {
		servers, err = clients.Parse(f, data)
	}
	if err != nil {
		err = evidence.Errorf(evidence.Validation, f.Path, "", err)
		a.failed = append(a.failed, &Pinned{Err: err, Entries: []Entry{{File: f.Path}}})
		return nil
	}
	for _, s := range servers {
		if len(names) > 0 && !slices.Contains(names, s.Name) || !isForProject(w, s) {
			continue
		}
		a.seen = append(a.seen, s.Name)
		as, err := a.take(w, s, len(names) > 0, o.WriteConfig)
		if err == nil && o.WriteConfig && as != "" && !clients.IsRunEntry(s) {
			if err = a.tryRewrite(data, s, as); err != nil {
				as = ""
			}
		}
		if err == nil && o.WriteConfig && o.Program != "" && as != "" && !host.IsBelow(w.Dir, f.Path) {
			if err := clients.CheckProgram(o.Program, w.Host.Getenv); err != nil {
				return err
			}
		}
		if err != nil {
			a.failed = append(a.failed,
				&Pinned{Name: s.Name, Err: err, Entries: []Entry{{f.Path, s.Scope, s.Name}}})
		} else if as != "" {
			a.want(as)
		}
	}
	return nil
}

// tryRewrite returns why an entry that was taken over cannot be rewritten, and leaves it then: it must not stop the
// others.
func (a *adoption) tryRewrite(data []byte, s clients.Server, as string) error {
	_, _, err := rewriteData(data, s, "hallmark", []string{"run", as}, headerVariables(s))
	if err == nil {
		return nil
	}
	a.entries = a.entries[:len(a.entries)-1]
	if !slices.ContainsFunc(a.entries, func(e adoptedEntry) bool { return e.as == as }) {
		isIt := func(d project.Server) bool { return d.Name == as }
		a.add, a.changed = slices.DeleteFunc(a.add, isIt), slices.DeleteFunc(a.changed, isIt)
	}
	return refuseEntry(s, "write the entry in a plainer way, or leave it as it is", err)
}

// refuseEntry refuses to take an entry over.
func refuseEntry(s clients.Server, hint string, err error) error {
	return evidence.Errorf(evidence.Refused, fmt.Sprintf("%+q in %s line %d", s.Name, s.File, s.Line), hint, err)
}

// declare adds those of the servers called names that hallmark.toml does not declare to it, and changes the versions of
// others.
func (a *adoption) declare(w *workspace.Workspace, names []string) (err error) {
	isOther := func(s project.Server) bool { return !slices.Contains(names, s.Name) }
	a.add, a.changed = slices.DeleteFunc(a.add, isOther), slices.DeleteFunc(a.changed, isOther)
	if a.config = nil; len(a.add)+len(a.changed) == 0 {
		w.Config, err = parseText(w.Text)
		return err
	}
	a.config = w.Text
	for _, s := range a.changed {
		if a.config, err = workspace.SetLaunch(a.config, s); err != nil {
			return err
		}
	}
	if len(a.add) > 0 {
		if a.config, err = workspace.AddServers(a.config, a.add); err != nil {
			return err
		}
	}
	w.Config, err = project.ParseConfig(a.config)
	return err
}

// parseText returns what text, of a hallmark.toml, declares; nil means no file.
func parseText(text []byte) (*project.Config, error) {
	if text == nil {
		text = []byte(project.EmptyConfig)
	}
	return project.ParseConfig(text)
}

// skipEntry reports whether an entry is not taken over, and returns what its server is called if it starts a declared
// one by hallmark run.
func skipEntry(w *workspace.Workspace, s clients.Server, named, rewrite bool) (as string, skip bool) {
	switch {
	case clients.ProgramName(s.Command) == "hallmark" && !clients.IsRunEntry(s):
		w.Host.Logger.Warn("not pinned: "+surface.Escape(s.Name)+
			" names hallmark, and is not guarded; see 'hallmark scan'", "file", s.File)
		return "", true
	case clients.IsRunEntry(s):
		if _, declared := w.Config.Servers[s.Name]; declared {
			return s.Name, true
		}
		return "", true
	case s.Disabled && !named:
		return "", true
	case len(s.Headers) > 0 && w.Home == "" && !named && !rewrite:
		w.Host.Logger.Warn("not pinned: "+surface.Escape(s.Name)+" has headers, which --write-config takes over",
			"file", s.File)
		return "", true
	}
	return "", false
}

// take takes one entry over, and returns what its server is called in hallmark.toml; "" if it is left as it is. named
// says that the user named the server.
func (a *adoption) take(w *workspace.Workspace, s clients.Server, named, rewrite bool) (as string, err error) {
	if as, skip := skipEntry(w, s, named, rewrite); skip {
		return as, nil
	}
	mine, err := importEntry(outsideProject(w, fillWorkspaceFolder(w, s)), rewrite, w.Home != "")
	if err != nil {
		return "", err
	}
	if err := refuseRewriting(w, s, rewrite); err != nil {
		return "", err
	}
	if s.URL != "" {
		mine.Headers = map[string]string{}
		for header, variable := range headerVariables(s) {
			mine.Headers[header] = "${" + variable + "}"
			if header == "Authorization" && variable == s.TokenVariable() {
				mine.Headers[header] = "Bearer ${" + variable + "}"
			}
		}
	}
	if s.EnvFile != "" {
		mine.Variables = addVariables(mine.Variables, envFileNames(w, s))
	}
	if s.Verify != "" && rewrite {
		return "", evidence.Errorf(evidence.Refused, fmt.Sprintf("%+q in %s", s.Name, s.File),
			"move it to "+project.ConfigFile,
			errors.New("has a verify block, which its client would hold against hallmark"))
	}
	known, err := a.nameServer(w, s, &mine)
	if err != nil {
		return "", err
	}
	if !known && !slices.ContainsFunc(a.changed, func(d project.Server) bool { return d.Name == mine.Name }) {
		if _, err := workspace.AddServers(nil, []project.Server{mine}); err != nil {
			return "", evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q in %s line %d", s.Name, s.File, s.Line),
				"", fmt.Errorf("cannot be declared in %s: %w", project.ConfigFile, err))
		}
		if s.Verify != "" {
			w.Host.Logger.Warn("the verify block of "+surface.Escape(s.Name)+" is not taken over", "file", s.File)
		}
		a.add = append(a.add, mine)
	}
	a.entries = append(a.entries, adoptedEntry{s, mine.Name})
	return mine.Name, nil
}

// refuseShared refuses an entry with a header that its client fills in if the variable that stands for it stands for
// one of another URL, too: its value for one of the two would be sent to both.
func refuseShared(w *workspace.Workspace, s clients.Server) error {
	files, err := clients.Find(clients.Machine{OS: runtime.GOOS, Home: w.Home, Getenv: w.Host.Getenv})
	for _, f := range files {
		servers, _ := clients.Load(f) // of a file that cannot be read nothing is taken over
		for _, other := range servers {
			url, names := other.URL, askedVariables(other)
			for _, d := range w.Config.Servers {
				if runs(w, other, d.Name) {
					url, names = d.URL, d.HeaderVariables()
				}
			}
			for _, name := range askedVariables(s) {
				if url != s.URL && slices.Contains(names, name) && !other.Disabled {
					return refuseEntry(s, "give one of the two another name",
						fmt.Errorf("gets a header from the variable %s, as %+q in %s does, which has another URL",
							name, other.Name, other.File))
				}
			}
		}
	}
	return err
}

// askedVariables returns the variables that stand for the headers of an entry which its client fills in, save those
// that the entry names itself.
func askedVariables(s clients.Server) (names []string) {
	filled, taken := s.HeaderValues(), s.EnvironmentHeaders()
	for header, name := range headerVariables(s) {
		if _, ok := filled[header]; !ok && taken[header] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// refuseHeaders refuses an entry with a URL whose headers cannot be given to hallmark run in variables.
func refuseHeaders(s clients.Server, getenv func(string) string) error {
	refuse := func(hint string, err error) error { return refuseEntry(s, hint, err) }
	if s.URL != "" && len(s.Variables) > 0 {
		return refuse("take it out if the server does without it",
			fmt.Errorf("has a URL, and the variable %+q, which no program gets", s.Variables[0]))
	}
	if header := s.EmptyHeader(); header != "" {
		return refuse("write its value as a text, or take it out",
			fmt.Errorf("has the header %+q, whose value is empty or no text", header))
	}
	variables, filled, taken := headerVariables(s), s.HeaderValues(), s.EnvironmentHeaders()
	for i, header := range s.Headers {
		if slices.ContainsFunc(s.Headers[:i], func(other string) bool { return strings.EqualFold(other, header) }) {
			return refuse("leave one of the two", fmt.Errorf("has the header %+q twice", header))
		}
		if name := variables[header]; !variableRE().MatchString(name) || clients.ChangesHallmark(name) {
			return refuse("keep the value in a variable of another name",
				fmt.Errorf("takes the header %+q from %+q, which hallmark run is not given", header, name))
		}
		if _, ok := filled[header]; !ok && getenv(variables[header]) == "" {
			hint := "set " + variables[header] + " to its value where you run this"
			if taken[header] == "" {
				hint += `, with what is before it in the header, such as "Bearer "`
			}
			return refuse(hint+"; its client fills it in later",
				fmt.Errorf("has the header %+q, which its client fills in", header))
		}
	}
	return nil
}

// refuseRewriting refuses an entry of the user's own files, or one that is to be rewritten, that would not be guarded
// if it started hallmark run.
func refuseRewriting(w *workspace.Workspace, s clients.Server, rewrite bool) error {
	cwd := s.WorkingDir()
	if cwd != "" && !filepath.IsAbs(cwd) {
		cwd = w.Path(strings.TrimPrefix(cwd, workspaceFolder))
	}
	switch {
	case w.Home != "":
		return cmp.Or(refuseUnguardable(s), refuseShared(w, s), refuseHeaders(s, w.Host.Getenv), refusePlaces(s))
	case !rewrite:
		return nil
	case cwd != "" && !host.SameFile(cwd, w.Dir):
		return cmp.Or(refuseUnguardable(s), refuseElsewhere(s))
	}
	return cmp.Or(refuseUnguardable(s), refuseHeaders(s, w.Host.Getenv))
}

// refuseUnguardable refuses an entry that would not be guarded if it started hallmark run: the same members make a scan
// refuse it then.
func refuseUnguardable(s clients.Server) error {
	refuse := func(hint string, err error) error { return refuseEntry(s, hint, err) }
	unknown := slices.DeleteFunc(s.Unknown(), func(key string) bool { return s.URL != "" && s.SetsHeaders(key) })
	if len(unknown) > 0 {
		return refuse("take it out if the server does without it",
			fmt.Errorf("has the member %+q, which may change what is started", unknown[0]))
	}
	if why := s.Ambiguity(); why != "" {
		return refuse("write one command with texts as its arguments, or one URL", errors.New(why))
	}
	if s.Name == "" {
		return refuse("give it a name", errors.New("has no name"))
	}
	if i := slices.IndexFunc(s.Variables, clients.ChangesHallmark); i >= 0 {
		return refuse("take it out of the entry: what the server runs is found when it is locked",
			fmt.Errorf("sets %+q, which may change what is started", s.Variables[i]))
	}
	return nil
}

// refuseElsewhere refuses an entry with a working directory that is not the project's.
func refuseElsewhere(s clients.Server) error {
	return refuseEntry(s, "take it out if the server does without it, or name the directory in its arguments",
		errors.New("has a working directory, in which hallmark run would not start it"))
}

// refusePlaces refuses an entry of the user's own files that is meant for one directory.
func refusePlaces(s clients.Server) error {
	if s.WorkingDir() != "" {
		return refuseElsewhere(s)
	}
	if strings.ContainsAny(s.Command, `/\`) && !filepath.IsAbs(s.Command) && !workspace.IsWindowsPath(s.Command) {
		return refuseEntry(s, "write the absolute path of the program",
			fmt.Errorf("starts %+q, which is another program in each directory", s.Command))
	}
	return nil
}

// nameServer sets the name of mine, which an entry starts, in hallmark.toml, and reports whether it is declared by that
// name already. Entries of the user's clients may start different servers by one name, of which the later get the name
// of their client; in a project two such are an error.
func (a *adoption) nameServer(w *workspace.Workspace, s clients.Server, mine *project.Server) (known bool, err error) {
	find := func(name string) (project.Server, string) {
		if i := slices.IndexFunc(a.changed, func(o project.Server) bool { return o.Name == name }); i >= 0 {
			return a.changed[i], "another entry of that name"
		}
		if d, ok := w.Config.Servers[name]; ok {
			return d, project.ConfigFile
		}
		if i := slices.IndexFunc(a.add, func(o project.Server) bool { return o.Name == name }); i >= 0 {
			return a.add[i], "another entry of that name"
		}
		return project.Server{}, ""
	}
	if w.Home == "" {
		declared, by := find(s.Name)
		if by != "" && !sameCommand(declared, *mine) {
			return false, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q in %s", s.Name, s.File),
				"name one file with --config, or make them agree",
				fmt.Errorf("starts something else than %s says", by))
		}
		if by != "" {
			if err := refuseUndeclared(s, declared, *mine, by); err != nil {
				return false, err
			}
		}
		if err := project.CheckServerName(s.Name); by == "" && err != nil {
			return false, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", s.Name), "", err)
		}
		return by != "", nil
	}
	for n := 1; ; n++ {
		mine.Name = userServerName(s, n)
		declared, by := find(mine.Name)
		if by == "" {
			return false, nil
		}
		if sameCommand(declared, *mine) && declared.Facet == "" && sameElements(declared.Variables, mine.Variables) &&
			maps.Equal(declared.Headers, mine.Headers) {
			return true, nil
		}
		if by == project.ConfigFile && isOtherVersion(declared, *mine) && !isStarted(w, mine.Name) {
			a.changed = append(a.changed, *mine)
			return false, nil
		}
	}
}

// refuseUndeclared refuses an entry with a header that what declares its server, by, does not take from the variable
// which the entry would set: it would be sent no more.
func refuseUndeclared(s clients.Server, declared, mine project.Server, by string) error {
	var lost string
	var all []string
	for _, header := range slices.Sorted(maps.Keys(mine.Headers)) {
		value := mine.Headers[header]
		if all = append(all, tomltext.Quote(header)+" = "+tomltext.Quote(value)); declared.Headers[header] != value {
			lost = cmp.Or(lost, header)
		}
	}
	if lost == "" {
		return nil
	}
	hint := "name one file with --config, or make them agree"
	if by == project.ConfigFile {
		hint = "write headers = { " + surface.Escape(strings.Join(all, ", ")) + " } in its table there"
	}
	return refuseEntry(s, hint, fmt.Errorf("has the header %+q, which is not that of %s", lost, by))
}

// isOtherVersion reports whether a server differs from the declared one in the version of its package only.
func isOtherVersion(declared, mine project.Server) bool {
	if declared.Facet != "" || declared.Command != mine.Command || !sameElements(declared.Variables, mine.Variables) ||
		len(declared.Arguments) != len(mine.Arguments) {
		return false
	}
	differ := 0
	for i, arg := range mine.Arguments {
		if arg != declared.Arguments[i] {
			differ++
		}
	}
	a, b := launcher.Parse(declared.Command, declared.Arguments), launcher.Parse(mine.Command, mine.Arguments)
	return differ == 1 && len(a.Packages) == 1 && len(b.Packages) == 1 && a.Packages[0].Name == b.Packages[0].Name &&
		a.Packages[0].Text != b.Packages[0].Text
}

// isStarted reports whether an entry of the user's clients starts the server of their project called name, or may.
func isStarted(w *workspace.Workspace, name string) bool {
	files, err := clients.Find(clients.Machine{OS: runtime.GOOS, Home: w.Home, Getenv: w.Host.Getenv})
	return err != nil || slices.ContainsFunc(files, func(f clients.File) bool {
		servers, err := clients.Load(f)
		return err != nil || slices.ContainsFunc(servers, func(s clients.Server) bool { return runs(w, s, name) })
	})
}

// runs reports whether an entry starts the server of w called name.
func runs(w *workspace.Workspace, s clients.Server, name string) bool {
	if !clients.IsRunEntry(s) {
		return false
	}
	line, _ := clients.ReadRunLine(s.Args[1:], false)
	return line.Name == name && line.Project == w.Dir
}

// userServerName returns the nth name to try for the server of an entry: its own, then with its client's, then
// numbered.
func userServerName(s clients.Server, n int) string {
	const most = 64 - len("-9999")
	name := cmp.Or(strings.TrimLeft(unnamedRE().ReplaceAllString(s.Name, "-"), "._-"), "server")
	if n > 1 {
		name += "-" + s.Client
	}
	if name = name[:min(len(name), most)]; n > 2 {
		name += "-" + strconv.Itoa(n-1)
	}
	return name
}

// unnamedRE is what a name of an entry may have, and that of a server may not.
var unnamedRE = spelling.Form(`[^A-Za-z0-9._-]+`)

// sameElements reports whether two lists have the same elements, in any order.
func sameElements(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// isForProject reports whether an entry is for every project or for this one. Those that a user has for single projects
// are the user's own.
func isForProject(w *workspace.Workspace, s clients.Server) bool {
	if s.Scope == "" || w.Home != "" {
		return true
	}
	real, err := filepath.EvalSymlinks(s.Scope)
	return err == nil && real == w.Dir
}

func sameCommand(a, b project.Server) bool {
	return a.Command == b.Command && slices.Equal(a.Arguments, b.Arguments) && a.URL == b.URL
}

// headerVariables returns the variables in which a client gives hallmark run the values of an entry's headers, by
// header.
func headerVariables(s clients.Server) map[string]string {
	out, used := map[string]string{}, map[string]bool{}
	taken := s.EnvironmentHeaders()
	for _, name := range taken {
		used[name] = true
	}
	for _, header := range slices.Sorted(slices.Values(s.Headers)) {
		if taken[header] != "" {
			out[header] = taken[header]
			continue
		}
		name := unnamedRE().ReplaceAllString("MCP_"+s.Name+"_"+header, "_")
		name = strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
		for used[name] {
			name += "_"
		}
		out[header], used[name] = name, true
	}
	return out
}

// importEntry returns an entry as hallmark.toml declares it, without headers. It refuses secrets and text that a
// client fills in, which cannot be written there, and headers whose values nothing passes on: those of an entry that
// is neither rewritten nor the user's own.
func importEntry(s clients.Server, rewrite, isUsers bool) (project.Server, error) {
	refuse := func(hint string, err error) (project.Server, error) {
		return project.Server{}, refuseEntry(s, hint, err)
	}
	words := append([]string{s.Command}, s.Args...)
	switch {
	case len(s.Headers) > 0 && !isUsers && !rewrite:
		return refuse("add --write-config: the client's entry then gives their values to 'hallmark run'",
			errors.New("is reached by its URL and has headers, whose values are not taken over"))
	case s.URL != "":
		words = []string{s.URL}
	}
	if !slices.Equal(launcher.Redact(words), words) {
		return refuse("give it to the server in a variable",
			errors.New("has what looks like a secret in its arguments, which would be written into "+
				project.ConfigFile))
	}
	for _, word := range words {
		if clients.Placeholder().MatchString(word) || isUsers && clients.FillsIn(s.Client, word) {
			return refuse("declare the server in "+project.ConfigFile+" with the value",
				fmt.Errorf("its argument %+q is filled in by the client", word))
		}
	}
	if s.URL != "" {
		return project.Server{Name: s.Name, Type: "http", URL: s.URL}, nil
	}
	return project.Server{Name: s.Name, Command: s.Command, Arguments: s.Args,
		Variables: addVariables(nil, s.Variables)}, nil
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
	if s.Client != "vscode" && s.Client != "cursor" || !host.IsBelow(w.Dir, s.File) || !host.SameFile(open, w.Dir) {
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

// outsideProject returns an entry of "uv run" with packages, as the Python SDKs write it into files of clients, as a
// line of uvx, if no project adds its own packages. None does for the user's own entries: which directory is open in a
// client changes.
func outsideProject(w *workspace.Workspace, s clients.Server) clients.Server {
	line := launcher.Parse(launcher.Unwrap(s.Command, s.Args)).OutsideProject()
	if line != nil && (w.Home != "" || !kind.HasUVEnvironment(w.Dir)) {
		s.Command, s.Args = line[0], line[1:]
	}
	return s
}

// variableRE is a name that a variable has in every shell.
var variableRE = spelling.Form(`^[A-Za-z_][A-Za-z0-9_]*$`)

// envFileLine is a line of a file of variables that sets one.
var envFileLine = spelling.Form(`(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=`)

// envFileNames returns the names of the variables that a file sets which the client reads for an entry, if it is one of
// the project. Their values stay there.
func envFileNames(w *workspace.Workspace, s clients.Server) (names []string) {
	const most = 1 << 20 // bytes
	name := strings.TrimPrefix(s.EnvFile, workspaceFolder+"/")
	if filepath.IsLocal(name) {
		if data, err := w.ReadFile(filepath.Join(w.Dir, name), most); err == nil && data != nil {
			for _, m := range envFileLine().FindAllSubmatch(data, -1) {
				names = append(names, string(m[1]))
			}
			return names
		}
	}
	w.Host.Logger.Warn(surface.Escape(s.Name)+": the variables of its envFile are not taken over; name those that it "+
		"needs under variables in "+project.ConfigFile, "file", s.EnvFile)
	return nil
}
