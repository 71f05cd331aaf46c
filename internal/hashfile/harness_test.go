package hashfile

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/memory"
	"github.com/hallmark-mcp/hallmark/hashline"
)

// TestMain lets the test binary be the server: a process that can be killed.
func TestMain(m *testing.M) {
	if config := os.Getenv("HASHFILE_TEST_SERVER"); config != "" {
		var c Config
		if err := json.Unmarshal([]byte(config), &c); err != nil {
			panic(err)
		}
		c.Logger = slog.New(slog.DiscardHandler)
		s, err := New(c)
		if err != nil {
			panic(err)
		}
		if err := s.Run(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	memory.Leave()
	os.Exit(m.Run())
}

// peer is a client of a server in this process.
type peer struct {
	caller
	t *testing.T
	s *mcp.ClientSession
}

// caller calls a tool. Its methods are the calls that most tests make.
type caller func(tool string, args arguments) reply

func (c caller) read(path string) reply { return c("read_text_file", arguments{"path": path}) }

func (c caller) tree(path string) reply {
	return c("list_directory", arguments{"path": path, "recursive": true})
}

func (c caller) mkdir(path string) reply { return c("create_directory", arguments{"path": path}) }

func (c caller) search(pattern string) reply { return c("search_files", arguments{"pattern": pattern}) }

func (c caller) move(from, to string) reply {
	return c("move_file", arguments{"source": from, "destination": to})
}

// list lists a directory, or without one those that are allowed.
func (c caller) list(path ...string) reply {
	if len(path) == 0 {
		return c("list_directory", nil)
	}
	return c("list_directory", arguments{"path": path[0]})
}

// write makes a file, or with the hash of one replaces it.
func (c caller) write(path, content string, hash ...string) reply {
	args := arguments{"path": path, "content": content}
	if len(hash) > 0 {
		args["file_hash"] = hash[0]
	}
	return c("write_text_file", args)
}

func (c caller) edit(path, hash string, operations ...arguments) reply {
	return c("edit_text_file", arguments{"path": path, "file_hash": hash, "operations": operations})
}

// rebase makes an edit that is to be merged.
func (c caller) rebase(path, hash string, operation arguments) reply {
	return c("edit_text_file", arguments{"path": path, "file_hash": hash, "on_stale": "rebase",
		"operations": ops(operation)})
}

// replace reads a file, and replaces one of its lines.
func (c caller) replace(path, line, by string) reply {
	read := c.read(path).ok()
	return c.edit(path, read.hash(), replaceOp(read.anchor(line), by))
}

// connect starts a server and a client that offers roots, if they are not nil.
func connect(t *testing.T, c Config, version string, roots []string) (*peer, *mcp.Client) {
	t.Helper()
	if c.Locks == "" {
		c.Locks = private(t)
	}
	c.Logger = slog.New(slog.DiscardHandler)
	server, err := New(c)
	must(t, err)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- server.Run(context.Background(), inR, outW) }()
	options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if roots != nil {
		options.Capabilities.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	for _, r := range roots {
		client.AddRoots(&mcp.Root{URI: "file://" + r})
	}
	s, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW, MaxLineLength: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	must(t, err)
	t.Cleanup(func() {
		s.Close()
		inW.Close()
		outR.Close()
		<-done
		server.Close()
	})
	p := &peer{t: t, s: s}
	p.caller = p.call
	return p, client
}

// serve starts a server for directories with a client of the usual kind.
func serve(t *testing.T, dirs ...string) *peer { return serveAs(t, Config{Roots: dirs}) }

// serveAs starts a server with a client of the usual kind, which offers roots if there are any.
func serveAs(t *testing.T, c Config, roots ...string) *peer {
	p, _ := connect(t, c, "2025-11-25", roots)
	return p
}

// reply is the outcome of a call.
type reply struct {
	t     testing.TB
	Text  string
	Error string // code; "" is success
	All   map[string]any
}

type arguments map[string]any

func (p *peer) call(tool string, args arguments) reply {
	p.t.Helper()
	r, err := p.s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		p.t.Fatalf("%s: %v", tool, err)
	}
	out := reply{t: p.t, Text: r.Content[0].(*mcp.TextContent).Text}
	if out.All, _ = r.StructuredContent.(map[string]any); out.All == nil {
		out.All = header(out.Text)
	}
	if r.IsError {
		out.Error, _ = out.All["code"].(string)
		if out.Error == "" || out.All["message"] == "" {
			p.t.Errorf("%s: an error without a code: %s", tool, out.Text)
		}
	}
	return out
}

// ok demands success.
func (r reply) ok() reply {
	r.t.Helper()
	if r.Error != "" {
		r.t.Fatalf("%s: %s", r.Error, r.Text)
	}
	return r
}

// refused demands an error with a code.
func (r reply) refused(code string) reply {
	r.t.Helper()
	if r.Error != code {
		r.t.Errorf("%q %s, want %s", r.Error, r.Text, code)
	}
	return r
}

// allOK demands that calls succeed.
func allOK(all ...reply) {
	for _, r := range all {
		r.t.Helper()
		r.ok()
	}
}

// allRefused demands that calls are refused with a code.
func allRefused(code string, all ...reply) {
	for _, r := range all {
		r.t.Helper()
		r.refused(code)
	}
}

// says demands that the answer holds texts.
func (r reply) says(texts ...string) reply {
	r.t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.Text, text) {
			r.t.Errorf("%s does not say %q", r.Text, text)
		}
	}
	return r
}

// not demands that the answer holds none of the texts.
func (r reply) not(texts ...string) reply {
	r.t.Helper()
	for _, text := range texts {
		if strings.Contains(r.Text, text) {
			r.t.Errorf("%s says %q", r.Text, text)
		}
	}
	return r
}

// header returns what the first line of an answer says, as "[file_hash=... total_lines=3]"; nil if it says nothing.
func header(text string) map[string]any {
	line, _, _ := strings.Cut(text, "\n")
	inner, ok := strings.CutPrefix(line, "[file_hash=")
	if !ok {
		return nil
	}
	all := map[string]any{"truncated": strings.Contains(line, " next_start_line=")}
	for _, member := range strings.Fields("file_hash=" + strings.TrimSuffix(inner, "]")) {
		name, value, _ := strings.Cut(member, "=")
		if all[name] = value; name != "file_hash" {
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				all[name] = n
			}
		}
	}
	return all
}

// directories are those that list_directory without a path says are allowed.
func (r reply) directories() []string {
	if r.Error != "" {
		return nil
	}
	var found []string
	for line := range strings.Lines(r.Text) {
		if dir, ok := strings.CutPrefix(line, "[allowed directory: "); ok {
			found = append(found, strings.TrimSuffix(dir, "]\n"))
		}
	}
	return found
}

func (r reply) hash() string {
	r.t.Helper()
	h, _ := r.All["file_hash"].(string)
	if !strings.HasPrefix(h, "sha256:") {
		r.t.Fatalf("no file_hash: %v", r.All)
	}
	return h
}

// anchor is that of the line with content, as it was read.
func (r reply) anchor(content string) string {
	r.t.Helper()
	for line := range strings.Lines(r.Text) {
		if a, c, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "|"); ok && c == content {
			return a
		}
	}
	r.t.Fatalf("no line %q in %s", content, r.Text)
	return ""
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// writeAll makes files, each given by its name and its text.
func writeAll(t *testing.T, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		write(t, dir, files[i], files[i+1])
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// dir is a temporary directory without links in its path.
func dir(t *testing.T) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return d
}

func replaceOp(anchor, content string) arguments {
	return arguments{"op": "replace", "anchor": anchor, "content": content}
}

func insertOp(anchor, content string) arguments {
	return arguments{"op": "insert_after", "anchor": anchor, "content": content}
}

func ops(all ...arguments) []arguments { return all }

// tools calls each tool that takes a path with it and returns the replies.
func (p *peer) tools(path string) map[string]reply {
	inside := path + ".moved"
	return map[string]reply{
		"read":   p.read(path),
		"edit":   p.edit(path, "sha256:"+strings.Repeat("0", 64), replaceOp("1:00", "x")),
		"write":  p.write(path, "x"),
		"list":   p.list(path),
		"tree":   p.tree(path),
		"info":   p.list(path),
		"mkdir":  p.mkdir(path),
		"search": p.call("search_files", arguments{"path": path, "pattern": "."}),
		"move":   p.move(path, inside),
	}
}

func sum(data []byte) digest.Digest { return digest.FromBytes(data) }

// private returns a new directory in which nobody but the user can write, whatever the umask is: locks stand there.
func private(t testing.TB) string {
	t.Helper()
	d := t.TempDir()
	must(t, os.Chmod(d, 0o700))
	return d
}

// must demands that there is no error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tagOf is the tag of a text's first line.
func tagOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return hashline.Tag(hashline.Hash([]byte(line)), 2)
}
