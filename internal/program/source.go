package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// Packed is a server that is packed from source: how it is locked, and where its files lie.
type Packed struct {
	Name  string
	Entry project.ServerLock
	Slot  *store.Slot
}

// OpenSource makes a server startable from a slot of the store, with the runtime that its
// server.json names. approval is used as in [OpenSourceRuntime].
func OpenSource(ctx context.Context, w *workspace.Workspace, s Packed, approval project.Approval) (*Program, error) {
	entry, slot := s.Entry, s.Slot
	file := filepath.Join(slot.Dir(), filepath.FromSlash(entry.Entry))
	p, err := OpenSourceRuntime(ctx, w, s.Name, entry.Runtime, approval, process.Open)
	if err != nil {
		return p, err
	}
	if r := runtimes[entry.Runtime]; r.commands == nil {
		if p.Executable, err = process.Open(file); err != nil {
			return p, evidence.Errorf(evidence.Operation, s.Name, "", err)
		}
		if _, _, script := p.Executable.Interpreter(); script {
			return p, evidence.Errorf(evidence.Refused, s.Name, "tell its publisher",
				errors.New("its runtime is binary, and its entry is a script"))
		}
		p.AddSubject(evidence.Claim{
			Subject: facet.MemberSubject(entry.Ref, entry.Entry), Scheme: evidence.File, Authority: evidence.Sidecar,
			Want: []digest.Digest{slot.Assets[entry.Entry]},
		}, p.Executable.Observed())
		p.Args = []string{entry.Entry}
	} else {
		if !r.besideOnly {
			if err := NoModulesAbove(entry.Runtime, slot.Dir(), w.Host.Getenv("HOME")); err != nil {
				return p, evidence.Errorf(evidence.Refused, s.Name,
					"move that directory, or the store by setting HALLMARK_HOME", err)
			}
		}
		p.Args = append(r.commandLine(), file)
		p.Args[0] = p.Executable.Path() // under its bare name it would look for itself in PATH
		p.RuntimeVariables = r.variables
	}
	p.Args = append(p.Args, entry.Arguments...)
	p.Variables = entry.Variables
	p.Subjects = append(p.Subjects, process.Subject{Name: entry.Ref, Digest: slot.Digest})
	return p, nil
}

// OpenSourceRuntime opens the interpreter on this machine for a runtime; a binary has none. It
// takes the search path and the approved runtime from approval. If no runtime was approved it finds
// one in the path.
func OpenSourceRuntime(ctx context.Context, w *workspace.Workspace, name, runtime string,
	approval project.Approval, open process.Opener) (*Program, error) {
	r, ok := runtimes[runtime]
	switch {
	case !ok:
		return nil, evidence.Errorf(evidence.Validation, name, "", fmt.Errorf("its runtime %+q is not known", runtime))
	case r.commands == nil:
		return &Program{Server: name, Path: approval.Path}, nil
	}
	return OpenInterpreter(ctx, w, name, approval, r.find, open)
}

// sourceRuntime is an interpreter of servers that are packed from source.
type sourceRuntime struct {
	commands   []string // the first of these in PATH; nil: the entry is started itself
	probe      []string // makes it print its own executable and its version, a line each
	numbers    int      // of its version, which are part of what servers are made for
	words      []string // the command line before the entry: nothing is loaded from elsewhere
	variables  []string // variables, to the same end: "NAME=VALUE"
	besideOnly bool     // it looks for modules beside the entry, and in no directory above
}

func (r sourceRuntime) commandLine() []string { return append([]string{r.commands[0]}, r.words...) }

// runtimes are the interpreters by their names in server.json. Dependencies are part of the
// archive: missing ones are neither taken from the environment nor fetched.
var runtimes = map[string]sourceRuntime{
	facet.RuntimeBinary: {},
	"node": {
		commands: []string{"node"}, probe: []string{"-p", `process.execPath + "\n" + process.versions.node`},
		numbers: 1,
	},
	"python": {
		commands: []string{"python3", "python"},
		probe: []string{"-I", "-B", "-c",
			"import os, sys; print(os.path.realpath(sys.executable)); print('%d.%d' % sys.version_info[:2])"},
		numbers: 2, besideOnly: true,
		words: []string{"-s", "-S", "-B"},
	},
	"bun": {
		commands: []string{"bun"}, probe: []string{"--config=" + os.DevNull, "-p",
			`process.execPath + "\n" + process.versions.bun`}, numbers: 1,
		// a bunfig.toml names code to load first
		words:     []string{"--no-install", "--no-env-file", "--config=" + os.DevNull, "run"},
		variables: []string{"BUN_RUNTIME_TRANSPILER_CACHE_PATH=0"},
	},
	"deno": {
		commands: []string{"deno"}, probe: []string{"eval", "--no-config",
			`console.log(Deno.execPath() + "\n" + Deno.version.deno)`}, numbers: 1,
		words:     []string{"run", "--no-remote", "--no-npm", "--no-lock", "--no-config", "--allow-all"},
		variables: []string{"DENO_DIR=" + os.DevNull}, // where it would keep compiled code, which nobody verified
	},
}

// find asks the interpreter in path for its own executable and version, because the file in PATH
// may be a shim.
func (r sourceRuntime) find(ctx context.Context, w *workspace.Workspace, path string) (*project.Runtime, error) {
	found, err := closure.FindAskable(w, path, "install it: the server is started by it", r.commands...)
	if err != nil {
		return nil, err
	}
	return closure.AskRuntime(ctx, w, r.commands[0], r.numbers, closure.Question{
		Path: found, Set: append([]string{"PATH=" + path}, r.variables...), Args: r.probe,
	})
}
