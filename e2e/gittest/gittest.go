// Package gittest gives tests a project beside a git server of their own.
package gittest

import (
	"encoding/pem"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/hosttest"
)

// World is a project beside a git server that speaks https.
type World struct {
	*hosttest.FacetProject
	Work string // a working tree of the repository
	Bare string // what the server serves
	URL  string
}

// New starts the server and makes an empty repository; source says, beside its URL, which part of it the
// project declares.
func New(t *testing.T, source string) *World {
	t.Helper()
	base := t.TempDir()
	w := &World{Work: filepath.Join(base, "work"), Bare: filepath.Join(base, "srv", "kit.git")}
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal("git is needed: ", err)
	}
	srv := httptest.NewTLSServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Join(base, "srv"), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + base},
	})
	t.Cleanup(srv.Close)
	w.URL = srv.URL + "/kit.git"
	authority := filepath.Join(base, "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	w.FacetProject = hosttest.NewFacetProject(t,
		strings.ReplaceAll("[facets]\nkit = { git = \"URL\""+source+" }\n[adapters]\ntargets = [\"dir:tools\"]\n",
			"URL", w.URL))
	w.Host.Environ = append(os.Environ(), "GIT_SSL_CAINFO="+authority, "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1")
	w.Git("init", "--quiet", "--bare", "-b", "main", w.Bare)
	w.Git("init", "--quiet", "-b", "main", w.Work)
	return w
}

// Git runs git, in the working tree save to make one, and returns what it says.
func (w *World) Git(args ...string) string {
	w.T.Helper()
	cmd := exec.Command("git", args...)
	if args[0] != "init" {
		cmd.Dir = w.Work
	}
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.T.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Push commits a version of the facet and moves the branch and the tag to it.
func (w *World) Push(sub, version, text string) string {
	w.T.Helper()
	elsewhere := *w.FacetProject
	elsewhere.Dir = w.Work
	elsewhere.Kit(sub, version, text)
	w.Git("add", "-A")
	w.Git("commit", "--quiet", "--allow-empty", "-m", version)
	w.Git("tag", "-f", "v1")
	w.Git("push", "--quiet", "-f", w.Bare, "main", "v1")
	return w.Git("rev-parse", "HEAD")
}
