//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// startPages are the pages for those who begin, to which the first leads.
var startPages = []string{"../docs/start/README.md", "../docs/start/author.md", "../docs/start/hashfile.md",
	"../docs/start/operator.md", "../docs/start/plugin-host.md", "../docs/start/protect-my-clients.md",
	"../docs/start/skills.md", "../docs/start/team.md"}

// TestStart does what each page of docs/start says, from an empty directory and an empty home: a block of sh is typed,
// one of json is what a client calls of the server that runs, and one of text is what the block before it prints, in
// which a line of three points stands for any lines. A comment behind a command says which exit code it has, if not 0,
// and what is answered to its questions. Every other block says in a comment of HTML why it is not run.
func TestStart(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(startPages[0])
	if err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob("../docs/start/*"); err != nil || !slices.Equal(found, startPages) {
		t.Errorf("docs/start has %q, want %q: %v", found, startPages, err)
	}
	for _, program := range []string{"node", "npm", "git", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			world.Lack(t, err, nil)
		}
	}
	for _, file := range startPages[1:] {
		name := filepath.Base(file)
		if !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("README.md does not lead to %s", name)
		}
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if lines := len(fullLine.FindAll(text, -1)); lines > 90 {
				t.Errorf("%d lines that are not empty are more than a screen and a half", lines)
			}
			newFollower(t).follow(string(text))
		})
	}
}

// startRefusals are pages that are not as they should be, with what is said of them.
var startRefusals = map[string]string{
	"nothing": "no block is run",
	"```sh\ntrue\n```\n\n```toml\na = 1\n```":                       "neither run nor marked",
	"```sh\ntrue\n```\n\n   ```sh\n   true\n   ```":                 "is indented",
	"```sh\ntrue\n```\n\n    hallmark status":                       "is indented",
	"```text\nhi\n```":                                              "no block whose output it is",
	"```sh\necho ho\n```\n\n```text\nhi\n```":                       "printed\nho\n",
	"```sh\nfalse\n```":                                             "exit code 1, want 0",
	"```sh\ntrue # exit code 3\n```":                                "exit code 0, want 3",
	"```sh\necho a\n```\n\n```text\na\n...\nb\n```":                 "printed\na\n",
	"```sh\ntrue\n```\n\n<!-- not run: x -->\n\n```text\nhi\n```\n": "",
}

// The test of the pages finds what is wrong with a page.
func TestStartRefuses(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	for page, want := range startRefusals {
		err := f.walk(page)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", page, err, want)
		}
	}
}

// follower is a visitor who types what a page says.
type follower struct {
	*visitor
	kept    string            // where the shell's directory and variables are between two commands
	spoken  *strings.Replacer // what the page says, as it is here
	written *strings.Replacer // what is printed here, as the page has it
	session *mcp.ClientSession
}

func newFollower(t *testing.T) *follower {
	t.Helper()
	f := &follower{visitor: newVisitor(t, "acme", "registry.example.com"), kept: t.TempDir()}
	bin := t.TempDir()
	for _, name := range []string{"hallmark", "hallmark-registry", "mcp-publisher", "hashfile-mcp"} {
		built.Into(t, filepath.Join(bin, name), "cmd/"+name)
	}
	port := freePort(t)
	f.spoken = strings.NewReplacer("127.0.0.1:8080", "127.0.0.1:"+port)
	f.written = strings.NewReplacer("127.0.0.1:"+port, "127.0.0.1:8080", f.npm.URL, "https://npm.example.com",
		bin, "/home/me/.local/bin", f.home, "/home/me", f.dir, "/home/me/work")
	npmrc := filepath.Join(t.TempDir(), "npmrc")
	world.Write(t, npmrc, strings.TrimPrefix(f.npm.URL, "https:")+"/:_authToken=of-the-test\n")
	f.env = append(f.env, "PATH="+bin+":"+os.Getenv("PATH"), "NO_PROXY=127.0.0.1", "NO_COLOR=1",
		"NO_UPDATE_NOTIFIER=1", "npm_config_userconfig="+npmrc, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=me", "GIT_COMMITTER_NAME=me",
		"GIT_AUTHOR_EMAIL=me@example.com", "GIT_COMMITTER_EMAIL=me@example.com",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if err := f.npm.Publish(startServer(version)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // the store is read-only
		exec.Command("chmod", "-R", "u+rwX", f.home, f.dir).Run()
	})
	return f
}

// startServer is the server that the pages for teams use. Its second version shows its tool in other words.
func startServer(version string) npmtest.Package {
	text := "Keep a note."
	if version != "1.0.0" {
		text = "Keep a note, and send a copy to its author."
	}
	return npmtest.Package{Name: "@acme/tasks", Version: version,
		Manifest: map[string]any{"bin": map[string]string{"tasks": "server.js"}, "mcpName": "io.github.acme/tasks"},
		Files: map[string]string{"server.js": `#!/usr/bin/env node
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const answers = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: "tasks", version: "` + version + `" } },
    "tools/list": { tools: [{ name: "add_task", description: "` + text + `", inputSchema: { type: "object" } }] },
  };
  if (id === undefined) return;
  const answer = answers[method] ? { result: answers[method] } : { error: { code: -32601, message: "no such method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
`}}
}

// freePort is a port on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func (f *follower) follow(page string) {
	f.Helper()
	if err := f.walk(page); err != nil {
		f.Fatal(err)
	}
}

var (
	fullLine = regexp.MustCompile(`(?m)^.+$`)
	notRun   = regexp.MustCompile(`(?s)<!-- not run: \S.*-->$`)
	indented = regexp.MustCompile("(?m)^(?:[ \t]+```|    \\S).*$")
)

// walk types what a page says, and says what is not as the page has it.
func (f *follower) walk(page string) error {
	world.Write(f.T, filepath.Join(f.kept, "pwd"), f.dir+"\n")
	world.Write(f.T, filepath.Join(f.kept, "env"), "")
	blocks := readBlocks(page)
	if m := indented.FindString(pageBlock.ReplaceAllString(page, "")); m != "" {
		return fmt.Errorf("a block is indented, and would not be found: %s", m)
	}
	var output *string // of the block before
	ran := false
	for _, b := range blocks {
		var err error
		var printed string
		switch {
		case notRun.MatchString(b.before):
			output = nil
			continue
		case b.language == "sh":
			printed, err = f.shell(b.text)
			output, ran = &printed, true
		case b.language == "json" && f.session != nil:
			printed, err = f.call(b.text)
			output, ran = &printed, true
		case b.language == "text" && output == nil:
			err = errors.New("there is no block whose output it is")
		case b.language == "text":
			if !matches(b.text, *output) {
				err = fmt.Errorf("the page has\n%swhat was printed\n%s", b.text, *output)
			}
			output = nil
		default:
			err = fmt.Errorf("a block of %s is neither run nor marked as not run", b.language)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", b.line, err)
		}
		if testing.Verbose() && printed != "" {
			f.Logf("line %d:\n%s\n%s", b.line, b.text, printed)
		}
	}
	if !ran {
		return errors.New("no block is run")
	}
	return nil
}

// matches reports whether lines are those of a pattern, in which a line of three points is any number of lines.
func matches(pattern, text string) bool {
	var b strings.Builder
	b.WriteString("^")
	for line := range strings.Lines(pattern) {
		if strings.TrimSpace(line) == "..." {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(regexp.QuoteMeta(strings.TrimRight(line, " \n")) + ` *\n`)
	}
	return regexp.MustCompile(b.String() + "$").MatchString(strings.TrimRight(text, "\n") + "\n")
}

var (
	heredoc  = regexp.MustCompile(`<<'?(\w+)'?`)
	wantCode = regexp.MustCompile(`#.*\bexit code (\d+)`)
	answered = regexp.MustCompile(`#.*\banswer (\w+)`)
	// endless are the commands that go on until they are ended.
	endless = regexp.MustCompile(
		`^(?:hallmark registry serve|hallmark log monitor .*--follow|hashfile-mcp|hallmark hashfile)\b`)
)

// typed are the commands of a block: a line each, with what follows a backslash or belongs to a here-document.
func typed(text string) (all []string) {
	var command strings.Builder
	until := ""
	for line := range strings.Lines(text) {
		command.WriteString(line)
		if m := heredoc.FindStringSubmatch(line); m != nil && until == "" {
			until = m[1]
		} else if strings.TrimSpace(line) == until {
			until = ""
		}
		if until == "" && !strings.HasSuffix(line, "\\\n") {
			if strings.TrimSpace(command.String()) != "" {
				all = append(all, command.String())
			}
			command.Reset()
		}
	}
	return all
}

// shell types the commands of a block, and returns what is printed, as a page has it.
func (f *follower) shell(text string) (string, error) {
	var all strings.Builder
	for _, command := range typed(f.spoken.Replace(text)) {
		if endless.MatchString(command) {
			out, err := f.begin(command)
			if err != nil {
				return "", err
			}
			all.WriteString(out)
			continue
		}
		want, answer := "0", ""
		if m := wantCode.FindStringSubmatch(command); m != nil {
			want = m[1]
		}
		if m := answered.FindStringSubmatch(command); m != nil {
			answer = m[1]
		}
		code, out, err := f.enter(command, answer)
		if err != nil {
			return "", err
		}
		if fmt.Sprint(code) != want {
			return "", fmt.Errorf("%s: exit code %d, want %s\n%s", strings.TrimSpace(command), code, want, out)
		}
		all.WriteString(out)
	}
	return f.written.Replace(all.String()), nil
}

// script is a command in the directory and with the variables that the commands before it left.
func (f *follower) script(command string) *exec.Cmd {
	c := exec.CommandContext(f.Context(), "/bin/sh", "-c", ". \"$0/env\"; cd \"$(cat \"$0/pwd\")\" || exit 99\n"+
		command+"\ncode=$?; export -p >\"$0/env\"; pwd >\"$0/pwd\"; exit $code", f.kept)
	c.Dir, c.Env = f.dir, f.env
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = hang.Long
	return c
}

// enter types a command at a terminal, at which each question has the same answer.
func (f *follower) enter(command, answer string) (code int, output string, err error) {
	keys, terminal, err := openTerminal()
	if err != nil {
		return 0, "", err
	}
	defer keys.Close()
	defer terminal.Close()
	if _, err := keys.WriteString(strings.Repeat(answer+"\n", 8)); err != nil {
		return 0, "", err
	}
	var out bytes.Buffer
	c := f.script(command)
	c.Stdin, c.Stdout, c.Stderr = terminal, &out, &out
	if err := c.Run(); err != nil && c.ProcessState == nil {
		return 0, "", err
	}
	echoed := strings.ReplaceAll(out.String(), "[y/N] ", "[y/N] "+answer+"\n") // as the terminal does
	return c.ProcessState.ExitCode(), echoed, nil
}

// An error that goes into a file as JSON is seen at the terminal as well.
func TestErrorSeenAtTerminal(t *testing.T) {
	t.Parallel()
	program, dir := filepath.Join(t.TempDir(), "hallmark"), t.TempDir()
	built.Into(t, program, "cmd/hallmark")
	keys, terminal, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	answer, err := os.Create(filepath.Join(dir, "answer.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	c := exec.Command(program, "plugin", "verify", "nothing", "--json")
	c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir)
	c.Stdout, c.Stderr = answer, terminal
	c.Run()
	terminal.Close()
	seen := make([]byte, 4096)
	n, _ := keys.Read(seen)
	text, err := os.ReadFile(answer.Name())
	if err != nil || !strings.Contains(string(text), `"error"`) || !strings.Contains(string(seen[:n]), "nothing: ") {
		t.Errorf("at the terminal %q, in the file %s, %v", seen[:n], text, err)
	}
}

// openTerminal is a new terminal, and what its keys write to.
func openTerminal() (keys, terminal *os.File, err error) {
	if keys, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	err = unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 200, Col: 100})
	err = errors.Join(err, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	number, e := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err = errors.Join(err, e); err == nil {
		terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		keys.Close()
	}
	return keys, terminal, err
}

// heard is what a command in the background prints.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(data []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(data)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// begin starts a command that does not end, waits until it is there, and returns what it printed until then. The end of
// the test ends it.
func (f *follower) begin(command string) (string, error) {
	if strings.Contains(command, "registry serve") && !strings.Contains(command, "--addr") {
		command = strings.TrimSpace(command) + f.spoken.Replace(" --addr 127.0.0.1:8080")
	}
	c := f.script("exec " + command)
	if strings.Contains(command, "hashfile") {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "start", Version: "1"},
			&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}).Connect(
			f.Context(), &mcp.CommandTransport{Command: c}, nil)
		if err != nil {
			return "", fmt.Errorf("%s: %w", command, err)
		}
		f.Cleanup(func() { session.Close() })
		f.session = session
		return "", nil
	}
	out := new(heard)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Wait()
	}()
	f.Cleanup(func() {
		syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
		<-ended
	})
	for end := time.Now().Add(hang.Long); out.String() == "" || strings.Contains(command, "serve") &&
		!strings.Contains(out.String(), "registry at http"); time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			return "", fmt.Errorf("%s ended:\n%s", command, out)
		default:
		}
		if time.Now().After(end) {
			return "", fmt.Errorf("%s says nothing of use:\n%s", command, out)
		}
	}
	return out.String(), nil
}

// call calls a tool of the server that runs, as a client does, and returns its text.
func (f *follower) call(text string) (string, error) {
	params := new(mcp.CallToolParams)
	if err := json.Unmarshal([]byte(text), params); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(f.Context(), hang.Long)
	defer cancel()
	result, err := f.session.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	var all []string
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			all = append(all, c.Text)
		}
	}
	return f.written.Replace(strings.Join(slices.Compact(all), "\n")) + "\n", nil
}
