// Demo tells the story of one MCP server through the whole chain, with the real
// binaries, a registry on loopback and a real package: published with hashes, checked by
// the registry, pinned by its record, run under a real client, tampered with at each
// link, and clean again. Every step that does not behave ends it with an error.
//
//	go run ./e2e/demo [-bin DIR]
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/registry/pkg/model"
)

// The real server: it lists its tools with any key.
const (
	serverName     = "io.github.domdomegg/airtable-mcp-server"
	packageName    = "airtable-mcp-server"
	packageVersion = "1.7.2"
	keyVariable    = "AIRTABLE_API_KEY"
)

func main() {
	bin := flag.String("bin", "bin", "directory of the built binaries")
	flag.Parse()
	if err := run(*bin); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

// demo is the stage: a directory of its own, removed at the end.
type demo struct {
	bin, dir string
	env      []string
	step     int
	start    time.Time
	logKey   string // of the registry's log
}

func run(bin string) (err error) {
	d := &demo{start: time.Now()}
	if d.bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp(d.bin, "demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeAll(d.dir)) }()
	d.env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(d.dir, "home"), keyVariable+"=patDummy.0000", "NO_COLOR=1")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	url, stop, err := d.registry(ctx)
	if err != nil {
		return err
	}
	defer stop()
	// What only a project names is asked after consent, which a script gives in its environment.
	host := strings.TrimPrefix(url, "http://")
	fmt.Printf("$ export HALLMARK_ALLOW_HOSTS=%s\n", host)
	d.env = append(d.env, "HALLMARK_ALLOW_HOSTS="+host)
	for _, step := range []func(context.Context, string) error{
		d.hash, d.publish, d.forged, d.pin, d.use, d.flip, d.drift, d.clean, d.facet,
	} {
		if err := step(ctx, url); err != nil {
			return err
		}
	}
	fmt.Printf("\nEvery step behaved, in %.0f s.\n", time.Since(d.start).Seconds())
	return nil
}

func (d *demo) title(format string, args ...any) {
	d.step++
	fmt.Printf("\n── %d. %s\n\n", d.step, fmt.Sprintf(format, args...))
}

// hallmark runs the command, prints it with its output, and demands an exit code.
func (d *demo) hallmark(ctx context.Context, want int, args ...string) (stdout, stderr string, err error) {
	fmt.Printf("$ hallmark %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join(d.bin, "hallmark"), args...)
	cmd.Dir, cmd.Env = d.dir, d.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	fmt.Print(indent(clip(out.String(), 24)), indent(clip(errs.String(), 40)))
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		return "", "", err
	}
	fmt.Printf("  [exit %d]\n", code)
	if code != want {
		return "", "", fmt.Errorf("hallmark %s: exit code %d, want %d", args[0], code, want)
	}
	return out.String(), errs.String(), nil
}

func indent(s string) string {
	if s == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
}

// clip keeps the transcript readable.
func clip(s string, lines int) string {
	all := strings.SplitAfter(s, "\n")
	if len(all) <= lines+1 {
		return s
	}
	return strings.Join(all[:lines], "") + fmt.Sprintf("… %d more lines\n", len(all)-lines-1)
}

func expect(text string, parts ...string) error {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return fmt.Errorf("expected %q in:\n%s", p, text)
		}
	}
	return nil
}

// registry starts a registry and waits until it says where it listens.
func (d *demo) registry(ctx context.Context) (url string, stop func(), err error) {
	d.title("A registry of our own")
	fmt.Println("$ hallmark registry serve --addr 127.0.0.1:0 --data registry --allow-anonymous &")
	cmd := exec.Command(filepath.Join(d.bin, "hallmark"), "registry", "serve", "--addr", "127.0.0.1:0", "--data", "registry", "--allow-anonymous")
	cmd.Dir, cmd.Env = d.dir, d.env
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := make(chan string, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := bufio.NewScanner(pipe)
		for s.Scan() {
			select {
			case lines <- s.Text():
			default:
			}
		}
		io.Copy(io.Discard, pipe)
	}()
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-done
		cmd.Wait()
	}
	re := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	key := regexp.MustCompile(`clients_pin="?([^ "]+)`)
	timeout := time.After(20 * time.Second)
	for {
		select {
		case line := <-lines:
			if m := key.FindStringSubmatch(line); m != nil {
				d.logKey = m[1]
			}
			if url = re.FindString(line); url != "" {
				fmt.Print(indent(strings.ReplaceAll(line, d.dir+"/", "")))
				return url, stop, nil
			}
		case <-done:
			return "", stop, errors.New("the registry ended")
		case <-timeout:
			return "", stop, errors.New("the registry did not start")
		}
	}
}

func (d *demo) write(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.dir, name), append(data, '\n'), 0o600)
}

func (d *demo) hash(ctx context.Context, _ string) error {
	d.title("The author hashes the package %s@%s", packageName, packageVersion)
	err := d.write("server.json", map[string]any{
		"$schema": model.CurrentSchemaURL, "name": serverName, "version": packageVersion,
		"description": "Read and write access to Airtable databases",
		"packages": []any{map[string]any{
			"registryType": model.RegistryTypeNPM, "identifier": packageName, "version": packageVersion,
			"transport":            map[string]any{"type": model.TransportTypeStdio},
			"environmentVariables": []any{map[string]any{"name": keyVariable, "isRequired": true, "isSecret": true}},
		}},
	})
	if err != nil {
		return err
	}
	out, _, err := d.hallmark(ctx, 0, "hash-gen", "server.json")
	if err != nil {
		return err
	}
	if err := expect(out, "npm:"+packageName+"@"+packageVersion, "sha256:"); err != nil {
		return err
	}
	_, _, err = d.hallmark(ctx, 0, "hash-gen", "--write", "server.json")
	return err
}

func (d *demo) publish(ctx context.Context, url string) error {
	d.title("It is published; the registry fetches the package and recomputes the hash itself")
	out, _, err := d.hallmark(ctx, 0, "publish", "server.json", "--registry", url)
	if err != nil {
		return err
	}
	return expect(out, "match", "sha256", "ownership", "npm:"+packageName+"@"+packageVersion)
}

// changeDigit changes the last hex digit of the one hash of a document.
func changeDigit(doc map[string]any) error {
	hashes, ok := doc["file_hashes"].(map[string]any)
	if !ok || len(hashes) != 1 {
		return errors.New("server.json has no file_hashes")
	}
	for key, v := range hashes {
		s := v.(string)
		last := "0"
		if strings.HasSuffix(s, "0") {
			last = "1"
		}
		hashes[key] = s[:len(s)-1] + last
	}
	return nil
}

func (d *demo) forged(ctx context.Context, url string) error {
	d.title("The same with one hex digit changed: the registry answers 422 with details")
	data, err := os.ReadFile(filepath.Join(d.dir, "server.json"))
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	doc["version"] = packageVersion + "-again"
	if err := changeDigit(doc); err != nil {
		return err
	}
	if err := d.write("forged.json", doc); err != nil {
		return err
	}
	_, errs, err := d.hallmark(ctx, 3, "publish", "forged.json", "--no-hash", "--registry", url)
	if err != nil {
		return err
	}
	if err := expect(errs, "1 of 1 file hash did not match", "mismatch", "expected sha256:", "actual   sha256:"); err != nil {
		return err
	}
	fmt.Println("\nThe author's own side would not even have sent it:")
	_, errs, err = d.hallmark(ctx, 3, "publish", "forged.json", "--registry", url)
	if err != nil {
		return err
	}
	return expect(errs, "sha256 mismatch", "claimed by")
}

func (d *demo) config(text string) error {
	fmt.Print("hallmark.toml:\n" + indent(text) + "\n")
	return os.WriteFile(filepath.Join(d.dir, "hallmark.toml"), []byte(text), 0o600)
}

func (d *demo) toml(url string) string {
	return fmt.Sprintf(`manifest_version = 1
[registry]
url = %q
log_key = %q
[providers.mcp.airtable]
server = "%s@%s"
variables = [%q]
surface_kinds = ["tools", "prompts"]    # its resources need a real key
`, url, d.logKey, serverName, packageVersion, keyVariable)
}

func (d *demo) pin(ctx context.Context, url string) error {
	d.title("A user pins it by its record: what is fetched is compared with what was published")
	if err := d.config(d.toml(url)); err != nil {
		return err
	}
	out, errs, err := d.hallmark(ctx, 0, "pin", "airtable", "--yes")
	if err != nil {
		return err
	}
	if err := expect(out+errs, serverName, "tool:list_records"); err != nil {
		return err
	}
	_, _, err = d.hallmark(ctx, 0, "check")
	return err
}

// client starts a server under guard with a real MCP client.
func (d *demo) client(ctx context.Context, name string) (*mcp.ClientSession, *bytes.Buffer, error) {
	fmt.Printf("$ hallmark run %s        (started by an MCP client)\n", name)
	cmd := exec.Command(filepath.Join(d.bin, "hallmark"), "run", name)
	cmd.Dir, cmd.Env = d.dir, d.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	c := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1.0.0"}, nil)
	session, err := c.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, &errs, fmt.Errorf("connecting to %s: %w\n%s", name, err, errs.String())
	}
	return session, &errs, nil
}

func tools(ctx context.Context, s *mcp.ClientSession) ([]string, error) {
	var names []string
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	fmt.Printf("  tools/list: %s\n", strings.Join(names, ", "))
	return names, nil
}

func (d *demo) use(ctx context.Context, _ string) error {
	d.title("It runs under guard: node on the verified tree, its tools as approved")
	session, errs, err := d.client(ctx, "airtable")
	if err != nil {
		return err
	}
	names, err := tools(ctx, session)
	if err = errors.Join(err, session.Close()); err != nil {
		return fmt.Errorf("%w\n%s", err, errs)
	}
	if !slices.Contains(names, "list_records") {
		return errors.New("list_records is not among the tools")
	}
	return nil
}

func (d *demo) flip(ctx context.Context, _ string) error {
	d.title("One byte of the installed package is flipped in the store: it does not start")
	var file string
	err := filepath.WalkDir(filepath.Join(d.dir, "home"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "index.js" && strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "content/node_modules/"+packageName+"/dist") {
			file = path
		}
		return err
	})
	if err != nil || file == "" {
		return errors.Join(errors.New("the package is not in the store"), err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	_, errs, err := d.hallmark(ctx, 3, "run", "airtable")
	if err != nil {
		return err
	}
	if err := expect(errs, "node_modules/"+packageName+"/dist/index.js", "mismatch"); err != nil {
		return err
	}
	fmt.Println("\nThe slot is in quarantine. The next start installs it again, from packages that are verified anew:")
	session, stderr, err := d.client(ctx, "airtable")
	if err != nil {
		return err
	}
	_, err = tools(ctx, session)
	if err = errors.Join(err, session.Close()); err != nil {
		return fmt.Errorf("%w\n%s", err, stderr)
	}
	return nil
}

func (d *demo) drift(ctx context.Context, url string) error {
	d.title("A second server, a local command, is pinned (pin starts it as ten kinds of clients) and runs")
	if err := os.Link(filepath.Join(d.bin, "drifter"), filepath.Join(d.dir, "drifter")); err != nil {
		return err
	}
	starts := filepath.Join(d.dir, "starts")
	if err := d.config(d.toml(url) + fmt.Sprintf("[providers.mcp.drifter]\ncommand = \"./drifter\"\narguments = [%q, \"12\"]\n", starts)); err != nil {
		return err
	}
	if _, _, err := d.hallmark(ctx, 0, "pin", "drifter", "--yes"); err != nil {
		return err
	}
	if err := d.drifter(ctx, "add", "echo"); err != nil {
		return err
	}

	d.title("When it is run the second time one tool has another description: that tool is withheld")
	if err := d.drifter(ctx, "echo"); err != nil {
		return err
	}
	_, errs, err := d.hallmark(ctx, 6, "check")
	if err != nil {
		return err
	}
	if err := expect(errs, "drifter: tool:add"); err != nil {
		return err
	}
	_, errs, err = d.hallmark(ctx, 4, "review", "drifter")
	if err != nil {
		return err
	}
	return expect(errs, "description", "IMPORTANT")
}

// drifter runs the second server and demands exactly these tools; echo must work, and
// add must be refused if it is not among them.
func (d *demo) drifter(ctx context.Context, want ...string) error {
	session, errs, err := d.client(ctx, "drifter")
	if err != nil {
		return err
	}
	defer session.Close()
	names, err := tools(ctx, session)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, errs)
	}
	if !slices.Equal(names, want) {
		return fmt.Errorf("the tools are %q, want %q\n%s", names, want, errs)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}})
	if err != nil {
		return err
	}
	fmt.Printf("  tools/call echo: %s\n", result.Content[0].(*mcp.TextContent).Text)
	result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": 2, "b": 3}})
	if slices.Contains(want, "add") {
		if err != nil {
			return err
		}
		fmt.Printf("  tools/call add: %s\n", result.Content[0].(*mcp.TextContent).Text)
		return nil
	}
	if err == nil {
		return errors.New("a withheld tool was called")
	}
	fmt.Printf("  tools/call add: %v\n", err)
	return expect(err.Error(), "hallmark review drifter")
}

func (d *demo) clean(ctx context.Context, _ string) error {
	d.title("The server shows what was approved again; the drift is dismissed: all clean")
	if err := d.drifter(ctx, "add", "echo"); err != nil {
		return err
	}
	if _, _, err := d.hallmark(ctx, 0, "review", "drifter", "--dismiss"); err != nil {
		return err
	}
	out, _, err := d.hallmark(ctx, 0, "check")
	if err != nil {
		return err
	}
	if strings.Contains(out, "mismatch") {
		return errors.New("check still reports a mismatch")
	}
	return nil
}

// removeAll removes a directory with read-only parts.
func removeAll(dir string) error {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
