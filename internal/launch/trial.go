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
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// TrialOptions say how a package is tried.
type TrialOptions struct {
	Arguments []string // that the server gets
	Variables []string // names of those that it gets from the environment
	Bin       string   // the executable to start; "" for the one that is meant
	// Next is told what is known, each time that more is: the packed file, the hashes, the document.
	Next func(*Trial)
}

// Trial is what there is to know of a package before it is published. What was not reached is zero.
type Trial struct {
	Ref      artifact.Ref
	File     string // the name of the tarball or wheel
	Packed   bool   // from a directory
	Notes    []string
	Hashes   []serverjson.FileHash
	Document string // the path of the server.json, once it was read
	Written  bool   // it was not there, and is a draft
	Removed  bool   // the draft was, as the trial failed
	Server   string // its name; "" if a draft has none
	Issues   serverjson.Issues
	Owner    policy.Verdict // whether the package says that it is for the server
	Packages int            // that were installed with it, itself among them
	Scripts  []string       // packages whose install scripts were not run
	Verdict  policy.Verdict // of the package file and of what was installed
	Shown    *program.Shown
}

// Try does with a package what its users will do, before it is published: it packs the npm package or Python project in
// the directory path, or takes the tarball or wheel there, hashes it, checks the server.json beside it, or writes one,
// installs the package with what it depends on as pinning does, starts it, and returns what it shows. Nothing is
// published or sent. With an error, the trial says how far it came.
func Try(ctx context.Context, h *host.Host, path string, o TrialOptions) (t *Trial, err error) {
	t = &Trial{}
	next := func() {
		if o.Next != nil {
			o.Next(t)
		}
	}
	work, remove, err := closure.WorkDir(h, "try-")
	if err != nil {
		return t, err
	}
	defer remove()
	info, err := os.Stat(path)
	if err != nil {
		return t, evidence.Errorf(evidence.ClassOf(document.OpenError(path, err)), path, whatIsTried,
			errors.Unwrap(err))
	}
	x := &trying{Trial: t, host: h, path: path, work: work, beside: "."}
	if t.Packed = info.IsDir(); t.Packed {
		x.beside = path
	}
	defer func() {
		if err == nil {
			return
		}
		next()
		if t.Written { // a draft of what does not work would be in the way of the next
			os.Remove(filepath.Join(x.beside, documentFile))
			t.Written, t.Removed, t.Document = false, true, ""
		}
	}()
	if err := x.pack(ctx); err != nil {
		return t, err
	}
	files, err := x.hash(ctx)
	if err != nil {
		return t, err
	}
	next()
	with := *h
	with.Fetch = h.Fetch.WithFiles(files)
	if err := x.readDocument(ctx, &with); err != nil {
		return t, err
	}
	x.notePublished(ctx)
	next()
	return t, x.start(ctx, &with, o, next)
}

// trying is a trial that goes on.
type trying struct {
	*Trial
	host   *host.Host
	path   string // as it was given
	work   string // a directory for this trial alone
	beside string // the directory of the server.json
	file   string // the package's file in work: the user's own stays where it is, and may have any name
}

// documentFile is the name of a server.json.
const documentFile = "server.json"

// pack packs the directory, or copies the file. A draft of the server.json is written before, since it may be packed
// with the rest.
func (x *trying) pack(ctx context.Context) (err error) {
	if x.Packed {
		if _, err := os.Lstat(filepath.Join(x.beside, documentFile)); errors.Is(err, fs.ErrNotExist) {
			if _, err := document.Init(ctx, x.host.Environ, x.beside, nil); err != nil {
				return err
			}
			x.Written = true
		}
		x.file, err = packDirectory(ctx, x.host, x.path, x.work)
		x.File = filepath.Base(x.file)
		return err
	}
	x.File = x.path
	files, err := document.LocalFiles(nil, "", []string{x.path}, "")
	for ref := range files { // one
		name := "package.tgz"
		if file := ref.Filename(); file != "" {
			name = file // by which it is known what it is for
		}
		d, err := x.host.Fetch.WithFiles(files).Fetch(ctx, ref)
		if err != nil {
			return err
		}
		x.file = filepath.Join(x.work, name)
		return d.MoveTo(x.file)
	}
	if err != nil && fetch.CheckBundle(x.path) == nil {
		return evidence.Errorf(evidence.Validation, x.path,
			"unpack it; 'hallmark surface capture -- COMMAND' shows what the command of its manifest.json starts",
			errors.New("is an MCP bundle, and only packages of npm and Python are tried"))
	}
	return notTried(err)
}

// whatIsTried is what leads on from a file that is not.
const whatIsTried = "name the tarball that 'npm pack' makes, a wheel, or the directory of such a package"

// notTried is err for a file that does not say itself that it is a package which can be tried.
func notTried(err error) error {
	if failed := new(evidence.Error); errors.As(err, &failed) {
		failed.Hint = whatIsTried
	}
	return err
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
		rt, err := closure.FindPython(ctx, workspace.Empty(h, abs), h.Getenv("PATH"))
		if err != nil {
			return "", err
		}
		return closure.PackPython(ctx, h, abs, dir, rt)
	}
	return "", evidence.Errorf(evidence.Validation, path, "build it yourself; 'hallmark surface capture -- COMMAND' "+
		"shows what a command starts",
		errors.New("holds neither package.json nor pyproject.toml, and only packages of npm and Python are packed"))
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// hash finds out what the package's file is, and hashes it.
func (x *trying) hash(ctx context.Context) (map[artifact.Ref]string, error) {
	files, err := document.LocalFiles(nil, "", []string{x.file}, "")
	if err != nil {
		return nil, notTried(err)
	}
	for ref := range files {
		x.Ref = ref
	}
	switch {
	case x.Ref.Kind() == artifact.NPM:
		if v, err := fetch.ReadNPMTarball(x.file); err != nil {
			return nil, evidence.Errorf(evidence.Validation, x.path, whatIsTried, err)
		} else if v.Private {
			return nil, evidence.Errorf(evidence.Validation, x.path, "take \"private\" out of package.json, or name "+
				"the package that is published",
				errors.New("says \"private\": true, so that npm does not publish it"))
		}
	case !strings.HasSuffix(x.Ref.Filename(), ".whl"):
		return nil, evidence.Errorf(evidence.Validation, x.path, whatIsTried,
			fmt.Errorf("is %s, and only tarballs of npm and wheels are tried", x.Ref))
	}
	x.Hashes, err = document.HashLocal(ctx, x.host, files)
	return files, err
}

// readDocument reads the server.json and checks it; h fetches with the package's file. Of a file it writes a draft of
// one first, if there is none.
func (x *trying) readDocument(ctx context.Context, h *host.Host) error {
	path := filepath.Join(x.beside, documentFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := document.InitFile(ctx, h.Environ, x.beside, x.Ref, x.file); err != nil {
			return err
		}
		x.Written = true
	}
	name, data, err := document.ReadFile(path, durable.OpenRegular)
	if err != nil {
		return err
	}
	doc, err := serverjson.ParseUnhashed(data) // those of a former release are made anew
	if invalid := new(serverjson.Invalid); errors.As(err, &invalid) {
		x.Issues = invalid.Issues.ForPublish()
	} else if err != nil {
		return evidence.Errorf(evidence.Validation, name, "", err)
	} else {
		doc.AtRegistries(h.Fetch.AsksAt)
		x.Server, x.Issues = doc.Name, append(doc.ValidateForPublish(), doc.OfficialIssues()...)
	}
	x.Document = name
	n := len(x.Issues.Errors())
	if n > 0 && !x.Written {
		return evidence.Errorf(evidence.Validation, name,
			"mend it; '"+host.QuoteArguments([]string{"hallmark", "validate", name})+
				"' looks at it alone", fmt.Errorf("is not valid: %s", evidence.Count(n, "error")))
	}
	if doc == nil {
		return nil
	}
	if !x.Written && !doc.Covers(x.Ref) {
		return evidence.Errorf(evidence.Validation, name, "write the package and its version into the document, or "+
			"try what it names",
			fmt.Errorf("names no package %s, which this is", x.Hashes[0].Key))
	}
	if of := x.Ref.Release().Version(); !x.Written && doc.Version != of {
		x.Notes = append(x.Notes, fmt.Sprintf("%s has the version %s, and the package %s: "+
			"each release of the server needs a version of its own", name, surface.Escape(doc.Version), of))
	}
	x.Owner, err = document.CheckOwner(ctx, h, doc, x.Ref)
	return err
}

// notePublished notes that the registry has the version already: its files do not change any more. What cannot be asked
// is not noted.
func (x *trying) notePublished(ctx context.Context) {
	all, err := x.host.Fetch.Releases(ctx, x.Ref.Release())
	if err == nil && len(all) == 1 && !all[0].Gone {
		x.Notes = append(x.Notes, x.Ref.Release().String()+" is published already: what differs from it needs "+
			"another version")
	}
}

// start installs the package and starts it.
func (x *trying) start(ctx context.Context, h *host.Host, o TrialOptions, next func()) error {
	t, w := x.Trial, workspace.Empty(h, x.work)
	w.Approvals = project.NewApprovals(x.work)
	path := h.Getenv("PATH")
	var report evidence.Report
	judge := func(more evidence.Report) (policy.Admitted, error) {
		t.Verdict = policy.Judge(policy.Pin, policy.Settings{MissingHashes: policy.MissingAllow},
			append(slices.Clone(report), more...))
		return t.Verdict.Admitted(), t.Verdict.Err()
	}
	declared := project.Server{Name: t.Ref.Name(), Type: "stdio", Arguments: o.Arguments, Variables: o.Variables}
	found, err := kind.ResolveFile(ctx, kind.Declaration{Workspace: w, Logs: w.Logs(trail.Options{}), Server: declared,
		Path: path, Judge: judge}, t.Ref, x.file, o.Bin)
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
		failed.Hint = "give it what it needs: --variable NAME passes a variable of yours on, and arguments stand " +
			"behind '--'"
		if len(found.Later) > 0 {
			l := found.Later[0]
			failed.Hint = fmt.Sprintf("it requires %s; if it was written for an earlier version, let it require "+
				"%s<%d; else %s", l, l.Name,
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
