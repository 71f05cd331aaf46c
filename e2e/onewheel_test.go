//go:build unix

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
)

// wheelInstallers installs each wheel below DIR with uv and with pip, which is loaded once for all
// of them.
const wheelInstallers = `
import os, subprocess, sys
import pip._internal.cli.main as pip
import pip._internal.commands.install
here = os.environ["DIR"]
def target(name, by):
    return ["--quiet", "--target", os.path.join(here, name, by), "--no-deps", "--no-index",
            os.path.join(here, name, "hx_whl-1.0.0-py3-none-any.whl")]
for name in sorted(os.listdir(here)):
    log = open(os.path.join(here, name, "log"), "wb")
    child = os.fork()
    if child == 0:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        os._exit(pip.main(["install", "--isolated", "--no-compile", "--no-cache-dir", "--disable-pip-version-check",
                           "--no-input"] + target(name, "pip")))
    uv = subprocess.run(["uv", "pip", "install", "--python", sys.executable, "--no-config", "--offline", "--no-cache",
                         "--link-mode", "copy"] + target(name, "uv"), stdout=log, stderr=log).returncode
    print(name, uv, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
`

// TestOneWheel makes wheels that installers might install differently. Each is refused by Hallmark,
// or pip, uv and Hallmark install the same files from it, or the two others refuse it.
func TestOneWheel(t *testing.T) {
	t.Parallel()
	world.NeedsPython(t)
	out, err := exec.CommandContext(t.Context(), "python3", "-I", "-m", "pip", "--version").CombinedOutput()
	if err != nil {
		world.Lack(t, err, out)
	}
	n, dir := 100, t.TempDir()
	if s := os.Getenv("HALLMARK_FORGED"); s != "" {
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	accepted := 0
	for i := range n {
		at := filepath.Join(dir, fmt.Sprintf("%05d", i))
		if forgeOneWheel(t, at, rand.New(rand.NewPCG(forgeSeed, uint64(i)))) {
			accepted++
		} else if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d wheels of seed %d: %d are installed", n, forgeSeed, accepted)
	if accepted < n/12 || accepted > n/2 {
		t.Error("nearly all are refused, or none: this compares nothing")
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-I", "-B", "-c", wheelInstallers)
	cmd.Env = append(os.Environ(), "DIR="+dir, "LC_ALL=C.UTF-8")
	said, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if err != nil || len(lines) != accepted {
		t.Fatalf("%v\n%s", err, said)
	}
	refused := 0
	for _, line := range lines {
		fields := strings.Fields(line)
		if fields[1] != "0" && fields[2] != "0" {
			refused++ // its METADATA is none, say
			continue
		}
		at := filepath.Join(dir, fields[0])
		uv, pip := readInstalled(t, filepath.Join(at, "uv")), readInstalled(t, filepath.Join(at, "pip"))
		own := readInstalled(t, filepath.Join(at, "own"))
		if !strings.HasSuffix(line, " 0 0") || !maps.Equal(uv, pip) || !maps.Equal(uv, own) || len(uv) == 0 {
			log, _ := os.ReadFile(filepath.Join(at, "log"))
			t.Errorf("%s\n%s\nuv  %v\npip %v\nown %v", line, log, uv, pip, own)
		}
		if uv, own := readExecutable(t, filepath.Join(at, "uv")), readExecutable(t, filepath.Join(at, "own")); !slices.Equal(uv, own) {
			t.Errorf("%s: executable are, by uv, %q, and by Hallmark %q", line, uv, own)
		}
	}
	if refused > accepted/4 {
		t.Errorf("both installers refuse %d: this compares little", refused)
	}
}

// forgeOneWheel writes a wheel into a new directory, and reports whether Hallmark accepts it.
func forgeOneWheel(t *testing.T, dir string, r *rand.Rand) bool {
	t.Helper()
	const file = "hx_whl-1.0.0-py3-none-any.whl"
	ref, err := artifact.NewPyPI("hx-whl", "1.0.0", file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(dir, file), string(forge.ForgeWheel(r)))
	wheel, err := fetch.ReadWheel(filepath.Join(dir, file), ref)
	if err != nil {
		if evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%s: %v is no refusal", dir, err)
		}
		return false
	}
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch.InstallWheels(t.Context(), []*fetch.Wheel{wheel}, ref, own); err != nil {
		t.Errorf("%s: %v", dir, err)
	}
	return true
}

// readInstalled reads what an installer made of a wheel, without what it says of itself, what it
// writes for entry points and the directory data/lib, which pip leaves out. Headers are where the
// installer has them.
func readInstalled(t *testing.T, dir string) contents {
	t.Helper()
	got := contents{}
	for path, sum := range readUnpacked(t, dir) {
		script := isScript(t, filepath.Join(dir, path))
		if header, ok := strings.CutPrefix(path, "include/python/hx-whl/"); ok {
			path = "include/hx-whl/" + header
		}
		note := strings.Contains(path, ".dist-info/") && slices.Contains(fetch.InstallerNotes, filepath.Base(path))
		if note || path == ".lock" || strings.HasPrefix(path, "lib/") || script {
			continue
		}
		got[path] = sum
	}
	return got
}

// readExecutable returns the files of an installation that may be executed, in byte order.
func readExecutable(t *testing.T, dir string) (paths []string) {
	t.Helper()
	for path := range readInstalled(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, path)); err == nil && info.Mode()&0o111 != 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// isScript reports whether a file is a script that begins with the path of an interpreter.
func isScript(t *testing.T, name string) bool {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(string(data), "#!")
}
