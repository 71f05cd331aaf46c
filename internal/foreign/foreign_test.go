package foreign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

func shell(t *testing.T) string {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	sh, err := Find(os.Getenv("PATH"), "sh")
	if err != nil {
		t.Skip(err)
	}
	return sh
}

func call(t *testing.T, script string) Call {
	return Call{Tool: Sealed, Path: shell(t), Args: []string{"-c", script}, Dir: t.TempDir(),
		Checkout: FindCheckout(t.TempDir(), ""), Environ: os.Environ(), Time: hang.Long}
}

func TestRun(t *testing.T) {
	c := call(t, `cat; echo to stderr >&2; pwd -P; (: < /dev/tty) 2>/dev/null && echo a terminal; echo $SET`)
	c.Stdin, c.Set = strings.NewReader("input\n"), []string{"SET=once", "SET=twice"}
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), c)
	if err != nil || string(r.Stdout) != "input\n"+dir+"\ntwice\n" || string(r.Messages) != "to stderr\n" {
		t.Errorf("%v: %q, %q", err, r.Stdout, r.Messages)
	}
	c = call(t, "cat") // and nothing to read
	if r, err := Run(t.Context(), c); err != nil || len(r.Stdout) > 0 {
		t.Errorf("%v: %q", err, r.Stdout)
	}
	c = call(t, "echo out; echo err >&2; exit 3")
	c.Merged = true
	if r, err := Run(t.Context(), c); err == nil || string(r.Messages) != "out\nerr\n" {
		t.Errorf("%v: %q", err, r.Messages)
	}
	for _, c := range []Call{{Path: "sh", Dir: "/"}, {Path: "/bin/sh", Dir: "."},
		{Path: "/nowhere/x", Dir: t.TempDir()}, {Path: "/bin/sh", Dir: t.TempDir()}} {
		if c.Path == "/nowhere/x" {
			c.Checkout = FindCheckout(t.TempDir(), "")
		}
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%s was started in %q", c.Path, c.Dir)
		}
	}
}

func TestLimits(t *testing.T) {
	hang.Ends(t, "programs beyond their limits", func() {
		c := call(t, "sleep 600")
		c.Time = 200 * time.Millisecond
		if _, err := Run(t.Context(), c); !errors.Is(err, ErrTime) {
			t.Error(err)
		}
		c = call(t, "while :; do echo more; done")
		c.Output = 1000
		if r, err := Run(t.Context(), c); !errors.Is(err, ErrOutput) || len(r.Stdout) > 1000 {
			t.Errorf("%v: %d bytes", err, len(r.Stdout))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
		c = call(t, "sleep 600")
		c.Time = 10 * time.Minute
		if _, err := Run(ctx, c); err != why {
			t.Error(err)
		}
	})
}

// What a program leaves behind ends with it: in its group, in a session of its own, and
// without the parent that started it.
func TestDescendants(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the group is ended")
	}
	for _, script := range []string{
		`sleep 600.7 & echo $!`,
		`setsid sleep 600.7 & sleep 0.3; pgrep -f 'sleep 600[.]7'`,
		`(setsid sh -c 'sleep 600.7; :' &) ; sleep 0.3; pgrep -f 'sleep 600[.]7'`,
		`(env -i setsid sleep 600.7 &) ; sleep 0.3; pgrep -f 'sleep 600[.]7'`,
		`trap '' TERM HUP; setsid sh -c 'trap "" TERM HUP; while :; do sleep 600.7; done' & sleep 0.3; pgrep -f ` +
			`'sleep 600[.]7'; sleep 600`,
	} {
		c := call(t, script)
		c.Time = 3 * time.Second
		var r Result
		var err error
		hang.Ends(t, script, func() { r, err = Run(t.Context(), c) })
		if err != nil && !errors.Is(err, ErrTime) {
			t.Fatalf("%s: %v %s", script, err, r.Messages)
		}
		for pid := range strings.FieldsSeq(string(r.Stdout)) {
			if text, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && len(text) > 0 {
				t.Errorf("%s: %s is left: %q", script, pid, text)
			}
		}
	}
}

// No variable but those of the table passes, for any tool; a secret's name is in none.
func TestEnvironment(t *testing.T) {
	environ := []string{
		"PATH=relative" + string(filepath.ListSeparator) + t.TempDir() + string(filepath.ListSeparator) + ".",
		"HOME=/home/u", "AWS_SECRET_ACCESS_KEY=s", "NPM_TOKEN=s", "NODE_OPTIONS=--require x", "NODE_PATH=x",
		"LD_PRELOAD=x", "PYTHONPATH=x", "PYTHONSTARTUP=x", "GIT_DIR=x", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_WORK_TREE=x", "GIT_EXTERNAL_DIFF=x", "GIT_ASKPASS=x", "GIT_EDITOR=x",
		"GOFLAGS=-toolexec=x", "GOROOT=x", "GOPATH=x", "GOTOOLCHAIN=x", "CC=x", "UV_INDEX_INTERNAL_PASSWORD=s",
		"UV_CONFIG_FILE=x", "UV_PYTHON=x", "PIP_CONFIG_FILE=x", "PIP_INDEX_URL=s", "VIRTUAL_ENV=x",
		"npm_config_git=x", "NPM_CONFIG_SCRIPT_SHELL=x", "npm_config_userconfig=x", "npm_config_node_options=x",
		"npm_config_cache=x", "npm_config_prefix=x", "npm_config_//h/:tokenHelper=x", "npm_config_unheard_of=x",
		"BASH_ENV=x", "ENV=x", "SSH_ASKPASS=x", "ELECTRON_RUN_AS_NODE=1", "=x", "novalue",
	}
	for tool := range allowedVariables {
		for _, kv := range Environment(tool, environ, nil, FindCheckout(t.TempDir(), "")) {
			name, value, _ := strings.Cut(kv, "=")
			switch {
			case name == "PATH":
				for _, dir := range filepath.SplitList(value) {
					if !filepath.IsAbs(dir) {
						t.Errorf("%s: PATH has %q", tool, dir)
					}
				}
			case name == "HOME" && slices.Contains([]Tool{Go, Git, Question, Credential}, tool):
			// to ask for those of a registry is what it is for
			case name == "AWS_SECRET_ACCESS_KEY" && tool == Credential:
			default:
				t.Errorf("%s gets %s", tool, kv)
			}
		}
		if runtime.GOOS != "windows" {
			for _, name := range allowedVariables[tool] {
				if got := Environment(tool, []string{name + "=" + "/v"}, nil,
					FindCheckout(t.TempDir(), "")); len(got) != 1 {
					t.Errorf("%s does not get %s", tool, name)
				}
			}
		}
	}
	got := Environment(NPM,
		[]string{"npm_config_registry=r", "NPM_CONFIG_@acme:registry=a", "npm_config_//h/p/:_authToken=t",
			"Npm_Config_Fetch_Timeout=1"}, []string{"HOME=/ours"}, FindCheckout(t.TempDir(), ""))
	if len(got) != 5 || got[4] != "HOME=/ours" {
		t.Error(got)
	}
}

func TestNPMKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"registry": true, "@acme:registry": true, "//h/:_authToken": true, "//h:1/p/:_password": true, "cafile": true,
		"https-proxy":   true,
		"//h/:certfile": false, "//h/:tokenHelper": false, "git": false, "script-shell": false, "node-options": false,
		"cache": false, "userconfig": false, "globalconfig": false, "prefix": false,
		"strict-ssl": false, "ignore-scripts": false, "_authToken": false, "@:registry": false, "acme:registry": false,
		"@a/b:registry": false, "Registry": false, "": false, "//:_authToken": false, "unheard-of": false,
	} {
		if got := ProjectNPMKey(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
		if want && !UserNPMKey(key) {
			t.Errorf("%q is not the user's", key)
		}
	}
}

func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have suffixes there")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, path := range []string{"", ".", "./", "relative:.", ":"} {
		if found, err := Find(path, "tool"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %s, %v", path, found, err)
		}
	}
	if found, err := Find(".:"+dir, "tool"); err != nil || found != filepath.Join(dir, "tool") {
		t.Errorf("%s, %v", found, err)
	}
}

func TestBehind(t *testing.T) {
	sh := shell(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	real := write("versions/3.12/bin/python3", "\x7fELF")
	pyenv := write("libexec/pyenv",
		"#!"+sh+"\n[ \"$1\" = which ] && echo "+filepath.Join(dir, "versions/3.12/bin")+"/$2\n")
	write("bin/asdf", "#!"+sh+"\necho "+real+"\n")
	environ := []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
	for name, text := range map[string]string{
		"pyenv": "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\nexport PYENV_ROOT=\"" + dir + "\"\nexec \"" +
			pyenv + "\" exec \"$program\" \"$@\"\n",
		"asdf": "#!/usr/bin/env bash\n# asdf-plugin: python 3.12\nexec asdf exec \"python3\" \"$@\"\n",
	} {
		shim := write("shims-"+name+"/python3", text)
		if manager, _ := ShimManager(shim); manager != name {
			t.Errorf("%s: %q", name, manager)
		}
		if got, err := ResolveShim(t.Context(), shim, t.TempDir(), environ, FindCheckout(t.TempDir(), "")); err !=
			nil || got != real {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, plain := range []string{real, write("script", "#!/bin/sh\necho exec pyenv exec x\n"),
		write("other", "#!/bin/sh\nexec python3 \"$@\"\n")} {
		if got, err := ResolveShim(t.Context(), plain, t.TempDir(), environ, FindCheckout(t.TempDir(), "")); err !=
			nil || got != plain {
			t.Errorf("%s: %s, %v", plain, got, err)
		}
	}
	lost := write("shims-lost/python3",
		"#!/bin/sh\nexec \""+filepath.Join(dir, "nowhere/pyenv")+"\" exec \"x\" \"$@\"\n")
	if got, err := ResolveShim(t.Context(), lost, t.TempDir(), environ, FindCheckout(t.TempDir(), "")); err == nil {
		t.Errorf("%s", got)
	}
}
