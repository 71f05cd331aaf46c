// Package project reads and writes the files that a project keeps: hallmark.toml,
// which people write, and hallmark.lock, which records what was accepted. It holds
// codecs only; the flows decide what is written.
//
// # hallmark.toml
//
//	manifest_version = 1
//	[registry]
//	url = "https://registry.example.com"
//	log_key = "registry.example.com+…"     # whose log the registry's is; without it, as first seen
//	witnesses = ["witness.example.org+…"]   # who may vouch for the log
//	witness_quorum = 1                      # how many must; default 0
//	max_age = "72h"                         # how old their word may be; default: any age
//	[facets]
//	"acme-review" = "1.*"                     # 1.2.3, 1.2.*, 1.*, * or latest
//	"kit" = { git = "https://git.example.com/kit.git", tag = "v1.2.0" }  # or branch, or commit; sub = "dir"
//	"ours" = { path = "../ours" }
//	[adapters]
//	targets = ["claude-code", "dir:tools"]    # default: those found in the project
//	[providers.mcp.notes]
//	type = "stdio"                     # the default
//	command = "npx"
//	arguments = ["-y", "@acme/notes@1.4.0"]
//	variables = ["NOTES_KEY"]          # names copied from the environment
//	on_drift = "withhold"              # "withhold" | "block" | "warn"
//	server_requests = "allow"          # sampling, elicitation and roots: "allow" | "log" | "deny"
//	surface_kinds = ["tools", "prompts"]  # default: all; leaves out what is dynamic by nature
//	unlocked = true                    # it needs no entry in hallmark.lock: shown as waived wherever it is used
//	extra_arguments = "any"            # arguments after 'run NAME --' need no approval; default: they do
//	[providers.mcp.notes.verify]
//	type = "command"                   # "command" | "file" | "none"
//	algorithm = "sha256"
//	value = "…"
//
//	[providers.mcp.tickets]
//	type = "http"                      # streamable HTTP
//	url = "https://mcp.example.com/mcp"
//	headers = { Authorization = "Bearer ${TICKETS_TOKEN}" }  # sent to that URL only
//
// In place of command a server may name its record: server = "io.github.acme/notes@1.4.0";
// or a server that its registry has as an archive, and the lowest version of it:
// source = "@acme/notes@1.4.0"; or the facet that declares it, to say more about it:
// facet = "acme-review".
// Unknown keys, unknown types and keys that a type does not have are errors that name
// the line. A manifest_version other than 1 is an error.
package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Names of the files, in the project's directory.
const (
	ConfigFile  = "hallmark.toml"
	LockFile    = "hallmark.lock"
	SurfacesDir = "hallmark.surfaces" // NAME.json: a server's canonical surface
	ClosuresDir = "hallmark.closures" // NAME.json: a server's resolved package lock
)

// EmptyConfig is a hallmark.toml that declares nothing.
const EmptyConfig = "manifest_version = 1\n"

// MaxConfig bounds hallmark.toml, in bytes.
const MaxConfig = 1 << 20

// Config is hallmark.toml.
type Config struct {
	Registry Registry
	Facets   map[string]Facet
	Targets  []string // nil: those found in the project
	Servers  map[string]Server
	Warnings []string // deprecated keys and weak digests, each with what to write instead
}

// configTOML is the file as TOML holds it.
type configTOML struct {
	ManifestVersion int            `toml:"manifest_version"`
	Registry        registryTOML   `toml:"registry"`
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
	if len(data) > MaxConfig {
		return nil, invalid(ConfigFile, fmt.Errorf("larger than %d bytes", MaxConfig))
	}
	var raw configTOML
	decoder := toml.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&raw); err != nil {
		return nil, invalid(ConfigFile, explainTOML(err))
	}
	var read map[string]any
	if err := toml.Unmarshal(data, &read); err != nil {
		return nil, invalid(ConfigFile, explainTOML(err))
	}
	if err := surface.CheckNames(read, reflect.TypeFor[configTOML](), "toml"); err != nil { // go-toml takes any case
		return nil, invalid(ConfigFile, err)
	}
	lines, err := tableLines(data)
	if err != nil {
		return nil, invalid(ConfigFile, err)
	}
	if raw.ManifestVersion != 1 {
		return nil, invalid(ConfigFile, fmt.Errorf("manifest_version is %d; this build reads 1", raw.ManifestVersion))
	}
	c := &Config{Servers: map[string]Server{}}
	var problems []error
	if c.Registry, err = raw.Registry.registry(); err != nil {
		problems = append(problems, fmt.Errorf("line %d: registry: %w", lines["registry"], err))
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

// invalid is an error of the class validation about a file or a name.
func invalid(subject string, err error) error {
	return &evidence.Error{Subject: subject, Kind: evidence.Validation, Err: err}
}

// wrongType is what go-toml says of a value of another type than a key has.
var wrongType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`cannot (?:decode TOML|store an?) ([a-z ]+?) in(?:to)? `)
})

// explainTOML puts line and column before go-toml's messages.
func explainTOML(err error) error {
	key := func(key toml.Key) string { return surface.Escape(strings.Join(key, ".")) }
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		var all []error
		for _, e := range strict.Errors {
			line, column := e.Position()
			all = append(all, fmt.Errorf("line %d, column %d: unknown key %s", line, column, key(e.Key())))
		}
		return errors.Join(all...)
	}
	var decode *toml.DecodeError
	if !errors.As(err, &decode) {
		return err
	}
	line, column := decode.Position()
	if m := wrongType().FindStringSubmatch(decode.Error()); m != nil { // the rest is about types of Go
		return fmt.Errorf("line %d, column %d: %s cannot be a value of type %s", line, column, key(decode.Key()), m[1])
	}
	message := strings.TrimPrefix(decode.Error(), "toml: ")
	return fmt.Errorf("line %d, column %d: %s", line, column, surface.Escape(message))
}
