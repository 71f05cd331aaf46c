package hashfile

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rustCall is a call of both servers. Differs says why the answers are not the same; "" is that they are.
type rustCall struct {
	differs, tool string
	args          arguments
}

// rustFiles are what the directory holds at first.
var rustFiles = map[string]string{
	"a.txt": "one\ntwo\nthree\n", "noend.txt": "x\ny", "empty.txt": "", "blank.txt": "\n\n", "crlf.txt": "a\r\nb\r\n",
	"uni.txt": "caf\u00e9\u3000\nsp \t\n", "bom.txt": "\ufeffb\n", "bin": "\xff\x00", "dir/x.go": "x\n", "dir/sub/y.log": "y\n",
	"edit1.txt": "one\ntwo\nthree\nfour\n", "edit2.txt": "one\ntwo\nthree\nfour\n", "edit3.txt": "one\ntwo\nthree\nfour\n",
	"edit4.txt": "one\r\ntwo\r\n", "edit5.txt": "one\ntwo\nthree\nfour\n", "edit6.txt": "one\ntwo\n", "edit7.txt": "one\ntwo\n",
}

// The reasons for which answers differ.
const (
	moreSaid   = "a header says, and is followed by, what the next edit needs"
	marked     = "is refused here"
	understood = "what is meant is understood"
	byName     = "a name is left out wherever it is"
)

// rustCalls are made in order. HASH is the hash of the file as the server showed it.
var rustCalls = []rustCall{
	{"", "read_text_file", arguments{"path": "@/a.txt"}},
	{"", "read_text_file", arguments{"path": "@/noend.txt"}},
	{"", "read_text_file", arguments{"path": "@/empty.txt"}},
	{"", "read_text_file", arguments{"path": "@/blank.txt"}},
	{"", "read_text_file", arguments{"path": "@/crlf.txt"}},
	{"", "read_text_file", arguments{"path": "@/uni.txt"}},
	{"", "read_text_file", arguments{"path": "@/bom.txt"}},
	{"", "read_text_file", arguments{"path": "@/bin"}},
	{"", "read_text_file", arguments{"path": "@/missing"}},
	{"", "read_text_file", arguments{"path": "@/dir"}},
	{"", "read_text_file", arguments{}},
	{"", "read_file", arguments{"path": "@/a.txt"}},
	{"", "read_file", arguments{"path": "@/noend.txt"}},
	{"", "read_file", arguments{"path": "@/crlf.txt"}},
	{"", "read_file", arguments{"path": "@/empty.txt"}},
	{"", "read_file", arguments{"path": "@/bom.txt"}},
	{"", "read_file", arguments{"path": "@/missing"}},
	{"", "read_multiple_files", arguments{"paths": []string{"@/a.txt", "@/noend.txt"}}},
	{"", "read_multiple_files", arguments{"paths": []string{"@/a.txt", "@/uni.txt"}, "for_edit": true}},
	{"", "read_multiple_files", arguments{"paths": []string{"@/a.txt"}, "for_edit": nil}},
	{"", "read_multiple_files", arguments{"paths": []string{}}},
	{understood, "read_multiple_files", arguments{"paths": "@/a.txt"}},
	{"", "list_directory", arguments{"path": "@"}},
	{"", "list_directory", arguments{"path": "@/dir"}},
	{"", "list_directory", arguments{"path": "@/missing"}},
	{"", "list_directory", arguments{"path": "@/a.txt"}},
	{"", "directory_tree", arguments{"path": "@/dir"}},
	{"", "directory_tree", arguments{"path": "@/dir", "exclude_patterns": nil}},
	{"", "directory_tree", arguments{"path": "@/dir", "exclude_patterns": []string{"*.go"}}},
	{"", "directory_tree", arguments{"path": "@/dir", "exclude_patterns": []string{"**/sub"}}},
	{"", "directory_tree", arguments{"path": "@/dir", "exclude_patterns": []string{"**/{x,y}.{go,log}"}}},
	{byName, "directory_tree", arguments{"path": "@/dir", "exclude_patterns": []string{"sub"}}},
	{"", "write_text_file", arguments{"path": "@/w.txt", "content": "w\n"}},
	{"", "write_text_file", arguments{"path": "@/w.txt", "content": "w\u00e9\n"}},
	{"", "write_text_file", arguments{"path": "@/w.txt", "content": "w\u00e9\n"}},
	{"", "write_file", arguments{"path": "@/w.txt", "content": ""}},
	{"", "write_file", arguments{"path": "@/v.txt", "content": "a\r\nb"}},
	{"", "write_file", arguments{"path": "@/none/v.txt", "content": "v"}},
	{"", "write_file", arguments{"path": "@/dir", "content": "v"}},
	{marked, "write_file", arguments{"path": "@/tags.txt", "content": "1:ab|x\n"}},
	{"", "create_directory", arguments{"path": "@/made/a/b"}},
	{"", "create_directory", arguments{"path": "@/made/a/b"}},
	{"", "create_directory", arguments{"path": "@/a.txt"}},
	{"", "move_file", arguments{"source": "@/w.txt", "destination": "@/made/w.txt"}},
	{"", "move_file", arguments{"source": "@/w.txt", "destination": "@/made/v.txt"}},
	{"", "move_file", arguments{"source": "@/v.txt", "destination": "@/a.txt"}},
	{"", "move_file", arguments{"source": "@/made", "destination": "@/remade"}},
	{moreSaid, "edit_text_file", rustEdit("@/edit1.txt", "replace", "2:09", "", "TWO")},
	{moreSaid, "edit_text_file", rustEdit("@/edit2.txt", "delete", "2:09", "3:a3")},
	{moreSaid, "edit_text_file", rustEdit("@/edit3.txt", "insert_before", "1:af", "", "zero")},
	{moreSaid, "edit_text_file", rustEdit("@/edit5.txt", "insert_after", "4:e5", "", "five\nsix")},
	{"", "edit_text_file", arguments{"path": "@/edit6.txt", "file_hash": "000000000000", "operations": []arguments{}}},
	{"", "edit_text_file", rustEdit("@/edit6.txt", "replace", "2:00", "", "x")},
	{"", "edit_text_file", rustEdit("@/edit6.txt", "destroy", "1:af", "")},
	{"", "edit_text_file", rustEdit("@/edit6.txt", "replace", "two", "", "x")},
}

// rustEdit returns the arguments of an edit with one operation.
func rustEdit(path, kind, anchor, end string, text ...string) arguments {
	op := arguments{"op_type": kind, "anchor": anchor}
	if end != "" {
		op["end_anchor"] = end
	}
	if text != nil {
		op["content"] = text[0]
	}
	return arguments{"path": path, "file_hash": "HASH", "operations": ops(op)}
}

// hashes are those in answers.
var hashes = regexp.MustCompile(`file_hash=[0-9a-f]+`)

// compareRust makes the calls of the program and of our server.
func compareRust(t *testing.T, program string) {
	root, ourRoot := dir(t), dir(t)
	for name, text := range rustFiles {
		write(t, root, name, text)
		write(t, ourRoot, name, text)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	them, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(program)},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { them.Close() })
	answer := func(s *mcp.ClientSession, c rustCall, root string) string {
		args := jsonOf(t, c.args, root)
		if strings.Contains(string(args), "HASH") {
			shown := textOf(t, s, "read_text_file",
				jsonOf(t, arguments{"path": c.args["path"]}, root))
			digits := strings.TrimPrefix(hashes.FindString(shown), "file_hash=")
			args = []byte(strings.ReplaceAll(string(args), "HASH", digits))
		}
		text := strings.ReplaceAll(textOf(t, s, c.tool, args), root, "@")
		if c.differs == moreSaid {
			first, _, _ := strings.Cut(text, "\n")
			return first
		}
		return hashes.ReplaceAllString(text, "file_hash=HASH")
	}
	ours := compat(t, "hashfile-mcp", ourRoot).s
	for i, c := range rustCalls {
		want, got := answer(them, c, root), answer(ours, c, ourRoot)
		if same := want == got; same != (c.differs == "" || c.differs == moreSaid) {
			t.Errorf("call %d, %s %v (%s):\n%q\nwe:\n%q", i, c.tool, c.args, c.differs, want, got)
		}
	}
	for _, name := range []string{"edit1.txt", "edit2.txt", "edit3.txt", "edit5.txt", "edit6.txt", "v.txt", "remade/w.txt"} {
		if want, got := content(t, root+"/"+name), content(t, ourRoot+"/"+name); want != got {
			t.Errorf("%s is %q, ours %q", name, want, got)
		}
	}
}
