package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// platform is what programs are built for, in the names of Go.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// program is the file name of a program on p.
func (p platform) program(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

// set is programs that are packed together.
type set struct {
	name      string
	summary   string
	programs  []string
	platforms []platform
}

var (
	unix = []platform{
		{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	}
	// clients are what users and authors run; it holds no server of a registry.
	clients = set{
		name: product, summary: summary, programs: []string{"hallmark", "mcp-publisher", "hashfile-mcp"},
		platforms: append(slices.Clone(unix), platform{"windows", "amd64"}, platform{"windows", "arm64"}),
	}
	registry = set{
		name: "hallmark-registry", summary: "A registry of MCP servers that recomputes every hash that it publishes",
		programs: []string{"hallmark-registry"}, platforms: unix,
	}
	sets = []set{clients, registry}
)

// shells are those that programs print completions for, and where Linux distributions keep them.
var shells = []struct{ name, dir, prefix, suffix string }{
	{"bash", "/usr/share/bash-completion/completions/", "", ""},
	{"zsh", "/usr/share/zsh/site-functions/", "_", ""},
	{"fish", "/usr/share/fish/vendor_completions.d/", "", ".fish"},
}

// built is where a program of p lies.
func (r *release) built(p platform, program string) string {
	return filepath.Join(r.out, "build", p.String(), p.program(program))
}

// build links every program for every platform, and writes manual pages and completions.
func (r *release) build() error {
	var work errgroup.Group
	work.SetLimit(2) // each go build is parallel itself
	for _, s := range sets {
		for _, p := range s.platforms {
			work.Go(func() error { return r.link(s, p) })
		}
	}
	if err := work.Wait(); err != nil {
		return err
	}
	if err := r.goTool("", platform{}, "run", "./cmd/internal/man", r.pages()); err != nil {
		return err
	}
	return r.writeCompletions()
}

// link builds the programs of s for p.
func (r *release) link(s set, p platform) error {
	args := []string{
		"build", "-ldflags", "-s -w -X github.com/hallmark-mcp/hallmark/cmd/internal/program.Version=v" + r.version,
		"-o", filepath.Dir(r.built(p, s.name)) + string(filepath.Separator),
	}
	for _, name := range s.programs {
		args = append(args, "./cmd/"+name)
	}
	fmt.Printf("building %s for %s\n", s.name, p)
	return r.goTool("", p, args...)
}

// goTool runs go in the checkout, for p unless that is zero, in the one way in which everything is compiled, and
// writes what it prints to the file output unless that is "".
func (r *release) goTool(output string, p platform, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = r.root
	// What a builder set for himself changes what the compiler writes.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off",
		fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
	if p != (platform{}) {
		cmd.Env = append(cmd.Env, "GOOS="+p.os, "GOARCH="+p.arch)
	}
	cmd.Stderr = os.Stderr
	if output != "" {
		if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
			return err
		}
		f, err := os.Create(output)
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.Stdout = f
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// pages is the directory of manual pages.
func (r *release) pages() string { return filepath.Join(r.out, "build", "man1") }

// completion is the file with the completions of a program in the named shell.
func (r *release) completion(shell, program string) string {
	return filepath.Join(r.out, "build", "completions", shell, program)
}

// writeCompletions asks each program for its completions.
func (r *release) writeCompletions() error {
	own := platform{runtime.GOOS, runtime.GOARCH}
	for _, s := range sets {
		for _, name := range s.programs {
			for _, shell := range shells {
				file := r.completion(shell.name, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					return err
				}
				text, err := exec.Command(r.built(own, name), "completion", shell.name).Output()
				if err != nil {
					return fmt.Errorf("%s completion %s: %w", name, shell.name, err)
				}
				if err := os.WriteFile(file, text, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// file is one that packages hold: where it is read and where it belongs on a Unix system.
type file struct {
	source, target string
	mode           os.FileMode
}

// files returns the files of s for p, in order.
func (r *release) files(s set, p platform) ([]file, error) {
	var all []file
	for _, name := range s.programs {
		all = append(all, file{r.built(p, name), "/usr/bin/" + p.program(name), 0o755})
		for _, shell := range shells {
			all = append(all, file{r.completion(shell.name, name), shell.dir + shell.prefix + name + shell.suffix,
				0o644})
		}
	}
	pages, err := filepath.Glob(filepath.Join(r.pages(), "*.1"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if ownsPage(s, filepath.Base(page)) {
			all = append(all, file{page, "/usr/share/man/man1/" + filepath.Base(page), 0o644})
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		all = append(all, file{filepath.Join(r.root, name), "/usr/share/doc/" + s.name + "/" + name, 0o644})
	}
	return all, nil
}

// ownsPage reports whether s holds a manual page: that of the longest program's name that the page's begins with.
// Package hallmark and package hallmark-registry can be installed together.
func ownsPage(s set, page string) bool {
	owner, longest := "", 0
	for _, other := range sets {
		for _, name := range other.programs {
			if strings.HasPrefix(page, name) && len(name) > longest {
				owner, longest = other.name, len(name)
			}
		}
	}
	return owner == s.name
}
