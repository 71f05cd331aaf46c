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
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/ledger"
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

// Registry is the [registry] table.
type Registry struct {
	URL       string
	LogKey    string        // "": the key that this machine saw first
	Witnesses []string      // verifier keys
	Quorum    int           // of witnesses that must have cosigned
	MaxAge    time.Duration // of the cosignatures that make the quorum; 0: any
}

// Name is the registry as locks and this machine's state name it: its host, with the
// path if it has one. "" if there is none.
func (r Registry) Name() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return ""
	}
	return u.Host + strings.TrimRight(u.EscapedPath(), "/")
}

// Trust is how the log of that key is relied on.
func (r Registry) Trust(key string) (ledger.Trust, error) {
	return ledger.NewTrust(key, r.Witnesses, r.Quorum)
}

// Server is a [providers.mcp.NAME] table.
type Server struct {
	Name      string
	Line      int               // of its table in hallmark.toml
	Type      string            // "stdio" or "http"
	URL       string            // of type "http", in place of Command
	Headers   map[string]string // for URL; ${NAME} stands for a variable's value
	Command   string
	Arguments []string
	Variables []string // names, copied from the environment at launch
	Record    string   // "name@version" in the registry, in place of Command
	Source    string   // "name@floor" of a server that is packed from source, in place of Command
	Facet     string   // the facet that declares it, in place of Command
	OnDrift   string   // "withhold", "block" or "warn"
	Requests  string   // of the server to its client: "allow", "log" or "deny"
	Kinds     []string // of surface items that are locked and watched; nil: all
	Verify    *Verify  // nil: nobody claims anything
	Unlocked  bool     // no lock entry is owed: the reviewer of hallmark.toml sees that it is waived
	Extra     string   // "any": arguments that are given to 'run' need no approval; else ""

	Environment map[string]string // values that a facet's author wrote into its declaration
}

// WhyUnlocked is why s may be started without an entry of the lock, as hallmark.toml says: it
// is left unlocked, or its bytes are claimed by a verify block. "" if it may not.
func (s Server) WhyUnlocked() string {
	switch {
	case s.Command == "":
		return ""
	case s.Unlocked:
		return "unlocked = true in " + ConfigFile
	case s.Verify != nil && s.Verify.Type != VerifyNone:
		return "a verify block claims its bytes"
	}
	return ""
}

// SourceName names a server that is packed from source: what facet.json and hallmark.toml say.
func SourceName(name string, floor facet.Floor) string { return name + "@" + floor.String() }

// ParseSourceName reads "NAME@FLOOR".
func ParseSourceName(s string) (name string, floor facet.Floor, err error) {
	at := strings.LastIndexByte(s, '@')
	if at <= 0 || !facet.CheckName(s[:at]) {
		return "", floor, fmt.Errorf("%+q is not NAME@VERSION with the lowest version of a server that is packed from source", s)
	}
	floor, err = facet.ParseFloor(s[at+1:])
	return s[:at], floor, err
}

// VerifyType is the tag of a verify block.
type VerifyType string

// The types of a verify block.
const (
	VerifyCommand VerifyType = "command" // the executable that command resolves to
	VerifyFile    VerifyType = "file"    // the named files
	VerifyNone    VerifyType = "none"    // a recorded opt-out
)

// Verify is a [providers.mcp.NAME.verify] table.
type Verify struct {
	Type   VerifyType
	Line   int         // of its table or key in hallmark.toml
	Claims []FileClaim // one with an empty Path for VerifyCommand
	Reason string      // of VerifyNone; may be empty
}

// Algorithms are those of the claims of v, which may be nil.
func (v *Verify) Algorithms() []digest.Algorithm {
	if v == nil {
		return nil
	}
	var out []digest.Algorithm
	for _, c := range v.Claims {
		out = append(out, c.Want.Algorithm())
	}
	return out
}

// FileClaim is the digest that a file is said to have.
type FileClaim struct {
	Path string // relative to the project
	Want digest.Digest
}

// The shapes as TOML holds them.
type (
	configTOML struct {
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
	registryTOML struct {
		URL       string   `toml:"url"`
		LogKey    string   `toml:"log_key"`
		Witnesses []string `toml:"witnesses"`
		Quorum    int      `toml:"witness_quorum"`
		MaxAge    string   `toml:"max_age"`
	}
	serverTOML struct {
		Type      string            `toml:"type"`
		Command   string            `toml:"command"`
		Arguments []string          `toml:"arguments"`
		Variables []string          `toml:"variables"`
		Server    string            `toml:"server"`
		Source    string            `toml:"source"`
		Facet     string            `toml:"facet"`
		URL       string            `toml:"url"`
		Headers   map[string]string `toml:"headers"`
		OnDrift   string            `toml:"on_drift"`
		Requests  string            `toml:"server_requests"`
		Kinds     []string          `toml:"surface_kinds"`
		Unlocked  bool              `toml:"unlocked"`
		Extra     *string           `toml:"extra_arguments"`
		Verify    *verifyTOML       `toml:"verify"`
		Checksum  *struct {
			Algorithm *string `toml:"algorithm"`
			Value     *string `toml:"value"`
		} `toml:"checksum"`
	}
	verifyTOML struct { // a key that is not there is nil: one that is stray is refused, even if empty
		Type      string     `toml:"type"`
		Algorithm *string    `toml:"algorithm"`
		Value     *string    `toml:"value"`
		Path      *string    `toml:"path"`
		Reason    *string    `toml:"reason"`
		Files     []fileTOML `toml:"files"`
	}
	fileTOML struct {
		Path  string `toml:"path"`
		Value string `toml:"value"`
	}
)

// kinds are the values of surface_kinds.
var kinds = map[string]surface.Kind{
	"tools": surface.KindTool, "prompts": surface.KindPrompt, "resources": surface.KindResource,
	"templates": surface.KindTemplate, "instructions": surface.KindInstructions,
}

// Excluded are the kinds of surface items that surface_kinds leaves out.
func (s Server) Excluded() map[surface.Kind]bool {
	out := map[surface.Kind]bool{}
	for name, kind := range kinds {
		if s.Kinds != nil && !slices.Contains(s.Kinds, name) {
			out[kind] = true
		}
	}
	return out
}

// nameRE is what a server may be called: it becomes a file name.
var nameRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

var variableRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

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
		line := lines["providers.mcp."+name]
		s, warnings, err := raw.Providers.MCP[name].server(name)
		if err != nil {
			if wrong := new(verifyError); errors.As(err, &wrong) {
				line = lines["providers.mcp."+name+"."+wrong.key]
			}
			problems = append(problems, fmt.Errorf("line %d: providers.mcp.%s: %w", line, surface.Escape(name), err))
			continue
		}
		for _, warning := range warnings {
			key, _, _ := strings.Cut(warning, " ")
			at := cmp.Or(lines["providers.mcp."+name+key], line)
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s line %d: providers.mcp.%s%s", ConfigFile, at, surface.Escape(name), warning))
		}
		s.Line = line
		if s.Verify != nil {
			s.Verify.Line = cmp.Or(lines["providers.mcp."+name+".verify"], lines["providers.mcp."+name+".checksum"])
		}
		c.Servers[name] = s
	}
	if len(problems) > 0 {
		return nil, invalid(ConfigFile, errors.Join(problems...))
	}
	return c, nil
}

// registry checks the table. Whether the keys are those of the log is found out when it
// is read.
func (raw registryTOML) registry() (Registry, error) {
	r := Registry{URL: raw.URL, LogKey: raw.LogKey, Witnesses: raw.Witnesses, Quorum: raw.Quorum}
	if raw.LogKey != "" {
		if _, err := ledger.ParseVerifier(raw.LogKey); err != nil {
			return r, fmt.Errorf("log_key: %w", err)
		}
	}
	if _, err := ledger.ParseWitnesses(raw.Witnesses, raw.Quorum); err != nil {
		return r, fmt.Errorf("witnesses: %w", err)
	}
	if raw.MaxAge != "" {
		var err error
		if r.MaxAge, err = time.ParseDuration(raw.MaxAge); err != nil || r.MaxAge <= 0 {
			return r, fmt.Errorf("max_age is %q; it is a span such as \"72h\"", raw.MaxAge)
		}
	}
	if raw.URL == "" && (raw.LogKey != "" || len(raw.Witnesses) > 0 || raw.MaxAge != "") {
		return r, errors.New("has rules for a log, and no url")
	}
	return r, nil
}

func invalid(subject string, err error) error {
	return &evidence.Error{Subject: subject, Kind: evidence.Validation, Err: err}
}

var wrongType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`cannot (?:decode TOML|store an?) ([a-z ]+?) in(?:to)? `)
})

// explainTOML puts line and column before go-toml's messages.
func explainTOML(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		var all []error
		for _, e := range strict.Errors {
			line, column := e.Position()
			all = append(all, fmt.Errorf("line %d, column %d: unknown key %s", line, column, surface.Escape(strings.Join(e.Key(), "."))))
		}
		return errors.Join(all...)
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		if m := wrongType().FindStringSubmatch(decode.Error()); m != nil { // the rest is about types of Go
			return fmt.Errorf("line %d, column %d: %s cannot be a value of type %s", line, column, surface.Escape(strings.Join(decode.Key(), ".")), m[1])
		}
		return fmt.Errorf("line %d, column %d: %s", line, column, surface.Escape(strings.TrimPrefix(decode.Error(), "toml: ")))
	}
	return err
}

// server checks one table. The warnings continue the table's key.
func (raw serverTOML) server(name string) (s Server, warnings []string, err error) {
	s = Server{
		Name: name, Type: raw.Type, Command: raw.Command, Arguments: raw.Arguments,
		Variables: raw.Variables, Record: raw.Server, Source: raw.Source, Facet: raw.Facet, OnDrift: raw.OnDrift, Kinds: raw.Kinds,
		URL: raw.URL, Headers: raw.Headers, Requests: raw.Requests, Unlocked: raw.Unlocked, Extra: text(raw.Extra),
	}
	if !nameRE().MatchString(name) {
		return s, nil, errors.New("a server's name is letters, digits, '.', '_' and '-', at most 64")
	}
	if s.Type == "" {
		s.Type = "stdio"
	}
	switch {
	case s.Type == "http":
		if err := raw.remote(); err != nil {
			return s, nil, err
		}
	case s.Type != "stdio":
		return s, nil, fmt.Errorf("unknown type %q", s.Type)
	case s.URL != "" || s.Headers != nil:
		return s, nil, errors.New(`url and headers are of type = "http"`)
	}
	var named []string
	for _, way := range []struct{ key, value string }{{"command", s.Command}, {"server", s.Record}, {"source", s.Source}, {"facet", s.Facet}} {
		if way.value != "" {
			named = append(named, way.key)
		}
	}
	switch {
	case len(named) == 0 && s.Type != "http":
		return s, nil, errors.New("needs a command, or a server to run from its record, or a source, or a facet")
	case len(named) > 1:
		return s, nil, fmt.Errorf("has both %s and %s; one of them names what runs", named[0], named[1])
	case s.Facet != "" && !facet.CheckName(s.Facet):
		return s, nil, fmt.Errorf("%+q is not the name of a facet", s.Facet)
	case s.Facet != "" && s.Arguments != nil:
		return s, nil, errors.New("its facet says which arguments it gets")
	case s.Source != "":
		if _, _, err := ParseSourceName(s.Source); err != nil {
			return s, nil, fmt.Errorf("source: %w", err)
		}
	}
	for _, v := range s.Variables {
		if !variableRE.MatchString(v) {
			return s, nil, fmt.Errorf("variables holds names only, and %q is none", v)
		}
	}
	switch {
	case s.Unlocked && s.Command == "":
		return s, nil, errors.New("unlocked is of a server with a command: without a lock nothing says which bytes a record, a source, a facet or a URL gives")
	case raw.Extra != nil && s.Extra != "any":
		return s, nil, fmt.Errorf("extra_arguments is %q; it is \"any\", or left out", s.Extra)
	case s.Extra != "" && s.Type == "http":
		return s, nil, errors.New(`extra_arguments is of a server that is started, and a URL is not`)
	}
	if s.OnDrift == "" {
		s.OnDrift = "withhold"
	}
	if !slices.Contains([]string{"withhold", "block", "warn"}, s.OnDrift) {
		return s, nil, fmt.Errorf("on_drift is %q; it is withhold, block or warn", s.OnDrift)
	}
	if s.Requests == "" {
		s.Requests = "allow"
	}
	if !slices.Contains([]string{"allow", "log", "deny"}, s.Requests) {
		return s, nil, fmt.Errorf("server_requests is %q; it is allow, log or deny", s.Requests)
	}
	for _, kind := range s.Kinds {
		if _, ok := kinds[kind]; !ok {
			return s, nil, fmt.Errorf("surface_kinds has %q; it is made of tools, prompts, resources, templates and instructions", kind)
		}
	}
	if s.Kinds != nil && !slices.Contains(s.Kinds, "tools") {
		return s, nil, errors.New("surface_kinds cannot leave out tools")
	}
	key := "verify"
	const replacement = "verify = { type = \"command\", algorithm = %q, value = %q }"
	switch {
	case raw.Verify != nil && raw.Checksum != nil:
		warnings = append(warnings, ".checksum is deprecated and ignored, because there is a verify block; remove it")
	case raw.Checksum != nil:
		raw.Verify = &verifyTOML{Type: "command", Algorithm: raw.Checksum.Algorithm, Value: raw.Checksum.Value}
		key = "checksum"
		warnings = append(warnings, fmt.Sprintf(".checksum is deprecated; write "+replacement, cmp.Or(text(raw.Checksum.Algorithm), "sha256"), text(raw.Checksum.Value)))
	}
	if raw.Verify != nil {
		if s.Command == "" {
			return s, nil, &verifyError{key, errors.New("a server run from its record is verified against that record, one from source or of a facet against what was published")}
		}
		if s.Verify, err = raw.Verify.verify(); err != nil {
			return s, nil, &verifyError{key, err}
		}
		if slices.ContainsFunc(s.Verify.Claims, func(c FileClaim) bool { return c.Want.Weak() }) {
			warnings = append(warnings, "."+key+" uses sha1, which can be forged; use sha256")
		}
	}
	return s, warnings, nil
}

// verifyError marks problems whose line is that of the verify block, or of the checksum
// that stands for one.
type verifyError struct {
	key string
	err error
}

func (e *verifyError) Error() string { return e.key + ": " + e.err.Error() }
func (e *verifyError) Unwrap() error { return e.err }

// text is the value of a key, "" if it is not there.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// errUnfilled is of a value that is left to be filled in.
var errUnfilled = errors.New("has no value; 'hallmark verify-server NAME --write' fills it in")

// verify checks the tagged union: a known type, and no key that it does not have.
func (raw verifyTOML) verify() (*Verify, error) {
	v := &Verify{Type: VerifyType(raw.Type), Reason: text(raw.Reason)}
	keys, known := map[VerifyType][]string{
		VerifyNone: {"reason"}, VerifyCommand: {"algorithm", "value"}, VerifyFile: {"algorithm", "value", "path", "files"},
	}[v.Type]
	switch {
	case v.Type == "":
		return nil, errors.New(`needs a type: "command", "file" or "none"`)
	case !known:
		return nil, fmt.Errorf(`unknown type %q; it is "command", "file" or "none"`, raw.Type)
	}
	for _, f := range []struct {
		key string
		set bool
	}{
		{"algorithm", raw.Algorithm != nil}, {"value", raw.Value != nil}, {"path", raw.Path != nil},
		{"reason", raw.Reason != nil}, {"files", raw.Files != nil},
	} {
		if f.set && !slices.Contains(keys, f.key) {
			return nil, fmt.Errorf("type %q has no key %q", raw.Type, f.key)
		}
	}
	algorithm := digest.SHA256
	if raw.Algorithm != nil {
		algorithm = digest.Algorithm(*raw.Algorithm)
	}
	if algorithm != digest.SHA256 && algorithm != digest.SHA1 {
		return nil, fmt.Errorf("algorithm %q is neither sha256 nor sha1", text(raw.Algorithm))
	}
	files := raw.Files
	switch {
	case v.Type == VerifyNone:
		return v, nil
	case v.Type == VerifyCommand:
		files = []fileTOML{{"", text(raw.Value)}}
	case raw.Files != nil && (raw.Path != nil || raw.Value != nil):
		return nil, errors.New("has both path and files")
	case raw.Files == nil:
		files = []fileTOML{{text(raw.Path), text(raw.Value)}}
	case len(raw.Files) == 0:
		return nil, errors.New("files is empty")
	}
	for _, f := range files {
		if f.Path == "" && v.Type == VerifyFile {
			return nil, errors.New(`type "file" needs a path`)
		}
		want, err := digest.ParseHex(algorithm, strings.TrimPrefix(f.Value, string(algorithm)+":"))
		if f.Value == "" {
			err = errUnfilled
		}
		if err != nil && f.Path != "" {
			err = fmt.Errorf("%s: %w", surface.Escape(f.Path), err)
		}
		if err != nil {
			return nil, err
		}
		v.Claims = append(v.Claims, FileClaim{f.Path, want})
	}
	return v, nil
}
