//go:build unix

package plugins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/nodecore"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// treesAtOnce is how many plugins one process of Node is asked about.
const treesAtOnce = 100

// TestSpecifiersAsNode generates plugins and specifiers, and has the machine's Node and a new one say what each leads
// to; 'make hosts' has those between them too. What any of them runs is what Hallmark hashed and scanned, or Hallmark
// reports the import; and it refuses no ordinary import that all of them find in dist/.
func TestSpecifiersAsNode(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("downloads Node for Linux")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		world.Lack(t, err, nil)
	}
	nodes, rounds, versions := []string{node}, 1, []string{"26"}
	if sample.Whole() {
		rounds, versions = 30, []string{"22", "24", "26"}
	}
	for _, version := range versions {
		nodes = append(nodes, world.InstallNodeVersion(t, version))
	}
	random := sample.Rand(t)
	asked, answered, clean := 0, 0, 0
	for range rounds {
		root := t.TempDir()
		var trees []*specifierTree
		for i := range treesAtOnce {
			trees = append(trees, newSpecifierTree(t, random, filepath.Join(root, fmt.Sprint(i)), 24))
			put(t, trees[i].dir, trees[i].files)
		}
		answers := askNodes(t, nodes, trees)
		for i, one := range trees {
			if len(one.plain.reported) == 0 {
				clean++
			}
			for j := range one.cases {
				asked++
				one.check(t, j, answers[i][j])
				if slices.ContainsFunc(answers[i][j], func(a nodeAnswer) bool { return a != nodeAnswer{} }) {
					answered++
				}
			}
		}
		if err := os.RemoveAll(root); err != nil { // the whole campaign would fill the disk
			t.Fatal(err)
		}
	}
	t.Logf("%d specifiers, of which a Node resolves %d; of %d plugins, %d have no other finding", asked, answered,
		treesAtOnce*rounds, clean)
	if answered < asked/4 {
		t.Error("too few of them lead anywhere")
	}
}

// nodeAnswer is what a Node finds for a specifier; it is empty if that is an error.
type nodeAnswer struct {
	Builtin, Other, File string
	Code                 bool // File is run as JavaScript or WebAssembly
}

// nodeQuestion asks where a file's import leads.
type nodeQuestion struct {
	From      string `json:"from"`
	Specifier string `json:"specifier"`
}

func askNode(t *testing.T, node, kind string, cases []nodeQuestion) (found []nodeAnswer, err error) {
	input, err := json.Marshal(map[string]any{"kind": kind, "cases": cases})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", "--experimental-import-meta-resolve",
		"specifiers.mjs")
	var wrong bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &wrong
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", node, err, &wrong)
	}
	if err := json.Unmarshal(out, &found); err != nil || len(found) != len(cases) {
		return nil, fmt.Errorf("%s answered %d of %d cases: %w", node, len(found), len(cases), err)
	}
	return found, nil
}

// askNodes returns the answers by tree, case and Node.
func askNodes(t *testing.T, nodes []string, trees []*specifierTree) [][][]nodeAnswer {
	t.Helper()
	answers := make([][][]nodeAnswer, len(trees))
	kinds := map[string][]nodeQuestion{}
	for i, one := range trees {
		answers[i] = make([][]nodeAnswer, len(one.cases))
		for j, c := range one.cases {
			answers[i][j] = make([]nodeAnswer, len(nodes))
			kinds[c.kind()] = append(kinds[c.kind()],
				nodeQuestion{filepath.Join(one.dir, "p/dist", c.from), c.Specifier})
		}
	}
	var group errgroup.Group
	group.SetLimit(max(2, runtime.NumCPU()))
	for n, node := range nodes {
		for kind, cases := range kinds {
			group.Go(func() error {
				found, err := askNode(t, node, kind, cases)
				if err != nil {
					return err
				}
				for i, one := range trees {
					for j, c := range one.cases {
						if c.kind() == kind {
							answers[i][j][n], found = found[0], found[1:]
						}
					}
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return answers
}

// specifierCase is an import of a file of dist/.
type specifierCase struct {
	plugin.Import
	from string
}

// kind is what Node is asked: it resolves import and import() alike.
func (c specifierCase) kind() string {
	if c.Kind == plugin.Require {
		return "require"
	}
	return "import"
}

// isOrdinary reports whether nobody who writes code would be surprised by the specifier.
func (c specifierCase) isOrdinary() bool {
	s := c.Specifier
	segments := strings.Split(s, "/")
	further := strings.TrimLeft(s, "./")
	if i := strings.Index(s, "//"); i >= 0 {
		further = s[i:]
	}
	up := strings.Contains(further, "..") || strings.Contains(strings.ToLower(s), "%2e")
	switch {
	case up && (strings.ContainsAny(s, "?#%") || strings.Contains(s, "//")): // which a path and a URL take otherwise
		return false
	case s == "", strings.ContainsFunc(s, unicode.IsControl), strings.ContainsAny(s, `\`), strings.HasPrefix(s, "/"),
		strings.Contains(strings.ToLower(s), "%2f"), strings.Contains(segments[0], ":"):
		return false
	case strings.HasPrefix(s, "."):
		return segments[0] == "." || segments[0] == ".."
	}
	// Of packages, one whose name npm would take, and what lies below it.
	below := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("/?#", r) })
	return !strings.ContainsAny(segments[0], "?#% ") && !strings.Contains(s, "%") &&
		!slices.Contains(below, ".") && !slices.Contains(below, "..")
}

// verdictOf is what Hallmark says of a tree in which one file imports something, and what it scans.
type verdictOf struct {
	allowed  bool
	reported []string
	scanned  map[string]bool
}

// judge checks the plugin with an import, or with none.
func (s *specifierTree) judge(t *testing.T, c *specifierCase) verdictOf {
	t.Helper()
	v := verdictOf{allowed: true, scanned: map[string]bool{}}
	paths := make(chan string, len(s.files))
	r, err := plugin.Check(t.Context(), s.bundle, s.manifest, plugin.Host{
		Flags: plugin.Flags{AllowNative: true, SandboxAvailable: true},
		Scan: func(path string, _ []byte) ([]plugin.Import, error) {
			paths <- path
			if c != nil && path == c.from {
				return []plugin.Import{c.Import}, nil
			}
			return nil, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	close(paths)
	for path := range paths {
		v.scanned[path] = true
	}
	for _, f := range r.Verdict.Findings {
		e := f.Evidence
		about := e.Scheme == evidence.Import || e.Scheme == evidence.Permission ||
			e.Scheme == evidence.Unhashed && e.Outcome == evidence.Mismatch
		switch {
		case e.Observed.Text == wasmNeeds:
			v.scanned[s.wasm] = true
		case about && (f.Class != evidence.OK || f.Warning):
			v.reported = append(v.reported, fmt.Sprintf("%s: %s %s %s", e.Subject, e.Outcome, e.Observed.Text, e.Reason))
			v.allowed = v.allowed && f.Class == evidence.OK
		}
	}
	return v
}

// check compares what the Nodes found for a case with what Hallmark says of it.
func (s *specifierTree) check(t *testing.T, number int, answers []nodeAnswer) {
	t.Helper()
	c := s.cases[number]
	v := s.judge(t, &c)
	dist := filepath.Join(s.dir, "p/dist") + "/"
	inside := true
	for n, a := range answers {
		file, below := strings.CutPrefix(a.File, dist)
		inside = inside && below
		core, _ := nodecore.OfModule(a.Builtin)
		sdk := strings.HasPrefix(a.File, filepath.Join(s.dir, "p/node_modules", plugin.SDK))
		wrong := false
		switch {
		case a.Builtin != "":
			wrong = core.Need != ""
		case a.Code && below:
			wrong = !v.scanned[file]
		default:
			wrong = (a.Code || a.Other != "") && !sdk // which is the host's
		}
		if wrong && len(v.reported) == 0 {
			s.report(t, c, fmt.Sprintf("the Node at %d finds %+v, and Hallmark says nothing", n, a))
		}
	}
	if inside && c.isOrdinary() && len(s.plain.reported) == 0 && !v.allowed {
		s.report(t, c, fmt.Sprintf("each Node finds %s, and Hallmark refuses: %s", answers[0].File, v.reported))
	}
}

// report shows a case with its tree.
func (s *specifierTree) report(t *testing.T, c specifierCase, what string) {
	t.Helper()
	var files strings.Builder
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(&files, "\t%s", path)
		if strings.HasSuffix(path, "package.json") {
			fmt.Fprintf(&files, " %s", s.files[path])
		}
		files.WriteByte('\n')
	}
	t.Errorf("%s of %q in %s: %s\n%s", c.Kind, c.Specifier, c.from, what, &files)
}
