package closure

import (
	"context"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// maxCompilers bounds the processes that compile one tree.
const maxCompilers = 4

// compileModules compiles each step-th module of a directory, beginning with one of them, and runs none. What is no
// module of this python, such as a template, is left out. The bytecode is not compared with its source when it is
// loaded: both are compared with their fingerprints before.
const compileModules = `import importlib.util, os, py_compile, sys
site, to, first, step = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
names = sorted(os.path.relpath(os.path.join(d, f), site) for d, _, fs in os.walk(site) for f in fs if f.endswith(".py"))
for name in names[first::step]:
    try:
        cached = os.path.join(to, importlib.util.cache_from_source(name))
        py_compile.compile(os.path.join(site, name), cached, name, True,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    except Exception:
        pass`

// CompilePython writes the bytecode of the modules below the directory site into st, for [StartPython]. It differs
// between releases of python, and is therefore no part of a tree that a lock names.
func CompilePython(ctx context.Context, h *host.Host, rt *project.Runtime, site string, st *store.Staging) error {
	work, remove, err := WorkDir(h, "python-")
	if err != nil {
		return err
	}
	defer remove()
	n := min(runtime.GOMAXPROCS(0), maxCompilers)
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error {
			return runTool(ctx, h, "python", filepath.Base(rt.Path), foreign.Call{
				Tool: foreign.Sealed, Path: rt.Path, Dir: work, Set: HomeVariables(work),
				Args: []string{"-I", "-S", "-B", "-W", "ignore", "-c", compileModules, site, st.Dir(),
					strconv.Itoa(i), strconv.Itoa(n)},
			})
		})
	}
	return group.Wait()
}
