//go:build unix

package e2e

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// TestQuickstart does what the official registry's quickstart says, whose document comes with the module: its commands
// as they stand there, and no flag or variable of Hallmark's. The names of the default registry and of GitHub lead,
// through a proxy, to a registry of ours and to a stand-in. Our own mcp-publisher does the same.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	hallmark, text := world.Build(t, "hallmark"), readQuickstart(t)
	for name, bin := range map[string]string{"official": official(t), "ours": world.Build(t, "mcp-publisher")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQuickstart(t, bin, text)
			q.hallmark, q.isOfficial = hallmark, name == "official"
			q.walk()
		})
	}
}

// readQuickstart is the official registry's quickstart as its module has it.
func readQuickstart(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(out))
	text, err := os.ReadFile(filepath.Join(dir, "docs", "modelcontextprotocol-io", "quickstart.mdx"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quickstart is somebody who follows the document.
type quickstart struct {
	*visitor
	client     *http.Client // as curl is here
	bin        string       // the client
	hallmark   string
	headings   []string
	blocks     []block
	isOfficial bool
}

func newQuickstart(t *testing.T, bin, text string) *quickstart {
	t.Helper()
	q := &quickstart{visitor: newVisitor(t, quickstartAccount), bin: bin, blocks: readBlocks(text)}
	for _, m := range pageHeading.FindAllStringSubmatch(text, -1) {
		q.headings = append(q.headings, m[1])
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(q.authority)
	q.client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(q.proxy),
		TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(q.client.CloseIdleConnections)
	return q
}

// quickstartAccount is who the document's examples belong to.
const quickstartAccount = "my-username"

// run runs a command line of the document, which begins with the client's name.
func (q *quickstart) run(ok bool, line string) string {
	q.Helper()
	args := strings.Fields(line)[1:]
	c := exec.CommandContext(q.Context(), q.bin, args...)
	c.Dir, c.Env = q.dir, q.env
	out, err := c.CombinedOutput()
	if (err == nil) != ok {
		q.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// find is the only block of a section of this language and, if it is of a file, of this name.
func (q *quickstart) find(heading, language, file string) string {
	q.Helper()
	var found []string
	for _, b := range q.blocks {
		if b.heading == heading && b.language == language && b.file == file {
			found = append(found, b.text)
		}
	}
	if len(found) == 0 {
		q.Fatalf("%s has no block of %s %s", heading, language, file)
	}
	return strings.Join(found, "")
}

// write writes a file of the server.
func (q *quickstart) write(name string, data any) {
	q.Helper()
	text, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		q.Fatal(err)
	}
	world.Write(q.T, filepath.Join(q.dir, name), string(text))
}

func (q *quickstart) read(name string) (doc map[string]any) {
	q.Helper()
	data, err := os.ReadFile(filepath.Join(q.dir, name))
	if err != nil {
		q.Fatal(err)
	}
	world.Decode(q.T, data, &doc)
	return doc
}

// publishPackage publishes what package.json describes.
func (q *quickstart) publishPackage(manifest map[string]any) {
	q.Helper()
	q.write("package.json", manifest)
	if err := q.npm.Publish(npmtest.Package{Name: manifest["name"].(string), Version: manifest["version"].(string),
		Manifest: manifest, Files: map[string]string{"index.js": "weather()\n"}}); err != nil {
		q.Fatal(err)
	}
}

// search is the record that the document's curl finds, of the latest version.
func (q *quickstart) search(line string) quickstartRecord {
	q.Helper()
	m := regexp.MustCompile(`^curl "([^"]+)"$`).FindStringSubmatch(line)
	if m == nil {
		q.Fatalf("%q", line)
	}
	res, err := q.client.Get(m[1])
	if err != nil {
		q.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Servers []quickstartRecord }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || len(answer.Servers) == 0 {
		q.Fatalf("%s: %s, %v", line, res.Status, err)
	}
	return answer.Servers[len(answer.Servers)-1]
}

type quickstartRecord struct {
	Server map[string]any
	Meta   map[string]struct {
		VerifiedAt string
		Evidence   []struct{ Subject, Scheme, Outcome, Actual string }
	} `json:"_meta"`
}

// integrity is what the registry recomputed: the outcome by scheme of each package's file, and when.
func (r quickstartRecord) integrity() (outcomes []string, verified bool) {
	for _, e := range r.Meta["hallmark/integrity"].Evidence {
		outcomes = append(outcomes, e.Scheme+" "+e.Outcome)
	}
	return outcomes, r.Meta["hallmark/integrity"].VerifiedAt != ""
}

// added is the JSON object of the members that the document's changes of a file add.
func added(t *testing.T, changes string) (doc map[string]any) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(changes) {
		if line, ok := strings.CutPrefix(line, "+"); ok {
			lines = append(lines, line)
		}
	}
	world.Decode(t, []byte("{"+strings.TrimRight(strings.Join(lines, ""), " ,\n")+"}"), &doc)
	return doc
}

// changed is a file as it is after a change that shows all of it.
func changed(t *testing.T, change string) (doc map[string]any) {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(change) {
		if !strings.HasPrefix(line, "-") {
			text.WriteString(line[1:])
		}
	}
	world.Decode(t, []byte(text.String()), &doc)
	return doc
}

func (q *quickstart) walk() {
	const (
		remoteOnly    = "Remote-only servers"
		prerequisites = "Prerequisites"
		step1         = "Step 1: Add verification information to the package"
		step2         = "Step 2: Publish the package"
		step3         = "Step 3: Install `mcp-publisher`"
		step4         = "Step 4: Create `server.json`"
		step5         = "Step 5: Authenticate with the MCP Registry"
		step6         = "Step 6: Publish to the MCP Registry"
	)
	if want := []string{remoteOnly, prerequisites, step1, step2, step3, step4, step5, step6, "Troubleshooting",
		"Next Steps"}; !slices.Equal(q.headings, want) {
		q.Fatalf("the document has other sections: %q", q.headings)
	}

	// Step 1: Add verification information to the package
	manifest := added(q.T, q.find(prerequisites, "diff", "package.json")+q.find(step1, "diff", "package.json"))

	// Step 2: Publish the package
	q.publishPackage(manifest)

	// Step 3: Install mcp-publisher
	help := q.run(true, "mcp-publisher --help")
	commands := regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(q.find(step3, "text", "Output"), -1)
	for _, m := range commands {
		if !regexp.MustCompile(`(?m)^ +` + m[1] + ` `).MatchString(help) {
			q.Errorf("--help names no %s:\n%s", m[1], help)
		}
	}

	// Step 4: Create server.json
	q.run(true, strings.TrimSpace(q.find(step4, "bash", "")))
	doc := changed(q.T, q.find(step4, "diff", "server.json"))
	want := doc // ours writes no example of a variable, which the document has taken out
	if q.isOfficial {
		want = nil
		world.Decode(q.T, []byte(q.find(step4, "json", "server.json")), &want)
	}
	if got := q.read("server.json"); !reflect.DeepEqual(got, want) {
		q.Errorf("init wrote\n%v\nwant\n%v", got, want)
	}
	q.write("server.json", doc)

	// Step 5: Authenticate with the MCP Registry
	if out := q.run(true, strings.TrimSpace(q.find(step5, "bash", ""))); !strings.Contains(out, "ABCD-1234") {
		q.Errorf("login shows no code:\n%s", out)
	}

	// Step 6: Publish to the MCP Registry
	lines := strings.Split(strings.TrimSpace(q.find(step6, "bash", "")), "\n")
	if len(lines) != 2 {
		q.Fatalf("%q", lines)
	}
	publish, curl := lines[0], lines[1]
	q.run(true, publish)
	record := q.search(curl)
	outcomes, verified := record.integrity()
	if q.isOfficial { // which knows no hashes
		if !reflect.DeepEqual(record.Server, doc) || verified ||
			!slices.Equal(outcomes, []string{"file absent", "ownership match"}) {
			q.Errorf("published %v, %q, verified %t", record.Server, outcomes, verified)
		}
	} else if record.Server["file_hashes"] == nil || !verified || !slices.Contains(outcomes, "file match") {
		q.Errorf("published %v, %q, verified %t", record.Server, outcomes, verified)
	}

	// Remote-only servers
	var remote map[string]any
	world.Decode(q.T, []byte(q.find(remoteOnly, "json", "server.json")), &remote)
	q.write("server.json", remote)
	q.run(true, publish)

	q.troubleshoot(publish, manifest)
	q.publishHashes(publish, curl, manifest)
}

// troubleshoot meets what the document's table has actions for, in its order: each answer leads to its action.
func (q *quickstart) troubleshoot(publish string, manifest map[string]any) {
	refused := func(says ...string) {
		q.Helper()
		out := q.run(false, publish)
		for _, s := range says {
			if !strings.Contains(out, s) {
				q.Errorf("refused without %q:\n%s", s, out)
			}
		}
	}

	// Registry validation failed for package: its package.json has no mcpName
	other := maps.Clone(manifest)
	other["name"] = "@" + quickstartAccount + "/other"
	delete(other, "mcpName")
	q.publishPackage(other)
	doc := q.read("server.json")
	delete(doc, "remotes")
	doc["version"], doc["packages"] = "1.0.2", []any{map[string]any{"registryType": "npm", "identifier": other["name"],
		"version": other["version"], "transport": map[string]any{"type": "stdio"}}}
	q.write("server.json", doc)
	refused("mcpName", doc["name"].(string), "package.json")

	// Invalid or expired Registry JWT token: both clients read the session of the official one
	q.run(true, "mcp-publisher logout")
	session := filepath.Join(q.home, ".config", "mcp-publisher")
	if err := os.MkdirAll(session, 0o700); err != nil {
		q.Fatal(err)
	}
	world.Write(q.T, filepath.Join(session, "token.json"),
		fmt.Sprintf(`{"method":"github","registry":%q,"token":"of another registry"}`, host.OfficialRegistry))
	refused("401", "invalid token", "log in")
	q.run(true, "mcp-publisher login github")

	// You do not have permission to publish this server: the names are those of the account
	doc["name"] = "io.github.other/weather"
	q.write("server.json", doc)
	refused("403", "io.github."+quickstartAccount+"/*", "io.github.other/weather")
}

// publishHashes is the next release, with hashes that our hash-gen writes where every client keeps them.
func (q *quickstart) publishHashes(publish, curl string, manifest map[string]any) {
	// Step 2: Publish the package
	manifest["version"] = "1.0.2"
	q.publishPackage(manifest)

	// Step 4: Create server.json
	if err := os.Remove(filepath.Join(q.dir, "server.json")); err != nil {
		q.Fatal(err)
	}
	q.run(true, "mcp-publisher init")
	c := exec.CommandContext(q.Context(), q.hallmark, "hash-gen", "--write", "--meta")
	c.Dir, c.Env = q.dir, q.env
	if out, err := c.CombinedOutput(); err != nil {
		q.Fatalf("%v\n%s", err, out)
	}

	// Step 6: Publish to the MCP Registry
	q.run(true, publish)
	id := fmt.Sprintf("npm:%s@%s", manifest["name"], manifest["version"])
	sum := sha256.Sum256(q.npm.Tarball(manifest["name"].(string), "1.0.2"))
	want := map[string]any{id: "sha256:" + hex.EncodeToString(sum[:])}
	record := q.search(curl)
	meta, _ := record.Server["_meta"].(map[string]any)
	provided, _ := meta["io.modelcontextprotocol.registry/publisher-provided"].(map[string]any)
	if !reflect.DeepEqual(provided["file_hashes"], any(want)) {
		q.Errorf("published %v, want the hashes %v", record.Server, want)
	}
	outcomes, verified := record.integrity()
	if !verified || !slices.Contains(outcomes, "file match") || !slices.Contains(outcomes, "ownership match") {
		q.Errorf("the registry has %q, verified %t", outcomes, verified)
	}

	// A file that changes between the two is refused.
	doc := q.read("server.json")
	doc["version"] = "1.0.3"
	q.write("server.json", doc)
	manifest["description"] = "Another one"
	q.publishPackage(manifest)
	if out := q.run(false, publish); !strings.Contains(out, "mismatch") || !strings.Contains(out, id) {
		q.Errorf("refused without a reason:\n%s", out)
	}
}
