package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"0.1.0": "0.1.0", "1.2.3-rc.1": "1.2.3rc1", "1.2.3-alpha.10": "1.2.3a10", "1.2.3-beta.2": "1.2.3b2",
		"0.0.0-dev.g0a1b2c": "0.0.0.dev0+g0a1b2c", "v1.2.3": "", "1.2": "", "1.2.3+x": "", "1.2.3-dev": "", "": "",
	} {
		if got, err := pythonVersion(version); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", version, got, err)
		}
	}
}

// A manual page belongs to one package, so that both can be installed.
func TestOwnsPage(t *testing.T) {
	for page, want := range map[string]string{
		"hallmark.1": "hallmark", "hallmark-pin.1": "hallmark", "hallmark-registry.1": "hallmark-registry",
		"hallmark-registry-serve.1": "hallmark-registry", "mcp-publisher-publish.1": "hallmark", "hashfile-mcp.1": "hallmark",
	} {
		for _, s := range sets {
			if ownsPage(s, page) != (s.name == want) {
				t.Errorf("%s in %s", page, s.name)
			}
		}
	}
}

// What comes before a release is older than it, in the words of each format.
func TestLinuxVersion(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ version, format, want, wantPre string }{
		{"1.2.3", "deb", "1.2.3", ""}, {"1.2.3", "archlinux", "1.2.3", ""}, {"1.2.3", "apk", "1.2.3", ""},
		{"1.2.3-rc.1", "deb", "1.2.3", "rc.1"}, {"1.2.3-rc.1", "rpm", "1.2.3", "rc.1"},
		{"1.2.3-rc.1", "archlinux", "1.2.3rc.1", ""}, {"1.2.3-rc.1", "apk", "1.2.3", "rc1"},
		{"0.0.0-dev.gabc", "apk", "0.0.0", "git20261129"},
	} {
		r := &release{version: c.version, time: at}
		if version, pre := r.linuxVersion(c.format); version != c.want || pre != c.wantPre {
			t.Errorf("%s, %s: %q, %q", c.version, c.format, version, pre)
		}
	}
}

// makeRelease makes all of a release but the programs, in place of which stands one small program.
func makeRelease(t *testing.T) *release {
	t.Helper()
	source := filepath.Join(t.TempDir(), "main.go")
	small := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", small, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := &release{
		root: filepath.Join("..", ".."), out: t.TempDir(), version: "1.2.3-rc.1", time: time.Unix(1_700_000_000, 0).UTC(),
	}
	program, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range sets {
		for _, name := range s.programs {
			for _, p := range s.platforms {
				put(r.built(p, name), program)
			}
			for _, shell := range shells {
				put(r.completion(shell.name, name), []byte(name))
			}
			put(filepath.Join(r.pages(), name+".1"), []byte(name))
		}
	}
	if err := r.pack(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRelease makes a release twice, and reads what it holds.
func TestRelease(t *testing.T) {
	r, again := makeRelease(t), makeRelease(t)
	sums := read(t, r, "SHA256SUMS")
	if !bytes.Equal(sums, read(t, again, "SHA256SUMS")) {
		t.Error("two releases of one commit differ")
	}
	var files []string
	for line := range strings.Lines(string(sums)) {
		files = append(files, strings.TrimSpace(line[66:]))
	}
	for _, want := range []string{
		"hallmark_1.2.3-rc.1_windows_arm64.zip", "hallmark_1.2.3-rc.1_linux_amd64.tar.gz.cdx.json", "hallmark.rb",
		"hallmark_1.2.3.rc.1-1_arm64.deb", "hallmark-registry-1.2.3.rc.1-1.x86_64.rpm", "darwin_arm64/hallmark",
		"npm-hallmark-mcp-hallmark-win32-x64-1.2.3-rc.1.tgz", "hallmark_1.2.3-rc.1_image.tar", "windows_amd64/hallmark.exe",
		"hallmark_mcp-1.2.3rc1-py3-none-macosx_12_0_arm64.whl", "hallmark.nix", "hallmark.json",
	} {
		if !slices.Contains(files, want) {
			t.Errorf("SHA256SUMS has no %s", want)
		}
	}
	t.Run("archive", func(t *testing.T) { checkArchive(t, r) })
	t.Run("npm", func(t *testing.T) { checkNPM(t, r) })
	t.Run("wheel", func(t *testing.T) { checkWheel(t, r) })
	t.Run("image", func(t *testing.T) { checkImage(t, r) })
}

func read(t *testing.T, r *release, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// untar is the files of a tar archive, with their modes.
func untar(t *testing.T, data []byte) (names map[string]fs.FileMode, content map[string][]byte) {
	t.Helper()
	var from io.Reader = bytes.NewReader(data)
	if compressed, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		from = compressed
	}
	names, content = map[string]fs.FileMode{}, map[string][]byte{}
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names, content
		}
		if err != nil {
			t.Fatal(err)
		}
		names[h.Name] = h.FileInfo().Mode()
		if content[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 1_700_000_000 {
			t.Errorf("%s: of %v", h.Name, h.ModTime)
		}
	}
}

func checkArchive(t *testing.T, r *release) {
	names, _ := untar(t, read(t, r, "hallmark_1.2.3-rc.1_linux_arm64.tar.gz"))
	top := "hallmark_1.2.3-rc.1_linux_arm64/"
	for name, mode := range map[string]fs.FileMode{
		"hallmark": 0o755, "mcp-publisher": 0o755, "hashfile-mcp": 0o755, "LICENSE": 0o644, "README.md": 0o644,
		"man/man1/hallmark.1": 0o644, "completions/_hallmark": 0o644, "completions/hallmark.fish": 0o644,
	} {
		if names[top+name] != mode {
			t.Errorf("%s: mode %v", name, names[top+name])
		}
	}
	if _, ok := names[top+"hallmark-registry"]; ok {
		t.Error("the users' archive holds a server")
	}
	for name := range names {
		if !strings.HasPrefix(name, top) {
			t.Errorf("%s is outside of the archive's directory", name)
		}
	}
}

func checkNPM(t *testing.T, r *release) {
	_, content := untar(t, read(t, r, "npm-hallmark-mcp-hallmark-1.2.3-rc.1.tgz"))
	var main map[string]any
	if err := json.Unmarshal(content["package/package.json"], &main); err != nil {
		t.Fatal(err)
	}
	if _, ok := main["scripts"]; ok {
		t.Error("a package has scripts")
	}
	carriers := main["optionalDependencies"].(map[string]any)
	if len(carriers) != len(clients.platforms) {
		t.Errorf("%d carriers", len(carriers))
	}
	for name, version := range carriers {
		file := "npm-" + strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-1.2.3-rc.1.tgz"
		modes, content := untar(t, read(t, r, file))
		var carrier struct {
			Name, Version string
			OS, CPU       []string
		}
		if err := json.Unmarshal(content["package/package.json"], &carrier); err != nil {
			t.Fatal(err)
		}
		program := "package/bin/hallmark"
		if carrier.OS[0] == "win32" {
			program += ".exe"
		}
		if carrier.Name != name || carrier.Version != version || modes[program] != 0o755 ||
			!strings.HasSuffix(name, carrier.OS[0]+"-"+carrier.CPU[0]) {
			t.Errorf("%s: %+v, program %v", file, carrier, modes[program])
		}
	}
}

func checkWheel(t *testing.T, r *release) {
	name := "hallmark_mcp-1.2.3rc1-py3-none-win_amd64.whl"
	data := read(t, r, name)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var files []packed
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if path.Base(f.Name) == "hallmark.exe" && f.Mode() != 0o755 {
			t.Errorf("%s: mode %v", f.Name, f.Mode())
		}
		files = append(files, packed{f.Name, f.Mode(), content})
	}
	record := files[len(files)-1]
	if want := wheelRecord(files[:len(files)-1], record.name); !bytes.Equal(record.data, want) {
		t.Errorf("RECORD is\n%s\nwant\n%s", record.data, want)
	}
}

func checkImage(t *testing.T, r *release) {
	_, content := untar(t, read(t, r, "hallmark-registry_1.2.3-rc.1_image.tar"))
	dir := t.TempDir()
	for name, data := range content {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := inner.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImageOf(t, image)
	}
	if fmt.Sprint(platforms) != "[linux/amd64 linux/arm64]" {
		t.Errorf("platforms %v", platforms)
	}
}

func checkImageOf(t *testing.T, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || fmt.Sprint(config.Config.Entrypoint) != "[/usr/bin/hallmark-registry]" {
		t.Errorf("%+v", config.Config)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	modes, files := untar(t, data)
	if modes["usr/bin/hallmark-registry"] != 0o755 || modes["data/"] != 0o700|fs.ModeDir ||
		!bytes.Contains(files["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN CERTIFICATE")) {
		t.Errorf("the layer has %v", modes)
	}
}
