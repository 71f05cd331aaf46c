package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// The programs: what is in one of them, everybody who installs it carries, starts and trusts.
const (
	full      = "hallmark"          // what users, authors and hosts of plugins do
	operators = "hallmark-registry" // a registry and its data
	authors   = "mcp-publisher"     // documents, publishing, logging in
	editors   = "hashfile-mcp"      // one server of one tool, started beside each client
)

// bounds says how many packages each program may link at most, those of Go included. A few more
// than today are left for new versions of Go and of modules.
var bounds = map[string]int{full: 452, operators: 590, authors: 333, editors: 280}

// heavy are the packages, with all below them, that not every program needs, and the programs
// that link them. A path without a dot in its first part is one of ours or of Go.
var heavy = []struct {
	path     string
	programs []string
}{
	// a registry's server and its databases
	{"internal/operate", []string{operators}},
	{"internal/registry/api", []string{operators}},
	{"internal/registry/sqldb", []string{operators}},
	{"internal/registry/blobs", []string{operators}},
	{"internal/registry/log", []string{operators}},
	{"internal/registry/pages", []string{operators}},
	{"internal/registry/postgres", []string{operators}},
	{"internal/registry/sqlite", []string{operators}},
	{"html/template", []string{operators}},
	{"net/http/pprof", []string{operators}},
	{"github.com/aws", []string{operators}},
	{"github.com/coreos/go-oidc", []string{operators}},
	{"github.com/danielgtaylor/huma/v2", []string{operators}},
	{"github.com/go-jose/go-jose/v4", []string{operators}},
	{"github.com/jackc", []string{operators}},
	{"github.com/prometheus", []string{operators}},
	{"google.golang.org/protobuf", []string{operators}},
	{"modernc.org", []string{operators}},

	// what users of servers, facets and plugins do
	{"internal/check", []string{full}},
	{"internal/clients", []string{full}},
	{"internal/closure", []string{full}},
	{"internal/pin", []string{full}},
	{"internal/facets", []string{full}},
	{"internal/git", []string{full}},
	{"internal/guard", []string{full}},
	{"internal/installed", []string{full}},
	{"internal/jsscan", []string{full}},
	{"internal/launch", []string{full}},
	{"internal/workspace", []string{full}},
	{"internal/obtain", []string{full}},
	{"internal/plugins", []string{full}},
	{"internal/program", []string{full}},
	{"internal/scan", []string{full}},
	{"internal/owed", []string{full}},
	{"github.com/evanw/esbuild", []string{full}},
	{"github.com/tdewolff/parse/v2", []string{full}},

	// what some share
	{"internal/hashfile", []string{full, editors}},
	{"go.yaml.in/yaml/v3", []string{full, editors}},
	{"internal/publish", []string{full, authors}},
	{"internal/monitor", []string{full, operators}},
	{"internal/document", []string{full, authors, operators}},
	{"internal/fetch", []string{full, authors, operators}},
	{"internal/registry", []string{full, authors, operators}},
	{"internal/store", []string{full, authors, operators}},
	{"internal/trail", []string{full, authors, operators}},
	{"github.com/docker/cli", []string{full, authors, operators}},

	// tests
	{"testing", nil},
	{"e2e", nil},
	{"internal/hashfile/hashfiletest", nil},
	{"internal/hosttest", nil},
	{"internal/registry/servertest", nil},
	{"internal/registry/registrytest", nil},
	{"github.com/modelcontextprotocol/go-sdk", nil},
	{"github.com/santhosh-tekuri/jsonschema", nil},
}

// linked returns the packages that each program links on a system, as they are in heavy: ours
// without the module's path.
func linked(t *testing.T, goos string) map[string][]string {
	t.Helper()
	list := exec.Command("go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`,
		"./cmd/...")
	list.Dir, list.Stderr = "..", new(bytes.Buffer)
	list.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, list.Stderr)
	}
	programs := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		packages := strings.Fields(line)
		if len(packages) == 0 || strings.HasPrefix(packages[0], module+"/cmd/internal/") { // man is not installed
			continue
		}
		for i, p := range packages {
			packages[i] = strings.TrimPrefix(p, module+"/")
		}
		programs[path.Base(packages[0])] = packages
	}
	return programs
}

// linksBelow reports whether one of packages is at or below path.
func linksBelow(packages []string, path string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return p == path || strings.HasPrefix(p, path+"/") })
}

// TestLinks holds what each program links to the table, in both directions, so that a row tells
// what is, and to the bounds.
func TestLinks(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		programs := linked(t, goos)
		for name := range bounds {
			if programs[name] == nil {
				t.Errorf("GOOS=%s: there is no program %s", goos, name)
			}
		}
		for name, packages := range programs {
			bound, known := bounds[name]
			switch {
			case !known:
				t.Errorf("GOOS=%s: %s is in no table of this test: say what it may link", goos, name)
				continue
			case len(packages) > bound:
				t.Errorf("GOOS=%s: %s links %d packages, and may link %d", goos, name, len(packages), bound)
			}
			for _, row := range heavy {
				may, does := slices.Contains(row.programs, name), linksBelow(packages, row.path)
				switch {
				case does && !may:
					t.Errorf("GOOS=%s: %s links %s ('go list -deps ./cmd/%[2]s' lists all)", goos, name, row.path)
				case may && !does:
					t.Errorf("GOOS=%s: %s links %s no more: take it out of the table", goos, name, row.path)
				}
			}
			t.Logf("GOOS=%s: %s links %d packages", goos, name, len(packages))
		}
	}
}
