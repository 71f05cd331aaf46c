//go:build unix

package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// mirror is a local mirror of packages of which each has a fault of its own, besides
// one that has none. Both indexes of Python packages list the same files.
type mirror struct {
	*world.Stage
	packages map[string]map[string]any // by the fault
	claims   map[string][2]string      // file_hashes' key and value
}

const mirrored = "io.github.acme/notes"

func newMirror(t *testing.T, bin string) *mirror {
	t.Helper()
	m := &mirror{world.NewStage(t, bin), map[string]map[string]any{}, map[string][2]string{}}
	npm := func(fault string) (tarball string) {
		t.Helper()
		err := m.NPM.Publish(
			npmtest.Package{Name: fault, Version: "1.0.0", Manifest: map[string]any{"mcpName": mirrored},
				Files: map[string]string{"index.js": fault}})
		if err != nil {
			t.Fatal(err)
		}
		m.packages[fault] = pkg("npm", fault, "1.0.0")
		m.claims[fault] = [2]string{"npm:" + fault + "@1.0.0", sumOf(m.NPM.Tarball(fault, "1.0.0"))}
		return npmtest.TarballPath(fault, "1.0.0")
	}
	npm("good")

	npm("wrong-digit")
	good := m.claims["wrong-digit"][1]
	m.claims["wrong-digit"] = [2]string{"npm:wrong-digit@1.0.0",
		good[:70] + map[bool]string{true: "1", false: "0"}[good[70] == '0']}

	npm("algorithm")
	m.claims["algorithm"] = [2]string{"npm:algorithm@1.0.0", "blake3:" + strings.Repeat("0", 64)}

	// A mirror that serves other bytes than its metadata says, and one that changed both.
	m.NPM.Break(npm("replaced"), npmtest.Always, npmtest.Body([]byte("other bytes")))
	npm("rewritten")
	if err := m.NPM.Publish(
		npmtest.Package{Name: "rewritten", Version: "1.0.0", Manifest: map[string]any{"mcpName": mirrored}}); err !=
		nil {
		t.Fatal(err)
	}

	m.NPM.Break(npm("missing"), npmtest.Always, npmtest.Status(http.StatusNotFound, -1))
	m.NPM.Break(npm("too-large"), npmtest.Always, npmtest.TooLong(1<<30))
	m.NPM.Break(npm("unreachable"), npmtest.Always, npmtest.Status(http.StatusServiceUnavailable, 0))
	m.NPM.Break(npm("plain-http"), npmtest.Always, npmtest.Redirect("http://127.0.0.1:1/x"))

	m.pypi("ambiguous", "", "ambiguous-1.0-py3-none-any.whl", "ambiguous-1.0.tar.gz")
	m.pypi("no-file", "/no_file-1.0-cp39-none-win32.whl", "no_file-1.0-py3-none-any.whl")
	m.pypi("yanked", "/yanked-1.0.tar.gz", "yanked-1.0.tar.gz")
	m.Env = append(m.Env, "PIP_INDEX_URL="+m.NPM.URL+"/simple/")
	return m
}

// pypi makes a release with files and a claim about one of them, that of the last.
func (m *mirror) pypi(fault, claimed string, names ...string) {
	var entries, links []string
	sum := ""
	for _, name := range names {
		data := []byte("contents of " + name)
		sum = sumOf(data)
		m.NPM.File("/files/"+name, data)
		yanked, attribute := "", ""
		if fault == "yanked" {
			yanked, attribute = `,"yanked":true,"yanked_reason":"it leaks"`, ` data-yanked="it leaks"`
		}
		entries = append(entries,
			fmt.Sprintf(`{"filename":%q,"url":"%s/files/%s","digests":{"sha256":%q}%s}`, name, m.NPM.URL, name, sum[7:],
				yanked))
		links = append(links, fmt.Sprintf(`<a href="/files/%s#sha256=%s"%s>%s</a>`, name, sum[7:], attribute, name))
	}
	m.NPM.File("/pypi/"+fault+"/1.0/json",
		fmt.Appendf(nil, `{"info":{"name":%q,"version":"1.0","description":"mcp-name: %s"},"urls":[%s]}`,
			fault, mirrored, strings.Join(entries, ",")))
	m.NPM.Break("/simple/"+fault+"/", npmtest.Always, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, strings.Join(links, "\n"))
	})
	m.packages[fault] = pkg("pypi", fault, "1.0")
	m.claims[fault] = [2]string{"pypi:" + fault + "==1.0" + claimed, sum}
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// write makes a server.json of the packages with these faults, and returns it.
func (m *mirror) write(t *testing.T, version string, hashes bool, faults ...string) string {
	t.Helper()
	doc := described(mirrored, nil)
	doc["version"] = version
	var packages []any
	claims := map[string]string{}
	for _, fault := range faults {
		packages = append(packages, m.packages[fault])
		claims[m.claims[fault][0]] = m.claims[fault][1]
	}
	doc["packages"] = packages
	if hashes {
		doc["file_hashes"] = claims
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(m.Project, "server.json"), string(text))
	return string(text)
}

// refusal is a registry's answer.
type refusal struct {
	Status  int
	Detail  string
	Error   string
	Details map[string]struct{ Expected, Actual, Status, Reason string }
	Errors  []struct{ Message string }
}

func post(t *testing.T, registry, doc string) (int, refusal, string) {
	t.Helper()
	answer, err := http.Post(registry+"/v0/publish", "application/json", strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var r refusal
	world.Decode(t, body, &r)
	return answer.StatusCode, r, string(body)
}

// in is the mirror with a project of its own.
func (m *mirror) in(t *testing.T) *mirror {
	s := *m.Stage
	s.Project = t.TempDir()
	return &mirror{&s, m.packages, m.claims}
}

// serve runs a registry that takes packages from the mirror.
func (m *mirror) serve(t *testing.T, flags ...string) *world.Registry {
	t.Helper()
	return world.StartRegistry(t, append([]string{"--data", t.TempDir(), "--allow-anonymous", "--npm-registry", m.NPM.URL,
		"--pypi-index", m.NPM.URL, "--ca-file", filepath.Join(m.Dir, "authority.pem"), "--allow-host", "127.0.0.1"},
		flags...)...)
}
