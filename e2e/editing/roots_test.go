//go:build unix

package editing

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// TestHashfileRoots is a client of the program that writes its messages by itself: it is
// asked for its roots before each call, has them taken back at once, and is served what
// the paths are now, not what they were.
func TestHashfileRoots(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(base, "hashfile-mcp")
	built.Into(t, server, "cmd/hashfile-mcp")
	root := filepath.Join(base, "root")
	for _, args := range [][]string{nil, {"--root", root}, {"--root", base}} {
		t.Run(strings.ReplaceAll(strings.Join(args, " "), base, ""), func(t *testing.T) {
			for _, name := range []string{root, root + ".old"} {
				if err := os.RemoveAll(name); err != nil {
					t.Fatal(err)
				}
			}
			fill := func(text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Join(root, ".git"), 0o700); err != nil {
					t.Fatal(err)
				}
				world.Write(t, filepath.Join(root, "f"), text)
				world.Write(t, filepath.Join(root, ".git", "config"), "[core]\n")
			}
			fill("before\n")
			cmd := exec.CommandContext(t.Context(), server, args...)
			cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(base, "home"))
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { in.Close(); cmd.Wait() }()
			lines := bufio.NewReader(out)
			roots, id := `[{"uri":"file://`+root+`"}]`, 0
			ask := func(method, params string) (text string, refused bool) {
				t.Helper()
				id++
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
				for {
					line, err := lines.ReadBytes('\n')
					if err != nil {
						t.Fatal(err)
					}
					var m struct {
						ID     json.RawMessage
						Method string
						Result struct {
							IsError bool
							Content []struct{ Text string }
						}
					}
					if err := json.Unmarshal(line, &m); err != nil {
						t.Fatal(err)
					}
					switch {
					case m.Method == "roots/list":
						fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"roots":%s}}`+"\n", m.ID, roots)
					case string(m.ID) == fmt.Sprint(id):
						if len(m.Result.Content) > 0 {
							text = m.Result.Content[0].Text
						}
						return text, m.Result.IsError
					}
				}
			}
			call := func(tool string, args map[string]any, want string, refused bool) {
				t.Helper()
				p, _ := json.Marshal(map[string]any{"name": tool, "arguments": args})
				if text, is := ask("tools/call", string(p)); is != refused || !strings.Contains(text, want) {
					t.Errorf("%s %v: %s", tool, args, text)
				}
			}
			ask("initialize",
				`{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"raw",`+
					`"version":"1"}}`)
			fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			f := map[string]any{"path": root + "/f"}
			call("read_text_file", f, "|before", false)
			if err := os.Rename(root, root+".old"); err != nil {
				t.Fatal(err)
			}
			call("read_text_file", f, "", true)
			fill("after\n")
			call("read_text_file", f, "|after", false)
			call("write_text_file", map[string]any{"path": root + "/new", "content": "x\n"}, "", false)
			call("write_text_file", map[string]any{"path": root + ".old/new", "content": "x\n"},
				"outside the allowed directories", true)
			call("write_text_file", map[string]any{"path": root + "/.git/hooks", "content": "x\n"}, "version control",
				true)
			call("read_text_file", map[string]any{"path": root + "/.git/config"}, "[core]", false)
			if left, _ := os.ReadDir(root + ".old"); len(left) != 2 {
				t.Errorf("%v in the directory that was moved away", left)
			}
			roots = `[]`
			call("write_text_file", map[string]any{"path": root + "/newer", "content": "x\n"}, "", true)
			call("read_text_file", f, "", true)
		})
	}
}
