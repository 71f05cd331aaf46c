package sequences

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/project"
)

// servers are those of the project, one of each kind: a package, a local file, and a server of a facet.
var servers = []string{"notes", "local", "kit"}

// TestSequences gives machines the commits of a project in any order, with any commands between them. Whatever came
// before: a server runs only if the person at that machine approved its entry last, and then its bytes are those of
// the entry; what the machine accepted is missed where the project lost it; and none of this is ever called a matter
// of integrity. 'make sequences' tries many.
func TestSequences(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many programs")
	}
	p := newProject(t)
	random, many := sample.Rand(t), 3
	if sample.Whole() {
		many = 100
	}
	for i := range many {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			m := p.newMachine(t)
			m.install(t, "--frozen")
			m.review(t)
			m.start(t, "notes")
			for range 30 {
				m.step(t, random)
				if t.Failed() {
					t.Fatalf("after\n  %s", strings.Join(m.log, "\n  "))
				}
			}
		})
	}
}

// commit is a state of the project's files that a machine may pull.
type commit struct {
	name     string
	version  string // of the servers that it declares, as they call themselves; "" if it declares none
	stripped bool   // the lock is gone, as if somebody had removed it in silence
}

// aProject has the commits of a project, in which a colleague pinned every server in two versions.
type aProject struct {
	stage    *world.Stage
	commits  []commit
	machines int
}

func newProject(t *testing.T) *aProject {
	t.Helper()
	p := &aProject{stage: world.NewStage(t, world.Tools(t))}
	built.Into(t, filepath.Join(p.stage.Bin, "puppet"), "e2e/puppet")
	for _, c := range [][2]string{{"1.0.0", "old"}, {"1.1.0", "new"}} {
		version, text := c[0], c[1]
		if err := p.stage.NPM.Publish(npmtest.Package{Name: "notes", Version: version,
			Manifest: map[string]any{"bin": "index.js"}, Files: map[string]string{"index.js": nodeServer,
				"text.js": "module.exports = '" + text + "';\n"}}); err != nil {
			t.Fatal(err)
		}
		p.declare(t, version, text)
		p.stage.Run(t, 0, "hallmark", "install", "--yes")
		p.stage.Run(t, 0, "hallmark", "pin", "notes", "local", "--yes")
		p.commit(t, commit{name: text, version: text})
		p.relabelTrees(t)
		p.commit(t, commit{name: text + ", locked on another platform", version: text})
	}
	if err := os.Remove(filepath.Join(p.stage.Project, "hallmark.lock")); err != nil {
		t.Fatal(err)
	}
	p.commit(t, commit{name: "new, without its lock", version: "new", stripped: true})
	p.clear(t)
	p.write(t, "hallmark.toml", "manifest_version = 1\n")
	p.commit(t, commit{name: "nothing"})
	return p
}

// declare writes the project in one version of its servers.
func (p *aProject) declare(t *testing.T, version, text string) {
	t.Helper()
	shown := `{"tools/list": {"tools": [{"name": "say", "description": "` + text +
		`", "inputSchema": {"type": "object"}}]}}`
	for name, content := range map[string]string{
		"hallmark.toml": "manifest_version = 1\n[adapters]\ntargets = [\"dir:agents\"]\n" +
			"[facets]\nkit = { path = \"facet\" }\n" +
			"[providers.mcp.notes]\ncommand = \"npx\"\narguments = [\"notes@" + version + "\"]\n" +
			"[providers.mcp.local]\ncommand = \"./local\"\n",
		"local": "#!/usr/bin/env puppet\n" + shown,
		// It shows the same tool in both, which answers with the server's arguments.
		"kit.json": `{"tools/list": {"tools": [{"name": "args", "inputSchema": {"type": "object"}}]}}`,
		"facet/facet.json": `{"name": "kit", "version": "` + version + `", "agents": {"a": {"description": "d"}},` +
			`"servers": {"kit": {"type": "stdio", "command": "puppet", "args": ["kit.json", "` + text + `"]}}}`,
		"facet/agents/a.md": text,
	} {
		p.write(t, name, content)
	}
	if err := os.Chmod(filepath.Join(p.stage.Project, "local"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (p *aProject) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(p.stage.Project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	world.Write(t, path, content)
}

// relabelTrees makes the lock one of a machine of another kind.
func (p *aProject) relabelTrees(t *testing.T) {
	t.Helper()
	path := filepath.Join(p.stage.Project, project.LockFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := project.ParseLock(data)
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := lock.Server("notes")
	trees := entry.Closure.Trees
	for platform, tree := range maps.Clone(trees) {
		delete(trees, platform)
		trees["plan9/arm+node20"] = tree
	}
	if data, err = lock.Encode(); err != nil {
		t.Fatal(err)
	}
	p.write(t, project.LockFile, string(data))
}

// commit keeps the project's files as they are.
func (p *aProject) commit(t *testing.T, c commit) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(p.stage.Dir, "commits", c.name), os.DirFS(p.stage.Project)); err != nil {
		t.Fatal(err)
	}
	p.commits = append(p.commits, c)
}

// checkout makes the project's files those of a commit.
func (p *aProject) checkout(t *testing.T, c commit) {
	t.Helper()
	p.clear(t)
	if err := os.CopyFS(p.stage.Project, os.DirFS(filepath.Join(p.stage.Dir, "commits", c.name))); err != nil {
		t.Fatal(err)
	}
}

// clear removes the project's files, but not its directory, by which a machine knows it.
func (p *aProject) clear(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(p.stage.Project)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(p.stage.Project, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// machine is one machine with the project, and what its person did there.
type machine struct {
	*aProject
	home     string
	at       commit
	approved map[string]string // by server, the version that was approved last; none if it was forgotten
	kit      bool              // the facet is installed as it is locked now
	log      []string
}

func (p *aProject) newMachine(t *testing.T) *machine {
	t.Helper()
	p.machines++
	m := &machine{aProject: p, home: filepath.Join(p.stage.Dir, fmt.Sprint("machine", p.machines)),
		approved: map[string]string{}}
	m.pull(t, p.commits[1]) // of which this machine makes trees
	return m
}

func (m *machine) pull(t *testing.T, c commit) {
	m.log = append(m.log, "pull: "+c.name)
	m.checkout(t, c)
	m.at = c
}

// run starts a program on the machine.
func (m *machine) run(t *testing.T, program string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := m.stage.Command(t.Context(), program, args...)
	cmd.Env = append(slices.Clone(cmd.Env), "HALLMARK_HOME="+m.home)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code = cmd.ProcessState.ExitCode()
	m.log = append(m.log, fmt.Sprintf("%s %s: %d", program, strings.Join(args, " "), code))
	if code == 3 || strings.Contains(messages.String(), "integrity") {
		t.Errorf("%s %q speaks of integrity (%d)\n%s%s", program, args, code, &out, &messages)
	}
	return code, out.String(), messages.String()
}

// step does one thing that people and their clients do, and compares what comes of it.
func (m *machine) step(t *testing.T, random *rand.Rand) {
	t.Helper()
	server := servers[random.IntN(len(servers))]
	switch n := random.IntN(20); {
	case n < 4:
		m.pull(t, m.commits[random.IntN(len(m.commits))])
		if random.IntN(2) == 0 { // as a day begins
			m.review(t)
			m.start(t, "notes")
		}
	case n < 10:
		m.start(t, server)
	case n < 13:
		m.review(t)
	case n < 15:
		m.install(t, []string{"--frozen", "--offline"}[random.IntN(2)])
	case n < 17:
		m.check(t)
	case n == 17:
		m.forget(t, server)
	default:
		// What no person says anything by: it approves nothing, and forgets nothing.
		plain := [][]string{{"list"}, {"scan", "--project"}, {"check"}, {"outdated"}}
		m.run(t, "hallmark", plain[random.IntN(len(plain))]...)
	}
}

// install installs the facet, if it is locked.
func (m *machine) install(t *testing.T, how string) {
	t.Helper()
	if code, _, _ := m.run(t, "hallmark", "install", how); code == 0 && m.at.version != "" {
		m.kit = true
	}
}

// start runs a server and compares who answers with what was approved and is locked.
func (m *machine) start(t *testing.T, server string) {
	t.Helper()
	tool := map[string]string{"notes": "say", "local": "say", "kit": "args"}[server]
	code, out, messages := m.run(t, "client", "-call", tool, filepath.Join(m.stage.Bin, "hallmark"), "run", server)
	may := m.at.version != "" && !m.at.stripped && m.approved[server] == m.at.version
	switch answered := strings.Contains(out, m.at.version) && strings.Contains(out, tool+":"); {
	case may && (!world.Ended(code) || !answered):
		t.Errorf("%s of %q was approved and does not run (%d)\n%s%s", server, m.at.name, code, out, messages)
	case !may && (code == 0 || strings.Contains(out, "tool")):
		t.Errorf("%s of %q runs, and %q was approved\n%s", server, m.at.name, m.approved[server], out)
	}
}

// review approves all that waits.
func (m *machine) review(t *testing.T) {
	t.Helper()
	_, out, _ := m.run(t, "hallmark", "review", "--json")
	var waiting struct {
		Consent string `json:"consent"`
		Servers []struct {
			Name string `json:"name"`
		} `json:"servers"`
	}
	world.Decode(t, []byte(out), &waiting)
	for _, s := range waiting.Servers {
		if m.approved[s.Name] == m.at.version {
			t.Errorf("%s of %q was approved, and is asked for again", s.Name, m.at.name)
		}
	}
	if len(waiting.Servers) == 0 {
		return
	}
	m.run(t, "hallmark", "review", "--approve", waiting.Consent)
	for _, s := range waiting.Servers {
		m.approved[s.Name] = m.at.version
	}
}

// forget is a person's word: what is forgotten is not missed any more.
func (m *machine) forget(t *testing.T, server string) {
	t.Helper()
	code, _, messages := m.run(t, "hallmark", "forget", server)
	if known := m.approved[server] != "" || server == "kit" && m.kit; known != (code == 0) {
		t.Errorf("%s is known: %v; forget: %d\n%s", server, known, code, messages)
	}
	delete(m.approved, server)
	if server == "kit" {
		m.kit = false
	}
}

// check compares how a check ends with what a person did not approve, and with what is gone.
func (m *machine) check(t *testing.T) {
	t.Helper()
	code, out, messages := m.run(t, "hallmark", "check", "--offline")
	refused := m.at.stripped
	for _, server := range servers {
		was, ok := m.approved[server]
		refused = refused || ok && m.at.version != "" && was != m.at.version
	}
	if refused != (code == 4) {
		t.Errorf("check of %q ends with %d; approved is %v\n%s%s", m.at.name, code, m.approved, out, messages)
	}
}

// nodeServer says its text when it is called, and shows the same tool in every version.
const nodeServer = `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const m = JSON.parse(line);
  if (m.id === undefined) return;
  const results = {
    initialize: () => ({ protocolVersion: m.params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'js', version: '1' } }),
    'tools/list': () => ({ tools: [{ name: 'say', description: 'Say it.', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: require('./text.js') }] }),
  };
  const r = { jsonrpc: '2.0', id: m.id };
  if (results[m.method]) r.result = results[m.method]();
  else r.error = { code: -32601, message: 'no such method' };
  console.log(JSON.stringify(r));
});
`
