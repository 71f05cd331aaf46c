//go:build unix

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// facetStage is a project with facets and a home of its own, in which commands are killed.
type facetStage struct{ *world.FacetStage }

func newFacetStage(t *testing.T, bin, config string) *facetStage {
	t.Helper()
	return &facetStage{world.NewFacetStage(t, bin, config)}
}

// kit writes the directory of a facet whose files all say the same.
func (s *facetStage) kit(dir, version, text string) {
	s.Write(dir+"/facet.json",
		`{"name":"kit","version":"`+version+
			`","skills":{"greet":{"description":"d","files":["a.txt","b.txt"]}},"agents":{"x":{"description":"d"}}}`)
	for _, name := range []string{"skills/greet/SKILL.md", "skills/greet/a.txt", "skills/greet/b.txt", "agents/x.md"} {
		s.Write(dir+"/"+name, text)
	}
}

// skill writes the directory of an ordinary skill of four files.
func (s *facetStage) skill(dir, version, text string) {
	s.Write(dir+"/SKILL.md", "---\nname: kit\ndescription: d\nmetadata:\n  version: "+version+"\n---\n"+text)
	for _, name := range []string{"a.txt", "b.txt", "more/c.txt"} {
		s.Write(dir+"/"+name, text)
	}
}

// whole demands that lock, files and receipt are those of one and the same version, and
// that nothing else is left.
func (s *facetStage) whole(after string) {
	s.T.Helper()
	data, err := os.ReadFile(filepath.Join(s.Project, "hallmark.lock"))
	if os.IsNotExist(err) {
		if _, err := os.Stat(filepath.Join(s.Project, "tools")); err == nil {
			s.T.Fatalf("%s: files without a lock", after)
		}
		return
	}
	var lock struct {
		Facets map[string]struct {
			Assets map[string]string
		}
	}
	if err != nil || json.Unmarshal(data, &lock) != nil {
		s.T.Fatalf("%s: %v\n%s", after, err, data)
	}
	found := 0
	for path := range files(s.T, s.Project) {
		rel, _ := filepath.Rel(s.Project, path)
		in, installed := strings.CutPrefix(filepath.ToSlash(rel), "tools/")
		if !installed {
			if rel != "hallmark.toml" && rel != "hallmark.lock" {
				s.T.Errorf("%s: %s is left in the project", after, rel)
			}
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			s.T.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got := "sha256:" + hex.EncodeToString(sum[:]); got != lock.Facets["kit"].Assets[in] {
			s.T.Errorf("%s: %s is not what is locked", after, rel)
		}
		found++
	}
	if found != 4 {
		s.T.Errorf("%s: %d files", after, found)
	}
	for path := range files(s.T, filepath.Join(s.Home, "state")) {
		if base := filepath.Base(path); base == "journal" || strings.HasSuffix(base, ".tmp") ||
			strings.HasSuffix(base, ".abandoned") {
			s.T.Errorf("%s: %s is left in the state directory", after, base)
		}
	}
}

// kills is how many commands are killed, HALLMARK_KILLS if it is set.
func kills(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("HALLMARK_KILLS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("HALLMARK_KILLS is %q", text)
	}
	return n
}

// killed runs a command and kills it, and what it started, after a time.
func (s *facetStage) killed(wait time.Duration, args ...string) bool {
	s.T.Helper()
	cmd := s.Command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	timer := time.AfterFunc(wait, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	return cmd.Wait() != nil
}

// ends demands that nothing of killed commands is left after a whole one.
func (s *facetStage) ends(args ...string) {
	s.T.Helper()
	s.Run(args...)
	s.whole(strings.Join(args, " "))
	s.Run("check", "--offline")
	if left, _ := filepath.Glob(filepath.Join(s.Home, "cache", "store", "staging", "*")); len(left) > 0 {
		s.T.Errorf("left in staging: %q", left)
	}
}

// An install that is killed at a random moment leaves, after the next command, either all
// or nothing of what it was to change (R1).
func TestInstallKilled(t *testing.T) { testInstallKilled(t, (*facetStage).kit, 60) }

// The same of a skill, which is wrapped (R1).
func TestSkillInstallKilled(t *testing.T) { testInstallKilled(t, (*facetStage).skill, 30) }

func testInstallKilled(t *testing.T, write func(s *facetStage, dir, version, text string), usualKills int) {
	t.Parallel()
	s := newFacetStage(t, world.Build(t, "hallmark"),
		"[facets]\nkit = { path = \"../kit\" }\n[adapters]\ntargets = [\"dir:tools\"]\n")
	write(s, "kit", "1.0.0", "0\n")
	began := time.Now()
	s.Run("install")
	usual := time.Since(began)
	rounds, done, journals := kills(t, usualKills), 0, 0
	for i := range rounds {
		write(s, "kit", fmt.Sprintf("1.0.%d", i+1), fmt.Sprint(i+1, "\n"))
		wait := rand.N(usual * 3 / 2)
		if s.killed(wait, "install") {
			done++
		}
		journals += s.journals()
		s.Run("list")
		s.whole(fmt.Sprintf("killed after %v", wait))
	}
	if done == 0 {
		t.Error("no install was killed")
	}
	t.Logf("%d of %d were killed, %d left a journal", done, rounds, journals)
	s.ends("install")
}

// journals is how many changes were interrupted and wait to be finished or undone.
func (s *facetStage) journals() int {
	found, err := filepath.Glob(filepath.Join(s.Home, "state", "projects", "*", "journal"))
	if err != nil {
		s.T.Fatal(err)
	}
	return len(found)
}

// The same of an upgrade, which downloads, asks the log and writes its checkpoint, and of
// an install into an empty store (R1).
func TestUpgradeKilled(t *testing.T) {
	t.Parallel()
	bin := world.Build(t, "hallmark")
	registry := world.StartRegistry(t, "--data", t.TempDir(), "--allow-anonymous")
	key := world.LogKey(t, registry.URL)
	s := newFacetStage(t, bin,
		fmt.Sprintf("[registry]\nurl = %q\nlog_key = %q\n[facets]\nkit = \"*\"\n[adapters]\n"+
			"targets = [\"dir:tools\"]\n", registry.URL, key))
	publish := func(i int) {
		s.kit("kit", fmt.Sprintf("1.0.%d", i), fmt.Sprint(i, "\n"))
		s.Run("pack", filepath.Join(s.Dir, "kit"), "-o", filepath.Join(s.Dir, "kit.facet"))
		s.Run("publish", filepath.Join(s.Dir, "kit.facet"), "--registry", registry.URL, "--log-key", key)
	}
	publish(0)
	began := time.Now()
	s.Run("install")
	usual := time.Since(began)
	rounds, done, journals, behind := kills(t, 20), 0, 0, true
	for i := range rounds {
		if behind || i%8 == 0 { // else the last upgrade was killed, and the next has as much to do
			publish(i + 1)
		}
		if i%4 == 3 { // what is locked is fetched again
			s.emptyStore()
		}
		wait := rand.N(usual * 3 / 2)
		if s.killed(wait, "upgrade", "--yes") {
			done++
		}
		journals += s.journals()
		s.Run("list")
		s.whole(fmt.Sprintf("killed after %v", wait))
		behind = !strings.Contains(s.outdated(), "->")
	}
	if done == 0 {
		t.Error("no upgrade was killed")
	}
	t.Logf("%d of %d were killed, %d left a journal", done, rounds, journals)
	s.ends("upgrade", "--yes")
}

// outdated is what the command prints, whatever its exit code.
func (s *facetStage) outdated() string {
	out, err := s.Command("outdated").Output()
	if err != nil {
		s.T.Fatalf("outdated: %v", err)
	}
	return string(out)
}

// emptyStore removes the store, but not what processes hold.
func (s *facetStage) emptyStore() {
	s.T.Helper()
	store := filepath.Join(s.Home, "cache", "store")
	if _, err := os.Stat(store); os.IsNotExist(err) {
		return // emptied before, and not filled by what was killed since
	}
	if out, err := exec.Command("chmod", "-R", "u+w", store).CombinedOutput(); err != nil {
		s.T.Fatalf("%v\n%s", err, out)
	}
	if err := os.RemoveAll(store); err != nil {
		s.T.Fatal(err)
	}
}

// 32 processes install into one project and one store, and as many projects share a
// store: all succeed, and nothing is fetched twice (R8).
func TestManyInstallers(t *testing.T) {
	bin := world.Build(t, "hallmark")
	registry := world.StartRegistry(t, "--data", t.TempDir(), "--allow-anonymous")
	target, err := url.Parse(registry.URL)
	if err != nil {
		t.Fatal(err)
	}
	var archives atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/archive") {
			archives.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)

	author := newFacetStage(t, bin, "")
	author.kit("kit", "1.0.0", "first\n")
	author.Run("pack", filepath.Join(author.Dir, "kit"), "-o", "kit.facet")
	key := world.LogKey(t, registry.URL)
	author.Run("publish", "kit.facet", "--registry", registry.URL, "--log-key", key)

	config := fmt.Sprintf(
		"[registry]\nurl = %q\nlog_key = %q\n[facets]\nkit = \"*\"\n[adapters]\ntargets = [\"dir:tools\"]\n", front.URL,
		key)
	together := func(stages []*facetStage) {
		t.Helper()
		var group sync.WaitGroup
		for _, s := range stages {
			group.Go(func() {
				if out, err := s.Command("install").CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		group.Wait()
		if n := archives.Swap(0); n != 1 {
			t.Errorf("the archive was fetched %d times", n)
		}
		for _, s := range stages {
			s.whole("many installers")
		}
	}
	one := newFacetStage(t, bin, config)
	stages := make([]*facetStage, 32)
	for i := range stages {
		stages[i] = one
	}
	together(stages)

	shared := filepath.Join(t.TempDir(), "home")
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", shared).Run() })
	for i := range stages {
		stages[i] = newFacetStage(t, bin, config)
		stages[i].Home = shared
	}
	together(stages)
}

// 32 processes install a skill of a repository into one project and one store, and as many projects share a store
// (R8). Whether a repository is asked again for what nobody has locked yet is left to each project.
func TestManySkillInstallers(t *testing.T) {
	bin := world.Build(t, "hallmark")
	author := newFacetStage(t, bin, "")
	author.skill("skills/kit", "1.0.0", "first\n")
	repository := filepath.Join(author.Dir, "skills")
	for _, args := range [][]string{
		{"init", "--quiet", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "one"}, {"tag", "v1"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	// What ssh would run on the other machine, of which this one is a stand-in.
	ssh := filepath.Join(author.Dir, "ssh")
	world.Write(t, ssh,
		"#!/bin/sh\nfor command; do :; done\ncase $command in git-upload-pack*) eval \"$command\" ;; esac\n")
	if err := os.Chmod(ssh, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSH_COMMAND", ssh)
	config := fmt.Sprintf("[facets]\nkit = { git = %q, tag = \"v1\", sub = \"kit\" }\n[adapters]\n"+
		"targets = [\"dir:tools\"]\n", "ssh://git@git.example.com"+repository)
	together := func(stages []*facetStage) {
		t.Helper()
		var group sync.WaitGroup
		for _, s := range stages {
			group.Go(func() {
				out, err := s.Command("install", "--allow-host", "git.example.com:22").CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		group.Wait()
		for _, s := range stages {
			s.whole("many installers of a skill")
		}
	}
	one := newFacetStage(t, bin, config)
	stages := make([]*facetStage, 32)
	for i := range stages {
		stages[i] = one
	}
	together(stages)

	shared := filepath.Join(t.TempDir(), "home")
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", shared).Run() })
	for i := range stages {
		stages[i] = newFacetStage(t, bin, config)
		stages[i].Home = shared
	}
	together(stages)
}
