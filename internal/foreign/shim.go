package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/beneath"
)

// shimTime is how long a version manager may take to say what it would start.
const shimTime = 20 * time.Second

// maxShim is the largest file that can be a shim, in bytes.
const maxShim = 8 << 10

// shimLine finds the version manager that a script hands over to, and its path if that is
// written there.
var shimLine = regexp.MustCompile(`(?m)^\s*exec\s+"?((?:[^"\s]*[/\\])?(pyenv|rbenv|nodenv|goenv|jenv|asdf|mise))"?\s+(?:exec|x)\s`)

// ShimManager names the version manager whose shim lies at path, and says where its program is
// if the shim does: "" if it is no shim.
func ShimManager(path string) (name, program string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", ""
	}
	switch base := strings.TrimSuffix(filepath.Base(target), ".exe"); {
	case base == "volta-shim":
		return "volta", filepath.Join(filepath.Dir(target), "volta")
	case base == "mise" && filepath.Base(path) != "mise":
		return "mise", target
	}
	f, err := beneath.Open(target)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > maxShim {
		return "", ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxShim))
	if err != nil || !strings.HasPrefix(string(text), "#!") {
		return "", ""
	}
	m := shimLine.FindStringSubmatch(string(text))
	if m == nil {
		return "", ""
	}
	if filepath.IsAbs(m[1]) {
		return m[2], m[1]
	}
	return m[2], ""
}

// ResolveShim is the program that the shim at path would start from dir, a directory of ours: its
// version manager is asked, which is no program of the checkout either. A path that is no shim
// is returned as it is.
func ResolveShim(ctx context.Context, path, dir string, environ []string, checkout Checkout) (string, error) {
	name, program := ShimManager(path)
	if name == "" {
		return path, nil
	}
	if program == "" {
		var err error
		if program, err = checkout.Find(Variable(environ, "PATH"), name); err != nil {
			return "", fmt.Errorf("%s is a shim of %s, which is not there: %w", path, name, err)
		}
	}
	out, err := Run(ctx, Call{Tool: Question, Path: program, Args: []string{"which", strings.TrimSuffix(filepath.Base(path), ".exe")}, Dir: dir, Checkout: checkout, Environ: environ, Time: shimTime, Output: 64 << 10})
	if err != nil {
		return "", fmt.Errorf("%s is a shim, and %s does not say what it starts: %w", path, name, err)
	}
	found := strings.TrimSpace(string(out.Stdout))
	if !filepath.IsAbs(found) || strings.ContainsAny(found, "\r\n") {
		return "", fmt.Errorf("%s is a shim, and %s does not say what it starts", path, name)
	}
	if again, _ := ShimManager(found); again != "" {
		return "", errors.New(path + " is a shim of another shim")
	}
	return found, nil
}

// Variable is that of a variable in environ.
func Variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if n, v, _ := strings.Cut(environ[i], "="); isSameVariable(n, name) {
			return v
		}
	}
	return ""
}

// HasVariable reports whether environ has a variable, if with an empty value.
func HasVariable(environ []string, name string) bool {
	return slices.ContainsFunc(environ, func(kv string) bool {
		n, _, ok := strings.Cut(kv, "=")
		return ok && isSameVariable(n, name)
	})
}
