package foreign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// shimTime is how long a version manager may take to say what it would start.
const shimTime = 20 * time.Second

// maxShim is the largest file that can be a shim, in bytes.
const maxShim = 8 << 10

// shimLine finds the version manager that a script hands over to, and its path if that is
// written there.
var shimLine = spelling.Form(
	`(?m)^\s*exec\s+"?((?:[^"\s]*[/\\])?(pyenv|rbenv|nodenv|goenv|jenv|asdf|mise))"?\s+(?:exec|x)\s`)

// ShimManager returns the name of the version manager whose shim lies at path, "" if path is no shim,
// and the path of its program if the shim holds it.
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
	text, err := durable.ReadFile(target, maxShim)
	if err != nil || !strings.HasPrefix(string(text), "#!") {
		return "", ""
	}
	m := shimLine().FindStringSubmatch(string(text))
	if m == nil {
		return "", ""
	}
	if filepath.IsAbs(m[1]) {
		return m[2], m[1]
	}
	return m[2], ""
}

// ResolveShim returns the program that the shim at path starts. It asks the version manager, which
// runs in dir, a directory of ours, and must not be a file of the checkout. A path that is no shim is
// returned unchanged.
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
	out, err := Run(ctx, Call{Tool: Question, Path: program,
		Args: []string{"which", strings.TrimSuffix(filepath.Base(path), ".exe")}, Dir: dir, Checkout: checkout,
		Environ: environ, Time: shimTime, Output: 64 << 10})
	if err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(string(out.Messages)), "\n")
		return "", fmt.Errorf("%s is a shim, and %s does not say what it starts: %w: %+q", path, name, err, said)
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

// Variable returns the value of a variable in environ, of the last one if there are several; "" if there is none.
func Variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if n, v, _ := strings.Cut(environ[i], "="); isSameVariable(n, name) {
			return v
		}
	}
	return ""
}

// HasVariable reports whether environ sets a variable, to an empty value too.
func HasVariable(environ []string, name string) bool {
	return slices.ContainsFunc(environ, func(kv string) bool {
		n, _, ok := strings.Cut(kv, "=")
		return ok && isSameVariable(n, name)
	})
}
