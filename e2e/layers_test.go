package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/hallmark-mcp/hallmark"

// A layer is the first column of the table of ARCHITECTURE.md. A package imports from
// layers above its own, and inside its layer only from lower floors.
type layer int

const (
	values layer = iota
	formats
	edges
	registries // an edge with floors of its own
	flows
	commands // only cmd/internal/...
	tests    // e2e and bench: anything, and nothing imports them
)

var layerNames = []string{"values", "formats", "edges", "registry", "flows", "commands", "tests"}

func (l layer) String() string { return layerNames[l] }

// place says where a package stands: its layer, its floor there, and the edge it belongs to.
type place struct {
	layer layer
	floor int
	edge  string
}

// baseFloor is up to which floor edges are for others: how files are written, how trees are
// opened, how programs are started and ended, and how those of others are.
const baseFloor = 2

// readFloors reads the table of ARCHITECTURE.md, by path relative to the module; "" is the
// root package.
var readFloors = sync.OnceValues(func() (map[string]place, error) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		return nil, err
	}
	places := map[string]place{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		at := slices.Index(layerNames, strings.TrimSpace(cells[1]))
		floor, err := strconv.Atoi(strings.TrimSpace(cells[2]))
		if at < 0 || err != nil {
			continue
		}
		for _, rel := range strings.Fields(
			strings.NewReplacer("the root package", "``", "` `", "`\n`").Replace(cells[3])) {
			rel = strings.Trim(rel, "`")
			if _, twice := places[rel]; twice {
				return nil, fmt.Errorf("%s stands twice in the table", name(rel))
			}
			p := place{layer: layer(at), floor: floor, edge: rel}
			if topic := strings.Split(rel, "/"); len(topic) > 1 {
				p.edge = topic[0] + "/" + topic[1]
			}
			places[rel] = p
		}
	}
	return places, nil
})

// starters are the packages that may start processes: servers from verified bytes, and the
// programs that resolve and answer questions. Every other program goes through one of them,
// so that none gets a checkout's configuration, the user's environment or a terminal.
var starters = []string{"internal/guard/process", "internal/foreign"}

// small are the packages of the program that runs beside each client, as often as there are
// clients: it links one edge and no flow.
var small = []string{"cmd/hashfile-mcp", "cmd/internal/editor", "cmd/internal/program"}

// placeOf places a package by its path relative to the module ("" is the root).
func placeOf(rel string) (place, bool) {
	switch first, _, _ := strings.Cut(rel, "/"); first {
	case "cmd":
		return place{layer: commands}, true
	case "e2e", "bench":
		return place{layer: tests}, true
	}
	places, err := readFloors()
	p, ok := places[rel]
	return p, ok && err == nil
}

// impure reports whether an import is refused in values and formats: the
// network, processes, the operating system's files and its raw calls.
// net/url and net/netip do no I/O.
func impure(path string) bool {
	switch path {
	case "net/url", "net/netip":
		return false
	case "io/ioutil", "path/filepath", "plugin", "syscall":
		return true
	}
	for _, tree := range []string{"net", "os", "golang.org/x/sys", "golang.org/x/net"} {
		if path == tree || strings.HasPrefix(path, tree+"/") {
			return true
		}
	}
	return false
}

// goPackage is what the rule needs of `go list -json`; Imports are those of
// non-test files.
type goPackage struct {
	ImportPath string
	Imports    []string
}

// violations returns one line for each breach of the layer rule, sorted.
func violations(packages []goPackage) []string {
	var found []string
	for _, p := range packages {
		rel, ok := relative(p.ImportPath)
		if !ok {
			continue
		}
		from, ok := placeOf(rel)
		if !ok {
			found = append(found, fmt.Sprintf("%s: in no layer of the table", name(rel)))
			continue
		}
		for _, imp := range p.Imports {
			if why := breach(rel, from, imp); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", name(rel), imp, why))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// breach says why the package rel, placed at from, must not import imp, or "".
func breach(rel string, from place, imp string) string {
	to, ours := relative(imp)
	if !ours {
		if from.layer <= formats && impure(imp) {
			return from.layer.String() + " do no I/O of their own"
		}
		if from.layer != tests && imp == "os/exec" && !slices.Contains(starters, rel) {
			return "processes are started by " + strings.Join(starters, " and ")
		}
		if from.layer != tests && strings.HasPrefix(imp, "github.com/santhosh-tekuri/jsonschema/") {
			return "it compiles the schemas of all drafts at each start of a program; it is for tests"
		}
		return ""
	}
	target, ok := placeOf(to)
	switch {
	case !ok:
		return "in no layer of the table"
	case target.layer == tests:
		if from.layer == tests {
			return ""
		}
		return "nothing imports " + target.layer.String()
	case slices.Contains(small, rel) && target.layer == flows:
		return "it would link all flows"
	case from.layer == tests:
		return ""
	case isEdge(from) && isEdge(target) && target.edge != from.edge &&
		(target.layer != edges || target.floor > baseFloor):
		return "edges do not import each other"
	case target.layer < from.layer:
		return ""
	case target.layer > from.layer:
		return fmt.Sprintf("%s lie below %s", target.layer, from.layer)
	}
	switch {
	case from.layer < commands && target.floor >= from.floor:
		return "not on a lower floor of " + from.layer.String()
	case from.layer == commands:
		if slices.Contains(small, rel) &&
			slices.Contains(
				[]string{"cmd/internal/app", "cmd/internal/author", "cmd/internal/operator", "cmd/internal/cli"}, to) {
			return "it would link all flows"
		}
		if !strings.HasPrefix(to, "cmd/internal/") {
			return "commands share only cmd/internal"
		}
	}
	return ""
}

func isEdge(p place) bool { return p.layer == edges || p.layer == registries }

// relative returns an import path of the module relative to its root.
func relative(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func name(rel string) string {
	if rel == "" {
		return "the root package"
	}
	return rel
}

// TestLayers checks the module on each platform that has files of its own.
func TestLayers(t *testing.T) {
	for _, goos := range []string{"linux", "windows", "darwin"} {
		packages := listPackages(t, goos)
		if _, err := readFloors(); err != nil {
			t.Fatal(err)
		}
		if len(packages) < 5 {
			t.Fatalf("GOOS=%s: go list names %d packages only", goos, len(packages))
		}
		for _, v := range violations(packages) {
			t.Errorf("GOOS=%s: %s", goos, v)
		}
	}
}

func listPackages(t *testing.T, goos string) []goPackage {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list, GOOS=%s: %v\n%s", goos, err, &stderr)
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatalf("go list, GOOS=%s: %v", goos, err)
		}
		packages = append(packages, p)
	}
}

// TestLayerRule shows that each kind of breach is found, and that what the
// table permits is not.
func TestLayerRule(t *testing.T) {
	const m = module + "/"
	for _, tt := range []struct {
		from, imp string
		want      string // part of the violation; "" is permitted
	}{
		{m + "tree", m + "digest", ""},
		{m + "digest", "io/fs", ""},
		{m + "artifact", "net/url", ""},
		{m + "artifact", "net/netip", ""},
		{m + "policy", m + "evidence", ""},
		{m + "plugin", m + "policy", ""},
		{m + "serverjson", m + "surface", ""},
		{m + "project", m + "ledger", ""},
		{m + "internal/store", m + "internal/durable", ""},
		{m + "internal/guard/process", m + "internal/foreign", ""},
		{m + "internal/registry/sqlite", m + "internal/registry", ""},
		{m + "internal/registry/pages", m + "internal/registry/api", ""},
		{m + "internal/fetch", "net/http", ""},
		{module, m + "internal/guard", ""},
		{m + "cmd/hallmark", module, ""},
		{m + "cmd/hallmark", m + "cmd/internal/cli", ""},
		{m + "cmd/hashfile-mcp", m + "cmd/internal/cli", "it would link all flows"},
		{m + "cmd/internal/program", module, "it would link all flows"},
		{m + "e2e/demo", m + "e2e/coverage", ""},
		{m + "bench", m + "internal/store", ""},
		{"example.com/other", "net/http", ""},

		{m + "digest", m + "tree", "not on a lower floor"},
		{m + "tree", m + "surface", "not on a lower floor"},
		{m + "digest", m + "evidence", "formats lie below values"},
		{m + "evidence", m + "policy", "not on a lower floor"},
		{m + "launcher", m + "plugin", "not on a lower floor"},
		{m + "internal/facet", m + "plugin", "not on a lower floor"},
		{m + "ledger", m + "project", "not on a lower floor"},
		{m + "policy", m + "internal/durable", "edges lie below formats"},
		{m + "internal/store", m + "internal/fetch", "edges do not import each other"},
		{m + "internal/durable", m + "internal/store", "edges do not import each other"},
		{m + "internal/durable", m + "internal/fetch", "edges do not import each other"},
		{m + "internal/git", m + "internal/fetch/transfer", "edges do not import each other"},
		{m + "internal/wire", m + "internal/git", "edges lie below formats"},
		{m + "internal/registry/sqlite", m + "internal/store", "edges do not import each other"},
		{m + "internal/registry", m + "internal/registry/sqlite", "not on a lower floor of registry"},
		{m + "internal/registry/sqlite", m + "internal/registry/postgres", "not on a lower floor of registry"},
		{m + "internal/registry/api", m + "internal/registry/pages", "not on a lower floor of registry"},
		{m + "internal/registry/client", m + "internal/registry/api", "not on a lower floor of registry"},
		{m + "internal/registry/pages", m + "internal/registry/servertest", "not on a lower floor of registry"},
		{m + "internal/registry/helpers", m + "internal/registry", "in no layer"},
		{m + "internal/guard", module, "flows lie below edges"},
		{m + "internal/host", m + "internal/workspace", "not on a lower floor of flows"},
		{m + "internal/launch", m + "internal/facets", "not on a lower floor of flows"},
		{m + "internal/pin", module, "not on a lower floor of flows"},
		{m + "internal/trail", m + "internal/registry/client", ""},
		{m + "internal/check", m + "internal/pin", ""},
		{module, m + "cmd/internal/cli", "commands lie below flows"},
		{m + "cmd/hallmark", m + "cmd/mcp-publisher", "commands share only cmd/internal"},
		{m + "cmd/hallmark", m + "e2e/demo", "nothing imports tests"},
		{m + "digest", "os", "no I/O"},
		{m + "surface", "net", "no I/O"},
		{m + "artifact", "net/http", "no I/O"},
		{m + "launcher", "os/exec", "no I/O"},
		{m + "internal/fetch", "os/exec", "processes are started by"},
		{m + "internal/registry/sqlite", "os/exec", "processes are started by"},
		{module, "os/exec", "processes are started by"},
		{m + "cmd/hallmark", "os/exec", "processes are started by"},
		{m + "internal/foreign", "os/exec", ""},
		{m + "internal/guard/process", "os/exec", ""},
		{m + "internal/guard", "os/exec", "processes are started by"},
		{m + "internal/guard/process", m + "internal/guard", "not on a lower floor"},
		{m + "internal/fetch", m + "internal/foreign", ""},
		{m + "internal/fetch/userconfig", m + "internal/wire", ""},
		{m + "internal/git", m + "internal/wire", ""},
		{m + "bench", "os/exec", ""},
		{m + "project", "syscall", "no I/O"},
		{m + "internal/archive", "io/ioutil", "no I/O"},
		{m + "internal/registry/pages", m + "internal/registry/sqlite", "not on a lower floor"},
		{m + "tree", "path/filepath", "no I/O"}, // Walk, Glob, EvalSymlinks; package path does without
		{m + "plugin", "golang.org/x/sys/unix", "no I/O"},
		{m + "plugin", "github.com/santhosh-tekuri/jsonschema/v6", "for tests"},
		{m + "helpers", "fmt", "helpers: in no layer"},
		{m + "surface/inner", "fmt", "surface/inner: in no layer"},
		{m + "internal/helpers", "fmt", "internal/helpers: in no layer"},
		{m + "cmd/hallmark", m + "internal/helpers", "in no layer"},
	} {
		got := violations([]goPackage{{ImportPath: tt.from, Imports: []string{tt.imp}}})
		switch {
		case tt.want == "" && len(got) != 0:
			t.Errorf("%s imports %s: refused: %q", tt.from, tt.imp, got)
		case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
			t.Errorf("%s imports %s: got %q, want one with %q", tt.from, tt.imp, got, tt.want)
		}
	}
}

// TestStarters looks for the other way to start a process: os.StartProcess and the system's
// own calls need no import that TestLayers sees.
func TestStarters(t *testing.T) {
	starts := regexp.MustCompile(
		`\b(os\.StartProcess|(syscall|unix|windows)\.(StartProcess|ForkExec|Exec|Execve\w*|CreateProcess\w*|PosixSpawn))\b`)
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(filepath.ToSlash(path), "../"))
		switch {
		case e.IsDir() &&
			(rel == "e2e" || rel == "bench" || rel == "tools" || strings.HasPrefix(e.Name(), ".") && path != ".."):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") ||
			slices.Contains(starters, filepath.ToSlash(filepath.Dir(rel))):
			return nil
		}
		text, err := os.ReadFile(path)
		if found := starts.Find(text); found != nil {
			t.Errorf("%s: %s: processes are started by %s", rel, found, strings.Join(starters, " and "))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// finds are the ways to look for a program, and the one file that may use each. One of ours,
// which acts before anybody agreed, is found by [foreign.Checkout] alone: no file of a checkout
// is one. The command of a server is found wherever PATH leads, then hashed and approved.
var finds = map[string]string{
	`\b(exec\.)?LookPath\b|\bexec\.(Command|CommandContext)\(`: "internal/foreign/",
	`\bforeign\.Find\b`: "internal/workspace/paths.go",
}

// TestFinders looks for another way to find a program.
func TestFinders(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(filepath.ToSlash(path), "../"))
		if e.IsDir() {
			if rel == "e2e" || rel == "bench" || rel == "tools" || strings.HasPrefix(e.Name(), ".") && path != ".." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for pattern, where := range finds {
			look := regexp.MustCompile(pattern)
			for line := range strings.Lines(string(text)) {
				code, _, _ := strings.Cut(line, "//")
				if found := look.FindString(code); found != "" && !strings.HasPrefix(rel, where) {
					t.Errorf("%s: %s: that is for %s alone; what is started before anybody agreed is found by "+
						"foreign.Checkout", rel, found, where)
				} else if found != "" {
					seen[pattern] = true
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range finds {
		if !seen[pattern] {
			t.Errorf("%s is nowhere: the test looks for what is not there", pattern)
		}
	}
}
