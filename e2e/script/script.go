//go:build unix

// Package script runs scripts of the command line, which are in testdata/script of the room that they test:
//
//	func TestScript(t *testing.T) { script.Run(t) }
//
// Besides testscript's own commands they have programs, started with exec or code: those of cmd, and
//
//	client [-call NAME[=JSON]]... [-caps JSON] PROGRAM [ARGUMENT...]
//	                    be an MCP client of a program: see e2e/client
//	request METHOD URL [FILE]
//	                    send an HTTP request and print the body; status and headers to stderr
//	puppet              an MCP server that shows what a file tells it to, at $PUPPET: see e2e/puppet
//
// and the commands of commands.go, registries.go and attack.go. Each has a npm registry of its
// own, $NPM, which is https://$NPM_ADDR, with the packages in the script's directories npm/NAME@VERSION, and
// HALLMARK_HOME=$WORK/home.
package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/memory"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
)

// Run runs testdata/script/*.txtar of the package that is tested. With -short, as under the race detector, it runs
// none: programs are not compiled with it.
func Run(t *testing.T) {
	if testing.Short() {
		t.Skip("starts programs")
	}
	memory.Use(t)
	p := params(t)
	p.Dir = filepath.Join("testdata", "script")
	testscript.Run(t, p)
}

// programs are those that scripts start.
var programs = []string{"cmd/hallmark", "cmd/hallmark-registry", "cmd/mcp-publisher", "cmd/hashfile-mcp", "e2e/client",
	"e2e/puppet", "e2e/request"}

var setPath = sync.OnceValue(func() error {
	all, err := built.Paths(programs...)
	if err != nil {
		return err
	}
	path := os.Getenv("PATH")
	for _, program := range all {
		if dir := filepath.Dir(program); !slices.Contains(filepath.SplitList(path), dir) {
			path = dir + string(filepath.ListSeparator) + path
		}
	}
	return os.Setenv("PATH", path)
})

// SetPath puts the programs of cmd, client, puppet and request into this process's PATH.
func SetPath(t *testing.T) {
	t.Helper()
	if err := setPath(); err != nil {
		t.Fatal(err)
	}
}

// params are the parameters of all scripts.
func params(t *testing.T) testscript.Params {
	t.Helper()
	SetPath(t)
	puppet, err := exec.LookPath("puppet")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands,
		Setup: func(env *testscript.Env) error {
			s, err := npmtest.New()
			if err != nil {
				return err
			}
			env.Defer(s.Close)
			env.Defer(func() { writable(env.WorkDir) })
			env.Values[npmKey{}] = s
			authority := filepath.Join(env.WorkDir, ".authority.pem")
			if err := os.WriteFile(authority, s.Authority(), 0o600); err != nil {
				return err
			}
			home := filepath.Join(env.WorkDir, ".user")
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			env.Vars = append(env.Vars, s.Environ(authority)...)
			env.Vars = append(env.Vars, "NPM="+s.URL, "NPM_ADDR="+strings.TrimPrefix(s.URL, "https://"),
				"PUPPET="+puppet, "HOME="+home, "HALLMARK_HOME="+filepath.Join(env.WorkDir, "home"), "LANG=C.UTF-8")
			return publishAll(s, filepath.Join(env.WorkDir, "npm"))
		},
	}
}

type npmKey struct{}

// Find gives all scripts of the module, whose directory is root, by their paths.
func Find(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || path == filepath.Join(root, "bin")):
			return filepath.SkipDir
		case filepath.Ext(path) == ".txtar":
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// publishAll publishes the packages below dir: directories NAME@VERSION or
// @SCOPE/NAME@VERSION with a package.json, of which name and version are filled in.
func publishAll(s *npmtest.Server, dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "*@*", "package.json"))
	if err != nil {
		return err
	}
	scoped, err := filepath.Glob(filepath.Join(dir, "@*", "*@*", "package.json"))
	if err != nil {
		return err
	}
	at := time.Now().AddDate(0, 0, -30) // what a script has at its beginning is no news
	for i, manifest := range slices.Concat(found, scoped) {
		if err := publish(s, dir, filepath.Dir(manifest), at.Add(time.Duration(i)*time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// writable undoes the read-only modes of a store, so that the directory can be removed.
func writable(dir string) {
	filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
}

// commands are those that scripts have besides testscript's own.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"code":      code,
	"approve":   approve,
	"registry":  startRegistry,
	"terminate": terminate,
	"serve":     serve,
	"republish": republish,
	"deprecate": deprecate,
	"unpublish": unpublish,
	"fault":     faulty,
	"asked":     asked,
	"json":      jsonValue,
	"sarif":     sarif,
	"value":     value,
	"sha256":    sha256Of,
	"zip":       zipOf,
	"find":      find,
	"flip":      flip,
	"edit":      edit,
	"expand":    expand,
	"append":    appendTo,
	"remember":  remember,
	"unchanged": unchanged,
	"plain":     plain,

	"forge":       forge,
	"raced":       raced,
	"interrupted": interrupted,
}
