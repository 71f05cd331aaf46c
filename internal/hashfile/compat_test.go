package hashfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// compat starts a server that offers the tools of another one.
func compat(t *testing.T, name, dir string) *peer {
	p, _ := connect(t, Config{Roots: []string{dir}, Compat: name}, "2025-11-25", nil)
	return p
}

func TestCompatUnknown(t *testing.T) {
	_, err := New(Config{Compat: "Reference", Locks: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "hashfile-mcp, reference") {
		t.Error(err)
	}
}

// TestCompatReadOnly tests that no dialect offers a tool that writes to a server that only reads.
func TestCompatReadOnly(t *testing.T) {
	for _, name := range append(Compatible(), "") {
		d := dir(t)
		p, _ := connect(t, Config{Roots: []string{d}, Compat: name, ReadOnly: true}, "2025-11-25", nil)
		list, err := p.s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			for _, word := range []string{"write", "edit", "move", "create"} {
				if strings.Contains(tool.Name, word) {
					t.Errorf("%s offers %s", name, tool.Name)
				}
			}
		}
	}
}

// TestCompatConfined tests that no dialect has a way around what the engine refuses.
func TestCompatConfined(t *testing.T) {
	outside := write(t, dir(t), "secret", "secret\n")
	for _, name := range Compatible() {
		d := dir(t)
		write(t, d, "AGENTS.md", "---\nforbidden: [hidden]\nread_only: [kept]\n---\n")
		write(t, d, "hidden", "secret\n")
		kept := write(t, d, "kept", "kept\n")
		if err := os.Symlink(outside, filepath.Join(d, "link")); err != nil {
			t.Fatal(err)
		}
		p := compat(t, name, d)
		list, err := p.s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			for _, path := range []string{outside, filepath.Join(d, "link"), filepath.Join(d, "hidden"), kept} {
				args := argumentsFor(t, tool, path)
				r, err := p.s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: args})
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), `secret\n`) || strings.Contains(string(text), "c2VjcmV0") {
					t.Errorf("%s gives %s away: %s", tool.Name, path, text)
				}
			}
		}
		if content(t, kept) != "kept\n" || content(t, outside) != "secret\n" {
			t.Errorf("%s: a file was written", name)
		}
	}
}

// argumentsFor returns arguments of a tool that lead to a path.
func argumentsFor(t *testing.T, tool *mcp.Tool, path string) arguments {
	t.Helper()
	schema, ok := tool.InputSchema.(map[string]any)
	if !ok {
		t.Fatalf("%s: the schema is %T", tool.Name, tool.InputSchema)
	}
	args := arguments{}
	members, _ := schema["properties"].(map[string]any)
	for name := range members {
		switch name {
		case "path", "source":
			args[name] = path
		case "destination":
			args[name] = path + ".moved"
		case "paths":
			args[name] = []string{path}
		case "content":
			args[name] = "overwritten\n"
		case "pattern":
			args[name] = "**"
		case "edits":
			args[name] = []arguments{{"oldText": "kept", "newText": "lost"}, {"oldText": "secret", "newText": "lost"}}
		case "file_hash":
			args[name] = strings.TrimPrefix(sum([]byte("kept\n")).String(), "sha256:")
		case "operations":
			args[name] = []arguments{{"op_type": "delete", "anchor": "1:" + hashline.Tag(hashline.Hash([]byte("kept")), 2)}}
		}
	}
	return args
}

// TestCompatLarge tests that large texts come whole, as text and as structure.
func TestCompatLarge(t *testing.T) {
	d := dir(t)
	text := strings.Repeat("0123456789 \"quoted\" \u00e9\n", 20_000)
	path := write(t, d, "large", text)
	p := compat(t, "reference", d)
	r, err := p.s.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_text_file", Arguments: arguments{"path": path}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Content[0].(*mcp.TextContent).Text != text ||
		!reflect.DeepEqual(r.StructuredContent, map[string]any{"content": text}) {
		t.Error("the text is another one")
	}
	p = compat(t, "hashfile-mcp", d)
	tagged := p.call("read_text_file", arguments{"path": path}).Text
	if lines := strings.Split(tagged, "\n"); len(lines) != 20_002 || !strings.HasPrefix(lines[20_000], "20000:") {
		t.Errorf("there are %d lines", len(lines))
	}
}
