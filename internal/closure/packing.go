package closure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// PackNPM packs the npm package in the absolute directory dir as npm does when it publishes, and returns the tarball
// that lies in to then. npm runs the package's own scripts, such as prepack, with the user's home.
func PackNPM(ctx context.Context, h *host.Host, dir, to string) (string, error) {
	if err := runNPM(ctx, h, dir, foreign.Call{Tool: foreign.NPM, Dir: dir, Set: []string{"HOME=" + h.Getenv("HOME")},
		Args: []string{"pack", "--pack-destination", to, "--loglevel=error"}}); err != nil {
		return "", packingError(err, "npm pack")
	}
	return onlyFile(to, ".tgz")
}

// PackPython builds the wheel of the Python project in the absolute directory dir into to, with uv or pip, and returns
// it. What builds it is fetched from the user's index, and runs, as the project's own code may.
func PackPython(ctx context.Context, h *host.Host, dir, to string, rt *project.Runtime) (string, error) {
	work, remove, err := WorkDir(h, "python-")
	if err != nil {
		return "", err
	}
	defer remove()
	set := append(HomeVariables(work), NetrcVariable(h)...)
	if uv := FindUV(ctx, h, work); uv != "" {
		config, err := h.Fetch.UVFile()
		if err != nil {
			return "", err
		}
		file := filepath.Join(work, "uv.toml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			return "", err
		}
		err = runTool(ctx, h, "uv", dir, foreign.Call{Tool: foreign.UV, Path: uv, Dir: dir,
			Set: append(set, "UV_NO_PROGRESS=1"),
			Args: []string{"build", "--wheel", "--config-file", file, "--cache-dir", CacheDir(h, "uv", work),
				"--python", rt.Path, "--no-python-downloads", "--out-dir", to, dir}})
		if err != nil {
			return "", packingError(err, "uv build")
		}
		return onlyFile(to, ".whl")
	}
	variables, err := h.Fetch.PipVariables()
	if err != nil {
		return "", err
	}
	set = slices.Concat(set, variables, []string{"PIP_CONFIG_FILE=" + os.DevNull})
	if err := runTool(ctx, h, "pip", dir, foreign.Call{Tool: foreign.Pip, Path: rt.Path, Dir: work, Set: set,
		Args: []string{"-I", "-B", "-m", "pip", "wheel", "--no-deps", "--quiet", "--disable-pip-version-check",
			"--no-input",
			"--cache-dir", CacheDir(h, "pip", work), "-w", to, dir}}); err != nil {
		return "", packingError(err, "pip wheel .")
	}
	return onlyFile(to, ".whl")
}

// packingError leads on where a command that packs failed for a reason that is the package's.
func packingError(err error, command string) error {
	if failed := new(evidence.Error); errors.As(err, &failed) && failed.Hint == "" {
		failed.Hint = "see that '" + command + "' works there; a package's build tools may have to be installed first"
	}
	return err
}

// onlyFile returns the only file of dir whose name ends so.
func onlyFile(dir, end string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), end) && e.Type().IsRegular() {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if len(found) != 1 {
		return "", evidence.Errorf(evidence.Operation, "", "pack it yourself, and name the file",
			fmt.Errorf("packing made %s %s", evidence.Count(len(found), "file"), end))
	}
	return found[0], nil
}
