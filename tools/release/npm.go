package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// npmName is the package that users install. Each platform's programs are in one of their own, which npm chooses by os
// and cpu, so that nothing is downloaded by a script.
const npmName = "@hallmark-mcp/hallmark"

var (
	//go:embed npm/start.js
	npmStart []byte
	//go:embed npm/README.md
	npmReadme []byte
)

// npmManifest is a package.json.
type npmManifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	Engines              map[string]string `json:"engines,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
	// Yarn: unpack, for there are programs in it
	PreferUnplugged bool           `json:"preferUnplugged,omitempty"`
	PublishConfig   map[string]any `json:"publishConfig"`
}

// npmPlatform names p as Node does.
func npmPlatform(p platform) (system, cpu string) {
	system, cpu = p.os, p.arch
	if system == "windows" {
		system = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return system, cpu
}

// npmCarrier is the package with the programs of p.
func npmCarrier(p platform) string {
	system, cpu := npmPlatform(p)
	return npmName + "-" + system + "-" + cpu
}

// writeNPM writes the packages of npm.
func (r *release) writeNPM() error {
	main := r.npmManifest(npmName)
	main.Engines = map[string]string{"node": ">=18"}
	main.Bin, main.OptionalDependencies = map[string]string{}, map[string]string{}
	files := []packed{{"README.md", 0o644, npmReadme}, {"start.js", 0o644, npmStart}}
	for _, name := range clients.programs {
		main.Bin[name] = "bin/" + name + ".js"
		text := fmt.Sprintf("#!/usr/bin/env node\nrequire(\"../start.js\")(%q);\n", name)
		files = append(files, packed{main.Bin[name], 0o755, []byte(text)})
	}
	for _, p := range clients.platforms {
		if err := r.writeNPMCarrier(p); err != nil {
			return err
		}
		main.OptionalDependencies[npmCarrier(p)] = r.version
	}
	return r.writeNPMPackage(main, files)
}

// npmManifest is what all packages say.
func (r *release) npmManifest(name string) npmManifest {
	return npmManifest{
		Name: name, Version: r.version, Description: summary, License: license, Homepage: homepage,
		Repository:    map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
		PublishConfig: map[string]any{"access": "public", "provenance": true},
	}
}

// writeNPMCarrier writes the package with the programs of p.
func (r *release) writeNPMCarrier(p platform) error {
	m := r.npmManifest(npmCarrier(p))
	system, cpu := npmPlatform(p)
	m.Description, m.OS, m.CPU, m.PreferUnplugged = summary+" ("+p.String()+")", []string{system}, []string{cpu}, true
	text := fmt.Sprintf("# %s\n\nThe programs of %s for %s on %s, which that package starts.\n", m.Name, npmName,
		system, cpu)
	files := []packed{{"README.md", 0o644, []byte(text)}}
	for _, name := range clients.programs {
		data, err := os.ReadFile(r.built(p, name))
		if err != nil {
			return err
		}
		files = append(files, packed{"bin/" + p.program(name), 0o755, data})
	}
	return r.writeNPMPackage(m, files)
}

// writeNPMPackage packs a package as npm pack does.
func (r *release) writeNPMPackage(m npmManifest, files []packed) error {
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	all := append([]packed{{"package.json", 0o644, append(manifest, '\n')}, {"LICENSE", 0o644, text}}, files...)
	for i := range all {
		all[i].name = "package/" + all[i].name
	}
	data, err := tarFiles(all, r.time)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(m.Name, "@"), "/", "-")
	return r.write("npm-"+name+"-"+m.Version+".tgz", data)
}
