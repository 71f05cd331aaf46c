package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The project on the Python index, and its package.
const (
	wheelProject = "hallmark-mcp"
	wheelPackage = "hallmark_mcp"
)

var (
	//go:embed python/__init__.py
	pythonStart []byte
	//go:embed python/README.md
	pythonReadme []byte
)

// wheelTags are the platform tags of the wheels. The programs of Linux are static, and so run beside any C library.
var wheelTags = map[platform]string{
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
}

var semantic = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(?:(dev)\.(g[0-9a-f]+)|(alpha|beta|rc)\.(\d+)))?$`)

// pythonVersion is a version as PEP 440 writes it. Versions that it cannot say are refused.
func pythonVersion(version string) (string, error) {
	m := semantic.FindStringSubmatch(version)
	switch {
	case m == nil:
		return "", fmt.Errorf("version %q: not MAJOR.MINOR.PATCH, alone or with -alpha.N, -beta.N, -rc.N or "+
			"-dev.gCOMMIT",
			version)
	case m[2] != "":
		return m[1] + ".dev0+" + m[3], nil
	case m[4] != "":
		return m[1] + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[4]] + m[5], nil
	}
	return m[1], nil
}

// writeWheels writes a wheel for each platform.
func (r *release) writeWheels() error {
	for _, p := range clients.platforms {
		if err := r.writeWheel(p); err != nil {
			return err
		}
	}
	return nil
}

// writeWheel writes the wheel of p. Installers put its programs where scripts belong.
func (r *release) writeWheel(p platform) error {
	version, err := pythonVersion(r.version)
	if err != nil {
		return err
	}
	stem := wheelPackage + "-" + version
	files := []packed{{wheelPackage + "/__init__.py", 0o644, pythonStart}}
	for _, name := range clients.programs {
		data, err := os.ReadFile(r.built(p, name))
		if err != nil {
			return err
		}
		files = append(files, packed{stem + ".data/scripts/" + p.program(name), 0o755, data})
	}
	text, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	info := stem + ".dist-info/"
	files = append(files,
		packed{info + "licenses/LICENSE", 0o644, text},
		packed{info + "METADATA", 0o644, wheelMetadata(version)},
		packed{info + "WHEEL", 0o644, wheelDescription(wheelTags[p])},
		packed{info + "entry_points.txt", 0o644, []byte("[console_scripts]\n" + wheelProject + " = " +
			wheelPackage + ":main\n")},
	)
	files = append(files, packed{info + "RECORD", 0o644, wheelRecord(files, info+"RECORD")})
	data, err := zipFiles(files, r.time)
	if err != nil {
		return err
	}
	return r.write(stem+"-py3-none-"+wheelTags[p]+".whl", data)
}

// wheelMetadata is what the index shows.
func wheelMetadata(version string) []byte {
	return []byte(strings.Join([]string{
		"Metadata-Version: 2.4", "Name: " + wheelProject, "Version: " + version, "Summary: " + summary,
		"License-Expression: " + license, "License-File: LICENSE", "Requires-Python: >=3.8",
		"Project-URL: Homepage, " + homepage, "Project-URL: Changelog, " + homepage + "/blob/main/CHANGELOG.md",
		"Description-Content-Type: text/markdown", "", string(pythonReadme),
	}, "\n"))
}

// wheelDescription says what the wheel fits: a line for each of the tags that its name compresses.
func wheelDescription(tags string) []byte {
	lines := []string{"Wheel-Version: 1.0", "Generator: hallmark release", "Root-Is-Purelib: false"}
	for tag := range strings.SplitSeq(tags, ".") {
		lines = append(lines, "Tag: py3-none-"+tag)
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// wheelRecord lists the files of a wheel with their hashes, and itself without.
func wheelRecord(files []packed, self string) []byte {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&b, "%s,,\n", self)
	return []byte(b.String())
}
