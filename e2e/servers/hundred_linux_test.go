package servers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// fieldServer is a line of testdata/hundred.txt: a server as its README tells users to start it.
type fieldServer struct {
	name      string
	line      []string // its launch line
	variables []string // NAME=VALUE; what they hold opens nothing
	tool      string   // that is called; "" for none
	input     map[string]any
}

// tried is what became of a server.
type tried struct {
	fieldServer
	ref           string        // the package that was pinned
	pinned        time.Duration // of a pin with nothing stored and nothing downloaded
	bare, guarded time.Duration // of a second start until the tools are listed, by its launcher and by 'hallmark run'
	listed        listing       // by its launcher
	restless      bool          // two starts by its launcher show different texts
	reason        string        // why it does not behave as bare; "" if it does
}

// listing is what a client is shown.
type listing struct {
	Instructions string
	Tools        []*mcp.Tool
	Prompts      []*mcp.Prompt
	Resources    []*mcp.Resource
	Templates    []*mcp.ResourceTemplate
	answer       string // of the tool that is called
}

// leastAsBare is how many of all servers must behave as bare, or 'make servers' fails. Others need an account, a
// database or another program to start at all.
const leastAsBare = 95

// fewServers are those of the short form, which tries one of them: small, and seldom released. Those of Python need uvx.
var fewServers = []string{"clock", "curl", "thinking-tools"}

// TestHundredServers pins the servers of testdata/hundred.txt in an empty home, starts each by its launcher and by
// 'hallmark run' under the official SDK, and compares what a client is shown. It tries one, those of SERVERS_ONLY, or
// as 'make servers' all, of which it writes the table to SERVERS_TRIED. It reaches package registries.
func TestHundredServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reaches package registries")
	}
	world.NeedsPython(t)
	bin := world.Build(t, "hallmark")
	servers, whole := readFieldServers(t), sample.Whole()
	only := sample.Of(t, fewServers, 1)
	if names := os.Getenv("SERVERS_ONLY"); names != "" {
		only, whole = strings.Split(names, ","), false
	}
	if !whole {
		servers = slices.DeleteFunc(servers, func(s fieldServer) bool { return !slices.Contains(only, s.name) })
	}
	results := make([]*tried, len(servers))
	var all errgroup.Group
	all.SetLimit(2)
	for i, s := range servers {
		results[i] = &tried{fieldServer: s}
		all.Go(func() error {
			if err := results[i].try(t.Context(), bin); err != nil {
				results[i].reason = err.Error()
			}
			t.Logf("%s\n%s", results[i].row(), results[i].reason)
			return nil
		})
	}
	all.Wait()
	if page := os.Getenv("SERVERS_TRIED"); page != "" {
		writeTable(t, page, results)
	}
	asBare := 0
	for _, r := range results {
		switch {
		case r.reason == "":
			asBare++
		case !whole:
			t.Errorf("%s: %s", r.name, r.reason)
		}
	}
	if whole && asBare < leastAsBare {
		t.Errorf("%d of %d behave as bare, want %d", asBare, len(results), leastAsBare)
	}
}

// readFieldServers reads testdata/hundred.txt.
func readFieldServers(t *testing.T) (all []fieldServer) {
	f, err := os.Open(filepath.Join("testdata", "hundred.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "|")
		if len(columns) != 4 {
			t.Fatalf("hundred.txt: %q has no four columns", line)
		}
		s := fieldServer{name: strings.TrimSpace(columns[0]), line: strings.Fields(columns[1]), variables: strings.Fields(columns[2])}
		tool, input, called := strings.Cut(strings.TrimSpace(columns[3]), " ")
		if called {
			s.tool = tool
			world.Decode(t, []byte(input), &s.input)
		}
		all = append(all, s)
	}
	return all
}

// try pins the server and compares it with itself.
func (r *tried) try(ctx context.Context, bin string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	home, err := os.MkdirTemp("", "hallmark-tried-")
	if err != nil {
		return err
	}
	defer func() {
		writable(home)
		os.RemoveAll(home)
	}()
	project := filepath.Join(home, "project")
	if err := r.declare(project); err != nil {
		return err
	}
	environment := r.environment(home)
	_, first, err := r.start(ctx, project, environment, r.line)
	if err != nil {
		return fmt.Errorf("bare: %w", err)
	}
	start := time.Now()
	pin := exec.CommandContext(ctx, bin, "pin", "--yes")
	pin.Dir, pin.Env = project, environment
	if out, err := pin.CombinedOutput(); err != nil {
		return fmt.Errorf("pin: %s\n%w\n%s", shownError(string(out)), err, out)
	}
	r.pinned = time.Since(start)
	if r.ref, err = lockedRef(project, r.name); err != nil {
		return err
	}
	if r.bare, r.listed, err = r.start(ctx, project, environment, r.line); err != nil {
		return fmt.Errorf("bare, again: %w", err)
	}
	r.restless = first.compare(r.listed) != nil
	var shown listing
	if r.guarded, shown, err = r.start(ctx, project, environment, []string{bin, "run", r.name}); err != nil {
		return fmt.Errorf("guarded: %w", err)
	}
	if r.restless {
		return r.listed.names().compare(shown.names())
	}
	return r.listed.compare(shown)
}

// shownError is the line with which hallmark failed, without addresses.
func shownError(out string) (text string) {
	for line := range strings.Lines(out) {
		if message, ok := strings.CutPrefix(line, "hallmark: "); ok && !strings.HasPrefix(message, "warning:") {
			text = address.ReplaceAllString(strings.TrimSpace(message), "…")
		}
	}
	return text
}

var address = regexp.MustCompile(`https?://[^ ]+|/tmp/[^ ]+`)

// declare makes the project's directory and declares the server in it.
func (r *tried) declare(project string) error {
	if out, err := exec.Command("git", "init", "-q", project).CombinedOutput(); err != nil { // for servers of git
		return fmt.Errorf("%w: %s", err, out)
	}
	var names []string
	for _, v := range r.variables {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "manifest_version = 1\n[providers.mcp.%s]\ncommand = %q\n", r.name, r.line[0])
	for key, values := range map[string][]string{"arguments": r.line[1:], "variables": names} {
		data, err := json.Marshal(append([]string{}, values...))
		if err != nil {
			return err
		}
		data = bytes.ReplaceAll(data, []byte(`\u003c`), []byte("<"))
		fmt.Fprintf(&text, "%s = %s\n", key, data)
	}
	return os.WriteFile(filepath.Join(project, "hallmark.toml"), text.Bytes(), 0o600)
}

// environment is that of a user whose home is empty.
func (r *tried) environment(home string) []string {
	env := append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, r.variables...)
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY",
		"https_proxy", "http_proxy", "no_proxy", "npm_config_registry", "UV_DEFAULT_INDEX", "UV_INDEX_URL",
		"PIP_INDEX_URL", "PYENV_ROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// start starts a launch line under the official SDK, and gives what it shows and how long that took.
func (r *tried) start(ctx context.Context, project string, environment, line []string) (took time.Duration,
	shown listing, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	p, err := startProcess(ctx, project, environment, line)
	if err != nil {
		return 0, shown, err
	}
	defer func() {
		p.end()
		if err != nil {
			said := p.messages.Bytes()
			err = fmt.Errorf("%w\n%s", err, said[max(0, len(said)-3000):])
		}
	}()
	start := time.Now()
	client := mcp.NewClient(&mcp.Implementation{Name: "tried", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: p.answers, Writer: p.input}, nil)
	if err != nil {
		return 0, shown, err
	}
	defer session.Close()
	if shown.Tools, err = collect(session.Tools(ctx, nil)); err != nil {
		return 0, shown, err
	}
	took = time.Since(start)
	if err := shown.read(ctx, session); err != nil || r.tool == "" {
		return took, shown, err
	}
	answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: r.tool, Arguments: r.input})
	if err != nil {
		return took, shown, err
	}
	data, err := json.Marshal(answer.Content)
	shown.answer = string(data)
	return took, shown, err
}

// read reads what a server shows besides its tools. Some servers declare what they do not answer for.
func (l *listing) read(ctx context.Context, session *mcp.ClientSession) (err error) {
	result := session.InitializeResult()
	l.Instructions = result.Instructions
	unlisted := new(jsonrpc.Error)
	if result.Capabilities.Prompts != nil {
		if l.Prompts, err = collect(session.Prompts(ctx, nil)); err != nil && !errors.As(err, &unlisted) {
			return err
		}
	}
	if result.Capabilities.Resources == nil {
		return nil
	}
	if l.Resources, err = collect(session.Resources(ctx, nil)); err != nil && !errors.As(err, &unlisted) {
		return err
	}
	if l.Templates, err = collect(session.ResourceTemplates(ctx, nil)); err != nil && !errors.As(err, &unlisted) {
		return err
	}
	return nil
}

// process is a started server.
type process struct {
	command  *exec.Cmd
	input    io.WriteCloser
	answers  io.ReadCloser
	messages bytes.Buffer
}

// startProcess starts a launch line in a process group of its own. Lines that are no messages are left out of its
// answers, as the SDKs of TypeScript and Python do; that of Go ends at the first.
func startProcess(ctx context.Context, project string, environment, line []string) (*process, error) {
	p := &process{command: exec.CommandContext(ctx, line[0], line[1:]...)}
	p.command.Dir, p.command.Env, p.command.Stderr = project, environment, &p.messages
	p.command.WaitDelay = 5 * time.Second
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.command.Cancel = func() error { return syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }
	var err error
	if p.input, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var to *io.PipeWriter
	p.answers, to = io.Pipe()
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewReader(output)
		for {
			text, err := lines.ReadBytes('\n')
			var message struct {
				Version string `json:"jsonrpc"`
			}
			if json.Unmarshal(text, &message) == nil && message.Version == "2.0" {
				to.Write(text)
			}
			if err != nil {
				to.CloseWithError(err)
				return
			}
		}
	}()
	return p, nil
}

// end closes the server's input, and ends it and what it started if it goes on.
func (p *process) end() {
	p.input.Close()
	timer := time.AfterFunc(5*time.Second, func() { syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	p.answers.Close()
	p.command.Wait() // many servers do not end well
	syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
}

// collect gives all items of a listing.
func collect[T any](items iter.Seq2[T, error]) (all []T, err error) {
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// compare says what is shown otherwise under the guard.
func (l listing) compare(guarded listing) error {
	var differ []string
	for what, pair := range map[string][2]any{
		"instructions": {l.Instructions, guarded.Instructions}, "tools": {l.Tools, guarded.Tools},
		"prompts": {l.Prompts, guarded.Prompts}, "resources": {l.Resources, guarded.Resources},
		"resource templates": {l.Templates, guarded.Templates}, "answer": {l.answer, guarded.answer},
	} {
		if !reflect.DeepEqual(sorted(pair[0]), sorted(pair[1])) {
			differ = append(differ, what)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return errors.New("shown otherwise under the guard: " + strings.Join(differ, ", "))
}

// names is a listing of the names of tools and nothing else.
func (l listing) names() (names listing) {
	for _, tool := range l.Tools {
		names.Tools = append(names.Tools, &mcp.Tool{Name: tool.Name})
	}
	return names
}

// sorted is a listing without its order, as JSON.
func sorted(items any) any {
	data, err := json.Marshal(items)
	if err != nil {
		return err
	}
	var all []json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return string(data)
	}
	slices.SortFunc(all, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	return all
}

// lockedRef is the package that the lock has of a server.
func lockedRef(project, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(project, "hallmark.lock"))
	if err != nil {
		return "", err
	}
	var lock struct {
		Servers map[string]struct {
			Ref string `json:"ref"`
		} `json:"servers"`
	}
	err = json.Unmarshal(data, &lock)
	return lock.Servers[name].Ref, err
}

// row is the result as a line of the table.
func (r *tried) row() string {
	seconds := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", d.Seconds())
	}
	outcome := "as bare"
	switch {
	case strings.HasPrefix(r.reason, "bare"):
		outcome = "does not start by its own launcher here"
	case r.reason != "":
		outcome, _, _ = strings.Cut(r.reason, "\n")
	case r.restless:
		outcome = "as bare; its texts differ from start to start without Hallmark"
	}
	version := ""
	if ref, err := artifact.Parse(r.ref); err == nil {
		version = ref.Version()
	}
	return fmt.Sprintf("| `%s` | %s | %d | %s | %s | %s | %s |", strings.Join(r.line, " "), version, len(r.listed.Tools),
		seconds(r.pinned), seconds(r.bare), seconds(r.guarded), outcome)
}

// writeTable writes the table of all results in place of the one in the page at path.
func writeTable(t *testing.T, path string, results []*tried) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| launch line | version | tools | pin | bare | guarded | |\n|---|---|---|---|---|---|---|\n"
	before, _, found := strings.Cut(string(page), head)
	if !found {
		t.Fatalf("%s has no table that begins with\n%s", path, head)
	}
	well := 0
	text := head
	for _, r := range results {
		text += r.row() + "\n"
		if r.reason == "" {
			well++
		}
	}
	text += fmt.Sprintf("\nTried on %s: %d of %d as bare.\n", time.Now().Format(time.DateOnly), well, len(results))
	if err := os.WriteFile(path, []byte(before+text), 0o644); err != nil {
		t.Fatal(err)
	}
}
