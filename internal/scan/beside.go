package scan

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// warnBypass warns of an entry in the user's own files that starts, without Hallmark, a server that the
// scanned project has locked. It is no refusal, because the user decides what the user's files
// start; but a reader of the result could take this entry for the guarded one.
func (e *scannedEntry) warnBypass() {
	dir := e.projectOf("", e.o.Dir)
	if dir == "" || e.server.Scope != "" && !host.SameFile(e.server.Scope, dir) {
		return
	}
	v, err := e.openProject(dir)
	if err != nil {
		return // the entries of the project's own files report that
	}
	w := v.w
	for _, name := range w.Lock.Servers() {
		if declared, err := w.Server(name); err != nil || !startsSame(w.Dir, declared, e.server) {
			continue
		}
		c := e.claim
		c.Scheme, c.Authority, c.Text = evidence.Launch, evidence.Caller, "hallmark run"
		found := evidence.CannotVerify(c, evidence.Unsupported, "starts without Hallmark what "+clients.QuoteText(name)+
			" of "+project.ConfigFile+" in "+clients.QuoteText(dir)+" locks")
		found.Rule = launcher.RuleAround
		found.Fix = `"command": "hallmark", "args": ["run", ` + clients.Quote(name) + `, "--project", ` +
			clients.Quote(dir) + `]`
		e.report = append(e.report, found)
		return
	}
}

// startsSame reports whether an entry starts, or reaches, the same as a declared server of the
// project in dir.
func startsSame(dir string, declared project.Server, s clients.Server) bool {
	if declared.URL != "" || s.URL != "" {
		return declared.URL == s.URL
	}
	command := declared.Command
	if strings.ContainsAny(command, `/\`) && !filepath.IsAbs(command) && filepath.IsAbs(s.Command) {
		command = filepath.Join(dir, command)
	}
	return command != "" && (command == s.Command || filepath.IsAbs(command) && host.SameFile(command, s.Command)) &&
		slices.Equal(declared.Arguments, s.Args)
}
