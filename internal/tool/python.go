package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
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
		return nil, evidence.Errorf(evidence.Operation, python, "install pip for this python", err)
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
