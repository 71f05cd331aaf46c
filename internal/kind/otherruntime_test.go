package kind

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// pythons is an ecosystem on a machine with pythons, by the tags of their wheels, the first one
// python3. A package resolves with those that fits names, and fails otherwise as fails says.
func pythons(t *testing.T, have []string, fits string, fails error) (ecosystem, *workspace.Workspace) {
	t.Helper()
	dir := host.RealPath(t.TempDir())
	var all []*project.Runtime
	for _, tag := range have {
		file := filepath.Join(dir, tag)
		if err := os.WriteFile(file, []byte("a program"), 0o700); err != nil {
			t.Fatal(err)
		}
		all = append(all, &project.Runtime{Path: file, Version: tag})
	}
	w := workspace.Empty(&host.Host{Dir: dir}, filepath.Join(dir, "project"))
	return ecosystem{
		openRuntime: func(ctx context.Context, w *workspace.Workspace, server string, a project.Approval,
			open process.Opener) (*program.Program, error) {
			return openFound(ctx, w, server, a.Path, all[0], open)
		},
		others: func(context.Context, *workspace.Workspace, string, string) iter.Seq[*project.Runtime] {
			return slices.Values(all[1:])
		},
		resolve: func(_ context.Context, _ *host.Host, _ request, rt *project.Runtime) (*project.Closure, error) {
			if strings.HasPrefix(rt.Version, fits) {
				return &project.Closure{Engine: rt.Version}, nil
			}
			return nil, fails
		},
	}, w
}

// TestOtherRuntime: a package that needs another Python is resolved with the first python that fits;
// what fails for another reason is not tried again.
func TestOtherRuntime(t *testing.T) {
	need := &closure.NeedsPythonError{Requires: ">=3.12", Version: "3.11"}
	offline := errors.New("no network")
	for _, c := range []struct {
		fits  string
		fails error
		want  string
	}{
		{"cp311", need, "cp311-x"}, {"cp313", need, "cp313-x"}, {"cp312", need, "cp312-x"},
		{"cp314", need, "needs Python >=3.12; python3 is 3.11"}, {"cp312", offline, "no network"},
	} {
		k, w := pythons(t, []string{"cp311-x", "cp313-x", "cp312-x"}, c.fits, c.fails)
		p, resolved, err := k.openAndResolve(t.Context(), w, "s", "", request{}, process.Open)
		got := ""
		if err != nil {
			got = err.Error()
		} else if got = p.Runtime.Version; resolved.Engine != got {
			t.Errorf("resolved for %s, opened %s", resolved.Engine, got)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.fits, got, c.want)
		}
		p.Close()
	}
}

// TestChosenPython: the version of Python that the command line names is taken, and no other.
func TestChosenPython(t *testing.T) {
	need := &closure.NeedsPythonError{Requires: ">=3.12", Version: "3.11"}
	for _, c := range []struct{ python, fits, want string }{
		{"3.12", "cp3", "cp312-x"}, {"3.11", "cp3", "cp311-x"}, {"3.12", "cp313", need.Error()},
		{"3.9", "cp3", "its command line chooses Python 3.9, which is not on this machine; python3 is 3.11"},
	} {
		k, w := pythons(t, []string{"cp311-x", "cp313-x", "cp312-x"}, c.fits, need)
		p, _, err := k.openAndResolve(t.Context(), w, "s", "", request{python: c.python}, process.Open)
		got := p.Runtime.Version
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
		p.Close()
	}
}

// TestOtherRuntimeOfLocked: where no runtime was approved, a version that the package was installed
// with before comes first, and without one it is that of python3.
func TestOtherRuntimeOfLocked(t *testing.T) {
	for trees, want := range map[string]string{
		"linux/amd64+cp312-cp312-manylinux_2_36_x86_64": "cp312-x", "darwin/arm64+cp311-cp311-macosx": "cp311-x",
		"linux/amd64+cp39-cp39-linux": "cp311-x",
	} {
		k, w := pythons(t, []string{"cp311-x", "cp313-x", "cp312-x"}, "", nil)
		p, err := k.openLocked(t.Context(), Locked{Workspace: w, Server: project.Server{Name: "s"},
			Entry: project.ServerLock{Closure: &project.ClosureLock{Trees: map[string]digest.Digest{trees: {}}}},
		}, process.Open)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Runtime.Version; got != want {
			t.Errorf("%s: %s, want %s", trees, got, want)
		}
		p.Close()
	}
}
