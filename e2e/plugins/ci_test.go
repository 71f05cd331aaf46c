//go:build unix

package plugins

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// TestPluginRecipe runs the commands of docs/plugin-host.md, "In CI", as they stand there: in a shell, and those
// of the workflow step after step. Both end with signed plugins that their host accepts, and each fails where
// a plugin imports what is not bundled.
func TestPluginRecipe(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/plugin-host.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(document), "\n### In CI\n")
	section, _, ended := strings.Cut(section, "\n## ")
	block := func(language string) string {
		t.Helper()
		m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(section)
		if m == nil {
			t.Fatalf("no %s in the section", language)
		}
		return m[1]
	}
	if !found || !ended {
		t.Fatal("the section is not there")
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses, Name, Run string
				With, Env       map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(block("yaml")), &workflow); err != nil || len(workflow.Jobs["plugins"].Steps) != 7 {
		t.Fatalf("%v: %+v", err, workflow)
	}
	// As GitHub runs a step where no shell is named.
	workflowShell := []string{"-e", "-c"}
	tools := filepath.Dir(world.Build(t, "hallmark"))
	key := filepath.Join(t.TempDir(), "k.pem")
	if code, out := world.InDir(t, ".", os.Environ(), "openssl", "genpkey", "-algorithm", "ed25519", "-out",
		key); code != 0 {
		t.Fatal(out)
	}
	secret, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(dir string, env []string) (int, string){
		"shell": func(dir string, env []string) (int, string) {
			return world.InDir(t, dir, append(env, "PLUGIN_KEY_FILE="+key), "sh", "-c", block("sh"))
		},
		"workflow": func(dir string, env []string) (code int, output string) {
			for _, s := range workflow.Jobs["plugins"].Steps {
				if s.Uses != "" {
					if !world.PinnedUse.MatchString(s.Uses) && s.Uses != "actions/checkout@v4" {
						t.Errorf("uses %s", s.Uses)
					}
					continue
				}
				if strings.Contains(s.Run, "${{") {
					t.Errorf("a script has an expression in it:\n%s", s.Run)
				}
				own := env
				for name, value := range s.Env {
					if value != "${{ secrets.PLUGIN_KEY }}" {
						t.Errorf("%s is %s", name, value)
					}
					own = append(own, name+"="+strings.TrimSpace(string(secret)))
				}
				code, out := world.InDir(t, dir, own, "bash", append(workflowShell, s.Run)...)
				if output += out; code != 0 {
					return code, output
				}
			}
			return 0, output
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			env := []string{"PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home,
				"HALLMARK_HOME=" + filepath.Join(home, "hallmark"), "RUNNER_TEMP=" + home}
			for path, text := range map[string]string{
				"package.json": `{"private": true, "scripts": {"build": "sh build.sh"}}`,
				"build.sh":     "for p in plugins/*; do mkdir -p $p/dist && cp src/${p#plugins/}.js $p/dist/index.js; done\n",
				"plugins/a/mcp-plugin.json": `{"manifestVersion": "2", "name": "a", "version": "1.0.0",` +
					` "entry": "dist/index.js"}`,
				"src/a.js": "exports.createPlugin = async () => {}",
				"plugins/b/mcp-plugin.json": `{"manifestVersion": "2", "name": "b", "version": "1.0.0",` +
					` "entry": "dist/index.js"}`,
				"src/b.js": "exports.createPlugin = async () => 1",
			} {
				path = filepath.Join(dir, filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				world.Write(t, path, text)
			}
			if code, out := run(dir, env); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			public := filepath.Join(home, "k.pub")
			for _, c := range [][]string{{"openssl", "pkey", "-in", key, "-pubout", "-out", public},
				{"hallmark", "trust", "add", public, "--id", "acme-2026"},
				{"hallmark", "plugin", "gate", "plugins", "--strict", "--require-signatures"},
				{"hallmark", "plugin", "install", "plugins/a", "--strict", "--dir", "installed"},
			} {
				if code, out := world.InDir(t, dir, env, c[0], c[1:]...); code != 0 {
					t.Errorf("%v: exit code %d\n%s", c, code, out)
				}
			}
			// The lock is of the plugin as it was signed.
			for _, at := range []string{"a", "b"} {
				data, err := os.ReadFile(filepath.Join(dir, "plugins", at, "install.lock.json"))
				if err != nil || !strings.Contains(string(data), `"manifestHash"`) {
					t.Errorf("the lock of %s: %v\n%s", at, err, data)
				}
				code, out := world.InDir(t, dir, env, "hallmark", "plugin", "verify", "plugins/"+at)
				if code != 0 || strings.Contains(out, "the lock is of") {
					t.Errorf("%s: exit code %d\n%s", at, code, out)
				}
			}
			world.Write(t, filepath.Join(dir, "src", "b.js"), "require('lodash')")
			if code, out := run(dir, env); code != 4 {
				t.Errorf("an import that is not bundled: exit code %d\n%s", code, out)
			}
		})
	}
}
