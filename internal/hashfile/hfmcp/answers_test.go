//go:build unix

package hfmcp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/hashfiletest"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
)

// rustTools are the tools of hashfile-mcp 0.3.4 as its tools/list gives them: title of the schema, and members, of
// which "?" says that one may be left out or be null.
var rustTools = map[string][2]string{
	"read_text_file":      {"ReadTextInput", "path:string start_line?:integer end_line?:integer"},
	"read_file":           {"ReadFileInput", "path:string"},
	"read_multiple_files": {"ReadMultipleFilesInput", "paths:[string] for_edit?:boolean"},
	"list_directory":      {"ListDirectoryInput", "path:string"},
	"directory_tree":      {"DirectoryTreeInput", "path:string exclude_patterns?:[string]"},
	"edit_text_file":      {"EditTextInput", "path:string file_hash:string operations:[#/$defs/EditOperation]"},
	"write_text_file":     {"WriteTextInput", "path:string content:string"},
	"write_file":          {"WriteFileInput", "path:string content:string"},
	"create_directory":    {"CreateDirectoryInput", "path:string"},
	"move_file":           {"MoveFileInput", "source:string destination:string"},
}

// rustOperation are the members of the definition EditOperation.
const rustOperation = "op_type:string anchor:string end_anchor?:string content?:string"

// formOf returns the members that rustTools and rustOperation speak of as the schema that they stand for.
func formOf(members string) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, member := range strings.Fields(members) {
		name, kind, _ := strings.Cut(member, ":")
		form := map[string]any{"type": kind}
		if item, ok := strings.CutPrefix(kind, "["); ok {
			item = strings.TrimSuffix(item, "]")
			form = map[string]any{"type": "array", "items": map[string]any{"type": item}}
			if strings.HasPrefix(item, "#") {
				form["items"] = map[string]any{"$ref": item}
			}
		}
		if kind == "integer" {
			form["format"], form["minimum"] = "uint", 0.0
		}
		if name, ok := strings.CutSuffix(name, "?"); ok {
			form["nullable"] = true
			properties[name] = form
			continue
		}
		properties[name] = form
		required = append(required, name)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// dropDescriptions removes the texts called description from a schema.
func dropDescriptions(schema map[string]any) {
	if _, ok := schema["description"].(string); ok {
		delete(schema, "description")
	}
	for _, value := range schema {
		if inner, ok := value.(map[string]any); ok {
			dropDescriptions(inner)
		}
	}
}

type arguments = hashfiletest.Arguments

func serve(t *testing.T) *hashfiletest.Peer {
	t.Helper()
	return hashfiletest.Serve(t, Tools)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ops are the operations of an edit.
func ops(all ...arguments) []arguments { return all }

func TestRustSchemas(t *testing.T) {
	tools := serve(t).Tools
	if len(tools) != len(rustTools) {
		t.Errorf("there are %d tools", len(tools))
	}
	for _, tool := range tools {
		want := formOf(rustTools[tool.Name][1])
		want["$schema"], want["title"] = "https://json-schema.org/draft/2020-12/schema", rustTools[tool.Name][0]
		if tool.Name == "edit_text_file" {
			want["$defs"] = map[string]any{"EditOperation": formOf(rustOperation)}
		}
		text, err := json.Marshal(tool.InputSchema)
		must(t, err)
		var got map[string]any
		must(t, json.Unmarshal(text, &got))
		dropDescriptions(got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s takes\n%v, want\n%v", tool.Name, got, want)
		}
		if tool.OutputSchema != nil || tool.Annotations != nil {
			t.Errorf("%s has %v and %v", tool.Name, tool.OutputSchema, tool.Annotations)
		}
	}
}

// hash12 is the hash of a text as its reader is shown it.
func hash12(text string) string { return digest.FromBytes([]byte(text)).Hex()[:12] }

func TestRustAnswers(t *testing.T) {
	p := serve(t)
	d := p.Dir
	text := "function hello() {\n  return \"world\";\n}\n"
	a := p.Write("a.js", text)
	header := "[Metadata: total_lines=3, file_hash=" + hash12(text)
	tagged := "1:d3|function hello() {\n2:98|  return \"world\";\n3:88|}\n"
	p.Says("read_text_file", arguments{"path": a}, header+"]\n"+tagged)
	p.Says("read_text_file", arguments{"path": a, "start_line": 1, "end_line": nil}, header+"]\n"+tagged)
	p.Says("read_text_file", arguments{"path": a, "start_line": 2, "end_line": 2},
		header+", displaying_lines=2-2]\n2:98|  return \"world\";\n")
	p.Says("read_file", arguments{"path": a}, text)
	missing := filepath.Join(d, "missing")
	p.Says("read_multiple_files", arguments{"paths": []string{a, missing}, "for_edit": true}, fmt.Sprintf(
		"[\n  {\n    \"path\": %q,\n    \"content\": %q,\n    \"success\": true\n  },\n"+
			"  {\n    \"path\": %q,\n    \"error\": \"%s does not exist\",\n    \"success\": false\n  }\n]",
		a, header+"]\n"+tagged, missing, missing))
	p.Says("read_multiple_files", arguments{"paths": []string{}}, "[]")
	after := "function hello() {\n  return 1;\n}\n"
	lines := "1:d3|function hello() {\n2:d5|  return 1;\n3:88|}\n"
	edit := arguments{"path": a, "file_hash": hash12(text), "operations": ops(arguments{"op_type": "replace",
		"anchor": "2:98", "end_anchor": nil, "content": "  return 1;"})}
	p.Says("edit_text_file", edit,
		"Successfully edited "+a+"\n[Metadata: total_lines=3, file_hash="+hash12(after)+"]\n"+lines)
	if p.Content(a) != after {
		t.Errorf("the file is %q", p.Content(a))
	}
	p.Refuses("edit_text_file", edit, "has changed since it was read")
	p.Says("write_text_file", arguments{"path": a, "content": "\u00e9\n"}, "Successfully wrote 3 bytes to "+a)
	p.Says("write_file", arguments{"path": d + "/b", "content": ""}, "Wrote 0 bytes to "+d+"/b")
	p.Says("create_directory", arguments{"path": d + "/x/y"}, "Created directory: "+d+"/x/y")
	p.Says("move_file", arguments{"source": d + "/b", "destination": d + "/x/c.log"}, "Moved "+d+"/b to "+d+"/x/c.log")
	p.Says("list_directory", arguments{"path": d}, "[FILE] a.js\n[DIR] x\n")
	base := filepath.Base(d)
	p.Says("directory_tree", arguments{"path": d}, base+"/\n├── a.js\n└── x/\n    ├── c.log\n    └── y/\n")
	p.Says("directory_tree", arguments{"path": d, "exclude_patterns": []string{"*.log", "**/y"}}, base+"/\n├── a.js\n└── x/\n")
	p.Says("directory_tree", arguments{"path": d, "exclude_patterns": []string{"x"}}, base+"/\n└── a.js\n")
	p.Refuses("write_file", arguments{"path": a, "content": "1:ab|x\n"}, "begins with a tag")
	p.Refuses("move_file", arguments{"source": a, "destination": d + "/x"}, "exists already")
	p.Refuses("read_text_file", arguments{"path": a, "start_line": 9}, "there is no line 9")
}

// TestRustFlaws tests that what goes wrong in the server in Rust goes right here: the cases were tried there.
func TestRustFlaws(t *testing.T) {
	op := func(kind, anchor, end string, text ...string) arguments {
		o := arguments{"op_type": kind, "anchor": anchor}
		if end != "" {
			o["end_anchor"] = end
		}
		if text != nil {
			o["content"] = text[0]
		}
		return o
	}
	const a, b, c = "1:8c", "2:a5", "3:f2" // of "a", "b" and "c"
	for _, v := range []struct {
		text string
		ops  []arguments
		want string // "" is refused
	}{
		{"a\nb\n", ops(op("insert_after", a, "", "x"), op("insert_after", a, "", "y")), "a\nx\ny\nb\n"},
		{"a\nb\nc\nd\n", ops(op("replace", a, c, "R"), op("replace", b, "", "z")), ""},
		{"a\nb\n", ops(op("delete", a, ""), op("delete", a, "")), ""},
		{"a\nb\nc\n", ops(op("delete", a, c), op("delete", b, "")), ""},
		{"a\r\nb\r\n", ops(op("replace", a, "", "x")), "x\r\nb\r\n"},
		{"a\n\n", ops(op("replace", a, "", "x")), "x\n\n"},
		{"a\n", ops(op("delete", a, "")), "-"},
		{"a\nb\n", ops(op("replace", a, "", "")), "\nb\n"},
		{"a\nb\n", ops(op("replace", a, "")), ""},
		{"a\nb", ops(op("replace", b, "", "x")), "a\nx"},
		{"", ops(op("insert_after", "0:", "", "x")), "x"},
	} {
		p := serve(t)
		path := p.Write("f", v.text)
		said, refused := p.Call("edit_text_file",
			arguments{"path": path, "file_hash": hash12(v.text), "operations": v.ops})
		got := strings.TrimSuffix(p.Content(path), "\n")
		switch want := strings.TrimSuffix(v.want, "\n"); {
		case v.want == "" && (refused == nil || p.Content(path) != v.text):
			t.Errorf("%q %v: %q, %s; want a refusal", v.text, v.ops, got, said.Text)
		case v.want == "-" && (refused != nil || got != ""):
			t.Errorf("%q %v: %q, %s; want nothing", v.text, v.ops, got, said.Text)
		case v.want != "" && v.want != "-" && (refused != nil || got != want):
			t.Errorf("%q %v: %q, %s; want %q", v.text, v.ops, got, said.Text, want)
		}
	}
}

// TestManyFiles: files that cannot be given are said each in its place, and the bounds of a call hold.
func TestManyFiles(t *testing.T) {
	p := serve(t)
	half := p.Write("half", strings.Repeat("0123456\n", hashfiletest.MaxFile/8/2+1))
	small := p.Write("<small>", "s\n")
	bin := p.Write("bin", "\x00")
	answer, refused := p.Call("read_multiple_files", arguments{"paths": []string{half, "../x", half, bin, small}})
	text := answer.Text
	var all []struct {
		Path, Content, Error string
		Success              bool
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil || refused != nil || len(all) != 5 {
		t.Fatalf("%.200s: %v", text, err)
	}
	for i, want := range []string{"", "outside the allowed", "together are too large", "binary", ""} {
		got, whole := all[i], want == ""
		if !strings.Contains(got.Error, want) || got.Success != whole || (got.Content != "") != whole {
			t.Errorf("%d: %s, %s, %v", i, got.Path, got.Error, got.Success)
		}
	}
	if !strings.Contains(text, small) || all[4].Content != "s\n" {
		t.Errorf("%.200s", text)
	}
	p.Refuses("read_multiple_files", arguments{"paths": make([]string, maxPaths+1)}, "give at most 1000")
	p.Refuses("directory_tree", arguments{"path": p.Dir, "exclude_patterns": make([]string, maxPatterns+1)},
		"more than 100 patterns")
	p.Refuses("directory_tree", arguments{"path": p.Dir, "exclude_patterns": []string{"ok", strings.Repeat("x", 5000)}},
		"has 5000 bytes")
	p.Refuses("directory_tree", arguments{"path": small}, "not a directory")
}

// TestLargeText: a large text is written in pieces, with the same tags as a small one.
func TestLargeText(t *testing.T) {
	p := serve(t)
	line := strings.Repeat("0123456789", 10) + "\n"
	large, small := strings.Repeat(line, texts.Large/len(line)+2), line
	tagged := func(text string) []string {
		got, refused := p.Call("read_text_file", arguments{"path": p.Write("f", text)})
		if refused != nil {
			t.Fatal(got.Text)
		}
		return strings.Split(got.Text, "\n")
	}
	lines, first := tagged(large), tagged(small)
	n := strings.Count(large, "\n")
	if len(lines) != n+2 || lines[0] != fmt.Sprintf("[Metadata: total_lines=%d, file_hash=%s]", n, hash12(large)) ||
		lines[1] != first[1] || lines[n] != strings.Replace(first[1], "1:", fmt.Sprint(n, ":"), 1) {
		t.Errorf("there are %d lines: %.200q", len(lines), lines)
	}
}

// TestNamesForgeNothing: a name with control characters stands on one line, in lists, trees and what is said of it.
func TestNamesForgeNothing(t *testing.T) {
	p := serve(t)
	p.Write("sub/ev\nil\u202e", "x\n")
	p.Says("list_directory", arguments{"path": "sub"}, "[FILE] ev\\nil\\u{202e}\n")
	p.Says("directory_tree", arguments{"path": "sub"}, "sub/\n└── ev\\nil\\u{202e}\n")
	p.Says("create_directory", arguments{"path": "a\nb"}, "Created directory: a\\nb")
	p.Says("move_file", arguments{"source": "a\nb", "destination": "\x1bc"}, `Moved a\nb to \x1bc`)
	p.Says("write_file", arguments{"path": "x\ny", "content": "a"}, `Wrote 1 bytes to x\ny`)
	p.Refuses("read_file", arguments{"path": "no\nne"}, `no\nne does not exist`)
}

// TestOnlyWritersWrite: the tools that say that they only read change nothing, and those that write come last.
func TestOnlyWritersWrite(t *testing.T) {
	p := serve(t)
	path := p.Write("d/f", "x\n")
	wrote := false
	for _, tool := range Tools(nil) {
		if wrote && !tool.Writes {
			t.Errorf("%s comes after one that writes", tool.Name)
		}
		if wrote = wrote || tool.Writes; tool.Writes {
			continue
		}
		for _, at := range []string{path, p.Dir + "/d", p.Dir + "/new"} {
			p.Call(tool.Name, arguments{"path": at})
		}
	}
	if all, err := filepath.Glob(p.Dir + "/*"); err != nil || len(all) != 1 || p.Content(path) != "x\n" || !wrote {
		t.Errorf("%q, %v", all, err)
	}
}
