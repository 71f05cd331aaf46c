package local

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/executable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// sitePackages is a directory in which python finds packages. It leaves out compiled code, which python
// is kept from reading, and files that differ between two installations of the same packages.
var sitePackages = &treeKind{skip: func(rel string, dir bool) bool {
	in, name := path.Split(rel)
	switch {
	case dir:
		return name == "__pycache__"
	case in == "":
		return name == ".lock"
	}
	return strings.HasSuffix(in, ".dist-info/") && strings.Count(in, "/") == 1 &&
		slices.Contains(closure.InstallerNotes, name)
}}

// siteDirectories are where environments have their packages, on all systems and with all pythons.
var siteDirectories = []string{"lib/*/site-packages", "lib64/*/site-packages", "lib/site-packages", "Lib/site-packages",
	"site-packages",
	"lib/*/dist-packages", "local/lib/*/dist-packages"}

// findEnvironment returns the environment of python in the project whose interpreter is started, "" if
// there is none.
func findEnvironment(w *workspace.Workspace, p *program.Program) string {
	for _, image := range []*executable.Image{p.Executable, p.Interpreter} {
		if image == nil {
			continue
		}
		for _, name := range image.Chain {
			for _, dir := range []string{filepath.Dir(name), filepath.Dir(filepath.Dir(name))} {
				if _, err := os.Lstat(filepath.Join(dir, "pyvenv.cfg")); err == nil && w.Contains(dir) {
					return dir
				}
			}
		}
	}
	return ""
}

// addEnvironment adds what python loads from an environment of the project: its packages, and what the
// *.pth files among them name, which python reads when it starts.
func (r *readSet) addEnvironment(dir string) error {
	for _, pattern := range siteDirectories {
		sites, err := filepath.Glob(filepath.Join(tool.EscapeGlob(dir), filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		for _, site := range sites {
			err := r.addTree(site, sitePackages)
			if err == nil {
				err = r.findAddedPaths(site)
			}
			if err != nil {
				return evidence.Errorf(evidence.Refused, r.p.Server,
					"declare the server as a package, whose dependencies are locked one by one: command = \"uvx\"",
					fmt.Errorf("the packages of its environment cannot be covered: %w", err))
			}
		}
	}
	return nil
}

// findAddedPaths adds the files and modules that *.pth files name, and the modules by which setuptools
// finds packages that are edited in place.
func (r *readSet) findAddedPaths(site string) error {
	entries, err := os.ReadDir(site)
	if err != nil {
		return err
	}
	for _, e := range entries {
		editable := strings.HasPrefix(e.Name(), "__editable__") && strings.HasSuffix(e.Name(), ".py")
		if !editable && !strings.HasSuffix(e.Name(), ".pth") {
			continue
		}
		data, err := host.ReadFile(filepath.Join(site, e.Name()), tool.MaxVenv)
		if err != nil {
			return err
		}
		var names []string
		if editable {
			names = findAbsolutePaths(data)
		} else {
			names = parsePathLines(data)
		}
		for _, name := range names {
			name = filepath.Clean(r.w.Absolute(site, name))
			if inside, err := filepath.Rel(site, name); err == nil && filepath.IsLocal(inside) {
				continue // it is part of the tree
			}
			if info, err := os.Stat(name); err != nil || !info.IsDir() {
				_, err = r.addFile(name)
				if err != nil {
					return err
				}
				continue
			}
			if real := host.RealPath(name); !r.walked[real] {
				r.walked[real] = true
				if err := r.addPythonModules(real, 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// parsePathLines returns the lines of a *.pth file that are paths. Lines that begin with "import" are code,
// which is hashed with the file.
func parsePathLines(data []byte) (out []string) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for _, line := range strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimRight(line, " \t\v\f")
		if line == "" || line[0] == '#' || strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "import\t") ||
			strings.ContainsRune(line, 0) {
			continue
		}
		out = append(out, line)
	}
	return out
}

// findAbsolutePaths returns the absolute paths among the texts in quotes of a module of python.
func findAbsolutePaths(data []byte) (out []string) {
	for _, l := range findLiterals(data, '#') {
		if filepath.IsAbs(l.text) && len(out) < maxFound {
			out = append(out, l.text)
		}
	}
	return out
}
