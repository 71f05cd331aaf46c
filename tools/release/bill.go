package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is a bill of materials in CycloneDX 1.6.
type bill struct {
	Format       string           `json:"bomFormat"`
	Spec         string           `json:"specVersion"`
	Serial       string           `json:"serialNumber"`
	Version      int              `json:"version"`
	Metadata     billMetadata     `json:"metadata"`
	Components   []billComponent  `json:"components"`
	Dependencies []billDependency `json:"dependencies"`
}

type billMetadata struct {
	Time      string        `json:"timestamp"`
	Component billComponent `json:"component"`
}

type billComponent struct {
	Type       string          `json:"type"`
	Ref        string          `json:"bom-ref"`
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	Purl       string          `json:"purl,omitempty"`
	Hashes     []billHash      `json:"hashes,omitempty"`
	Properties []billProperty  `json:"properties,omitempty"`
	Components []billComponent `json:"components,omitempty"`
}

type billHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type billProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type billDependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// writeBill writes the bill of materials of the archive of s for p: its programs, and the modules that the linker says
// are in each.
func (r *release) writeBill(s set, p platform) error {
	sum, err := r.sum(r.archive(s, p))
	if err != nil {
		return err
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Serial: serial(sum), Metadata: billMetadata{
		Time: r.time.Format(time.RFC3339),
		Component: billComponent{
			Type: "application", Ref: s.name, Name: s.name, Version: r.version,
			Hashes: []billHash{{"SHA-256", sum}},
		},
	}}
	whole := billDependency{Ref: s.name}
	modules := map[string]billComponent{}
	for _, name := range s.programs {
		program, on, err := r.billProgram(p, name, modules)
		if err != nil {
			return err
		}
		b.Components = append(b.Components, program)
		whole.On = append(whole.On, program.Ref)
		b.Dependencies = append(b.Dependencies, on)
	}
	b.Dependencies = append([]billDependency{whole}, b.Dependencies...)
	for _, ref := range sortedKeys(modules) {
		b.Components = append(b.Components, modules[ref])
	}
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return r.write(r.archive(s, p)+".cdx.json", append(data, '\n'))
}

// billProgram is a program of p with what it depends on, whose modules are added to modules.
func (r *release) billProgram(p platform, name string,
	modules map[string]billComponent) (billComponent, billDependency, error) {
	file := r.built(p, name)
	data, err := os.ReadFile(file)
	if err != nil {
		return billComponent{}, billDependency{}, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return billComponent{}, billDependency{}, err
	}
	sum := sha256.Sum256(data)
	program := billComponent{
		Type: "application", Ref: "program:" + name, Name: p.program(name), Version: r.version,
		Hashes:     []billHash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Properties: []billProperty{{"hallmark:platform", p.os + "/" + p.arch}},
	}
	on := billDependency{Ref: program.Ref}
	deps := append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	for _, m := range deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := billModule(m)
		modules[c.Ref] = c
		on.On = append(on.On, c.Ref)
	}
	slices.Sort(on.On)
	return program, on, nil
}

// billModule is a module of Go. Its sum is no hash of one file, and so is a property.
func billModule(m *debug.Module) billComponent {
	parts := strings.Split(m.Path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	purl := "pkg:golang/" + strings.Join(parts, "/") + "@" + url.PathEscape(m.Version)
	c := billComponent{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, Purl: purl}
	if m.Sum != "" {
		c.Properties = []billProperty{{"golang:sum", m.Sum}}
	}
	return c
}

// serial is a UUID that follows from the sum of the archive, so that two builds say the same.
func serial(sum string) string {
	raw, _ := hex.DecodeString(sum) // our own
	id := raw[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8, which is whatever its maker says
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
