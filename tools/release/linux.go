package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/arch"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// units are the files by which systemd runs a registry.
var units = []string{
	"hallmark-registry.service", "hallmark-registry-reverify.service", "hallmark-registry-reverify.timer",
}

// writeLinuxPackages writes the packages of each set for the packagers of Linux distributions.
func (r *release) writeLinuxPackages() error {
	if err := r.writeUnits(); err != nil {
		return err
	}
	for _, s := range sets {
		for _, p := range s.platforms {
			if p.os != "linux" {
				continue
			}
			for _, format := range []string{"deb", "rpm", "apk", "archlinux"} {
				if err := r.writeLinuxPackage(s, p, format); err != nil {
					return fmt.Errorf("%s: %w", format, err)
				}
			}
		}
	}
	return nil
}

// writeUnits writes systemd's files with the directory into which packages put programs.
func (r *release) writeUnits() error {
	for _, name := range units {
		text, err := os.ReadFile(filepath.Join(r.root, "deploy", name))
		if err != nil {
			return err
		}
		to, err := r.path("build", "systemd", name)
		if err != nil {
			return err
		}
		moved := strings.ReplaceAll(string(text), "/usr/local/bin/", "/usr/bin/")
		if err := os.WriteFile(to, []byte(moved), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeLinuxPackage writes one package.
func (r *release) writeLinuxPackage(s set, p platform, format string) error {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	contents, err := r.contents(s, p, format)
	if err != nil {
		return err
	}
	version, prerelease := r.linuxVersion(format)
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: s.name, Arch: p.arch, Platform: p.os, Version: version, Prerelease: prerelease, VersionSchema: "none",
		Release: "1", Section: "utils",
		Priority: "optional", Maintainer: maintainer, Description: s.summary, Vendor: "Hallmark", Homepage: homepage,
		License: license, MTime: r.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{Summary: s.summary, BuildHost: "localhost", Packager: maintainer},
			Deb:      nfpm.Deb{Fields: map[string]string{"Bugs": homepage + "/issues"}},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	// Where releases are offered, a name has no tilde.
	return r.write(strings.ReplaceAll(packager.ConventionalFileName(info), "~", "."), out.Bytes())
}

// linuxVersion is the version in a format, and what makes it older than the release, each in a way that orders them:
// those of Arch have no place of its own for the second, and Alpine knows few words.
func (r *release) linuxVersion(format string) (version, prerelease string) {
	version, prerelease, _ = strings.Cut(r.version, "-")
	switch {
	case prerelease == "":
	case format == "archlinux":
		return version + prerelease, ""
	case format == "apk" && strings.HasPrefix(prerelease, "dev."):
		return version, "git" + r.time.Format("20060102")
	case format == "apk":
		return version, strings.ReplaceAll(prerelease, ".", "")
	}
	return version, prerelease
}

// contents are the files of a package in a format.
func (r *release) contents(s set, p platform, format string) (files.Contents, error) {
	all, err := r.files(s, p)
	if err != nil {
		return nil, err
	}
	if s.name == registry.name {
		for _, name := range units {
			all = append(all, file{filepath.Join(r.out, "build", "systemd", name), "/usr/lib/systemd/system/" + name,
				0o644})
		}
	}
	var contents files.Contents
	for _, f := range all {
		if format == "deb" { // the policy of Debian, chapter 11
			f.target = strings.Replace(f.target, "/zsh/site-functions/", "/zsh/vendor-completions/", 1)
		}
		contents = append(contents, &files.Content{
			Source: f.source, Destination: f.target,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.time},
		})
	}
	return contents, nil
}
