package pin

import (
	"context"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// MoveProgram makes entries of the user's own files, which [Pin] wrote for the project in dir when this program was
// another file, start program. It leaves an entry whose arguments are not those that Pin writes.
func MoveProgram(ctx context.Context, h *host.Host, dir string, entries []Entry, program string) error {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, true, false)
	if err != nil {
		return err
	}
	defer done()
	byFile := map[string][]Entry{}
	for _, e := range entries {
		byFile[e.File] = append(byFile[e.File], e)
	}
	var files []durable.File
	for path, chosen := range byFile {
		more, err := moveIn(w, clients.FileAt(path), chosen, program)
		if err != nil {
			return evidence.Errorf(evidence.Refused, path, "write "+host.QuoteArguments([]string{program})+
				" as the command of its entries that start Hallmark", err)
		}
		files = append(files, more...)
	}
	return w.Replace(ctx, files)
}

// moveIn returns the changes that make the chosen entries of f start program. What they were before stays known.
func moveIn(w *workspace.Workspace, f clients.File, chosen []Entry, program string) ([]durable.File, error) {
	at, err := resolveFile(w, f)
	if err != nil {
		return nil, err
	}
	data, err := clients.Read(f)
	if err != nil {
		return nil, err
	}
	kept, err := clients.LoadOriginals(f.Path)
	if err != nil {
		return nil, err
	}
	for _, e := range chosen {
		now, err := clients.Parse(f, data)
		if err != nil {
			return nil, err
		}
		is := func(scope, name string) bool { return scope == e.Scope && name == e.Name }
		s := slices.IndexFunc(now, func(s clients.Server) bool { return is(s.Scope, s.Name) })
		o := slices.IndexFunc(kept, func(o clients.Original) bool { return is(o.Scope, o.Name) && o.Project == w.Dir })
		server := ""
		switch {
		case s < 0:
			continue
		case o >= 0:
			server = kept[o].ServerName()
		case clients.IsRunEntry(now[s]):
			server = movedHere(w, kept, now[s])
		}
		if server == "" || !slices.Equal(now[s].Args, w.RunArguments(server)) {
			continue
		}
		var change clients.Change
		if data, change, err = clients.Rewrite(data, now[s], program, now[s].Args); err != nil {
			return nil, err
		}
		if o < 0 {
			continue
		}
		if !strings.Contains(kept[o].Now, change.Was) { // its client wrote it in another layout
			change.Was, change.Now = clients.Quote(now[s].Command), clients.Quote(program)
		}
		kept[o].Now = strings.Replace(kept[o].Now, change.Was, change.Now, 1)
	}
	return at.replacements(data, kept)
}

// movedHere returns the locked server that an entry starts which was moved to this file, of which kept are the
// originals; "" if one of these is of that server: the entry is it, renamed, and undo restores it as it is.
func movedHere(w *workspace.Workspace, kept []clients.Original, s clients.Server) string {
	line, _ := clients.ReadRunLine(s.Args[1:], false)
	if _, locked := w.Lock.Server(line.Name); !locked || slices.ContainsFunc(kept, func(o clients.Original) bool {
		return o.Project == w.Dir && o.ServerName() == line.Name
	}) {
		return ""
	}
	return line.Name
}
