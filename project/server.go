package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// The types of a server's table.
const (
	TypeStdio = "stdio" // it is started, and spoken to over its standard input and output
	TypeHTTP  = "http"  // it is reached by its URL, as streamable HTTP
)

// Server is a [providers.mcp.NAME] table.
type Server struct {
	Name      string
	Line      int               // of its table in hallmark.toml
	Type      string            // TypeStdio or TypeHTTP
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

	// Tree is the directory of a script that is hashed as a whole, relative to the project, and Data are the paths in
	// it that are not, because the server writes them.
	Tree string
	Data []string

	// StartupTimeout is how long it may take to start, if that is more than the minute that each has. It is no part of
	// what is locked.
	StartupTimeout time.Duration

	Environment map[string]string // values that a facet's author wrote into its declaration
}

// Remote reports whether s is reached by its URL, and not started.
func (s Server) Remote() bool { return s.Type == TypeHTTP }

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
func SourceName(name string, floor artifact.Floor) string { return name + "@" + floor.String() }

// ParseSourceName reads "NAME@FLOOR".
func ParseSourceName(s string) (name string, floor artifact.Floor, err error) {
	at := strings.LastIndexByte(s, '@')
	if at <= 0 || !facet.CheckName(s[:at]) {
		return "", floor,
			fmt.Errorf("%+q is not NAME@VERSION with the lowest version of a server that is packed from source", s)
	}
	floor, err = artifact.ParseFloor(s[at+1:])
	return s[:at], floor, err
}

// surfaceKinds are the values of surface_kinds.
var surfaceKinds = map[string]surface.Kind{
	"tools": surface.KindTool, "prompts": surface.KindPrompt, "resources": surface.KindResource,
	"templates": surface.KindTemplate, "instructions": surface.KindInstructions,
}

// Excluded are the kinds of surface items that surface_kinds leaves out.
func (s Server) Excluded() map[surface.Kind]bool {
	out := map[surface.Kind]bool{}
	for name, kind := range surfaceKinds {
		if s.Kinds != nil && !slices.Contains(s.Kinds, name) {
			out[kind] = true
		}
	}
	return out
}

// nameRE is what a server may be called: it becomes a file name.
var nameRE = spelling.Form(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckServerName says why a server cannot have a name; nil if it can.
func CheckServerName(name string) error {
	if !nameRE().MatchString(name) {
		return errors.New("a server's name is letters, digits, '.', '_' and '-', at most 64")
	}
	return nil
}

var variableRE = spelling.Form(`^[A-Za-z_][A-Za-z0-9_]*$`)
