package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// TrialOptions say how a package is tried.
type TrialOptions struct {
	Arguments []string // that the server gets
	Variables []string // names of those that it gets from the environment
	// Next is told what is known, each time that more is: the packed file, the hashes, the document.
	Next func(*Trial)
}

// Trial is what there is to know of a package before it is published. What was not reached is zero.
type Trial struct {
	Ref      artifact.Ref
	File     string // the tarball or wheel; of a directory one that is gone with the trial
	Packed   bool   // from a directory
	Hashes   []serverjson.FileHash
	Document string // the path of the server.json
	Written  bool   // it was not there, and is a draft
	Server   string // its name; "" if a draft has none
	Issues   serverjson.Issues
	Owner    policy.Verdict // whether the package says that it is for the server
	Packages int            // that were installed with it, itself among them
	Scripts  []string       // packages whose install scripts were not run
	Verdict  policy.Verdict // of the package file and of what was installed
	Shown    *program.Shown
}

// Try does with a package what its users will do, before it is published: it packs the npm package or Python project in the directory
// path, or takes the tarball or wheel there, hashes it, checks the server.json beside it, or writes one, installs the package with
// what it depends on as pinning does, starts it, and returns what it shows. Nothing is published or sent. With an error, the
// trial says how far it came.
func Try(ctx context.Context, h *host.Host, path string, o TrialOptions) (t *Trial, err error) {
	t = &Trial{}
	next := func() {
		if o.Next != nil {
			o.Next(t)
		}
	}
	dir, remove, err := tool.WorkDir(h, "try-")
	if err != nil {
		return t, err
	}
	defer remove()
	info, err := os.Stat(path)
	if err != nil {
		return t, document.OpenError(path, err)
	}
	beside := "."
	if t.File, t.Packed = path, info.IsDir(); t.Packed {
		beside = path
		if t.File, err = packDirectory(ctx, h, path, dir); err != nil {
			return t, err
		}
	}
	files, err := t.hash(ctx, h)
	if err != nil {
		return t, err
	}
	next()
	with := *h
	with.Fetch = h.Fetch.WithFiles(files)
	if err := t.readDocument(ctx, &with, beside); err != nil {
		return t, err
	}
	next()
	return t, t.start(ctx, &with, dir, o, next)
}

// packDirectory packs the package in path into dir, and returns the file.
func packDirectory(ctx context.Context, h *host.Host, path, dir string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	has := func(name string) bool { return isRegular(filepath.Join(abs, name)) }
	node, python := has("package.json"), has("pyproject.toml") || has("setup.py")
	switch {
	case node && python:
		return "", evidence.Errorf(evidence.Validation, path, "pack one of them yourself, and name its file",
			errors.New("holds a package of npm and one of Python"))
	case node:
		defer h.Announce("packing %s", path)()
		return closure.PackNPM(ctx, h, abs, dir)
	case python:
		defer h.Announce("building %s", path)()
		rt, err := tool.FindPython(ctx, workspace.Empty(h, abs), h.Getenv("PATH"))
		if err != nil {
			return "", err
		}
		return closure.PackPython(ctx, h, abs, dir, rt)
	}
	return "", evidence.Errorf(evidence.Validation, path, "build it yourself; 'hallmark surface capture -- COMMAND' shows what a command starts",
		errors.New("holds neither package.json nor pyproject.toml, and only packages of npm and Python are packed"))
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// hash finds out what the package's file is, and hashes it.
func (t *Trial) hash(ctx context.Context, h *host.Host) (map[artifact.Ref]string, error) {
	const hint = "name the tarball that 'npm pack' makes, a wheel, or the directory of such a package"
	files, err := document.LocalFiles(nil, "", []string{t.File}, "")
	if failed := new(evidence.Error); errors.As(err, &failed) {
		failed.Hint = hint // a package is tried by what it says itself
	}
	if err != nil {
		return nil, err
	}
	for ref := range files {
		t.Ref = ref
	}
	if t.Ref.Kind() != artifact.NPM && !strings.HasSuffix(t.Ref.Filename(), ".whl") {
		return nil, evidence.Errorf(evidence.Validation, t.File, hint,
			fmt.Errorf("is %s, and only tarballs of npm and wheels are tried", t.Ref))
	}
	t.Hashes, err = document.HashLocal(ctx, h, files)
	return files, err
}

// readDocument reads the server.json in dir and checks it, or writes a draft of one.
func (t *Trial) readDocument(ctx context.Context, h *host.Host, dir string) error {
	t.Document = filepath.Join(dir, "server.json")
	if _, err := os.Lstat(t.Document); errors.Is(err, fs.ErrNotExist) {
		t.Written = true
		if t.Packed {
			_, err = document.Init(ctx, h.Environ, dir, nil)
		} else {
			_, err = document.InitFile(ctx, h.Environ, dir, t.Ref, t.File)
		}
		if err != nil {
			return err
		}
	}
	name, data, err := document.ReadFile(t.Document, durable.Open)
	if err != nil {
		return err
	}
	t.Document = name
	doc, err := serverjson.ParseUnhashed(data) // those of a former release are made anew
	if invalid := new(serverjson.Invalid); errors.As(err, &invalid) {
		t.Issues = invalid.Issues.ForPublish()
	} else if err != nil {
		return evidence.Errorf(evidence.Validation, name, "", err)
	} else {
		doc.AtRegistries(h.Fetch.AsksAt)
		t.Server, t.Issues = doc.Name, append(doc.ValidateForPublish(), doc.OfficialIssues()...)
	}
	n := len(t.Issues.Errors())
	if n > 0 && !t.Written {
		return evidence.Errorf(evidence.Validation, name, "", fmt.Errorf("is not valid: %s", evidence.Count(n, "error")))
	}
	if doc == nil {
		return nil
	}
	if !t.Written {
		if _, err := document.LocalFiles(doc, name, []string{t.File}, ""); err != nil {
			return err
		}
	}
	t.Owner, err = document.CheckOwner(ctx, h, doc, t.Ref)
	return err
}

// start installs the package and starts it.
func (t *Trial) start(ctx context.Context, h *host.Host, dir string, o TrialOptions, next func()) error {
	file, err := filepath.Abs(t.File)
	if err != nil {
		return err
	}
	w := workspace.Empty(h, dir)
	w.Approvals = project.NewApprovals(dir)
	path := h.Getenv("PATH")
	var report evidence.Report
	judge := func(more evidence.Report) (policy.Admitted, error) {
		t.Verdict = policy.Judge(policy.Pin, policy.Settings{MissingHashes: policy.MissingAllow}, append(slices.Clone(report), more...))
		return t.Verdict.Admitted(), t.Verdict.Err()
	}
	declared := project.Server{Name: t.Ref.Name(), Type: "stdio", Arguments: o.Arguments, Variables: o.Variables}
	found, err := kind.ResolveFile(ctx, kind.Declaration{Workspace: w, Logs: w.Logs(trail.Options{}), Server: declared, Path: path,
		Judge: judge}, t.Ref, file)
	if found.Program != nil {
		defer found.Program.Close()
	}
	if err != nil {
		return err
	}
	t.Packages, t.Scripts = len(found.Packages), found.Scripts
	report = append(found.Report, found.Program.Report...)
	adm, err := judge(nil)
	if err != nil {
		return err
	}
	next()
	t.Shown, err = found.Program.Capture(ctx, w, declared, adm, 0)
	if failed := new(evidence.Error); errors.As(err, &failed) {
		failed.Hint = "give it what it needs: --variable NAME passes a variable of yours on, and arguments stand behind '--'"
		if len(found.Later) > 0 {
			l := found.Later[0]
			failed.Hint = fmt.Sprintf("it requires %s; if it was written for an earlier version, let it require %s<%d; else %s", l, l.Name,
				l.Before, failed.Hint)
		}
	}
	return err
}

// FileHashes returns the hashes of the trial as file_hashes has them.
func (t *Trial) FileHashes() map[string]string {
	object := map[string]string{}
	for _, f := range t.Hashes {
		object[f.Key] = f.Value
	}
	return object
}
