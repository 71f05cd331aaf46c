// Release builds what a release of Hallmark consists of, from the checkout and nothing else:
//
//	go run -C tools ./release [-version 0.1.0] [-out bin/release]
//
// archives for each platform, packages for Debian, RPM, Alpine and Arch, packages of npm and wheels that carry the
// programs, images for two architectures, a formula for Homebrew, a manifest for Scoop, a derivation for Nix, a bill of
// materials beside each archive, and SHA256SUMS of all of them and of the programs in them. Times come from the
// commit: two runs on one commit write the same bytes. Nothing is sent anywhere.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	version := flag.String("version", "", "version without v; default: the commit's tag, or 0.0.0-dev.gCOMMIT")
	out := flag.String("out", filepath.Join("bin", "release"), "directory to write to, below the checkout; "+
		"emptied first")
	flag.Parse()
	if err := run(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes the release in the directory out of the checkout.
func run(version, out string) error {
	root, err := gitLine(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	r := &release{root: root, out: filepath.Join(root, out), version: version}
	if err := r.date(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	began := time.Now()
	if err := r.build(); err != nil {
		return err
	}
	if err := r.pack(); err != nil {
		return err
	}
	fmt.Printf("%s %s in %s, in %v\n", product, r.version, out, time.Since(began).Round(time.Second))
	return nil
}

// pack writes all files of the release from what was built.
func (r *release) pack() error {
	var work errgroup.Group
	work.SetLimit(2) // each holds one archive in memory
	for _, step := range []func() error{
		r.writeArchives, r.writeLinuxPackages, r.writeNPM, r.writeWheels, r.writeImages,
	} {
		work.Go(step)
	}
	if err := work.Wait(); err != nil {
		return err
	}
	if err := r.writeManifests(); err != nil {
		return err
	}
	if err := r.writeKey(); err != nil {
		return err
	}
	return r.writeSums()
}

// release is one version that is being made.
type release struct {
	root    string // the checkout
	out     string
	version string    // semantic, without v
	time    time.Time // of the commit, in UTC
}

// What all packages say of the product.
const (
	product    = "hallmark"
	homepage   = "https://github.com/hallmark-mcp/hallmark"
	summary    = "Integrity for MCP servers, plugins and skills: what was published is what runs"
	license    = "Apache-2.0"
	maintainer = "Hallmark <security@hallmark.example.com>"
)

// date sets the version, unless it is set, and the time, which are the commit's.
func (r *release) date() error {
	seconds, err := gitLine(r.root, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	r.time = time.Unix(n, 0).UTC()
	if r.version != "" {
		_, err := pythonVersion(r.version)
		return err
	}
	if tag, err := gitLine(r.root, "describe", "--exact-match", "--tags", "--match", "v[0-9]*"); err == nil {
		r.version = strings.TrimPrefix(tag, "v")
		_, err := pythonVersion(r.version)
		return err
	}
	commit, err := gitLine(r.root, "rev-parse", "--short=12", "HEAD")
	r.version = "0.0.0-dev.g" + commit
	return err
}

// gitLine is the one line that git prints.
func gitLine(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// path is a file of the release, whose directory exists afterwards.
func (r *release) path(names ...string) (string, error) {
	p := filepath.Join(append([]string{r.out}, names...)...)
	return p, os.MkdirAll(filepath.Dir(p), 0o755)
}

// write writes a file of the release and says so.
func (r *release) write(name string, data []byte) error {
	p, err := r.path(name)
	if err != nil {
		return err
	}
	fmt.Printf("%9d %s\n", len(data), name)
	return os.WriteFile(p, data, 0o644)
}
