package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
)

// notYet are flags that the files of deploy/ use and the program does not have yet.
var notYet []string

// TestDeployFlags holds the command lines of deploy/ and docs/operating.md against the
// program's own help.
func TestDeployFlags(t *testing.T) {
	program := filepath.Join(t.TempDir(), "hallmark-registry.exe")
	built.Into(t, program, "cmd/hallmark-registry")
	help := map[string]string{}
	commands := regexp.MustCompile(`(?m)^\s*(?:ExecStart=\S*/|)hallmark[- ]registry ([a-z]+)((?:[^\n\\]|\\\n)*)`)
	flag := regexp.MustCompile(`--[a-z][a-z-]+`)
	used := map[string][]string{} // flags by command
	for _, name := range []string{"deploy/hallmark-registry.service", "deploy/hallmark-registry-reverify.service",
		"docs/operating.md"} {
		text := read(t, name)
		found := commands.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s runs nothing", name)
		}
		for _, m := range found {
			used[m[1]] = append(used[m[1]], flag.FindAllString(m[2], -1)...)
		}
	}
	compose := read(t, "deploy/compose.yaml")
	for _, m := range regexp.MustCompile(`(?m)^      - (--[a-z-]+)=`).FindAllStringSubmatch(compose, -1) {
		used["serve"] = append(used["serve"], m[1])
	}
	for _, name := range []string{"deploy/Dockerfile", "docs/operating.md"} {
		if name == "deploy/Dockerfile" {
			used["serve"] = append(used["serve"],
				flag.FindAllString(read(t, name)[strings.Index(read(t, name), "CMD"):], -1)...)
			continue
		}
		for _, m := range regexp.MustCompile("`(--[a-z-]+)[ `]").FindAllStringSubmatch(read(t, name), -1) {
			if !slices.Contains([]string{"--since", "--restart", "--restore"}, m[1]) {
				used["serve"] = append(used["serve"], m[1])
			}
		}
	}
	if len(used["serve"]) < 5 || len(used["reverify"]) == 0 || len(used) < 4 {
		t.Errorf("the files use %v", used)
	}
	lacking := map[string]bool{}
	for command, flags := range used {
		out, err := exec.Command(program, command, "--help").Output()
		if err != nil {
			t.Errorf("hallmark-registry %s: %v", command, err)
		}
		help[command] = string(out)
		for _, f := range flags {
			if regexp.MustCompile(regexp.QuoteMeta(f) + `\b`).MatchString(help[command]) {
				continue
			}
			if lacking[f] = true; !slices.Contains(notYet, f) {
				t.Errorf("hallmark-registry %s has no flag %s", command, f)
			}
		}
	}
	for _, f := range notYet {
		if !lacking[f] {
			t.Errorf("%s is there: remove it from notYet", f)
		}
	}
}

// TestDeployUnits asks systemd, where it is, what it thinks of the units.
func TestDeployUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze here")
	}
	dir := t.TempDir()
	for _, name := range []string{"hallmark-registry.service", "hallmark-registry-reverify.service",
		"hallmark-registry-reverify.timer"} {
		// The program is not installed: any that is will do.
		text := strings.ReplaceAll(read(t, "deploy/"+name), "/usr/local/bin/hallmark-registry", "/bin/true")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("systemd-analyze", "verify", "--man=no", filepath.Join(dir, name))
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte(name)) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestDeploySecrets runs secrets.sh and looks for every file that compose.yaml mounts.
func TestDeploySecrets(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "secrets.sh")
	if err := os.WriteFile(script, []byte(read(t, "deploy/secrets.sh")), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() map[string]string {
		t.Helper()
		if out, err := exec.Command(sh, script).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		files := map[string]string{}
		if err := filepath.WalkDir(filepath.Join(dir, "secrets"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			files[d.Name()] = string(text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return files
	}
	first := run()
	if info, err := os.Stat(filepath.Join(dir, "secrets")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
	if len(first["token_key"]) != 32 || len(first["postgres_password"]) != 64 ||
		!strings.Contains(first["pgpass"], first["postgres_password"]) {
		t.Errorf("%q", first)
	}
	mounted := regexp.MustCompile(`secrets/([a-z0-9_.]+)`).FindAllStringSubmatch(read(t, "deploy/compose.yaml"), -1)
	if len(mounted) < 5 {
		t.Errorf("compose.yaml mounts %q", mounted)
	}
	for _, m := range mounted {
		if m[1] != "secrets.sh" && first[m[1]] == "" {
			t.Errorf("secrets.sh does not make %s", m[1])
		}
	}
	for name, text := range run() {
		if first[name] != text {
			t.Errorf("%s was made again", name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDeployProxy: the registry believes the proxy, so that the proxy must not pass on what a client says of its own
// address; and what counts requests is for the operator, however its path is written.
func TestDeployProxy(t *testing.T) {
	text := read(t, "deploy/haproxy.cfg")
	for _, want := range []string{"http-request set-header X-Forwarded-For %[src]\n",
		"http-request deny deny_status 404 if { path,url_dec /metrics }\n", "option redispatch 1\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("deploy/haproxy.cfg lacks %q", want)
		}
	}
	if strings.Contains(text, "forwardfor") {
		t.Error("deploy/haproxy.cfg adds to what a client says of its address")
	}
}
