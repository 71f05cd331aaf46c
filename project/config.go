package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Config is hallmark.toml.
type Config struct {
	Registry Registry
	Policy   Policy
	Limits   Limits // of the contents of a facet; zero fields are the defaults
	Facets   map[string]Facet
	Targets  []string // nil: those found in the project
	Servers  map[string]Server
	Warnings []string // deprecated keys and weak digests, each with what to write instead
}

// configTOML is the file as TOML holds it.
type configTOML struct {
	ManifestVersion *int           `toml:"manifest_version"`
	Registry        registryTOML   `toml:"registry"`
	Policy          policyTOML     `toml:"policy"`
	Limits          limitsTOML     `toml:"limits"`
	Facets          map[string]any `toml:"facets"`
	Adapters        struct {
		Targets []string `toml:"targets"`
	} `toml:"adapters"`
	Providers struct {
		MCP map[string]serverTOML `toml:"mcp"`
	} `toml:"providers"`
}

// ParseConfig reads hallmark.toml. Its errors have the class validation; each names
// a line.
func ParseConfig(data []byte) (*Config, error) {
	raw, lines, err := decodeConfig(data)
	if err != nil {
		return nil, err
	}
	c := &Config{Servers: map[string]Server{}}
	var problems []error
	if c.Registry, err = raw.Registry.registry(); err != nil {
		problems = append(problems, fmt.Errorf("line %d: registry: %w", lines["registry"], err))
	}
	if c.Policy, err = raw.Policy.policy(); err != nil {
		problems = append(problems, fmt.Errorf("line %d: policy: %w", lines["policy"], err))
	}
	if c.Limits, err = raw.Limits.limits(); err != nil {
		problems = append(problems, fmt.Errorf("line %d: limits: %w", lines["limits"], err))
	}
	var wrong []error
	c.Facets, wrong = facets(raw.Facets, lines)
	problems = append(problems, wrong...)
	if c.Targets, err = targets(raw.Adapters.Targets); err != nil {
		problems = append(problems, fmt.Errorf("line %d: adapters: %w", lines["adapters.targets"], err))
	}
	for _, name := range slices.Sorted(maps.Keys(raw.Providers.MCP)) {
		if err := c.addServer(name, raw.Providers.MCP[name], lines); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return nil, invalid(ConfigFile, errors.Join(problems...))
	}
	return c, nil
}

// decodeConfig reads hallmark.toml as TOML, of a version that this build reads. It also returns the line of each key.
func decodeConfig(data []byte) (raw configTOML, lines map[string]int, err error) {
	if len(data) > MaxConfig {
		return raw, nil, invalid(ConfigFile, fmt.Errorf("larger than %d bytes", MaxConfig))
	}
	if HasConflict(data) {
		return raw, nil, &evidence.Error{
			Subject: ConfigFile, Kind: evidence.Validation, Err: errors.New("has merge conflict markers"),
			Hint: "keep the lines that you want of both branches, and take the markers out",
		}
	}
	decoder := toml.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&raw); err != nil {
		return raw, nil, invalid(ConfigFile, explainUnknown(err))
	}
	var read map[string]any
	if err := toml.Unmarshal(data, &read); err != nil {
		return raw, nil, invalid(ConfigFile, tomltext.Explain(err))
	}
	if err := surface.CheckNames(read, reflect.TypeFor[configTOML](), "toml"); err != nil { // go-toml takes any case
		return raw, nil, invalid(ConfigFile, err)
	}
	if lines, err = tomltext.Lines(data); err != nil {
		return raw, nil, invalid(ConfigFile, err)
	}
	if raw.ManifestVersion == nil {
		return raw, nil, invalid(ConfigFile, errors.New("has no manifest_version; write manifest_version = 1 in its "+
			"first line"))
	}
	if *raw.ManifestVersion != 1 {
		return raw, nil, invalid(ConfigFile, fmt.Errorf("manifest_version is %d; this build reads 1",
			*raw.ManifestVersion))
	}
	return raw, lines, nil
}

// addServer adds a server, and warnings about its table. Lines say where the keys stand.
func (c *Config) addServer(name string, raw serverTOML, lines map[string]int) error {
	table := "providers.mcp." + name
	line := lines[table]
	s, warnings, err := raw.server(name)
	if err != nil {
		if wrong := new(verifyError); errors.As(err, &wrong) {
			line = lines[table+"."+wrong.key]
		}
		return fmt.Errorf("line %d: providers.mcp.%s: %w", line, surface.Escape(name), err)
	}
	for _, warning := range warnings {
		key, _, _ := strings.Cut(warning, " ")
		at := cmp.Or(lines[table+key], line)
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("%s line %d: providers.mcp.%s%s", ConfigFile, at, surface.Escape(name), warning))
	}
	s.Line = line
	if s.Verify != nil {
		s.Verify.Line = cmp.Or(lines[table+".verify"], lines[table+".checksum"])
	}
	c.Servers[name] = s
	return nil
}
