package hallmark

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/surface"
)

// working makes a directory for a foreign program, below the user's own cache: nobody else
// can put configuration above it.
func (h *Host) working(pattern string) (dir string, remove func(), err error) {
	parent := ""
	if h.Places.Cache != "" {
		parent = filepath.Join(h.Places.Cache, "work")
	}
	return foreign.MakeDir(parent, pattern)
}

// kept is the directory of ours in which a tool keeps what can be fetched again; dir if the
// host has no place for it.
func (h *Host) kept(tool, dir string) string {
	if h.Places.Cache == "" {
		return filepath.Join(dir, "cache")
	}
	return filepath.Join(h.Places.Cache, tool)
}

// checkout is that of the project which a flow is for.
func (h *Host) checkout() foreign.Checkout {
	return foreign.FindCheckout(h.Dir, h.home())
}

func (h *Host) home() string { return cmp.Or(h.Getenv("HOME"), h.Getenv("USERPROFILE")) }

// findTool finds a program of the user's in PATH, and behind a version manager's shim: a
// shim needs the user's home, where the program itself must find none of its settings.
func (h *Host) findTool(ctx context.Context, name, dir string) (string, error) {
	found, err := h.checkout().Find(h.Getenv("PATH"), name)
	if err != nil {
		return "", err
	}
	return foreign.ResolveShim(ctx, found, dir, h.Environ, h.checkout())
}

// unfound is the error of a program that was not found, with how to get it; that there is
// one which may not be started says more.
func unfound(err error, subject, hint string) error {
	if evidence.ClassOf(err) == evidence.Refused {
		return err
	}
	return evidence.Errorf(evidence.Operation, subject, hint, err)
}

// findUV is the user's uv; "" if there is none, and pip does what it would.
func (h *Host) findUV(ctx context.Context, dir string) string {
	uv, err := h.findTool(ctx, "uv", dir)
	if evidence.ClassOf(err) == evidence.Refused {
		h.Logger.Warn("pip is asked in place of uv: " + err.Error())
	}
	return uv
}

// own are the variables that make dir a program's home and its place for temporary files.
func own(dir string) []string {
	return []string{"HOME=" + dir, "USERPROFILE=" + dir, "APPDATA=" + dir, "LOCALAPPDATA=" + dir, "TMPDIR=" + dir, "TEMP=" + dir, "TMP=" + dir}
}

// netrc is the file of the user's logins, for tools whose home is another: "NETRC=..." or
// nothing.
func (h *Host) netrc() []string {
	home := h.home()
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

// ask puts a question to an interpreter of the user's: what it prints.
func (h *Host) ask(ctx context.Context, path string, set []string, stdin string, args ...string) (foreign.Result, error) {
	dir, remove, err := h.working("ask-")
	if err != nil {
		return foreign.Result{}, err
	}
	defer remove()
	call := foreign.Call{Tool: foreign.Question, Path: path, Args: args, Dir: dir, Checkout: h.checkout(), Environ: h.Environ, Set: set, Time: foreign.QuestionTime, Output: 16 << 20}
	if stdin != "" {
		call.Stdin = strings.NewReader(stdin)
	}
	return foreign.Run(ctx, call)
}

// shimHint names the program behind a version manager's shim, for the hint of a refusal; it
// is "" if path is no shim.
func (w *workspace) shimHint(path string) string {
	name, _ := foreign.ShimManager(path)
	if name == "" {
		return ""
	}
	dir, remove, err := w.host.working("ask-")
	if err != nil {
		return ""
	}
	defer remove()
	// The question has a limit of its own.
	behind, err := foreign.ResolveShim(context.Background(), path, dir, w.host.Environ, w.host.checkout())
	if err != nil {
		return "it is a shim of " + name + "; write what '" + name + " which " + filepath.Base(path) + "' says into 'command'"
	}
	return "it is a shim of " + name + "; write command = " + `"` + surface.Escape(behind) + `"`
}
