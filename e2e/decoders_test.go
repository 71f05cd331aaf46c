package e2e

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/modulesource"
)

// plainDecoders are the directories and files that call encoding/json's decoders themselves, with
// how often. They take "Servers" for "servers": whoever reads a file of a checkout, of the
// machine's or of a registry into a struct calls surface.Decode, or surface.DecodeKnown of what
// others write. What is here decodes into maps, lists and texts, whose names are exact, or is as
// the reason says.
var plainDecoders = map[string]struct {
	calls int
	why   string
}{
	"allowlist.go in plugin":                    {8, "maps, lists and texts"},
	"archive.go in internal/registry/pages":     {2, "shown only"},
	"archive_serve.go in internal/registry/api": {1, "a request of who may change a record anyway"},
	"archives.go in internal/registry/sqldb":    {1, "a map"},
	"capability.go in plugin":                   {5, "maps, lists and texts"},
	"client.go in internal/registry/client":     {1, "the words of an error, which decide nothing"},
	"closurefile.go in project":                 {2, "a map and a text"},
	"closurenpm.go in project": {1,
		"a member that was found by its exact name: texts, lists and truths"},
	"docker.go in internal/fetch/userconfig": {2, "the user's own file, and the answer of the user's own program"},
	"document.go in cmd/internal/author":     {1, "shown only"},
	"dump.go in internal/registry/blobs":     {2, "maps, and a stream of values that are not looked into"},
	"edit.go in plugin":                      {1, "tokens"},
	"edit.go in serverjson":                  {5, "tokens and maps"},
	"places.go in serverjson":                {1, "a map"},
	"owner.go in internal/fetch":             {1, "a map"},
	"encoding.go in internal/durable":        {1, "sealed by its own digest, in the state directory"},
	"envelope.go in internal/registry":       {2, "a map and texts"},
	"exact.go in surface":                    {1, "tokens"},
	"facetworld.go in internal/hosttest":     {2, "maps, in tests"},
	"findings.go in internal/registry":       {2, "the registry's own database"},
	"github.go in internal/registry":         {1, "an answer of one host over TLS, which nobody else reads"},
	"github.go in internal/registry/api":     {2, "answers of one host over TLS, which nobody else reads"},
	"go.go in internal/closure":              {1, "what the go command prints"},
	"golang.go in internal/closure":          {2, "what the go command prints"},
	"import.go in internal/operate":          {3, "maps and texts"},
	"init.go in internal/document":           {2, "what package.json says of its repository"},
	"manifests.go in internal/document":      {4, "manifests of others, from which a person's draft is made"},
	"leaf.go in ledger":                      {1, "encoded again and compared byte by byte"},
	"list.go in internal/registry/pages":     {1, "shown only"},
	"lockfile.go in project": {5, "beside surface.CheckMembers, which reads it at the same time; the version alone; " +
		"maps of bytes, of which digests are computed"},
	"login.go in internal/publish":            {1, "answers to a login, which nobody else reads"},
	"members.go in surface":                   {4, "surface.Decode and DecodeKnown"},
	"npmversion.go in internal/fetch":         {5, "maps, lists and texts"},
	"npmpackument.go in internal/fetch":       {1, "tokens, and values that npmversion.go reads"},
	"npmrc.go in internal/fetch/userconfig":   {1, "a text"},
	"object.go in internal/facet":             {4, "maps, lists, texts and truths"},
	"object.go in internal/fetch":             {3, "maps and lists"},
	"installlockparse.go in internal/plugins": {4, "whose members are compared with their names"},
	"plugin.go in internal/facet":             {1, "a map"},
	"parse.go in plugin": {1,
		"a map, whose form is judged by exact names"},
	"parse.go in serverjson": {4,
		"a map, whose form is judged by exact names"},
	"askpython.go in internal/closure": {1, "what our own question to python prints"},
	"resolve.go in plugin":             {1, "a map"},
	"reverify.go in internal/operate":  {1, "the registry's own database"},
	"sidecar.go in internal/store":     {2, "the schema alone; encoded again and compared byte by byte"},
	"state.go in internal/monitor": {4,
		"maps and lists; and a struct that is encoded again and compared"},
	"store.go in internal/check": {1,
		"which project a file is about; to keep too much is all that it can do"},
	"tokens.go in internal/registry/sqldb":        {1, "the registry's own database"},
	"decode.go in internal/hashfile":              {1, "into maps, whose names are compared with those of the form"},
	"value.go in internal/installed":              {1, "tokens of what facet.ParseManifest has read by exact names"},
	"json.go in internal/hashfile/stdio":          {3, "texts, and maps, whose names are exact"},
	"message.go in internal/hashfile/stdio":       {2, "an id, and the members of a message that was cut"},
	"toolschema.go in plugin":                     {2, "a map; and whether references of a schema lead somewhere"},
	"validate.go in serverjson":                   {1, "a map"},
	"values.go in internal/registry/registrytest": {1, "fixtures of tests"},
	"wheels.go in project":                        {1, "what pip prints"},
}

// TestDecoders: whoever reads JSON into a struct reads exact names, or says why not.
func TestDecoders(t *testing.T) {
	found := map[string]int{}
	src := modulesource.Read(t, "..")
	for dir, files := range src.Dirs {
		if dir == "internal/guard" || strings.HasPrefix(dir, "internal/guard/") { // messages, which have their own reader of exact names
			continue
		}
		for _, f := range files {
			name := fmt.Sprintf("%s in %s", src.Names[f], dir)
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "json" &&
						slices.Contains([]string{"Unmarshal", "NewDecoder"}, s.Sel.Name) {
						found[name]++
					}
				}
				return true
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if known := plainDecoders[name]; known.calls != found[name] {
			t.Errorf("%s decodes JSON %d times by itself, and %d were judged: use surface.Decode, or say here why not",
				name, found[name], known.calls)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plainDecoders)) {
		if found[name] == 0 || strings.TrimSpace(plainDecoders[name].why) == "" {
			t.Errorf("%s decodes nothing any more, or nobody says why it may", name)
		}
	}
}
