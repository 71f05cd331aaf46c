//go:build unix

package main

import (
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(withPrograms{m}, map[string]func(){"request": request})
}

// withPrograms runs tests with the programs of cmd, as they are released, puppet and client in PATH.
type withPrograms struct{ *testing.M }

func (m withPrograms) Run() int {
	for _, pkg := range []string{"cmd/hallmark", "cmd/hallmark-registry", "cmd/mcp-publisher", "cmd/hashfile-mcp",
		"e2e/puppet", "e2e/client"} {
		program, err := built.Path(pkg)
		if err != nil {
			log.Fatal(err)
		}
		if dir := filepath.Dir(program); !slices.Contains(filepath.SplitList(os.Getenv("PATH")), dir) {
			os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		}
	}
	return m.M.Run()
}

// TestScript runs testdata/script/*.txtar. Besides testscript's own commands these
// scripts have programs, started with exec or code: those of cmd, and
//
//	client [-call NAME[=JSON]]... [-caps JSON] PROGRAM [ARGUMENT...]
//	                    be an MCP client of a program: see e2e/client
//	request METHOD URL [FILE]
//	                    send an HTTP request and print the body; status and headers to stderr
//	puppet              an MCP server that shows what a file tells it to, at $PUPPET: see e2e/puppet
//
// and the commands of commands_test.go, registries_test.go and attack_test.go. Each has a npm registry of its
// own, with the packages in the script's directories npm/NAME@VERSION, and HALLMARK_HOME=$WORK/home.
func TestScript(t *testing.T) { testscript.Run(t, scriptParams(t)) }

// scriptParams are those of the scripts.
func scriptParams(t *testing.T) testscript.Params {
	t.Helper()
	puppet, err := exec.LookPath("puppet")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
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
			env.Vars = append(env.Vars, "NPM="+s.URL, "PUPPET="+puppet, "HOME="+home,
				"HALLMARK_HOME="+filepath.Join(env.WorkDir, "home"), "LANG=C.UTF-8")
			return publishAll(s, filepath.Join(env.WorkDir, "npm"))
		},
	}
}

type npmKey struct{}

// TestScriptsSayWhy requires a comment at the head of each script.
func TestScriptsSayWhy(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) < 20 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	for _, name := range scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(data), "# ") {
			t.Errorf("%s does not begin with a comment that says why it is there", name)
		}
	}
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
	for _, manifest := range slices.Concat(found, scoped) {
		if err := publish(s, dir, filepath.Dir(manifest)); err != nil {
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
	"republish": republish,
	"fault":     faulty,
	"asked":     asked,
	"json":      jsonValue,
	"sarif":     sarif,
	"value":     value,
	"sha256":    sha256Of,
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

// TestCommandNames keeps this list and testscript's own apart: testscript prefers its own
// without a word, and its "stop" would end a script there and pass it.
func TestCommandNames(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if slices.Contains(
			[]string{"cd", "chmod", "cmp", "cmpenv", "cp", "env", "exec", "exists", "grep", "kill", "mkdir", "mv", "rm",
				"skip", "stderr", "stdin", "stdout", "stop", "symlink", "ttyin", "ttyout", "unix2dos", "unquote",
				"wait"}, name) {
			t.Errorf("%s hides a command of testscript", name)
		}
	}
}
