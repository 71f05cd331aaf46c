package scan

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// editorFlags are the options of hallmark hashfile that permit nothing more, and whether each has a
// value.
var editorFlags = map[string]bool{"--read-only": false, "--exact-anchors": false, "--tag-width": true,
	"--max-file": true, "--max-request": true, "--max-relocation": true, "--read-tokens": true}

// judgeEditor judges an entry that starts hallmark hashfile with args, by what it may read and write.
func (e *scannedEntry) judgeEditor(args []string) {
	e.cover = Editor
	for _, key := range e.server.Unknown() {
		e.refuse(fmt.Sprintf("has a member %s, which may change what is started", clients.QuoteText(key)))
	}
	e.judgeVariables(project.Server{})
	base := e.startDir()
	if cwd := e.server.WorkingDir(); cwd != "" {
		dir, err := resolveDir(base, cwd)
		if err != nil {
			e.refuse(fmt.Sprintf("its working directory %s %v", clients.QuoteText(cwd), err))
		}
		base = dir
	}
	for len(args) > 0 {
		flag, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		valued, known := editorFlags[flag]
		if (valued || flag == "--root") && !joined {
			if len(args) == 0 {
				e.refuse("says " + clients.QuoteText(flag) + " without a value")
				return
			}
			value, args = args[0], args[1:]
		}
		switch {
		case flag == "--root":
			e.judgeRoot(base, value)
		case !known:
			e.refuse("has the option " + clients.QuoteText(launcher.Redact([]string{flag})[0]) +
				", which may let it do more")
		}
	}
}

// judgeRoot judges one directory that the editor may read and write.
func (e *scannedEntry) judgeRoot(base, name string) {
	e.roots = append(e.roots, name)
	c := e.claim
	c.Scheme, c.Authority, c.Text = evidence.Access, evidence.Caller, "a directory of the project"
	wide := func(why string) {
		f := evidence.Fact(c, name)
		f.Rule, f.Reason = launcher.RuleRoot, "the root "+clients.QuoteText(name)+" "+why
		e.report = append(e.report, f)
	}
	dir, err := resolveDir(base, name)
	if err != nil {
		wide(err.Error())
		return
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir // it is not there
	}
	home := e.o.Home
	if home != "" {
		if r, err := filepath.EvalSymlinks(home); err == nil {
			home = r
		}
	}
	within := e.project
	if within == "" && !e.file.User {
		within = base
	}
	switch {
	case filepath.Dir(real) == real:
		wide("is the whole file system")
	case home != "" && contains(real, home):
		wide("holds the user's home directory")
	case within != "" && !contains(within, real):
		wide("lies outside of the project")
	default:
		f := evidence.Fact(c, c.Text)
		f.Rule = launcher.RuleRoot
		e.report = append(e.report, f)
	}
}
