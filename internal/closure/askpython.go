package closure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// pythonProbe reports which python this is. Of each package in its input it chooses the wheel that
// it would install: "" if the marker leaves the package out, null if no wheel fits. It uses the
// library that pip itself uses for rules and platform.
const pythonProbe = `
import importlib, json, os, sys
for base in ("pip._vendor.packaging", "packaging"):
    try:
        tags, markers, utils = (importlib.import_module(base + "." + m) for m in ("tags", "markers", "utils"))
        break
    except ImportError:
        pass
else:
    sys.exit("this python has neither pip nor packaging")
supported = list(tags.sys_tags())
rank = {}
for i, t in enumerate(supported):
    rank.setdefault(t, i)
def choose(package):
    if package["marker"] and not markers.Marker(package["marker"]).evaluate():
        return ""
    fits = []
    for name in package["wheels"]:
        try:
            _, _, build, found = utils.parse_wheel_filename(name)
        except utils.InvalidWheelFilename:
            continue
        ranks = [rank[t] for t in found if t in rank]
        if ranks:
            fits.append((-min(ranks), build, name))
    return max(fits)[2] if fits else None
print(json.dumps({"path": os.path.realpath(sys.executable), "tag": str(supported[0]),
    "version": "%d.%d" % sys.version_info[:2], "chosen": [choose(p) for p in json.load(sys.stdin)]}))
`

// PythonAnswer is what pythonProbe prints.
type PythonAnswer struct {
	Path    string    `json:"path"`
	Tag     string    `json:"tag"`
	Version string    `json:"version"`
	Chosen  []*string `json:"chosen"`
}

// PythonPackage is a package that a python chooses a wheel of.
type PythonPackage struct {
	Marker string   `json:"marker"`
	Wheels []string `json:"wheels"`
}

// AskPython asks a python for its path and version, and which wheel of each package it would install.
func AskPython(ctx context.Context, h *host.Host, python,
	path string, packages []PythonPackage) (*PythonAnswer, error) {
	fault := func(err error) (*PythonAnswer, error) {
		return nil, evidence.Errorf(evidence.Operation, python, silentHint(python, "install pip for this python"), err)
	}
	if packages == nil {
		packages = []PythonPackage{}
	}
	in, err := json.Marshal(packages)
	if err != nil {
		return nil, err
	}
	result, err := Ask(ctx, h, Question{
		Path: python, Set: []string{"PATH=" + path}, Stdin: string(in), Args: []string{"-I", "-B", "-c", pythonProbe},
	})
	if err != nil {
		return fault(fmt.Errorf("%w: %+q", err, strings.TrimSpace(string(result.Messages))))
	}
	a := new(PythonAnswer)
	if err := json.Unmarshal(result.Stdout, a); err != nil || !filepath.IsAbs(a.Path) || a.Tag == "" ||
		len(a.Chosen) != len(packages) {
		return fault(errors.Join(errors.New("is no python"), err))
	}
	return a, nil
}

// FindPython finds python in path, and asks it for its own executable and for the tag of the wheels
// that fit it best, because the file in PATH may be a shim.
func FindPython(ctx context.Context, w *workspace.Workspace, path string) (*project.Runtime, error) {
	found, err := FindAskable(w, path, "install Python", "python3", "python")
	if err != nil {
		return nil, err
	}
	a, err := AskPython(ctx, w.Host, found, path, nil)
	if err != nil {
		return nil, err
	}
	return &project.Runtime{Path: a.Path, Version: a.Tag}, nil
}

// newestPython and oldestPython bound the names python3.N that are looked for in a path.
const newestPython, oldestPython = 20, 8

// OtherPythons yields the pythons that may take the place of the first one of path: each python3.N
// in path from the highest to the lowest, then the one of uv's own that meets requires, such as
// ">=3.12". A python that is missing, that lies in the checkout or that does not answer is left
// out, and so is one that takes the same wheels as one before. Nothing is downloaded.
func OtherPythons(ctx context.Context, w *workspace.Workspace, path, requires string) iter.Seq[*project.Runtime] {
	return func(yield func(*project.Runtime) bool) {
		seen := map[string]bool{}
		try := func(path, name string) bool {
			found, err := FindAskable(w, path, "", name)
			if err != nil {
				return true
			}
			a, err := AskPython(ctx, w.Host, found, path, nil)
			if err != nil || seen[a.Tag] {
				return true
			}
			seen[a.Tag] = true
			return yield(&project.Runtime{Path: a.Path, Version: a.Tag})
		}
		for minor := newestPython; minor >= oldestPython; minor-- {
			if ctx.Err() != nil || !try(path, fmt.Sprintf("python3.%d", minor)) {
				return
			}
		}
		if managed := findManagedPython(ctx, w.Host, requires); managed != "" {
			try(filepath.Dir(managed), filepath.Base(managed))
		}
	}
}

// findManagedPython asks uv which of the pythons that it installed meets requires; "" if none does.
func findManagedPython(ctx context.Context, h *host.Host, requires string) string {
	work, remove, err := WorkDir(h, "ask-")
	if err != nil {
		return ""
	}
	defer remove()
	uv := FindUV(ctx, h, work)
	if uv == "" || requires == "" {
		return ""
	}
	out, err := foreign.Run(ctx, foreign.Call{Tool: foreign.Sealed, Path: uv, Dir: work, Checkout: Checkout(h),
		Environ: h.Environ, Time: foreign.QuestionTime, Output: 64 << 10,
		Set: append(HomeVariables(work), "UV_PYTHON_INSTALL_DIR="+managedPythons(h)),
		Args: []string{"python", "find", "--no-config", "--no-project", "--system", "--no-python-downloads",
			"--python-preference", "only-managed", "--cache-dir", CacheDir(h, "uv", work), requires}})
	found := strings.TrimSpace(string(out.Stdout))
	if err != nil || !filepath.IsAbs(found) || strings.ContainsAny(found, "\r\n") {
		return ""
	}
	return found
}

// managedPythons returns the directory in which uv keeps the pythons that it installed.
func managedPythons(h *host.Host) string {
	if dir := h.Getenv("UV_PYTHON_INSTALL_DIR"); filepath.IsAbs(dir) {
		return dir
	}
	if dir := h.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "uv", "python")
	}
	if dir := h.Getenv("APPDATA"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "uv", "data", "python")
	}
	return filepath.Join(home(h), ".local", "share", "uv", "python")
}

// PythonVersion returns the version of a python, such as "3.12", by the tag of the wheels that fit
// it best; "" if the tag says none.
func PythonVersion(tag string) string {
	interpreter, _, _ := strings.Cut(tag, "-")
	if len(interpreter) < 4 || !strings.HasPrefix(interpreter[2:], "3") {
		return ""
	}
	return "3." + interpreter[3:]
}
