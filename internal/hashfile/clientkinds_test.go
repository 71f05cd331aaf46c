package hashfile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
)

// Clients differ in what they show a model. The tests of this file are the rows of the table in docs/hashfile.md, "What
// clients do".

// TestClientsThatShowStructureAlone: where a result has structured content, the model sees nothing else. So no result of
// a success has any.
func TestClientsThatShowStructureAlone(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "one\ntwo\nthree\n")
	p := serve(t, d)
	read := p.read(path).ok()
	for tool, args := range map[string]arguments{
		"read_text_file": {"path": path}, "read_multiple_files": {"paths": []string{path}}, "list_directory": {"path": d},
		"search_files": {"pattern": "o"}, "write_text_file": {"path": "new", "content": "x\n"},
		"edit_text_file": {"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(read.anchor("two"), "2"))},
	} {
		r, err := p.s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || r.IsError || r.StructuredContent != nil {
			t.Errorf("%s: %v, %v", tool, err, r.StructuredContent)
		}
	}
}

// TestClientsThatShowTextAlone: others show the text alone, of errors too. It holds all that the structure does.
func TestClientsThatShowTextAlone(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "one\ntwo\nthree\n")
	p := serve(t, d)
	read := p.read(path).ok()
	edit := arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(read.anchor("two"), "2"))}
	write(t, d, "f", "zero\none\ntwo\nthree\n")
	r := p.call("edit_text_file", edit).refused("stale")
	r.says(r.All["message"].(string), r.hash())
	for _, line := range r.All["lines"].([]any) {
		r.says("\n" + line.(string))
	}
	for _, a := range r.All["anchors"].([]any) {
		r.says(a.(map[string]any)["now"].(string))
	}
}

// TestClientsThatCutAnswers: what no limit was asked for stays below 25,000 tokens, of whatever files, and says how to
// go on.
func TestClientsThatCutAnswers(t *testing.T) {
	d := dir(t)
	names, err := filepath.Glob("*.go") // of this package
	must(t, err)
	var source []byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		must(t, err)
		source = append(source, data...)
	}
	for name, text := range map[string]string{
		"code":     string(source),
		"digits":   strings.Repeat(strings.Repeat("1,", 40)+"\n", 4000),
		"marks":    strings.Repeat("{[(<;>)]} != &&\n", 9000),
		"short":    strings.Repeat("x\n", 90_000),
		"ideogram": strings.Repeat("日本語の文字列です。\n", 9000),
		"blank":    strings.Repeat("\n", 90_000),
		"hex":      strings.Repeat("f3a91c077be2 00d1\n", 9000),
		"long":     strings.Repeat(strings.Repeat("word ", 4000)+"\n", 9),
	} {
		write(t, d, name, text)
	}
	must(t, os.Mkdir(filepath.Join(d, "many"), 0o700))
	for i := range 3000 {
		write(t, d, fmt.Sprintf("many/a name of the usual length %d.txt", i), "needle\n")
	}
	p := serve(t, d)
	check := func(what, text string) {
		t.Helper()
		const tag = 5 // what is added for a tag, which is part of the text here
		if n := engine.EstimateTokens([]byte(text)) - tag*strings.Count(text, "\n"); n > 25_000 {
			t.Errorf("%s: %d tokens", what, n)
		}
		if !regexp.MustCompile(`next_start_line=|more|; the first \d+ are given|shown; not shown:`).MatchString(text) {
			t.Errorf("%s does not say how to go on: %.200s", what, text)
		}
	}
	var paths []string
	for _, name := range []string{"code", "digits", "marks", "short", "ideogram", "blank", "hex", "long"} {
		check(name, p.read(name).ok().Text)
		paths = append(paths, name)
	}
	check("several", p.call("read_multiple_files", arguments{"paths": paths}).ok().Text)
	check("list", p.list("many").ok().Text)
	check("tree", p.tree(d).ok().Text)
	check("names", p.call("search_files", arguments{"glob": "*.txt", "max_results": 1000}).ok().Text)
	check("hits", p.call("search_files", arguments{"pattern": ".", "max_results": 1000, "context": 10}).ok().Text)
	// To go on is to read all of it, in order.
	var all strings.Builder
	for next := 1.0; ; {
		r := p.call("read_text_file", arguments{"path": "code", "start_line": next}).ok()
		for _, line := range strings.SplitAfter(r.Text, "\n")[1:] {
			_, text, _ := strings.Cut(line, "|")
			all.WriteString(text)
		}
		if r.All["truncated"] != true {
			break
		}
		next = r.All["next_start_line"].(float64)
	}
	if all.String() != string(source) {
		t.Error("the parts are not the file")
	}
}

// TestRootsListedEmpty: a client that offers roots and lists none is told what is in the way.
func TestRootsListedEmpty(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "text\n")
	for want, roots := range map[string][]string{"was started with --root": {d}, "start it with --root DIR": nil} {
		p, _ := connect(t, Config{Roots: roots}, "2025-11-25", []string{})
		search := p.call("search_files", arguments{"pattern": "x", "path": path})
		for _, r := range []reply{p.read(path), p.list(), search} {
			r.refused("outside_roots").says(want, "lists no")
		}
	}
}

// TestSchemasOfProviders: what the providers of models take as the schema of a tool, in one subset. Of Gemini: one type
// for each property, items of each array, and no keyword beside those below. Of OpenAI, strict: objects with
// properties, required ones among them, nesting and sizes bounded. Of Anthropic: an object at the top, without
// alternatives.
func TestSchemasOfProviders(t *testing.T) {
	keywords := []string{"type", "description", "properties", "required", "items", "enum"}
	types := []string{"object", "array", "string", "integer", "boolean"}
	name := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
	var properties int
	var check func(where string, schema map[string]any, depth int)
	check = func(where string, schema map[string]any, depth int) {
		for keyword, value := range schema {
			if !slices.Contains(keywords, keyword) {
				t.Errorf("%s has %s", where, keyword)
			}
			if about, ok := value.(string); keyword == "description" && (!ok || len(about) > 1024) {
				t.Errorf("%s: description %v", where, value)
			}
		}
		kind, _ := schema["type"].(string)
		if !slices.Contains(types, kind) || depth > 5 {
			t.Errorf("%s, %d deep, has the type %v", where, depth, schema["type"])
		}
		if _, ok := schema["enum"]; ok && kind != "string" {
			t.Errorf("%s: enum of %s", where, kind)
		}
		items, ok := schema["items"].(map[string]any)
		if ok != (kind == "array") {
			t.Errorf("%s: items of %s", where, kind)
		}
		if ok {
			check(where+"[]", items, depth+1)
		}
		members, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, r := range required {
			if members[r.(string)] == nil {
				t.Errorf("%s requires %v", where, r)
			}
		}
		for member, inner := range members {
			properties++
			if !name.MatchString(member) {
				t.Errorf("%s.%s", where, member)
			}
			check(where+"."+member, inner.(map[string]any), depth+1)
		}
	}
	p := serve(t, dir(t))
	for tool, err := range p.s.Tools(t.Context(), nil) {
		must(t, err)
		if !name.MatchString(tool.Name) || tool.Description == "" || len(tool.Description) > 1024 {
			t.Errorf("%s: %s", tool.Name, tool.Description)
		}
		schema := tool.InputSchema.(map[string]any)
		if schema["type"] != "object" {
			t.Errorf("%s takes %v", tool.Name, schema["type"])
		}
		check(tool.Name, schema, 1)
	}
	if properties == 0 || properties > 100 {
		t.Errorf("%d properties", properties)
	}
}
