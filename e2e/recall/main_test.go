//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
)

// A program is not started for what it was asked before, and is for anything else that it
// could read; what it left behind is there either way.
func TestRecall(t *testing.T) {
	base := t.TempDir()
	count, program, bin := filepath.Join(base, "count"), filepath.Join(base, "program"), filepath.Join(base, "bin")
	script := fmt.Sprintf(`#!/bin/sh
echo x >> %q
case "$PATH" in *%s*) exit 9;; esac
[ "$1" != fail ] || exit 3
cat in
rm -f spent
mkdir -p "${2#--cache=}/made" modules
echo "$PWD" > modules/where
ln -sf where modules/link
chmod 700 modules/where
echo cached > "${2#--cache=}/made/it"
echo "says $PWD" >&2
`, count, bin)
	data, err := json.Marshal(config{program, filepath.Join(base, "memory")})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{program: script, filepath.Join(bin, "npm.json"): string(data),
		filepath.Join(base, "memory", "x"): ""} {
		write(t, path, text)
	}
	built.Into(t, filepath.Join(bin, "npm"), "e2e/recall")
	runs := func() int {
		data, _ := os.ReadFile(count)
		return strings.Count(string(data), "x")
	}
	made := 0
	// ask has a new directory with a file in, and perhaps something in the cache.
	ask := func(arg, in, cached, environ string) (work, said string, code int) {
		made++
		work, cache := filepath.Join(base, fmt.Sprint("work", made)), filepath.Join(base, fmt.Sprint("cache", made))
		write(t, filepath.Join(work, "in"), in)
		write(t, filepath.Join(work, "spent"), "")
		if cached != "" {
			write(t, filepath.Join(cache, "old"), cached)
		}
		cmd := exec.Command(filepath.Join(bin, "npm"), arg, "--cache="+cache)
		cmd.Dir, cmd.Env = work, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "A=" + environ, "HOME=" + work}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			return work, string(out), code
		}
		for path, want := range map[string]string{filepath.Join(work, "modules", "where"): work + "\n",
			filepath.Join(work, "modules", "link"): work + "\n", filepath.Join(cache, "made", "it"): "cached\n"} {
			if data, err := os.ReadFile(path); err != nil || string(data) != want {
				t.Errorf("%s has %q, not %q: %v", path, data, want, err)
			}
		}
		if info, err := os.Stat(filepath.Join(work, "modules", "where")); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(info, err)
		}
		if _, err := os.Stat(filepath.Join(work, "spent")); err == nil {
			t.Error("what the program removed is there")
		}
		return work, string(out), 0
	}
	for _, x := range []struct {
		arg, in, cached, environ string
		code, runs               int
	}{
		{"install", "one\n", "", "1", 0, 1},
		{"install", "one\n", "", "1", 0, 1},
		{"ci", "one\n", "", "1", 0, 2},
		{"install", "two\n", "", "1", 0, 3},
		{"install", "one\n", "c", "1", 0, 4},
		{"install", "one\n", "d", "1", 0, 5},
		{"install", "one\n", "", "2", 0, 6},
		{"fail", "one\n", "", "1", 3, 7},
		{"fail", "one\n", "", "1", 3, 8},
		{"install", "one\n", "c", "1", 0, 8},
		{"install", "one\n", "", "1", 0, 8},
	} {
		work, said, code := ask(x.arg, x.in, x.cached, x.environ)
		if code != x.code || runs() != x.runs {
			t.Errorf("%+v: code %d, %d runs", x, code, runs())
		}
		if want := x.in + "says " + work + "\n"; code == 0 && said != want {
			t.Errorf("%+v: said %q, not %q", x, said, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
