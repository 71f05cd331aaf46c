package scan

import (
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/runline"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// namedFile is the file of servers that an entry of a plugin's manifest names instead of a
// server, if that lies in the checkout that is scanned, so that it can be read as its client
// would. Any other entry that is a text stays what it is: refused as not followed.
func (sc *scan) namedFile(f clients.File, s clients.Server) (clients.File, bool) {
	to, ok := clients.NamedFile(f, s)
	if !ok || sc.root == "" {
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
	rel, err := filepath.Rel(sc.root, real)
	return to, err == nil && filepath.IsLocal(rel)
}

// commandEvidence says of a command line that its client runs it: no server, which may start one.
func commandEvidence(c clients.Command, shown string) evidence.Evidence {
	place := evidence.Place{File: shown, Line: c.Line, Column: c.Column}
	e := evidence.CannotVerify(evidence.Claim{
		Subject: c.Client + ": " + c.Key, Scheme: evidence.Launch, Authority: evidence.Caller, Where: place.Show(), Place: place,
	}, evidence.Unsupported, "its client runs "+runline.Quote(strings.Join(launcher.Redact(strings.Fields(c.Text)), " "))+" without Hallmark, which may start a server")
	e.Rule = launcher.RuleProgram
	return e
}
