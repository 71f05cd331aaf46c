package scan

import (
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// namedFile returns the file that an entry of a plugin's manifest names instead of a server, so that
// the scan reads it as the client does. The file must lie in the scanned checkout, or in the installed plugin; any
// other such entry is refused as one that is not followed.
func (sc *scan) namedFile(f clients.File, s clients.Server) (clients.File, bool) {
	to, ok := clients.NamedFile(f, s)
	root := sc.root
	if f.Installed {
		root, _ = filepath.EvalSymlinks(f.Root) // without it no file names another
	}
	if !ok || root == "" {
		return clients.File{}, false
	}
	abs, err := filepath.Abs(to.Path)
	if err != nil {
		return clients.File{}, false
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return clients.File{}, false // nothing is there
	}
	return to, host.IsBelow(root, real)
}

// commandEvidence returns evidence of a command line that a client runs, which may start a server.
func commandEvidence(c clients.Command, shown string) evidence.Evidence {
	place := evidence.Place{File: shown, Line: c.Line, Column: c.Column}
	e := evidence.CannotVerify(evidence.Claim{
		Subject: c.Client + ": " + c.Key, Scheme: evidence.Launch, Authority: evidence.Caller, Where: place.Show(),
		Place: place,
	}, evidence.Unsupported, "its client runs "+
		clients.QuoteText(strings.Join(launcher.Redact(strings.Fields(c.Text)), " "))+
		" without Hallmark, which may start a server")
	e.Rule = launcher.RuleProgram
	return e
}
