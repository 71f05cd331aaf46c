package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

type actionStep struct {
	Uses, Shell, Run string
	Env              map[string]string
}

// ciProject is a small project of one server, pinned with a home of its own.
func ciProject(t *testing.T, tools string) (dir string, env []string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	env = []string{"PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home,
		"HALLMARK_HOME=" + filepath.Join(home, "hallmark"),
		"RUNNER_TEMP=" + home, "GITHUB_PATH=" + filepath.Join(home, "path")}
	for name, text := range map[string]string{
		"hallmark.toml": "manifest_version = 1\n[facets]\nkit = { path = \"kit\" }\n[adapters]\n" +
			"targets = [\"dir:tools\"]\n[providers.mcp.say]\ncommand = \"docker\"\narguments = [\"surface.json\"]\n",
		"surface.json": `{"tools/list": {"tools": [{"name": "args", "inputSchema": {"type": "object"}}]}}`,
		"kit/facet.json": `{"name": "kit", "version": "1.0.0", "agents": {"critic": {"description": ` +
			`"Criticises"}}}`,
		"kit/agents/critic.md": "Criticise.\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, `"docker"`, `"./say"`)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	puppet, err := os.ReadFile(filepath.Join(tools, "docker")) // which imageTools builds from the puppet
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "say"), puppet, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"pin", "--yes"}, {"install"}} {
		if code, out := world.InDir(t, dir, env, "hallmark", args...); code != 0 {
			t.Fatalf("hallmark %v: exit code %d\n%s", args, code, out)
		}
	}
	return dir, env
}

// ciPlugin writes a plugin, whose hash is embedded.
func ciPlugin(t *testing.T, dir string, env []string, at, code string) {
	t.Helper()
	for name, text := range map[string]string{
		"mcp-plugin.json": `{"manifestVersion": "2", "name": "p", "version": "1.0.0", "entry": "dist/index.js"}`,
		"dist/index.js":   code,
	} {
		name = filepath.Join(dir, filepath.FromSlash(at), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, out := world.InDir(t, dir, env, "hallmark", "plugin", "hash", at, "--write"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
}

// edited changes the lock by one digit.
func edited(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, "hallmark.lock")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(data, []byte(`"surface": "sha256:`)) + len(`"surface": "sha256:`)
	data[i] = "10"[min(1, int(data[i]-'0'))&1]
	if data[i] == '0' {
		data[i] = 'a'
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAction reads action.yml as GitHub does: what it uses is named by its commit, no
// input is pasted into a script, and its steps, run here one after the other with the
// environment that its inputs give, pass a project as it is and fail an edited one.
func TestAction(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Description, Default string }
		Runs   struct {
			Using string
			Steps []actionStep
		}
	}
	if err := yaml.Unmarshal(data, &action); err != nil || action.Runs.Using != "composite" ||
		len(action.Runs.Steps) == 0 {
		t.Fatalf("%v: %+v", err, action)
	}
	document, err := os.ReadFile("../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?(?:uses|rev): *(\S+)`)
	if found := uses.FindAllSubmatch(document, -1); len(found) < 3 {
		t.Errorf("docs/ci.md shows %d pins", len(found))
	} else {
		for _, m := range found {
			action, tag, _ := strings.Cut(string(m[1]), "@")
			if strings.Contains(string(document), "`git ls-remote https://github.com/"+action+" refs/tags/"+tag+"`") {
				continue // the page says how to find the commit, and that it is to be named
			}
			if !world.PinnedUse.Match(m[1]) && !regexp.MustCompile(`^[0-9a-f]{40}$`).Match(m[1]) {
				t.Errorf("docs/ci.md uses %s", m[1])
			}
		}
	}
	for name := range action.Inputs {
		if !strings.Contains(string(document), "| `"+name+"` |") {
			t.Errorf("docs/ci.md does not name the input %s", name)
		}
	}
	input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)
	for _, s := range action.Runs.Steps {
		if s.Uses != "" && !world.PinnedUse.MatchString(s.Uses) {
			t.Errorf("uses %s, which is no commit", s.Uses)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("a script has an expression in it, which whoever fills it in can break out of:\n%s", s.Run)
		}
		for name, value := range s.Env {
			if m := input.FindStringSubmatch(value); m == nil {
				t.Errorf("%s is %s", name, value)
			} else if _, ok := action.Inputs[m[1]]; !ok {
				t.Errorf("there is no input %s", m[1])
			}
		}
	}
	tools := world.Tools(t)
	// steps are all of the action's, with inputs in place of the defaults.
	steps := func(dir string, env []string, with map[string]string) (code int, output string) {
		for _, s := range action.Runs.Steps {
			if s.Uses != "" {
				continue
			}
			full := append([]string{}, env...)
			for name, value := range s.Env {
				m := input.FindStringSubmatch(value)
				value = action.Inputs[m[1]].Default
				if given, ok := with[m[1]]; ok {
					value = given
				}
				full = append(full, name+"="+value)
			}
			var out string
			if code, out = world.InDir(t, dir, full, s.Shell, "-e", "-c", s.Run); code != 0 {
				return code, output + out
			}
			output += out
		}
		return 0, output
	}
	dir, env := ciProject(t, tools)
	for _, with := range []map[string]string{nil, {"install": "true", "offline": "true"},
		{"project": dir, "install": "true"}, {"strict": "false", "scan": "false"}} {
		if code, out := steps(dir, env, with); code != 0 {
			t.Errorf("%v: exit code %d\n%s", with, code, out)
		}
	}
	// A reviewer reads one line for each gate, and what is behind it.
	summary := func(lines ...string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "summary.md")
		code, out := steps(dir, append(env, "GITHUB_STEP_SUMMARY="+name), nil)
		text, err := os.ReadFile(name)
		if err != nil || (code == 0) == strings.Contains(string(text), "❌") {
			t.Errorf("exit code %d, %v\n%s\n%s", code, err, out, text)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				t.Errorf("the summary lacks %q:\n%s", line, text)
			}
		}
	}
	summary("### ✅ hallmark check: nothing is refused", "### ✅ hallmark scan: nothing is refused")
	// With a base the summary says what changed since, and a base that is not there fails the job.
	for _, args := range [][]string{{"init", "-q"}, {"add", "hallmark.toml"}, {"commit", "-q", "-m", "base"}} {
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
		if code, out := world.InDir(t, dir, env, "git", args...); code != 0 {
			t.Fatalf("git %v: exit code %d\n%s", args, code, out)
		}
	}
	if code, out := steps(dir, env, map[string]string{"base": "HEAD"}); code != 0 ||
		!strings.Contains(out, "**server say changed**") || !strings.Contains(out, "+ name: args") {
		t.Errorf("with a base: exit code %d\n%s", code, out)
	}
	based := filepath.Join(t.TempDir(), "based.md")
	for base, want := range map[string]int{"HEAD": 0, "--help": 2} {
		if code, out := steps(dir, append(env, "GITHUB_STEP_SUMMARY="+based), map[string]string{"base": base}); code != want {
			t.Errorf("base %s: exit code %d\n%s", base, code, out)
		}
	}
	if text, err := os.ReadFile(based); err != nil || !strings.Contains(string(text), "hallmark diff: 2 changes since HEAD") ||
		!strings.Contains(string(text), "### ❌ hallmark diff ended with exit code 2.") {
		t.Errorf("the summary with a base: %v\n%s", err, text)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	// A client's file of the checkout that starts a server around Hallmark fails the job, be
	// it the very server that is locked.
	around := filepath.Join(dir, "sub", ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(around), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(around, []byte(`{"mcpServers": {"evil": {"command": "./say", "args": ["surface.json"]}}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := steps(dir, env, nil); code != 4 || !strings.Contains(out, "around-hallmark") {
		t.Errorf("a server around the lock: exit code %d\n%s", code, out)
	}
	if code, out := steps(dir, env, map[string]string{"scan": "false"}); code != 0 {
		t.Errorf("without the scan: exit code %d\n%s", code, out)
	}
	summary("### ✅ hallmark check: nothing is refused", "### ❌ hallmark scan: 1 finding refused",
		"| refused | around-hallmark | cursor&#58; evil | sub/.cursor/mcp.json&#58;1 |")
	if code, _ := steps(dir, env,
		map[string]string{"sarif": filepath.Join(dir, "a.sarif"), "scan-sarif": filepath.Join(dir, "b.sarif")}); code !=
		4 {
		t.Errorf("with files for code scanning: exit code %d", code)
	}
	for name, rule := range map[string]string{"a.sarif": `"results"`, "b.sarif": `"around-hallmark"`} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), rule) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	// Plugins are gated where they are named, beside the rest or alone, one name on a line.
	ciPlugin(t, dir, env, "plugins/with space", "exports.x = 1")
	ciPlugin(t, dir, env, "bad", "require('lodash')")
	plugins := filepath.Join(dir, "plugins.sarif")
	for _, c := range []struct {
		with map[string]string
		code int
		says string
	}{
		{map[string]string{"plugins": "plugins"}, 0, "plugins/with space"},
		{map[string]string{"plugins": "plugins/with space\n", "scan": "false"}, 0, "plugins/with space"},
		{map[string]string{"plugins": "plugins\nbad\n"}, 4, "lodash"},
		{map[string]string{"plugins": "plug*"}, 1, "plug*"},
		{map[string]string{"plugins": "tools"}, 2, "no plugin below it"},
		{map[string]string{"plugins": "bad", "check": "false", "project": "nowhere", "plugins-sarif": plugins}, 4, ""},
		{map[string]string{"plugins": "plugins", "check": "false", "project": "nowhere"}, 0, "plugins/with space"},
		{map[string]string{"check": "false", "project": "nowhere"}, 0, ""},
	} {
		if code, out := steps(dir, env, c.with); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", c.with, code, c.code, c.says, out)
		}
	}
	if text, err := os.ReadFile(plugins); err != nil || !strings.Contains(string(text), `"results"`) ||
		!strings.Contains(string(text), "lodash") {
		t.Errorf("%s: %v\n%s", plugins, err, text)
	}
	name := filepath.Join(t.TempDir(), "plugins.md")
	for _, with := range []string{"plugins", "bad"} {
		steps(dir, append(env, "GITHUB_STEP_SUMMARY="+name), map[string]string{"check": "false", "plugins": with})
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "### ✅ hallmark plugin gate: nothing is refused\n"+
		"### ❌ hallmark plugin gate ended with exit code 4. The log says why.\n" {
		t.Errorf("the summary of plugins: %v\n%s", err, text)
	}
	for _, added := range []string{"plugins", "bad", "plugins.sarif"} {
		if err := os.RemoveAll(filepath.Join(dir, added)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "tools", "agents", "critic.md")); err != nil {
		t.Fatal(err)
	}
	if code, out := steps(dir, env, map[string]string{"install": "true"}); code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "tools", "agents", "critic.md")); err != nil {
		t.Error("install was not run:", err)
	}
	edited(t, dir)
	if code, out := steps(dir, env, nil); code != 3 || !strings.Contains(out, "hallmark.lock") {
		t.Errorf("an edited lock: exit code %d\n%s", code, out)
	}
	summary("### ❌ hallmark check: ", "### ✅ hallmark scan: nothing is refused")
	if err := os.WriteFile(filepath.Join(dir, "hallmark.lock"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	summary("### ❌ hallmark check: did not finish\n\nhallmark.lock&#58; not JSON")
	// Without hallmark, and without a version to install, it says so.
	bare := append([]string{"PATH=/usr/bin:/bin"}, env[1:]...)
	if code, out := steps(dir, bare, map[string]string{"version": "latest"}); code != 2 ||
		!strings.Contains(out, "::error::") {
		t.Errorf("without hallmark: exit code %d\n%s", code, out)
	}
}

// TestHook has pre-commit, from PyPI, run the hooks that take the hallmark in PATH at a
// commit that touches nothing of Hallmark's: they pass a project as it is, and fail one
// whose lock was edited, or in which a client's file starts a server around it.
func TestHook(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Language, Files string
		Args                       []string
		Always                     bool `yaml:"always_run"`
	}
	if err := yaml.Unmarshal(data, &hooks); err != nil || len(hooks) != 6 {
		t.Fatalf("%v: %+v", err, hooks)
	}
	for i, h := range hooks {
		// One that chose files by their names would not see a lock that is removed.
		if same := hooks[i&^1]; h.ID != same.ID+map[bool]string{true: "-system"}[i%2 == 1] || h.Entry != same.Entry ||
			!slices.Equal(h.Args, same.Args) || same.Language != "golang" || !h.Always || h.Files != "" {
			t.Errorf("%+v", h)
		}
	}
	venv := filepath.Join(t.TempDir(), "venv")
	env := append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1")
	for _, args := range [][]string{{"python3", "-m", "venv", venv},
		{filepath.Join(venv, "bin", "pip"), "install", "-q", "pre-commit==4.0.1"}} {
		if code, out := world.InDir(t, ".", env, args[0], args[1:]...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, out)
		}
	}
	tools := world.Tools(t)
	dir, own := ciProject(t, tools)
	hook := t.TempDir() // a repository of nothing but the hooks
	if err := os.WriteFile(filepath.Join(hook, ".pre-commit-hooks.yaml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	own = append(own, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t",
		"GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	git := func(dir string, args ...string) {
		t.Helper()
		if code, out := world.InDir(t, dir, own, "git", args...); code != 0 {
			t.Fatalf("git %v: exit code %d\n%s", args, code, out)
		}
	}
	for _, d := range []string{hook, dir} {
		git(d, "init", "-q")
		git(d, "add", ".")
		git(d, "commit", "-q", "-m", "first")
	}
	try := func(hook string, repo string) (int, string) {
		return world.InDir(t, dir, own, filepath.Join(venv, "bin", "pre-commit"), "try-repo", repo, hook, "--verbose",
			"--files", "kit/facet.json")
	}
	for _, id := range []string{"hallmark-check-system", "hallmark-scan-system"} {
		if code, out := try(id, hook); code != 0 || !strings.Contains(out, "Passed") {
			t.Errorf("%s: exit code %d\n%s", id, code, out)
		}
	}
	// A client's file that starts a server around Hallmark.
	around := filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(around, []byte(`{"mcpServers": {"evil": {"command": "./evil"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"hallmark-check-system", "hallmark-scan-system"} {
		if code, out := try(id, hook); code != 1 || !strings.Contains(out, "exit code: 4") ||
			!strings.Contains(out, "around-hallmark") {
			t.Errorf("%s, a server around the lock: exit code %d\n%s", id, code, out)
		}
	}
	if err := os.Remove(around); err != nil {
		t.Fatal(err)
	}
	// Plugins: as they should be, with an import that is not bundled, and gone.
	ciPlugin(t, dir, own, "plugins/p", "exports.x = 1")
	if code, out := try("hallmark-plugins-system", hook); code != 0 || !strings.Contains(out, "plugins/p") {
		t.Errorf("a plugin: exit code %d\n%s", code, out)
	}
	ciPlugin(t, dir, own, "plugins/p", "require('lodash')")
	if code, out := try("hallmark-plugins-system", hook); code != 1 || !strings.Contains(out, "exit code: 4") ||
		!strings.Contains(out, "lodash") {
		t.Errorf("an import that is not bundled: exit code %d\n%s", code, out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "plugins")); err != nil {
		t.Fatal(err)
	}
	if code, out := try("hallmark-plugins-system", hook); code != 1 || !strings.Contains(out, "exit code: 1") {
		t.Errorf("no plugins: exit code %d\n%s", code, out)
	}
	// An edited lock, and one that is gone, are seen whatever the commit touches.
	edited(t, dir)
	if code, out := try("hallmark-check-system", hook); code != 1 || !strings.Contains(out, "exit code: 3") {
		t.Errorf("an edited lock: exit code %d\n%s", code, out)
	}
	if err := os.Remove(filepath.Join(dir, "hallmark.toml")); err != nil {
		t.Fatal(err)
	}
	// this machine accepted what it had
	if code, out := try("hallmark-check-system", hook); code != 1 || !strings.Contains(out, "exit code: 4") {
		t.Errorf("no project: exit code %d\n%s", code, out)
	}
}
