package closure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/surface"
)

// MaxVenv bounds pyvenv.cfg, in bytes.
const MaxVenv = 64 << 10

var pythonName = spelling.Form(`^(python|pypy)w?[0-9.]*(\.exe)?$`)

// IsPython reports whether a file is a python by its name.
func IsPython(file string) bool {
	return pythonName().MatchString(strings.ToLower(filepath.Base(file)))
}

// libraryLoaders are the interpreters that load the library beside them, by their names.
var libraryLoaders = spelling.Form(
	`^(python|pypy|ruby|jruby|perl|php|java|javaw|dotnet|lua|luajit)w?-?[0-9.]*(\.exe)?$`)

// pythonStartPath returns the path under which to start the python that was found at found and is
// exe after all links. It refuses one whose pyvenv.cfg or *._pth lies in the checkout, where these
// choose the directory of Python's whole standard library, and one with a pyvenv.cfg beside it.
func pythonStartPath(w *workspace.Workspace, found, exe string) (string, error) {
	if err := refuseOwnLibrary(w, exe); err != nil {
		return "", err
	}
	for _, from := range []string{found, exe} {
		dir := filepath.Dir(from)
		pth, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*._pth"))
		if err != nil || len(pth) > 0 && w.Contains(pth[0]) {
			return "", errors.Join(err, fmt.Errorf("%s beside it says where its library is", "a file *._pth"))
		}
		beside := filepath.Join(dir, "pyvenv.cfg")
		if _, err := os.Lstat(beside); err == nil {
			return "", fmt.Errorf("remove %s: versions of python differ in whether they read it, or the one above it",
				surface.Escape(beside))
		}
		config := filepath.Join(filepath.Dir(dir), "pyvenv.cfg")
		home, err := venvHome(config)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return "", fmt.Errorf("%s: %w", config, err)
		case w.Contains(home):
			return "", fmt.Errorf("%s takes the standard library from %s, which lies in the project", config,
				surface.Escape(home))
		case (w.Contains(config) || runtime.GOOS != "windows") && !sameDir(home, exe):
			return "", fmt.Errorf("%s takes the standard library from %s, where %s is not", config,
				surface.Escape(home), exe)
		}
		return found, nil
	}
	return exe, nil
}

// refuseOwnLibrary refuses an interpreter that lies in the project, because it would load the
// unverified library beside it.
func refuseOwnLibrary(w *workspace.Workspace, exe string) error {
	if libraryLoaders().MatchString(strings.ToLower(filepath.Base(exe))) && w.Contains(exe) {
		return fmt.Errorf("%s lies in the project, and would load the library beside it, which nobody verified", exe)
	}
	return nil
}

// sameDir reports whether home is the directory of exe, or one whose python is exe.
func sameDir(home, exe string) bool {
	if real, err := filepath.EvalSymlinks(home); err == nil && real == filepath.Dir(exe) {
		return true
	}
	return slices.ContainsFunc([]string{filepath.Base(exe), "python3", "python"}, func(name string) bool {
		return host.RealPath(filepath.Join(home, name)) == exe
	})
}

// SharesPackages reports whether the environment in dir takes the packages of its interpreter, too, as it does unless
// its pyvenv.cfg says otherwise. Versions of Python read that in different ways, so all but one plain "false" counts.
func SharesPackages(dir string) (bool, error) {
	values, err := readVenv(filepath.Join(dir, "pyvenv.cfg"), "include-system-site-packages")
	shares := func(value string) bool { return strings.ToLower(value) != "false" }
	return len(values) == 0 || slices.ContainsFunc(values, shares), err
}

// readVenv returns what the lines of a pyvenv.cfg that begin with a key say.
func readVenv(file, wanted string) (values []string, err error) {
	data, err := host.ReadFile(file, MaxVenv)
	for _, line := range strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' }) {
		key, value, _ := strings.Cut(line, "=")
		if strings.EqualFold(strings.TrimSpace(key), wanted) {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values, err
}

// venvHome returns the directory that a pyvenv.cfg names as its home. Versions of Python read the
// file in different ways, so exactly one line must name it.
func venvHome(file string) (string, error) {
	if _, err := os.Lstat(file); err != nil {
		return "", err
	}
	homes, err := readVenv(file, "home")
	if err != nil {
		return "", err
	}
	if len(homes) != 1 || !filepath.IsAbs(homes[0]) {
		return "", errors.New("it does not name one directory as home")
	}
	return homes[0], nil
}

// escapeGlob escapes a directory for use in a pattern.
func escapeGlob(dir string) string {
	if runtime.GOOS == "windows" {
		return dir // has no escapes, and "*?" in no name
	}
	return regexp.MustCompile(`[\\*?\[]`).ReplaceAllString(dir, `\$0`)
}

// InterpreterPath returns the path under which to start the interpreter that was found at found;
// exe is found after all links.
func InterpreterPath(w *workspace.Workspace, server, found, exe string) (string, error) {
	var err error
	start := found
	if IsPython(found) || IsPython(exe) {
		start, err = pythonStartPath(w, found, exe)
	} else {
		err = refuseOwnLibrary(w, exe)
	}
	if err != nil {
		return "", evidence.Errorf(evidence.Refused, server,
			"name an interpreter of the machine by its path in 'command'", err)
	}
	return start, nil
}

// FindAskable finds the first interpreter in path with one of names, and returns the path under
// which it may be asked for its version before anybody consented: one of the machine itself,
// outside of what a checkout placed around it.
func FindAskable(w *workspace.Workspace, path, hint string, names ...string) (string, error) {
	var found string
	var missing error
	for _, name := range names {
		var err error
		if found, err = Checkout(w.Host).Find(path, name); err == nil {
			break
		}
		if missing == nil || evidence.Worse(evidence.ClassOf(missing),
			evidence.ClassOf(err)) != evidence.ClassOf(missing) {
			missing = err // that there is one which may not be asked says more
		}
	}
	if found == "" {
		return "", NotFoundError(missing, names[0], hint)
	}
	exe, err := filepath.EvalSymlinks(found)
	if err != nil {
		return "", evidence.Errorf(evidence.Operation, found, "", err)
	}
	if name, _ := foreign.ShimManager(found); name != "" {
		return found, nil
	}
	if IsPython(found) || IsPython(exe) {
		if _, err := pythonStartPath(w, exe, exe); err != nil {
			return "", evidence.Errorf(evidence.Refused, found, "put an interpreter of the machine first in PATH", err)
		}
	}
	return exe, nil
}
