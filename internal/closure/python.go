package closure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/project"
)

// ResolvePython asks uv, or pip if there is no uv, for the exact versions of the package called
// name and of all its dependencies, as wheels: nothing is built and no code of the packages runs.
// requirements are the requested packages in PEP 508's form. What was uploaded after before is left out; zero leaves
// out nothing.
func ResolvePython(ctx context.Context, h *host.Host, name string, requirements []string, before time.Time,
	rt *project.Runtime) (*project.Closure, error) {
	return resolvePython(ctx, h, name, requirements, before, rt, "")
}

// ResolvePythonFile is [ResolvePython] of the wheel ref in a file on this machine, alone in its directory, which no
// index need have.
func ResolvePythonFile(ctx context.Context, h *host.Host, ref artifact.Ref, file string,
	rt *project.Runtime) (*project.Closure, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, file, "", err)
	}
	defer f.Close()
	sum, _, err := digest.FromReader(f)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, file, "", err)
	}
	c, err := resolvePython(ctx, h, ref.Name(), []string{ref.Name() + "==" + ref.Version()}, time.Time{}, rt, file)
	if err != nil {
		return nil, err
	}
	for i, p := range c.Packages {
		if p.Ref.Normal() != ref.Release() {
			continue
		}
		own, err := artifact.NewPyPI(p.Ref.Name(), p.Ref.Version(), ref.Filename()) // as the resolver spells it
		if err != nil {
			return nil, err
		}
		// An index may have other files of it.
		c.Packages[i].Wheels, c.Packages[i].Integrity = map[artifact.Ref]digest.Digest{own: sum}, []digest.Digest{sum}
	}
	return c, nil
}

// resolvePython is [ResolvePython] where own, if it is not "", is the file of the package itself, alone in its
// directory.
func resolvePython(ctx context.Context, h *host.Host, name string, requirements []string, before time.Time,
	rt *project.Runtime, own string) (*project.Closure, error) {
	work, remove, err := WorkDir(h, "python-")
	if err != nil {
		return nil, err
	}
	defer remove()
	r := &pythonResolver{
		h: h, name: name, subject: "pypi:" + strings.Join(requirements, " "), before: before, rt: rt, own: own,
		work: work, in: filepath.Join(work, "requirements.in"),
	}
	for _, q := range requirements {
		if q == "" || q[0] == '-' || strings.ContainsAny(q, "\n\r\\#/@") {
			return nil, evidence.Errorf(evidence.Refused, r.subject, "",
				fmt.Errorf("%+q is no requirement of a package of the index", q))
		}
	}
	if err := os.WriteFile(r.in, []byte(strings.Join(requirements, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	for _, line := range h.Fetch.IgnoredSettings(artifact.PyPI) {
		h.Logger.Warn(line)
	}
	r.set = append(HomeVariables(work), NetrcVariable(h)...)
	if uv := FindUV(ctx, h, work); uv != "" {
		return r.askUV(ctx, uv)
	}
	return r.askPip(ctx)
}

// pythonResolver is one call of resolvePython.
type pythonResolver struct {
	h             *host.Host
	name, subject string
	before        time.Time
	rt            *project.Runtime
	own           string
	work          string
	in            string   // the file of the requirements
	set           []string // variables
}

// askUV asks uv for the packages, for every platform.
func (r *pythonResolver) askUV(ctx context.Context, uv string) (*project.Closure, error) {
	config, err := r.h.Fetch.UVFile()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(r.work, "uv.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	cutoff, err := uvCutoff(r.h, r.before)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(r.work, "pylock.toml")
	if r.own != "" {
		cutoff = append(cutoff, "--find-links", filepath.Dir(r.own)) // whose files come before those of indexes
	}
	// uv reads a configuration file that is named instead of all others, also those of
	// projects.
	if err := runTool(ctx, r.h, "uv", r.subject,
		foreign.Call{Tool: foreign.UV, Path: uv, Dir: r.work, Set: append(r.set, "UV_NO_PROGRESS=1"),
			Args: slices.Concat([]string{
				"pip", "compile", "--config-file", file, "--cache-dir", CacheDir(r.h, "uv", r.work), "--universal",
				"--only-binary", ":all:", "--generate-hashes",
				"--format", "pylock.toml", "--python", r.rt.Path, "--no-python-downloads",
				"--no-header", "--no-annotate",
				"--quiet", "-o", out, r.in}, cutoff)}); err != nil {
		return nil, withPython(err, r.rt)
	}
	data, err := host.ReadFile(out, project.MaxClosure)
	if err != nil {
		return nil, err
	}
	return r.explain(project.ParsePylock(data, r.name))
}

// askPip asks pip for the packages, for this platform alone.
func (r *pythonResolver) askPip(ctx context.Context) (*project.Closure, error) {
	if err := pipCutoff(r.subject, r.before); err != nil {
		return nil, err
	}
	if r.own != "" { // pip takes the file of an index before one that is only offered
		if err := os.WriteFile(r.in, []byte(r.own+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	r.h.Logger.Warn("there is no uv to ask, so pip is asked what Python packages need, for this platform alone: uv " +
		"takes a fraction of the time, and 'pip install uv' gets it")
	variables, err := r.h.Fetch.PipVariables()
	if err != nil {
		return nil, err
	}
	set := slices.Concat(r.set, variables, []string{"PIP_CONFIG_FILE=" + os.DevNull})
	out := filepath.Join(r.work, "report.json")
	if err := runTool(ctx, r.h, "pip", r.subject,
		foreign.Call{Tool: foreign.Pip, Path: r.rt.Path, Dir: r.work, Set: set, Args: []string{
			"-I", "-B", "-c", indexesOnly, "install", "--dry-run", "--ignore-installed", "--only-binary", ":all:",
			"--cache-dir", CacheDir(r.h, "pip", r.work),
			"--quiet", "--disable-pip-version-check", "--no-input", "--report", out, "-r", r.in}}); err != nil {
		return nil, withPython(err, r.rt)
	}
	data, err := host.ReadFile(out, project.MaxClosure)
	if err != nil {
		return nil, err
	}
	return r.explain(project.ParsePipReport(data, r.name, Python{}.PlatformKey(r.rt)))
}

// explain returns c, or err as the reason why the packages cannot be pinned.
func (r *pythonResolver) explain(c *project.Closure, err error) (*project.Closure, error) {
	if need := newestNeed(err); need != "" {
		return nil, withPython(evidence.Errorf(evidence.Refused, r.subject, "", &NeedsPythonError{Requires: need,
			otherwise: "; or name a version that is for this python"}), r.rt)
	}
	if err != nil {
		return nil, evidence.Errorf(evidence.Refused, r.subject, "",
			fmt.Errorf("its dependencies cannot be pinned: %w", err))
	}
	return c, nil
}

// indexesOnly runs pip with indexes as its only source. A dependency with a URL would otherwise
// make pip start git, or download and build what lies there, which --only-binary does not forbid.
const indexesOnly = `
import runpy, sys
from pip._vendor.packaging import requirements
was = requirements.Requirement.__init__
def init(self, *args, **kwargs):
    was(self, *args, **kwargs)
    if self.url:
        sys.exit("the requirement %r leads to a URL, which is not an index" % str(self))
requirements.Requirement.__init__ = init
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)`

// Python installs wheels.
type Python struct{}

// PlatformKey returns the key of the tag of the wheels that fit python best.
func (Python) PlatformKey(rt *project.Runtime) string { return platformKey(rt.Version) }

// Fetch fetches the wheels of a closure that fit this machine's python into dir, and compares each
// with the closure and with the registry's claims.
func (python Python) Fetch(ctx context.Context, h *host.Host, o Order, dir string) (*Packages, error) {
	c, rt := o.Closure, o.Runtime
	if here := python.PlatformKey(rt); c.Platform != "" && c.Platform != here {
		return nil, evidence.Errorf(evidence.Refused, c.Root.String(),
			"install uv, which resolves for every platform, and pin it again",
			fmt.Errorf("it was resolved by pip for %+q alone, and this is %s", c.Platform, here))
	}
	t := &Packages{dir: dir, Files: map[artifact.Ref]string{}}
	if err := os.Mkdir(filepath.Join(dir, "wheels"), 0o700); err != nil {
		return nil, err
	}
	answer, err := AskPython(ctx, h, rt.Path, h.Getenv("PATH"), wheelQuestions(c))
	if err != nil {
		return nil, err
	}
	all, root, err := chosenWheels(o, answer.Chosen)
	if err != nil {
		return nil, err
	}
	t.Ref = root
	if t.Ref.IsZero() {
		return nil, evidence.Errorf(evidence.Refused, c.Root.String(), "", fmt.Errorf("is not for %s", rt.Version))
	}
	for _, s := range all {
		t.Files[s.Ref] = filepath.Join("wheels", s.Ref.Filename())
	}
	t.read = make([]*fetch.Wheel, len(all))
	t.Report, err = document.ObserveAll(ctx, h.Fetch, all, func(i int, d *fetch.Download) error {
		name := filepath.Join(dir, t.Files[all[i].Ref])
		if err := d.MoveTo(name); err != nil {
			return err
		}
		wheel, err := fetch.ReadWheel(name, all[i].Ref)
		if err != nil {
			return err
		}
		t.read[i] = wheel
		if all[i].Ref == t.Ref { // only this call writes these fields
			t.Observed, t.Wheel = d.Observed, wheel
		}
		return nil
	})
	return t, err
}

// wheelQuestions returns what python is asked about each package of a closure.
func wheelQuestions(c *project.Closure) (questions []PythonPackage) {
	for _, p := range c.Packages {
		q := PythonPackage{Marker: p.Marker}
		for ref := range p.Wheels {
			q.Wheels = append(q.Wheels, ref.Filename())
		}
		slices.Sort(q.Wheels)
		questions = append(questions, q)
	}
	return questions
}

// chosenWheels returns the wheels of an order that python chose, with what the closure claims of each, and that of the
// root; the zero value if none of that was chosen.
func chosenWheels(o Order, chosen []*string) (all []*document.Subject, root artifact.Ref, err error) {
	for i, p := range o.Closure.Packages {
		switch file := chosen[i]; {
		case file == nil:
			return nil, root, evidence.Errorf(evidence.Refused, p.Ref.String(),
				"put a python3.N that it has wheels for into PATH, or run 'uv python install 3.N'; then try again",
				fmt.Errorf("has no wheel for %s", o.Runtime.Version))
		case *file == "":
		default:
			ref, err := artifact.NewPyPI(p.Ref.Name(), p.Ref.Version(), *file)
			if err != nil {
				return nil, root, err
			}
			all = append(all, &document.Subject{Ref: ref, Claims: []evidence.Claim{{
				Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Lock,
				Want: []digest.Digest{p.Wheels[ref]}, Where: o.Where,
			}}})
			if p.Ref.Normal() == o.Closure.Root.Normal() {
				root = ref
			}
		}
	}
	return all, root, nil
}

// Install unpacks the wheels of t into st, as uv would, without what differs between machines: see
// [fetch.InstallWheels]. No code runs, and no installer: uv and pip do not install the same from every wheel.
func (Python) Install(ctx context.Context, h *host.Host, o Order, t *Packages, st *store.Staging) error {
	site := filepath.Join(st.Dir(), "site-packages")
	if err := os.Mkdir(site, 0o755); err != nil {
		return err
	}
	shared, err := fetch.InstallWheels(ctx, t.read, t.Ref, site)
	for _, s := range shared {
		h.Logger.Warn(fmt.Sprintf("%s has another %s than %s; that of %[1]s is taken", s.By, wire.Quoted(s.Path),
			s.Instead))
	}
	return err
}

// StartPython puts the packages of a slot into python's path, behind its own library, and calls the
// entry point. "-S" keeps all other directories of packages out of the path. The bytecode of the packages is read from
// another directory, if that is not "", and from nowhere else.
const StartPython = `import functools, importlib, importlib.machinery as machinery, os, site, sys
directory, bytecode, entry, *sys.argv = sys.argv[1:]
class Loader(machinery.SourceFileLoader):
    def get_data(self, path):
        if path.endswith(".pyc"):
            if sys.pycache_prefix:
                path, name = os.path.split(path[len(sys.pycache_prefix):])
                path = os.path.join(path, "__pycache__", name)
            path = bytecode + path[len(directory):]
        return super().get_data(path)
find = machinery.FileFinder.path_hook((machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (Loader, machinery.SOURCE_SUFFIXES), (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES))
def hook(path):
    if path != directory and not path.startswith(directory + os.sep):
        raise ImportError
    return find(path)
if bytecode:
    sys.path_hooks.insert(0, hook)
site.setquit(); site.setcopyright(); site.sethelper()
site.addsitedir(directory)
module, _, name = entry.partition(":")
sys.exit(functools.reduce(getattr, name.split("."), importlib.import_module(module))())`

// EntryPoint chooses the console script that starts the package at the root: the named one, the only one, or the one
// with the package's name. As with uvx, one that it lacks may be of another of the packages: what "pip install fastmcp"
// installs has its command in a package that it requires.
func (t *Packages) EntryPoint(bin string) (string, error) {
	plain := func(s string) string { return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(s)) }
	name, own := cmp.Or(bin, t.Ref.Name()), t.Wheel.Scripts
	if own[name] != "" {
		return own[name], nil
	}
	var found []string
	if bin == "" {
		for script, target := range own {
			if len(own) == 1 || plain(script) == plain(name) {
				found = append(found, target)
			}
		}
	}
	if bin != "" || len(own) == 0 {
		for _, w := range t.read {
			if target := w.Scripts[name]; target != "" && !slices.Contains(found, target) {
				found = append(found, target)
			}
		}
	}
	if len(found) != 1 {
		return "", evidence.Errorf(evidence.Validation, t.Ref.String(),
			"name the executable with 'uvx --from PACKAGE EXECUTABLE'",
			errors.New("has no console script to start, or several"))
	}
	return found[0], nil
}
