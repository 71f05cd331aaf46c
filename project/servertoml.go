package project

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// serverTOML is the table of a server as TOML holds it.
type serverTOML struct {
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
	Tree      *string           `toml:"tree"`
	Data      []string          `toml:"data"`
	Verify    *verifyTOML       `toml:"verify"`
	Optional  bool              `toml:"optional"` // JP's own: it goes on where the server cannot be started
	Startup   *uint32           `toml:"startup_timeout_secs"`
	Checksum  *struct {
		Algorithm *string `toml:"algorithm"`
		Value     *string `toml:"value"`
	} `toml:"checksum"`
}

// server checks one table. The warnings continue the table's key.
func (raw serverTOML) server(name string) (s Server, warnings []string, err error) {
	s = Server{
		Name: name, Type: cmp.Or(raw.Type, TypeStdio), Command: raw.Command, Arguments: raw.Arguments,
		Variables: raw.Variables, Record: raw.Server, Source: raw.Source, Facet: raw.Facet,
		OnDrift: cmp.Or(raw.OnDrift, "withhold"), Kinds: raw.Kinds, URL: raw.URL, Headers: raw.Headers,
		Requests: cmp.Or(raw.Requests, "allow"), Unlocked: raw.Unlocked, Extra: text(raw.Extra),
		Tree: text(raw.Tree), Data: raw.Data, StartupTimeout: raw.startupTimeout(),
	}
	for _, check := range []func(Server) error{
		checkName, raw.checkType, checkWay, checkVariables, raw.checkWaivers, raw.checkTree,
		checkDemands, checkSurfaceKinds,
	} {
		if err := check(s); err != nil {
			return s, nil, err
		}
	}
	s.Verify, warnings, err = raw.verifyBlock()
	if why := s.LauncherOnly(); err == nil && raw.Checksum != nil && raw.Verify == nil && why != "" {
		warnings[0] += "; " + why
	}
	return s, warnings, err
}

// startupTimeout is how long the server may take to start: JP writes 0 for no limit.
func (raw serverTOML) startupTimeout() time.Duration {
	switch {
	case raw.Startup == nil:
		return 0
	case *raw.Startup == 0:
		return math.MaxUint32 * time.Second
	}
	return time.Duration(*raw.Startup) * time.Second
}

func checkName(s Server) error { return CheckServerName(s.Name) }

// checkType refuses keys of another type.
func (raw serverTOML) checkType(s Server) error {
	switch {
	case s.Remote():
		return raw.checkRemote()
	case s.Type != TypeStdio:
		return fmt.Errorf(`unknown type %q; it is "stdio" or "http"`, s.Type)
	case s.URL != "" || s.Headers != nil:
		return errors.New(`url and headers are of type = "http"`)
	}
	return nil
}

// checkRemote checks the keys of a server of type "http".
func (raw serverTOML) checkRemote() error {
	switch {
	case raw.URL == "":
		return errors.New(`type "http" needs a url`)
	case raw.Command != "" || raw.Server != "" || raw.Source != "" || raw.Facet != "" || raw.Arguments != nil:
		return errors.New(`type "http" has a url, and no command, arguments, server, source or facet`)
	case raw.Variables != nil:
		return errors.New(`type "http" has no variables; a header names one as ${NAME}`)
	case raw.Verify != nil || raw.Checksum != nil:
		return errors.New(`type "http" has no verify block: no byte of what runs there is ours to hash`)
	}
	if err := checkURL(raw.URL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	return checkHeaders(raw.Headers)
}

// ways are the keys that name what runs, of which a server that is started has exactly one.
var ways = []struct {
	key   string
	value func(Server) string
	check func(Server) error // of a value that is there
}{
	{"command", func(s Server) string { return s.Command }, anyValue},
	{"server", func(s Server) string { return s.Record }, anyValue},
	{"source", func(s Server) string { return s.Source }, checkSource},
	{"facet", func(s Server) string { return s.Facet }, checkFacet},
}

// checkWay refuses a table that does not name one thing that runs.
func checkWay(s Server) error {
	var named []string
	check := anyValue
	for _, way := range ways {
		if way.value(s) != "" {
			named, check = append(named, way.key), way.check
		}
	}
	switch {
	case len(named) == 0 && !s.Remote():
		return errors.New("needs a command, or a server to run from its record, or a source, or a facet")
	case len(named) > 1:
		return fmt.Errorf("has both %s and %s; one of them names what runs", named[0], named[1])
	}
	return check(s)
}

func anyValue(Server) error { return nil }

func checkSource(s Server) error {
	if _, _, err := ParseSourceName(s.Source); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return nil
}

func checkFacet(s Server) error {
	switch {
	case !facet.CheckName(s.Facet):
		return fmt.Errorf("%+q is not the name of a facet", s.Facet)
	case s.Arguments != nil:
		return errors.New("its facet says which arguments it gets")
	}
	return nil
}

func checkVariables(s Server) error {
	for _, v := range s.Variables {
		if !variableRE().MatchString(v) {
			return fmt.Errorf("variables holds names only, and %q is none", v)
		}
	}
	return nil
}

// checkWaivers refuses opt-outs for servers of which hallmark.toml does not say what would run
// unchecked.
func (raw serverTOML) checkWaivers(s Server) error {
	switch {
	case s.Unlocked && s.Command == "":
		return errors.New("unlocked is of a server with a command: " +
			"without a lock nothing says which bytes a record, a source, a facet or a URL gives")
	case raw.Extra != nil && s.Extra != "any":
		return fmt.Errorf("extra_arguments is %q; it is \"any\", or left out", s.Extra)
	case s.Extra != "" && s.Remote():
		return errors.New(`extra_arguments is of a server that is started, and a URL is not`)
	}
	return nil
}

// checkTree refuses a tree of a server that runs no code of this disk, and data without a tree.
func (raw serverTOML) checkTree(s Server) error {
	switch {
	case raw.Tree == nil && raw.Data == nil:
		return nil
	case s.Tree == "":
		return errors.New("data names what of a tree the server writes: name the directory as tree")
	case !s.Kind().Local() && !s.isToldToRun():
		return errors.New("tree is of a program of this disk, or of a package whose arguments name code of it")
	}
	for _, name := range append([]string{s.Tree}, s.Data...) {
		if name == "" || len(name) > 4096 || strings.ContainsRune(name, 0) {
			return fmt.Errorf("tree and data are paths, and %q is none", name)
		}
	}
	return nil
}

// isToldToRun reports whether s is a package that has arguments, which may name code of this disk.
func (s Server) isToldToRun() bool {
	t := launcher.Parse(s.Command, s.Arguments)
	return s.KindOf(t).HasClosure() && len(t.Args) > 0
}

// checkDemands refuses unknown values of the keys that say how much is refused.
func checkDemands(s Server) error {
	if !slices.Contains(strength["on_drift"], s.OnDrift) {
		return fmt.Errorf("on_drift is %q; it is withhold, block or warn", s.OnDrift)
	}
	if !slices.Contains(strength["server_requests"], s.Requests) {
		return fmt.Errorf("server_requests is %q; it is allow, log or deny", s.Requests)
	}
	return nil
}

func checkSurfaceKinds(s Server) error {
	for _, kind := range s.Kinds {
		if _, ok := surfaceKinds[kind]; !ok {
			return fmt.Errorf(
				"surface_kinds has %q; it is made of tools, prompts, resources, templates and instructions", kind)
		}
	}
	if s.Kinds != nil && !slices.Contains(s.Kinds, "tools") {
		return errors.New("surface_kinds cannot leave out tools")
	}
	return nil
}

// verifyBlock is the verify block, or that which a deprecated checksum stands for; nil if there is neither.
func (raw serverTOML) verifyBlock() (block *Verify, warnings []string, err error) {
	key := "verify"
	const replacement = "verify = { type = \"command\", algorithm = %q, value = %q }"
	switch {
	case raw.Verify != nil && raw.Checksum != nil:
		warnings = append(warnings, ".checksum is deprecated and ignored, because there is a verify block; remove it")
	case raw.Checksum != nil:
		raw.Verify = &verifyTOML{Type: "command", Algorithm: raw.Checksum.Algorithm, Value: raw.Checksum.Value}
		key = "checksum"
		warnings = append(warnings, fmt.Sprintf(".checksum is deprecated; write "+replacement,
			cmp.Or(text(raw.Checksum.Algorithm), "sha256"), text(raw.Checksum.Value)))
	}
	if raw.Verify == nil {
		return nil, warnings, nil
	}
	if raw.Command == "" {
		return nil, nil, &verifyError{key, errors.New("a server run from its record is verified against that record, " +
			"one from source or of a facet against what was published")}
	}
	block, err = raw.Verify.verify()
	if key == "checksum" && errors.Is(err, errUnfilled) {
		err = errors.New("has no value, and is deprecated; take it away, and 'hallmark verify-server NAME --write' " +
			"writes a verify block where one can hold something")
	}
	if err != nil {
		return nil, nil, &verifyError{key, err}
	}
	if slices.ContainsFunc(block.Claims, func(c FileClaim) bool { return c.Want.Weak() }) {
		warnings = append(warnings, "."+key+" uses sha1, which can be forged; use sha256")
	}
	return block, warnings, nil
}

// verifyError marks problems in the line of the verify block, or of the checksum
// that stands for one.
type verifyError struct {
	key string
	err error
}

func (e *verifyError) Error() string { return e.key + ": " + e.err.Error() }
func (e *verifyError) Unwrap() error { return e.err }
