package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// registryWait bounds how long one registry is waited for.
const registryWait = 15 * time.Second

// MachineOptions say what to look at.
type MachineOptions struct {
	Version string // of this program
	Program string // its file; "" if it is unknown
	Home    string // the user's home directory
	Offline bool   // ask no registry
}

// MachineState is how something was found.
type MachineState string

// The values of State.
const (
	OK      MachineState = "ok"
	Note    MachineState = "note"    // worth knowing; needed for some servers only
	Problem MachineState = "problem" // Hallmark does not do its work with it
)

// MachineFinding is one thing that was looked at.
type MachineFinding struct {
	Name  string       `json:"name"` // "node", "state directory"
	State MachineState `json:"state"`
	Found string       `json:"found"`        // what there is, or what is wrong
	Do    string       `json:"do,omitempty"` // what to do about it
}

// Examine looks for what is missing, or in the way, on this machine: the program itself, its directories, the programs
// that start servers, the clients, the store, and the registries that are asked for packages. It changes nothing. Its
// error is of a problem among the findings.
func Examine(ctx context.Context, h *host.Host, o MachineOptions) ([]MachineFinding, error) {
	w, err := workspace.Peek(h, h.Places.State) // for programs that are no checkout's
	if err != nil {
		w = workspace.Empty(h, h.Places.State)
	}
	found := []MachineFinding{examineProgram(h, o), examineDirectory(h.Places.State, "state directory"),
		examineDirectory(h.Places.Cache, "cache directory"), examineQuarantine(h)}
	found = append(found, examineRuntimes(ctx, h, w)...)
	found = append(found, examineServers(ctx, h, o))
	if !o.Offline {
		found = append(found, examineRegistry(ctx, h, "registry of npm", "npm:@modelcontextprotocol/sdk@1.0.0",
			"'npm ping' asks it, too"),
			examineRegistry(ctx, h, "registry of PyPI", "pypi:mcp==1.0.0", "look at the index of uv or pip"))
	}
	bad := 0
	for _, f := range found {
		if f.State == Problem {
			bad++
		}
	}
	if bad > 0 {
		err = evidence.Errorf(evidence.Operation, "", "", fmt.Errorf("%s found", evidence.Count(bad, "problem")))
	} else {
		err = ctx.Err()
	}
	return found, err
}

// examineProgram looks at the file of this program, which clients are to start.
func examineProgram(h *host.Host, o MachineOptions) MachineFinding {
	f := MachineFinding{Name: "hallmark", State: OK, Found: o.Version + ", " + o.Program}
	if err := clients.CheckProgram(o.Program, h.Getenv); err != nil {
		return f.with(Note, err)
	}
	inPath, err := workspace.FindIn(h.Getenv("PATH"), "hallmark")
	switch {
	case err != nil:
		f.State, f.Do = Note, "put "+filepath.Dir(o.Program)+" into PATH, for entries of projects, which start "+
			"'hallmark'"
		f.Found += "; not in PATH"
	case !host.SameFile(inPath, o.Program):
		f.State, f.Found = Note, f.Found+"; in PATH is another, "+inPath
		f.Do = "remove one of the two: entries of projects start that of PATH"
	}
	return f
}

// with takes what is wrong, and what to do about it, from err.
func (f MachineFinding) with(s MachineState, err error) MachineFinding {
	why, _, _ := strings.Cut(err.Error(), "\n")
	f.State, f.Found = s, why
	if problem, ok := errors.AsType[*evidence.Error](err); ok {
		f.Do = problem.Hint
	}
	return f
}

// examineDirectory tries whether files can be written into one of Hallmark's own directories, or into the first above
// it that exists.
func examineDirectory(dir, name string) MachineFinding {
	f := MachineFinding{Name: name, State: OK, Found: dir}
	at := dir
	for {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	temp, err := os.CreateTemp(at, ".hallmark-doctor-*")
	if err != nil {
		f.State, f.Found = Problem, dir+": "+err.Error()
		f.Do = "make it writable for you, or set HALLMARK_HOME to a directory that is"
		return f
	}
	_ = errors.Join(temp.Close(), os.Remove(temp.Name()))
	if at != dir {
		f.Found += ", not made yet"
	}
	return f
}

// examineQuarantine looks for what was moved out of the store.
func examineQuarantine(h *host.Host) MachineFinding {
	f := MachineFinding{Name: "store", State: OK}
	st, err := h.Store()
	if err != nil {
		return f.with(Problem, err)
	}
	f.Found = st.Path()
	if entries, err := os.ReadDir(filepath.Join(st.Path(), "quarantine")); err == nil && len(entries) > 0 {
		f.State, f.Found = Note, f.Found+"; in quarantine: "+evidence.Count(len(entries), "slot")
		f.Do = "'hallmark store verify' names them, and 'hallmark store prune' removes them"
	}
	return f
}

// examineRuntimes looks for the programs that start servers.
func examineRuntimes(ctx context.Context, h *host.Host, w *workspace.Workspace) (out []MachineFinding) {
	path := h.Getenv("PATH")
	ask := func(name, needed string, find func(context.Context, *workspace.Workspace,
		string) (*project.Runtime, error)) {
		f := MachineFinding{Name: name, State: OK}
		if r, err := find(ctx, w, path); err != nil {
			f = f.with(Note, err)
			f.Do = needed
		} else {
			f.Found = cmp.Or(closure.PythonVersion(r.Version), r.Version) + ", " + r.Path
		}
		out = append(out, f)
	}
	ask("node", "install Node for servers of npm", closure.FindNode)
	ask("python", "install Python 3 for servers of PyPI", closure.FindPython)
	ask("go", "install Go for servers that are built from its modules", closure.FindGo)
	for _, t := range []struct {
		names  []string
		needed string
	}{
		{[]string{"npm"}, "install npm, which comes with Node, to pin servers of npm; locked ones start without it"},
		{[]string{"uv"}, "install uv: without it pip resolves packages, which takes longer"},
		{[]string{"git"}, "install git for facets and plugins from repositories"},
		{[]string{"docker", "podman"}, "install a container engine for servers that are images"},
	} {
		f := MachineFinding{Name: strings.Join(t.names, " or "), State: Note, Found: "not found in PATH", Do: t.needed}
		for _, name := range t.names {
			if at, err := closure.Find(ctx, h, name, w.Dir); err == nil {
				f = MachineFinding{Name: name, State: OK, Found: at}
				break
			}
		}
		out = append(out, f)
	}
	return out
}

// examineServers counts the clients, and how their servers are covered.
func examineServers(ctx context.Context, h *host.Host, o MachineOptions) MachineFinding {
	f := MachineFinding{Name: "clients", State: OK}
	found, err := scan.Scan(ctx, h, scan.Options{Dir: h.Places.Config, Home: o.Home, Program: o.Program})
	if err != nil {
		return f.with(Problem, err)
	}
	if _, unread := found.Unread(); len(unread) > 0 {
		return f.with(Problem, unread[0])
	}
	var names []string
	guarded, open := 0, 0
	for _, s := range found.Servers {
		if s.Client == "hallmark" || s.Starts != clients.StartsServer {
			continue
		}
		if name := clients.Title(s.Client); !slices.Contains(names, name) {
			names = append(names, name)
		}
		switch s.State {
		case scan.StateGuarded:
			guarded++
		case scan.StateOff:
		default:
			open++
		}
	}
	if len(names) == 0 {
		f.Found = "none has a server"
		return f
	}
	f.Found = fmt.Sprintf("%s: %s protected, %d not", strings.Join(names, ", "), evidence.Count(guarded, "server"),
		open)
	if open > 0 {
		f.State, f.Do = Note, "'hallmark status' shows them, and 'hallmark protect' protects what can be"
	}
	return f
}

// examineRegistry asks a package registry about a version that it has.
func examineRegistry(ctx context.Context, h *host.Host, name, known, more string) MachineFinding {
	f := MachineFinding{Name: name, State: OK, Found: "answers"}
	ref, err := artifact.Parse(known)
	if err != nil {
		return f.with(Problem, err)
	}
	if hosts := h.Fetch.Hosts(ref.Kind(), ref.Name()); len(hosts) > 0 {
		f.Found = strings.Join(hosts, ", ") + " answers"
	}
	ctx, cancel := context.WithTimeout(ctx, registryWait)
	defer cancel()
	if _, err := h.Fetch.Releases(ctx, ref); err != nil {
		f = f.with(Note, err)
		f.Do = "what is locked runs without it; to lock more, look at the network, a proxy and its settings; " + more
	}
	return f
}
