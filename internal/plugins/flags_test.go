//go:build unix

package plugins_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/script"
)

// pluginFlagCases are the flags of hosts, each with a plugin whose answer it changes.
var pluginFlagCases = []struct {
	flag     string   // as results name it
	names    []string // in the environment
	option   string   // on the command line
	off, on  int      // exit codes
	members  string   // of the manifest
	code     string
	further  string   // another file of dist
	bare     bool     // with dist.hash alone
	also     []string // environment in any case
	register string   // what the plugin registered
}{
	{flag: "PLUGIN_ALLOW_RUNTIME_DEPS", names: []string{"PLUGIN_ALLOW_RUNTIME_DEPS"}, option: "allow-runtime-deps", off: 4, on: 0,
		members: `"dependenciesPolicy": "external-allowed", "externalDependencies": [{"name": "left", "version": "1.0.0"}]`,
		code:    "exports.left = require('left')"},
	{flag: "PLUGIN_ALLOW_NATIVE", names: []string{"PLUGIN_ALLOW_NATIVE"}, option: "allow-native", off: 4, on: 0,
		further: "addon.node", also: []string{"SANDBOX_AVAILABLE=1"}},
	{flag: "SANDBOX_AVAILABLE", names: []string{"SANDBOX_AVAILABLE"}, option: "sandbox-available", off: 4, on: 0,
		members: `"dependenciesPolicy": "sandbox-required"`},
	{flag: "REQUIRE_SIGNATURES", names: []string{"REQUIRE_SIGNATURES", "PLUGIN_REQUIRE_SIGNED"}, option: "require-signatures",
		off: 0, on: 5},
	{flag: "STRICT_CAPABILITIES", names: []string{"STRICT_CAPABILITIES", "PLUGIN_STRICT_CAPABILITIES"},
		option: "strict-capabilities", off: 0, on: 4, members: `"capabilities": {"tools": [{"name": "ping"}]}`, register: `{}`},
	{flag: "STRICT_TOOLS", names: []string{"STRICT_TOOLS"}, option: "strict-tools", off: 0, on: 2,
		members: `"capabilities": {"tools": ["a b"]}`, register: `{"tools": [{"name": "a b", "inputSchema": {"type": "object"}}]}`},
	{flag: "STRICT_INTEGRITY", names: []string{"STRICT_INTEGRITY"}, option: "strict-integrity", off: 0, on: 3, bare: true},
}

// Each flag of a host means the same in the environment, under each of its names, and on the command line, which goes
// before; each command that takes it answers by it, and says so.
func TestPluginFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs, which are built without the detector")
	}
	script.SetPath(t)
	npm, err := npmtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(npm.Close)
	if err := npm.Publish(npmtest.Package{Name: "left", Version: "1.0.0", Files: map[string]string{"index.js": "1"}}); err != nil {
		t.Fatal(err)
	}
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, npm.Authority(), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := append(npm.Environ(authority), "PATH="+os.Getenv("PATH"))
	for _, c := range pluginFlagCases {
		t.Run(c.flag, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			homes := 0
			// run runs a command on a machine, and answers with its code and output.
			run := func(home int, env []string, arg ...string) (int, []byte) {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), "hallmark", append([]string{"plugin"}, arg...)...)
				cmd.Dir = dir
				cmd.Env = slices.Concat(environ, []string{"HOME=" + dir, fmt.Sprintf("HALLMARK_HOME=%s/home%d", dir, home)}, env)
				out, err := cmd.Output()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				return cmd.ProcessState.ExitCode(), out
			}
			manifest := func(dist string) string {
				text := `{"manifestVersion": "2", "name": "notes", "version": "1.0.0", "entry": "dist/index.js"`
				for _, more := range []string{c.members, dist} {
					if more != "" {
						text += ", " + more
					}
				}
				return text + "}"
			}
			write("p/dist/index.js", c.code+"\n")
			if c.further != "" {
				write("p/dist/"+c.further, "x")
			}
			write("p/mcp-plugin.json", manifest(""))
			if c.bare {
				_, hash := run(0, nil, "hash", "p")
				write("p/mcp-plugin.json", manifest(`"dist": {"hash": "`+strings.TrimSpace(string(hash))+`"}`))
			} else if code, out := run(0, nil, "hash", "p", "--write"); code != 0 {
				t.Fatalf("%d, %s", code, out)
			}
			registered := []string{}
			if c.register != "" {
				write("registered.json", c.register)
				registered = []string{"--registered", "registered.json"}
			}
			for _, command := range []string{"verify", "gate", "install", "lock", "revalidate"} {
				type setting struct {
					name string
					env  []string
					args []string
					on   bool
				}
				settings := []setting{{name: "nothing"}, {name: "the flag", args: []string{"--" + c.option}, on: true},
					{name: "the flag, as false", args: []string{"--" + c.option + "=false"}}}
				for _, name := range c.names {
					settings = append(settings, setting{name: name, env: []string{name + "=1"}, on: true},
						setting{name: name + "=Yes", env: []string{name + "=Yes"}, on: true},
						setting{name: name + "=off", env: []string{name + "=off"}},
						setting{name: name + ", and the flag as false", env: []string{name + "=true"},
							args: []string{"--" + c.option + "=false"}},
						setting{name: name + "=0, and the flag", env: []string{name + "=0"}, args: []string{"--" + c.option}, on: true})
				}
				for _, s := range settings {
					homes++
					place := fmt.Sprintf("plugins%d", homes)
					args := []string{command, "--json"}
					switch command {
					case "verify", "gate":
						args = append(args, "p")
					case "install":
						args = append(args, "p", "--dir", place)
					case "lock", "revalidate":
						at := filepath.Join(place, "notes@1.0.0")
						if err := os.CopyFS(filepath.Join(dir, at), os.DirFS(filepath.Join(dir, "p"))); err != nil {
							t.Fatal(err)
						}
						args = append(args, at)
						if command == "revalidate" {
							// locked with what the plugin needs, and without what it lacks
							accepted := fmt.Sprintf("--%s=%v", c.option, c.on == 0)
							lock := append([]string{"lock", at, accepted}, registered...)
							if code, out := run(homes, c.also, lock...); code != 0 {
								t.Fatalf("lock: %d, %s", code, out)
							}
							args = []string{command, "--json", "--dir", place}
						}
					}
					args = append(append(args, registered...), s.args...)
					code, out := run(homes, append(s.env, c.also...), args...)
					type answer struct {
						Code  int             `json:"exit_code"`
						Flags map[string]bool `json:"flags"`
					}
					var doc struct {
						answer
						Plugins []answer `json:"plugins"`
					}
					if err := json.Unmarshal(out, &doc); err != nil {
						t.Fatalf("%s, %s: %v\n%s", command, s.name, err, out)
					}
					if len(doc.Plugins) == 1 {
						doc.answer = doc.Plugins[0]
					}
					want := c.off
					if s.on {
						want = c.on
					}
					if code != want || doc.Code != want || doc.Flags[c.flag] != s.on || len(doc.Flags) != 7 {
						t.Errorf("%s, %s: code %d, %d in JSON, want %d; flags %v, want %v\n%.600s", command, s.name, code, doc.Code,
							want, doc.Flags, s.on, out)
					}
				}
				for _, name := range c.names {
					args := []string{command, "--json", "p"}
					if command == "revalidate" {
						args = args[:2] // of all that is installed
					}
					if code, out := run(homes, []string{name + "=maybe"}, args...); code != 2 ||
						!strings.Contains(string(out), name) {
						t.Errorf("%s, %s=maybe: code %d\n%s", command, name, code, out)
					}
				}
			}
		})
	}
}
