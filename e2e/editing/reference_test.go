//go:build unix

package editing

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// referenceServer is the server whose tools --compat reference has.
const referenceServer = "@modelcontextprotocol/server-filesystem@2026.8.31"

// TestHashfileReference compares hashfile-mcp --compat reference with the reference filesystem server: the schemas of
// its tools, and what it answers and does in two equal directories. It needs the network, for npm.
func TestHashfileReference(t *testing.T) {
	t.Parallel()
	node, dir := world.InstallNode(t, referenceServer)
	server := filepath.Join(dir, "hashfile-mcp")
	built.Into(t, server, "cmd/hashfile-mcp")
	theirs := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	root, ourRoot := referenceTree(t), referenceTree(t)
	them := openServer(t, root, exec.Command(node, theirs, root))
	cmd := exec.Command(server, "--compat", "reference", "--root", ourRoot)
	cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(dir, "home"))
	us := openServer(t, ourRoot, cmd)
	compareTools(t, them, us)
	used := map[string]bool{}
	for i, c := range referenceCalls {
		used[c.differs] = true
		if why := referenceDifferences[c.differs]; c.differs != "" && why == "" {
			t.Errorf("call %d: no difference is called %s", i, c.differs)
		}
		want, got := them.answer(c), us.answer(c)
		if same := want == got; same != (c.differs == "") {
			t.Errorf("call %d, %s %v (difference %q):\n%s\nwe:\n%s", i, c.tool, c.args, c.differs, want, got)
		}
	}
	for name := range referenceDifferences {
		if !used[name] {
			t.Errorf("no call shows the difference %s", name)
		}
	}
	if want, got := filesBelow(t, root), filesBelow(t, ourRoot); !reflect.DeepEqual(want, got) {
		t.Errorf("files are\n%q\nwe have\n%q", want, got)
	}
}

// referenceTree makes a directory in which calls are made.
func referenceTree(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range referenceFiles {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		world.Write(t, path, text)
	}
	for _, name := range []string{"void", "sized/dir"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"a", "b.txt", "C", "d_e", "0", "a-name-that-is-longer-than-thirty-letters.txt"} {
		world.Write(t, filepath.Join(root, "sized", name), strings.Repeat("x", 700*i*i*i))
	}
	world.Write(t, filepath.Join(root, "run.sh"), "#!\n")
	for name, mode := range map[string]fs.FileMode{"run.sh": 0o750, ".": 0o755, "dir": 0o755, "a.txt": 0o644} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link.txt": "big.txt", "out.txt": "/etc/passwd"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// filesBelow returns what is below a directory but for what differs, with modes and contents.
func filesBelow(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "differs" {
			return errOr(err, filepath.SkipDir)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if strings.HasPrefix(rel, filepath.Join("ignoring", ".git")) {
			return nil
		}
		text := ""
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		all[rel] = info.Mode().String() + " " + text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// filesystemServer is a server that is driven, with the directory that it serves.
type filesystemServer struct {
	t    *testing.T
	root string
	s    *mcp.ClientSession
}

func openServer(t *testing.T, root string, cmd *exec.Cmd) *filesystemServer {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	cmd.Dir = t.TempDir()
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &filesystemServer{t, root, s}
}

// times are those in answers.
var times = regexp.MustCompile(`(?m)^(created|modified|accessed): .*GMT[+-]\d{4} \(.*\)$`)

// answer makes a call and returns all that a client sees of the answer: of a refusal only that it is one.
func (f *filesystemServer) answer(c referenceCall) string {
	f.t.Helper()
	in, err := json.Marshal(c.args)
	if err != nil {
		f.t.Fatal(err)
	}
	in = []byte(strings.ReplaceAll(string(in), "@", f.root))
	r, err := f.s.CallTool(context.Background(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(in)})
	if err != nil || r.IsError {
		return "refused"
	}
	var out strings.Builder
	for _, item := range r.Content {
		one, err := json.Marshal(item)
		if err != nil {
			f.t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", one)
		if text, ok := item.(*mcp.TextContent); ok {
			out.Reset()
			out.WriteString(settle(c.tool, text.Text))
			if is, _ := r.StructuredContent.(map[string]any); len(is) != 1 || is["content"] != text.Text {
				f.t.Errorf("%s: the structure does not repeat the text: %v", c.tool, r.StructuredContent)
			}
			continue
		}
		structure, err := json.Marshal(r.StructuredContent)
		if err != nil {
			f.t.Fatal(err)
		}
		out.Write(structure)
	}
	return times.ReplaceAllString(strings.ReplaceAll(out.String(), f.root, "@"), "$1: TIME")
}

// settle returns the text of an answer without what is left to chance: the order in which a directory is read.
func settle(tool, text string) string {
	switch tool {
	case "list_directory", "search_files":
		lines := strings.Split(text, "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	case "directory_tree":
		var tree []any
		if json.Unmarshal([]byte(text), &tree) != nil {
			return text
		}
		sorted, err := json.Marshal(sortTree(tree))
		if err != nil || !indented(text, tree) {
			return text
		}
		return string(sorted)
	}
	return text
}

// sortTree sorts the children of a tree by name.
func sortTree(tree []any) []any {
	name := func(n any) string { return n.(map[string]any)["name"].(string) }
	slices.SortFunc(tree, func(a, b any) int { return strings.Compare(name(a), name(b)) })
	for _, n := range tree {
		if children, ok := n.(map[string]any)["children"].([]any); ok {
			sortTree(children)
		}
	}
	return tree
}

// indented reports whether the text of a tree has as many lines as one that is indented.
func indented(text string, tree []any) bool {
	want, err := json.MarshalIndent(tree, "", "  ")
	return err == nil && strings.Count(string(want), "\n") == strings.Count(text, "\n")
}

// compareTools compares the names, schemas and annotations of two servers' tools. Descriptions are everybody's own.
func compareTools(t *testing.T, them, us *filesystemServer) {
	t.Helper()
	want, got := toolForms(t, them), toolForms(t, us)
	for name := range want {
		if !reflect.DeepEqual(want[name], got[name]) {
			t.Errorf("%s is\n%v\nwe have\n%v", name, want[name], got[name])
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s is ours alone", name)
		}
	}
}

// toolForms returns a server's tools by name, without descriptions.
func toolForms(t *testing.T, f *filesystemServer) map[string]any {
	t.Helper()
	list, err := f.s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for _, tool := range list.Tools {
		data, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		var form any
		if err := json.Unmarshal(data, &form); err != nil {
			t.Fatal(err)
		}
		all[tool.Name] = dropDescriptions(form)
	}
	return all
}

// dropDescriptions removes the texts called description from a value.
func dropDescriptions(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = dropDescriptions(v[i])
		}
	case map[string]any:
		if _, ok := v["description"].(string); ok {
			delete(v, "description")
		}
		for name := range v {
			v[name] = dropDescriptions(v[name])
		}
	}
	return value
}
