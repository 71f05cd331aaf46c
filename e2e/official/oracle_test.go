package official

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// modulePath is the official registry's module.
const modulePath = "github.com/modelcontextprotocol/registry"

// moduleDir is where the go command keeps the source of the official module.
func moduleDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", modulePath).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", modulePath, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		t.Fatalf("%s is not in the module cache", modulePath)
	}
	return dir
}

// startOfficial compiles testdata/validate.go inside a copy of the official module,
// which is the only place from where its internal packages can be imported, runs it
// until the test ends and returns the URL of its validate endpoint.
func startOfficial(t *testing.T) string {
	t.Helper()
	from, copied := moduleDir(t), t.TempDir()
	for _, part := range []string{"internal", "pkg"} {
		if err := os.CopyFS(filepath.Join(copied, part), os.DirFS(filepath.Join(from, part))); err != nil {
			t.Fatal(err)
		}
	}
	main := filepath.Join(copied, "cmd", "hallmark-validate", "main.go")
	if err := os.MkdirAll(filepath.Dir(main), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		filepath.Join(from, "go.mod"):            filepath.Join(copied, "go.mod"),
		filepath.Join(from, "go.sum"):            filepath.Join(copied, "go.sum"),
		filepath.Join("testdata", "validate.go"): main,
	} {
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(copied, "validate.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", program,
		"./cmd/hallmark-validate")
	build.Dir = copied
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the official validators: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), program)
	run.Stderr = os.Stderr
	stdout, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Process.Kill()
		run.Wait()
	})
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the official validators did not start: %v", err)
	}
	return "http://" + strings.TrimSpace(addr) + "/v0/validate"
}

// answer is what either registry says of a document.
type answer struct {
	Valid   bool     // both the form and the meaning
	Reasons []reason // why not; in any order
}

// reason is one rule that a document broke, and where.
type reason struct{ rule, where string }

var client = &http.Client{Timeout: hang.Long}

// ask sends a document to a validate endpoint. Both registries answer 200 with a list
// of issues; the official one refuses malformed bodies before, with a problem.
func ask(t *testing.T, url string, doc []byte) answer {
	t.Helper()
	res, err := client.Post(url, "application/json", bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Valid  bool
		Issues []struct{ Path, Message, Severity, Reference string }
		Detail string
		Errors []struct{ Message, Location string }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%s: %v\n%s", url, err, body)
	}
	a := answer{Valid: res.StatusCode == http.StatusOK && got.Valid}
	switch {
	case a.Valid:
	case res.StatusCode == http.StatusOK:
		for _, i := range got.Issues {
			if i.Severity == "error" {
				rule, _, _ := strings.Cut(i.Reference, " from: ")
				if _, fragment, ok := strings.Cut(rule, "#"); ok {
					rule = "schema " + fragment
				}
				a.Reasons = append(a.Reasons, reason{rule, place(i.Path)})
			}
		}
	case res.StatusCode/100 == 4:
		for _, e := range got.Errors {
			a.Reasons = append(a.Reasons, reason{plain(e.Message), place(strings.TrimPrefix(e.Location, "body"))})
		}
		if len(got.Errors) == 0 {
			a.Reasons = append(a.Reasons, reason{plain(got.Detail), ""})
		}
	default:
		t.Fatalf("%s: status %d\n%s", url, res.StatusCode, body)
	}
	return a
}

var (
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'|\x60[^\x60]*\x60`)
	number = regexp.MustCompile(`\d+`)
	index  = regexp.MustCompile(`^\d+$`)
	chosen = map[string]bool{"variables": true, "file_hashes": true}
)

// plain is a message without what it quotes of the document.
func plain(message string) string {
	return number.ReplaceAllString(quoted.ReplaceAllString(message, "…"), "n")
}

// place is a path of either form, /packages/0/version or packages[0].version, as
// packages.*.version.
func place(path string) string {
	path = strings.NewReplacer("[", ".", "]", "", "/", ".").Replace(path)
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(path, "."), ".") {
		if index.MatchString(part) || len(parts) > 0 && chosen[parts[len(parts)-1]] {
			part = "*"
		}
		if part == "_meta" { // its members are named by domains
			return "_meta"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ".")
}

func (r reason) String() string { return fmt.Sprintf("%s at %s", r.rule, r.where) }
