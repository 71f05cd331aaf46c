package closure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/surface"
)

// noise matches the lines of npm's output that say where in npm's own code an error came from.
var noise = spelling.Form(`^npm (?:error|ERR!)(?: Log files were not written.*| {2,}at .*| {2,}\w+: .*| \})?\s*$`)

// OutputDetail formats a program's output for the detail of an error. It omits npm's lines about
// npm's own code.
func OutputDetail(program string, output []byte) string {
	var detail strings.Builder
	for line := range strings.Lines(string(output)) {
		if noise().MatchString(line) {
			continue
		}
		fmt.Fprintf(&detail, "  %s: %s\n", program, surface.Escape(strings.TrimRight(line, "\r\n")))
	}
	return detail.String()
}

// WorkDir makes a directory for a foreign program, below the user's own cache, so that no other
// user can place configuration above it.
func WorkDir(h *host.Host, pattern string) (dir string, remove func(), err error) {
	parent := ""
	if h.Places.Cache != "" {
		parent = filepath.Join(h.Places.Cache, "work")
	}
	return foreign.MakeDir(parent, pattern)
}

// CacheDir returns the directory below Hallmark's cache in which a tool keeps what can be fetched
// again, or one below dir if the host has no cache.
func CacheDir(h *host.Host, tool, dir string) string {
	if h.Places.Cache == "" {
		return filepath.Join(dir, "cache")
	}
	return filepath.Join(h.Places.Cache, tool)
}

// Checkout returns the checkout around the host's directory: programs inside it are not started.
func Checkout(h *host.Host) foreign.Checkout {
	return foreign.FindCheckout(h.Dir, home(h))
}

// home returns the user's home directory.
func home(h *host.Host) string { return cmp.Or(h.Getenv("HOME"), h.Getenv("USERPROFILE")) }

// Find finds one of the user's programs in PATH, and behind a version manager's shim. A shim gets
// the user's home; the program itself must not, so that it reads none of its settings there.
func Find(ctx context.Context, h *host.Host, name, dir string) (string, error) {
	found, err := Checkout(h).Find(h.Getenv("PATH"), name)
	if err != nil {
		return "", err
	}
	behind, err := foreign.ResolveShim(ctx, found, dir, h.Environ, Checkout(h))
	if err != nil && evidence.ClassOf(err) != evidence.Refused {
		err = evidence.Errorf(evidence.Operation, name, silentHint(found, ""), err)
	}
	return behind, err
}

// silentHint is the hint of an error for a program that does not answer a question; otherwise, if it is no shim.
func silentHint(path, otherwise string) string {
	manager, _ := foreign.ShimManager(path)
	if manager == "" {
		return otherwise
	}
	return fmt.Sprintf("run '%s which %s' in your home directory: it must name the program there, "+
		"without a project's file of versions", manager, filepath.Base(path))
}

// NotFoundError returns the error for a program that was not found, with a hint how to get it. If
// the program was found but cannot be started, it returns that error unchanged.
func NotFoundError(err error, subject, hint string) error {
	if !errors.Is(err, foreign.ErrNotFound) || errors.As(err, new(*evidence.Error)) {
		return err
	}
	return evidence.Errorf(evidence.Operation, subject, hint, err)
}

// FindUV finds the user's uv; "" if there is none, in which case pip is used.
func FindUV(ctx context.Context, h *host.Host, dir string) string {
	uv, err := Find(ctx, h, "uv", dir)
	if err != nil && !errors.Is(err, foreign.ErrNotFound) {
		h.Logger.Warn("pip is asked in place of uv: " + err.Error())
	}
	return uv
}

// HomeVariables returns the variables that make dir a program's home and its place for temporary
// files.
func HomeVariables(dir string) []string {
	return []string{"HOME=" + dir, "USERPROFILE=" + dir, "APPDATA=" + dir, "LOCALAPPDATA=" + dir, "TMPDIR=" + dir,
		"TEMP=" + dir, "TMP=" + dir}
}

// NetrcVariable returns the variable that names the user's file of logins, for tools that run with
// another home: "NETRC=..." or nothing.
func NetrcVariable(h *host.Host) []string {
	home := home(h)
	for _, path := range []string{h.Getenv("NETRC"), filepath.Join(home, ".netrc"), filepath.Join(home, "_netrc")} {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return []string{"NETRC=" + path}
		}
	}
	return nil
}

// Question is a question to one of the user's interpreters.
type Question struct {
	Path  string   // of the interpreter
	Set   []string // variables, "NAME=VALUE"
	Stdin string
	Args  []string
}

// Ask runs one of the user's interpreters to answer a question, and returns its output.
func Ask(ctx context.Context, h *host.Host, q Question) (foreign.Result, error) {
	dir, remove, err := WorkDir(h, "ask-")
	if err != nil {
		return foreign.Result{}, err
	}
	defer remove()
	return foreign.Run(ctx, foreign.Call{Tool: foreign.Question, Path: q.Path, Args: q.Args, Dir: dir,
		Checkout: Checkout(h), Environ: h.Environ, Set: q.Set, Stdin: strings.NewReader(q.Stdin),
		Time: foreign.QuestionTime, Output: 16 << 20})
}

// ShimHint names the program behind a version manager's shim, for the hint of a refusal; it is ""
// if path is no shim.
func ShimHint(w *workspace.Workspace, path string) string {
	name, _ := foreign.ShimManager(path)
	if name == "" {
		return ""
	}
	dir, remove, err := WorkDir(w.Host, "ask-")
	if err != nil {
		return ""
	}
	defer remove()
	// ResolveShim has a time limit of its own.
	behind, err := foreign.ResolveShim(context.Background(), path, dir, w.Host.Environ, Checkout(w.Host))
	if err != nil {
		return "it is a shim of " + name + "; write what '" + name + " which " + filepath.Base(path) +
			"' says into 'command'"
	}
	return "it is a shim of " + name + "; write command = " + `"` + surface.Escape(behind) + `"`
}
