package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed templates/hallmark.rb
var formula string

//go:embed templates/hallmark.nix
var derivation string

// scoopManifest is what Scoop reads.
type scoopManifest struct {
	Version      string                   `json:"version"`
	Description  string                   `json:"description"`
	Homepage     string                   `json:"homepage"`
	License      string                   `json:"license"`
	Architecture map[string]scoopDownload `json:"architecture"`
	Bin          []string                 `json:"bin"`
	Checkver     map[string]string        `json:"checkver"`
}

// scoopDownload is an archive that Scoop unpacks.
type scoopDownload struct {
	URL        string `json:"url"`
	Hash       string `json:"hash"`
	ExtractDir string `json:"extract_dir"`
}

// writeManifests writes what other package managers read to find the archives: files of their repositories.
func (r *release) writeManifests() error {
	archives := map[string]map[string]string{}
	for _, p := range clients.platforms {
		sum, err := r.sum(r.archive(clients, p))
		if err != nil {
			return err
		}
		archives[p.String()] = map[string]string{"URL": r.download(p), "SHA256": sum}
	}
	values := map[string]any{
		"Version": r.version, "Homepage": homepage, "Summary": summary, "License": license,
		"Programs": clients.programs, "Archives": archives,
	}
	for name, text := range map[string]string{"hallmark.rb": formula, "hallmark.nix": derivation} {
		t, err := template.New(name).Option("missingkey=error").Parse(text)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, values); err != nil {
			return err
		}
		if err := r.write(name, out.Bytes()); err != nil {
			return err
		}
	}
	return r.writeScoop(archives)
}

// writeScoop writes the manifest of Scoop.
func (r *release) writeScoop(archives map[string]map[string]string) error {
	m := scoopManifest{
		Version: r.version, Description: summary, Homepage: homepage, License: license,
		Architecture: map[string]scoopDownload{}, Checkver: map[string]string{"github": homepage},
	}
	for _, p := range clients.platforms {
		if p.os != "windows" {
			continue
		}
		arch := map[string]string{"amd64": "64bit", "arm64": "arm64"}[p.arch]
		m.Architecture[arch] = scoopDownload{
			URL: archives[p.String()]["URL"], Hash: archives[p.String()]["SHA256"],
			ExtractDir: clients.name + "_" + r.version + "_" + p.String(),
		}
	}
	for _, name := range clients.programs {
		m.Bin = append(m.Bin, name+".exe")
	}
	data, err := json.MarshalIndent(m, "", "    ")
	if err != nil {
		return err
	}
	return r.write("hallmark.json", append(data, '\n'))
}

// download is where a release offers the archive for p.
func (r *release) download(p platform) string {
	return homepage + "/releases/download/v" + r.version + "/" + r.archive(clients, p)
}

// sum is the SHA-256 of a file of the release, in hexadecimal digits.
func (r *release) sum(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// writeKey writes the public key of the releases, once there is one.
func (r *release) writeKey() error {
	key, err := os.ReadFile(filepath.Join(r.root, "cmd", "internal", "cli", "release.pub"))
	if err != nil || len(key) == 0 {
		return err
	}
	return r.write("hallmark.pub", key)
}

// writeSums writes SHA256SUMS, as sha256sum does: of each file of the release, and of each program in its archives
// under its platform, so that an installed program can be looked up too.
func (r *release) writeSums() error {
	var names []string
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	var out bytes.Buffer
	for _, name := range names {
		sum, err := r.sum(name)
		if err != nil {
			return err
		}
		out.WriteString(sum + "  " + name + "\n")
	}
	for _, s := range sets {
		for _, p := range s.platforms {
			for _, program := range s.programs {
				sum, err := r.sum(filepath.Join("build", p.String(), p.program(program)))
				if err != nil {
					return err
				}
				out.WriteString(sum + "  " + p.String() + "/" + p.program(program) + "\n")
			}
		}
	}
	return r.write("SHA256SUMS", out.Bytes())
}
