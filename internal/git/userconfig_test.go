package git

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// userWorld is a user with a git configuration of their own, at work in a checkout with another.
type userWorld struct {
	t              *testing.T
	home, checkout string
	commit         string // of the repository srv/kit.git
	srv            string
}

func newUserWorld(t *testing.T) *userWorld {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins for ssh and credential helpers are shell scripts")
	}
	w := &userWorld{t: t, home: t.TempDir(), checkout: t.TempDir(), srv: t.TempDir()}
	work := t.TempDir()
	w.git(w.checkout, "init", "--quiet")
	w.git(work, "init", "--quiet", "-b", "main")
	w.git(work, "commit", "--quiet", "--allow-empty", "-m", "one")
	w.git(w.srv, "clone", "--quiet", "--bare", work, "kit.git")
	w.commit = w.git(work, "rev-parse", "HEAD")
	return w
}

func (w *userWorld) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+w.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// script writes a program that notes that it ran, and returns it with the file in which it does.
func (w *userWorld) script(dir, name, body string) (path, ran string) {
	w.t.Helper()
	path, ran = filepath.Join(dir, name), filepath.Join(w.t.TempDir(), "ran")
	text := "#!/bin/sh\necho \"$@\" >> " + ran + "\n" + body + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path, ran
}

// repository is the one at url, asked from the checkout.
func (w *userWorld) repository(url string, environ ...string) Repository {
	return Repository{URL: url, Checkout: foreign.FindCheckout(w.checkout, w.home), Work: w.t.TempDir(),
		Environ: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1"}, environ...),
		May:     func(wire.HostUse) error { return nil }}
}

// TestSSHCommandOfUser: core.sshCommand of the user's configuration is used, and that of the checkout is not.
func TestSSHCommandOfUser(t *testing.T) {
	w := newUserWorld(t)
	t.Chdir(w.checkout)
	// It runs what ssh would run on the other machine: git-upload-pack with the path of the URL.
	serve := "for last; do :; done\neval \"$last\""
	users, ran := w.script(w.home, "users-ssh", serve)
	theirs, evil := w.script(w.checkout, "theirs-ssh", serve)
	w.git(w.checkout, "config", "core.sshCommand", theirs)
	w.git(w.checkout, "config", "credential.helper", theirs)
	url := "ssh://git@git.example.com" + filepath.ToSlash(w.srv) + "/kit.git"
	if err := os.WriteFile(filepath.Join(w.checkout, ".gitconfig"),
		[]byte("[core]\n\tsshCommand = "+theirs+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	resolves := func(name string, environ ...string) {
		t.Helper()
		r := w.repository(url, environ...)
		os.Remove(ran)
		id, err := r.Resolve(t.Context(), Ref{})
		if text, _ := os.ReadFile(ran); err != nil || id != w.commit || !strings.Contains(string(text), "git@git.example.com") {
			t.Errorf("%s: %s %v; ran %q", name, id, err, text)
		}
		c, err := r.Fetch(t.Context(), w.commit)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			c.Close()
		}
	}
	w.git(w.home, "config", "--global", "core.sshCommand", users+" -i ~/.ssh/key")
	resolves("configured")
	resolves("its configuration is the checkout's", "GIT_CONFIG_GLOBAL="+filepath.Join(w.checkout, ".gitconfig"))
	w.git(w.home, "config", "--global", "--unset", "core.sshCommand")
	resolves("in the environment", "GIT_SSH_COMMAND="+users)
	resolves("a program", "GIT_SSH="+users)
	if _, err := os.Stat(evil); err == nil {
		t.Error("a program of the checkout ran")
	}
	for _, environ := range []string{"GIT_SSH_COMMAND=" + theirs + " -x", "GIT_SSH=" + theirs,
		"GIT_SSH_COMMAND='" + theirs + "'"} {
		_, err := w.repository(url, environ).Resolve(t.Context(), Ref{})
		if evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s: %v", environ, err)
		}
	}
	if _, err := os.Stat(evil); !errors.Is(err, os.ErrNotExist) {
		t.Error("a program of the checkout ran")
	}
}

// TestSSHOptions: OpenSSH is told to ask nothing; what may not be OpenSSH is started as the user wrote it.
func TestSSHOptions(t *testing.T) {
	w := newUserWorld(t)
	for command, batch := range map[string]bool{
		"": true, "ssh": true, "ssh -i ~/.ssh/key": true, "/usr/bin/ssh": true, "'/usr/bin/ssh' -4": true,
		"plink -batch": false, "~/bin/wrapper": false, `"/opt/my tools/ssh.exe" -x`: true,
	} {
		r := w.repository("ssh://git@git.example.com/kit.git", "GIT_SSH_COMMAND="+command)
		got, err := r.sshCommand(t.Context(), r.Work)
		if err != nil || strings.Contains(got, " -oBatchMode=yes") != batch || !strings.HasPrefix(got, command) {
			t.Errorf("%q: %q %v", command, got, err)
		}
	}
}

// TestCredentialHelperOfUser: a credential helper of the user's configuration is asked, and none of the checkout.
func TestCredentialHelperOfUser(t *testing.T) {
	w := newUserWorld(t)
	t.Chdir(w.checkout)
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + w.srv, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + w.home, "REMOTE_USER=me"}}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); user != "me" || password != "s3cret" {
			out.Header().Set("WWW-Authenticate", `Basic realm="kit"`)
			out.WriteHeader(http.StatusUnauthorized)
			io.WriteString(out, "who?")
			return
		}
		backend.ServeHTTP(out, req)
	}))
	defer srv.Close()
	authority := filepath.Join(w.home, "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := "echo username=me\necho password=s3cret"
	users, ran := w.script(w.home, "users-helper", answer)
	theirs, evil := w.script(w.checkout, "theirs-helper", answer)
	w.git(w.checkout, "config", "credential.helper", theirs)
	r := w.repository(srv.URL+"/kit.git", "GIT_SSL_CAINFO="+authority)
	if _, err := r.Resolve(t.Context(), Ref{}); err == nil {
		t.Error("the server wants no credentials")
	}
	w.git(w.home, "config", "--global", "credential.helper", users)
	id, err := r.Resolve(t.Context(), Ref{})
	if err != nil || id != w.commit {
		t.Errorf("%s %v", id, err)
	}
	if text, _ := os.ReadFile(ran); !slices.Contains(strings.Fields(string(text)), "get") {
		t.Errorf("the helper was asked %q", text)
	}
	if _, err := os.Stat(evil); !errors.Is(err, os.ErrNotExist) {
		t.Error("a program of the checkout ran")
	}
}
