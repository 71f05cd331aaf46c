package hashfile

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const tryText = "package a\n\nfunc main() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"

// tryFiles are what each row of TestSecondTry begins with.
var tryFiles = map[string]string{
	"a.go": tryText, "src/main.go": "package main\n", "src/util.go": "package main\n", "README.md": "# hi\n",
	"empty.txt": "", "img.png": "\x89PNG\r\n\x1a\n\x00\x00", "u16.txt": "\xff\xfea\x00", "latin.txt": "caf\xe9\n",
	"long": strings.Repeat("x", 300<<10), "web/[id].tsx": "x\n", "web/a.ts": "x\n", "web/b.js": "x\n",
}

// try is a mistake as models make it, and the call that its refusal leads to.
type try struct {
	tool  string
	first arguments
	code  string // of the refusal
	says  string // in it, and an expression whose groups are what next takes; DIR is the allowed directory
	tool2 string // of the second call; "" is the same
	next  func(first arguments, said []string) arguments
}

// with returns arguments of which one is another: what the refusal said, or a value.
func with(name string, value ...any) func(arguments, []string) arguments {
	return func(first arguments, said []string) arguments {
		again := arguments{}
		for k, v := range first {
			again[k] = v
		}
		if again[name] = said[0]; len(said) > 1 {
			again[name] = said[1]
		}
		if len(value) > 0 {
			again[name] = value[0]
		}
		return again
	}
}

// only returns arguments whose names are given, with what the refusal said in this order.
func only(names ...string) func(arguments, []string) arguments {
	return func(_ arguments, said []string) arguments {
		again := arguments{}
		for i, name := range names {
			again[name] = said[i+1]
		}
		return again
	}
}

// edit returns the arguments of an edit; HASH is that of tryText.
func edit(operations any, more ...any) arguments {
	args := arguments{"path": "a.go", "file_hash": "HASH", "operations": operations}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return args
}

// at returns the arguments of a call that takes a path alone.
func at(path string) arguments { return arguments{"path": path} }

// replaceAt returns the arguments of an edit that replaces a line.
func replaceAt(anchor string, more ...any) arguments {
	return edit(ops(anchored("replace", anchor)), more...)
}

// fine is an edit of which all is as it should be.
var fine = with("operations", ops(anchored("replace", "4:8d")))

func anchored(op, anchor string) arguments {
	return arguments{"op": op, "anchor": anchor, "content": "x"}
}

var readTries = []try{
	{"read_text_file", at("src/mian.go"), "not_found", `is it (src/main\.go)\?`, "", with("path")},
	{"read_text_file", at("DIR/src/mian.go"), "not_found", `is it (DIR/src/main\.go)\?`, "", with("path")},
	{"read_text_file", at("SRC/util.go"), "not_found", `nor does SRC; is it (src)\?`, "list_directory", with("path")},
	{"read_text_file", at("main.go"), "not_found", `search_files with glob (\S+) finds`, "search_files", only("glob")},
	{"read_text_file", at("nope.go"), "not_found", `list_directory with path (\S+) shows`, "list_directory",
		only("path")},
	{"read_text_file", at("no/such/x.go"), "not_found", `list_directory with path (\S+) shows`,
		"list_directory", only("path")},
	{"read_text_file", at("src/**/*.go"), "not_found", `give it to search_files as glob`, "search_files",
		func(arguments, []string) arguments { return arguments{"glob": "src/**/*.go"} }},
	{"read_text_file", at("a.go:3"), "not_found", `is it (a\.go)\?.* lines are given in start_line`, "", with("path")},
	{"read_text_file", at("a.go#L3-L5"), "not_found", `is it (a\.go)\?`, "", with("path")},
	{"read_text_file", at("@a.go"), "not_found", `is it (a\.go)\?`, "", with("path")},
	{"read_text_file", at(`src\main.go`), "not_found", `separated by /`, "", with("path", "src/main.go")},
	{"read_text_file", at("'a.go'"), "not_found", `in quotes; give it as (\S+)`, "", with("path")},
	{"read_text_file", at(`"DIR/a.go"`), "not_found", `in quotes; give it as (\S+)`, "", with("path")},
	{"read_text_file", at("`a.go`"), "not_found", `in quotes; give it as (\S+)`, "", with("path")},
	{"read_text_file", at(" a.go\n"), "not_found", `give it as (\S+)`, "", with("path")},
	{"list_directory", at(`C:\src`), "not_found", `of Windows.* give a path in (\S+),`, "", with("path")},
	{"read_text_file", at(" "), "not_found", `give a path in (\S+),`, "list_directory", with("path")},
	{"read_text_file", at("."), "not_a_file", `(\.) is a directory; list_directory`, "list_directory", only("path")},
	{"read_text_file", at("src/"), "not_a_file", `(src/) is a directory; list_directory`,
		"list_directory", only("path")},
	{"read_text_file", arguments{"path": "a.go", "start_line": 50}, "invalid", `start_line of 1 to (9)$`, "",
		with("start_line")},
	{"read_text_file", arguments{"path": "a.go", "start_line": -3}, "invalid", `from (1)`, "", with("start_line")},
	{"read_text_file", arguments{"path": "a.go", "end_line": -1}, "invalid", `leave it out`, "", with("end_line", nil)},
	{"read_text_file", arguments{"path": "a.go", "start_line": 5, "end_line": 2}, "invalid",
		`give start_line (2) and end_line (5) if`, "", func(_ arguments, said []string) arguments {
			return arguments{"path": "a.go", "start_line": said[1], "end_line": said[2]}
		}},
	{"read_text_file", arguments{"path": "a.go", "start_line": "three"}, "invalid", `give a whole number`, "",
		with("start_line", 3)},
	{"read_text_file", arguments{"path": "a.go", "start_line": "99999999999999999999"}, "invalid", `whole number`, "",
		with("start_line", 9)},
	{"read_text_file", arguments{"path": "a.go", "max_bytes": 5}, "too_large", `max_bytes (\d+)$`, "", with("max_bytes")},
	{"read_text_file", at("long"), "too_large", `max_bytes (\d+)$`, "", with("max_bytes")},
	{"read_text_file", arguments{"path": "a.go", "offset": 3}, "invalid", `takes (path), (start_line),`, "",
		with("offset", 3)},
	{"read_text_file", arguments{"file_path": "a.go"}, "invalid", `it takes (path),`, "",
		func(arguments, []string) arguments { return at("a.go") }},
	{"read_text_file", arguments{"path": []string{"a.go"}}, "invalid", `give a string$`, "", with("path", "a.go")},
	{"read_multiple_files", at("a.go"), "invalid", `it takes paths$`, "",
		func(arguments, []string) arguments { return arguments{"paths": "a.go"} }},
	{"read_multiple_files", arguments{"paths": arguments{"a": "b"}}, "invalid", `give an array$`, "",
		with("paths", []string{"a.go"})},
	{"search_files", arguments{"pattern": "*.go"}, "invalid", `give (\S+); to find files by name, give a glob`, "",
		with("pattern")},
	{"search_files", arguments{"pattern": "main("}, "invalid", `give (\S+);`, "", with("pattern")},
	{"search_files", arguments{"pattern": "(?=x)main"}, "invalid", `neither lookaround`, "", with("pattern", "main")},
	{"search_files", arguments{"glob": "DIR/src/*.go"}, "invalid", `give path (\S+) and glob (\S+)$`, "",
		only("path", "glob")},
	{"search_files", arguments{"glob": "["}, "invalid", `such as (\S+),`, "", with("glob")},
	{"search_files", arguments{}, "invalid", `give a pattern, to find lines, or a glob`, "", with("glob", "*.go")},
	{"search_files", arguments{"pattern": "x", "max_results": 5000}, "invalid", `max_results 1 to (1000)`, "",
		with("max_results")},
	{"search_files", arguments{"pattern": "PNG", "path": "img.png"}, "binary", `a PNG image \(NUL at offset 8\)`, "",
		with("path", ".")},
}

var writeTries = []try{
	{"write_text_file", arguments{"path": "a.go", "content": "x\n"}, "exists",
		`edit_text_file\n\[file_hash=(\S+) total_lines=9\]\n1:60\|package a\n`, "", with("file_hash")},
	{"write_text_file", arguments{"path": "a.go", "content": "x\n", "file_hash": "123456789012"}, "stale",
		`is not that of the file as it is now.*\n\[file_hash=(\S+) total_lines=9\]\n1:60\|`, "", with("file_hash")},
	{"write_text_file", arguments{"path": "a.go", "content": "x\n", "file_hash": "abc"}, "invalid",
		`\n\[file_hash=(\S+) total_lines=9\]\n1:60\|`, "", with("file_hash")},
	{"write_text_file", arguments{"path": "new", "content": "x", "file_hash": "123456789012"}, "not_found",
		`without file_hash it is created`, "", with("file_hash", nil)},
	{"write_text_file", arguments{"path": "n/a/new", "content": "x"}, "not_found", `create_directory with path (\S+)`,
		"create_directory", only("path")},
	{"write_text_file", arguments{"path": "new/", "content": "x"}, "invalid", `path of a file`, "", with("path", "new")},
	{"write_text_file", arguments{"path": "'new'", "content": "x"}, "invalid", `give it as (\S+)`, "", with("path")},
	{"write_text_file", arguments{"path": "img.png", "content": "x"}, "binary", `move the file away first`, "move_file",
		func(arguments, []string) arguments {
			return arguments{"source": "img.png", "destination": "old.png"}
		}},
	{"write_text_file", arguments{"path": "new", "content": "31:" + tagOf("x") + "|x\n2:cd|y\n"}, "echoed_tags", `text of lines only`, "",
		with("content", "x\ny\n")},
	{"write_text_file", arguments{"path": "new", "content": []string{"a", "b"}}, "invalid", `with line feeds between`, "",
		with("content", "a\nb")},
	{"create_directory", at("~/new"), "invalid", `give a path in (\S+),`, "", with("path")},
	{"move_file", arguments{"source": "a.go", "destination": "src"}, "exists", `give the destination (\S+)$`, "",
		with("destination")},
	{"move_file", arguments{"source": "a.go", "destination": "no/b.go"}, "not_found", `create_directory with path (\S+)`,
		"create_directory", only("path")},
	{"move_file", arguments{"source": "a.g", "destination": "b.go"}, "not_found", `is it (a\.go)\?`, "", with("source")},
	{"move_file", arguments{"from": "a.go", "to": "b.go"}, "invalid", `takes (source), (destination)$`, "",
		func(arguments, []string) arguments { return arguments{"source": "a.go", "destination": "b.go"} }},
}

const fresh = `\n\[file_hash=(\S+) total_lines=9\]\n`

var editTries = []try{
	{"edit_text_file", replaceAt("4:8d", "file_hash", "ffffffffffff"), "stale",
		`^a\.go has changed since it was read; nothing was written, because file_hash ffffffffffff is not that of the file as it is now\. .*` + fresh, "", with("file_hash")},
	{"edit_text_file", replaceAt("4:8d", "file_hash", "ffffffffffff", "on_stale", "rebase"),
		"stale", fresh, "", with("file_hash")},
	{"edit_text_file", replaceAt("4:8d", "file_hash", "7fa8"), "invalid",
		`if the lines are as they were read` + fresh, "", with("file_hash")},
	{"edit_text_file", replaceAt("4:8d", "file_hash", nil), "invalid", `missing; .*` + fresh, "", with("file_hash")},
	{"edit_text_file", replaceAt("4:00"), "anchor_not_found", `Use (4:8d) if (?s:.*)4:8d\|\treturn 1`, "", withAnchor},
	{"edit_text_file", replaceAt("4:8"), "invalid", `line 4 is (4:8d)(?s:.*)` + fresh, "", withAnchor},
	{"edit_text_file", replaceAt("4"), "invalid", `line 4 is (4:8d)(?s:.*)` + fresh, "", withAnchor},
	{"edit_text_file", replaceAt("4:zz"), "invalid", `line 4 is (4:8d)(?s:.*)` + fresh, "", withAnchor},
	{"edit_text_file", replaceAt("5:8d"), "anchor_ambiguous", `lines have tag 8d: (4:8d)`, "", withAnchor},
	{"edit_text_file", replaceAt("99:00"), "anchor_not_found", `the last is (9:88)(?s:.*)` + fresh, "", withAnchor},
	{"edit_text_file", edit(ops(anchored("insert_after", "0:"))), "anchor_not_found", `insert_before (1:60) `, "",
		withAnchor},
	{"edit_text_file", edit(ops(arguments{"op": "replace_range", "anchor": "3:00", "end_anchor": "5:00", "content": "x"})),
		"anchor_not_found", `Use (3:1e) .*Use (5:88) `, "", func(first arguments, said []string) arguments {
			return edit(ops(arguments{"op": "replace_range", "anchor": said[1], "end_anchor": said[2], "content": "x"}))
		}},
	{"edit_text_file", edit(ops(arguments{"op": "replace_range", "anchor": "5:88", "end_anchor": "3:1e", "content": "x"})),
		"overlap", `exchange them`, "", func(first arguments, said []string) arguments {
			return edit(ops(arguments{"op": "replace_range", "anchor": "3:1e", "end_anchor": "5:88", "content": "x"}))
		}},
	{"edit_text_file", edit(ops(arguments{"op": "replace", "anchor": "4:8d"})), "invalid", `needs content`, "", fine},
	{"edit_text_file", edit(ops(anchored("update", "4:8d"))), "invalid", `op "update" is none of (\w+),`, "", fine},
	{"edit_text_file", edit(ops(arguments{"op": "replace", "line": 4, "content": "x"})), "invalid",
		`no argument "operations\[0\].line"; it takes op, anchor, end_anchor, content$`, "",
		fine},
	{"edit_text_file", edit(ops(arguments{"op": "replace", "anchor": "4:8d", "content": []string{"x"}})), "invalid",
		`operations\[0\].content is an array; give a string, with line feeds`, "",
		fine},
	{"edit_text_file", edit(`[{"op": "replace", "anchor": "4:8d", "content": "x"`), "invalid",
		`operations is a text that begins like JSON and is none; give an array`, "",
		fine},
	{"edit_text_file", edit(arguments{}), "invalid", `op is missing; it is one of (\w+),`, "",
		with("operations", anchored("replace", "4:8d"))},
	{"edit_text_file", edit(5), "invalid", `operations is the number 5; give an array$`, "", fine},
	{"edit_text_file", edit(ops(arguments{"op": "replace", "anchor": "4:8d", "content": "4:8d|x"})), "echoed_tags",
		`text of lines only`, "", fine},
	{"edit_text_file", replaceAt("1:25", "path", "empty.txt"), "stale",
		`\n\[file_hash=(\S+) total_lines=0\]`, "", func(first arguments, said []string) arguments {
			return edit(ops(anchored("insert_after", "0:")), "path", "empty.txt", "file_hash", said[1])
		}},
	{"edit_text_file", replaceAt("4:8d", "on_stale", "force"), "invalid", `one of (reject), rebase`,
		"", with("on_stale")},
	{"edit_text_file", replaceAt("4:8d", "path", "a.og"), "not_found", `is it (a\.go)\?`, "", with("path")},
}

// oddPaths are paths that are none, by the codes of their refusals. Each says where a path is to be.
var oddPaths = map[string][]string{
	"not_found":     {"~", "~/src", "$HOME/src", "file://src", "file:src", "https://host/src"},
	"outside_roots": {"/src", "../.."},
	"invalid":       {"s\x00", strings.Repeat("x", 5000)},
}

// pathTries are the tries with odd paths.
func pathTries() (tries []try) {
	for code, paths := range oddPaths {
		for _, path := range paths {
			tries = append(tries, try{"list_directory", at(path), code, `give a path in (\S+),`, "", with("path")})
		}
	}
	return tries
}

// withAnchor returns an edit whose only anchor is what the refusal said, as an operation that fits it.
func withAnchor(first arguments, said []string) arguments {
	op := first["operations"].([]arguments)[0]["op"].(string)
	if strings.Contains(said[0], "insert_before") {
		op = "insert_before"
	}
	return edit(ops(anchored(op, said[1])))
}

// goWords are what a model must not be told.
var goWords = regexp.MustCompile(`unmarshal|struct\b|json:|\bnil\b|%!|panic|goroutine|regexp|os\.|strconv|interface|<no value>`)

// TestSecondTry makes the mistakes that models make. Each is refused, and the second call, which is made of nothing but
// the first one and the refusal, is answered. What it names for the call exists here.
func TestSecondTry(t *testing.T) {
	for _, tries := range [][]try{readTries, pathTries(), writeTries, editTries} {
		for _, x := range tries {
			d := dir(t)
			for name, text := range tryFiles {
				write(t, d, name, text)
			}
			p := serve(t, d)
			hash := sum([]byte(tryText)).String()
			first := fillIn(x.first, d, hash)
			r := p.call(x.tool, first).refused(x.code)
			if goWords.MatchString(r.Text) || len(r.Text) > 1000 {
				t.Errorf("%s %v: %s", x.tool, x.first, r.Text)
			}
			if message, _, _ := strings.Cut(r.Text, "\n["); r.All["message"] != message {
				t.Errorf("%s %v: the text is %q, the structure's message %q", x.tool, x.first, message, r.All["message"])
			}
			said := regexp.MustCompile(strings.ReplaceAll(x.says, "DIR", regexp.QuoteMeta(d))).FindStringSubmatch(r.Text)
			if said == nil {
				t.Errorf("%s %v: %s, want %s", x.tool, x.first, r.Text, x.says)
				continue
			}
			again := fillIn(x.next(first, said), d, hash)
			delete(again, "offset")
			tool := x.tool
			if x.tool2 != "" {
				tool = x.tool2
			}
			if second := p.call(tool, again); second.Error != "" {
				t.Errorf("%s %v: %s\nthen %s %v: %s", x.tool, x.first, r.Text, tool, again, second.Text)
			}
			p.s.Close()
		}
	}
}

// fillIn returns arguments with the directory and the hash of a test.
func fillIn(args arguments, dir, hash string) arguments {
	all := arguments{}
	for k, v := range args {
		if text, ok := v.(string); ok {
			v = strings.ReplaceAll(strings.ReplaceAll(text, "DIR", dir), "HASH", hash)
		}
		all[k] = v
	}
	return all
}

// TestMissingNamesNothingHidden: the names that a refusal suggests are those that the caller may list.
func TestMissingNamesNothingHidden(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "AGENTS.md", "---\nforbidden: [secret1]\n---\n", "secret1", "no\n", "secret2", "fine\n")
	p := serve(t, d)
	p.read("secret3").refused("not_found").says("is it secret2?").not("secret1")
	writeAll(t, d, "inner/deep/file", "x\n", "inner/deeq", "x\n")
	narrow := serveAs(t, Config{Roots: []string{d}}, filepath.Join(d, "inner/deep"))
	narrow.read(filepath.Join(d, "inner/deer")).refused("outside_roots").not("deeq")
	must(t, os.RemoveAll(filepath.Join(d, "inner/deep")))
	narrow.read(filepath.Join(d, "inner/deep")).not("deeq")
}

// TestUnderstood makes calls that are not as the schema says and have one meaning.
func TestUnderstood(t *testing.T) {
	d := dir(t)
	write(t, d, "a.go", tryText)
	write(t, d, "b.md", "x\n")
	must(t, os.Mkdir(filepath.Join(d, "empty"), 0o755))
	p := serve(t, d)
	hash := sum([]byte(tryText)).String()
	for _, x := range []struct {
		tool string
		args arguments
		want string
	}{
		{"list_directory", nil, "[FILE] a.go\n"},
		{"list_directory", at("a.go"), "a.go: file, "},
		{"list_directory", at(""), "[FILE] a.go\n"},
		{"list_directory", arguments{"path": nil}, "[FILE] a.go\n"},
		{"list_directory", arguments{"recursive": true}, "a.go\n"},
		{"list_directory", at("empty"), "[empty]\n"},
		{"list_directory", arguments{"path": "empty", "recursive": true}, "[empty]\n"},
		{"read_text_file", arguments{"path": "a.go/", "start_line": "2.0", "end_line": 0, "max_bytes": nil}, "2:25|"},
		{"search_files", arguments{"glob": "*.{go,md}"}, "[2 files]"},
		{"search_files", arguments{"glob": "./*.go"}, "[1 file]"},
		{"search_files", arguments{"pattern": "/main/"}, "[the slashes around the pattern"},
		{"search_files", arguments{"pattern": "a\nb"}, "[the pattern holds a line end"},
		{"edit_text_file", replaceAt("4:8d|\treturn 1", "file_hash", "[file_hash="+hash+
			" total_lines=9]", "dry_run", "true", "on_stale", ""), "\n+x\n"},
	} {
		p.call(x.tool, x.args).ok().says(x.want)
	}
}

// TestUnknownTool names the tools that there are.
func TestUnknownTool(t *testing.T) {
	p := serve(t, dir(t))
	var names []string
	for tool, err := range p.s.Tools(t.Context(), nil) {
		must(t, err)
		names = append(names, tool.Name)
	}
	_, err := p.s.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file"})
	if err == nil || !strings.Contains(err.Error(), "read_file is none of the tools, which are "+strings.Join(
		slices.Sorted(slices.Values(names)), ", ")) {
		t.Error(err)
	}
}
