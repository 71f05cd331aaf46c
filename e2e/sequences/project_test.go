package sequences

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/project"
)

// servers are those of the project, one of each kind: a package, a local file, and a server of a facet. The lock has an
// entry of each, and facet, that of the facet.
var servers = []string{"notes", "local", "kit"}

const facet = "the facet"

// numbers are the two versions of all that the project declares, and the word that each says of itself.
var numbers = map[string]string{"old": "1.0.0", "new": "1.1.0"}

// versions is "old" or "new" of each server or entry of the lock that is there.
type versions map[string]string

// state is what the files of a project say.
type state struct {
	declared, locked versions
	elsewhere        bool // the trees in the lock are those of a machine of another kind
}

// aProject is what people have in common: the packages of its servers, and what a colleague pinned of each in two
// versions.
type aProject struct {
	stage   *world.Stage
	python  bool                // the package is one of an index of Python packages
	pinned  map[string]lockText // by version, the lock
	entries map[string]string   // the version of an entry of the lock, by the digest that is approved, or its text
	links   []string            // of the index
	count   int
}

// lockText is a lock as version control sees it: text, of which people take some from one side and some from another.
type lockText struct {
	Version int                        `json:"lockfile_version"`
	Facets  map[string]json.RawMessage `json:"facets,omitempty"`
	Servers map[string]json.RawMessage `json:"servers"`
}

func newProject(t *testing.T, python bool) *aProject {
	t.Helper()
	p := &aProject{stage: world.NewStage(t, world.Tools(t)), python: python, pinned: map[string]lockText{},
		entries: map[string]string{}}
	built.Into(t, filepath.Join(p.stage.Bin, "puppet"), "e2e/puppet")
	if python {
		p.useIndex(t)
	}
	for _, version := range []string{"old", "new"} {
		p.publish(t, version)
		all := versions{"notes": version, "local": version, "kit": version}
		p.write(t, p.stage.Project, state{declared: all})
		p.stage.Run(t, 0, "hallmark", "install", "--yes")
		p.stage.Run(t, 0, "hallmark", "pin", "notes", "local", "--yes")
		p.stage.Run(t, 0, "hallmark", "forget", "--all")
		p.copy(t, p.kept(version), p.stage.Project)
		data, err := os.ReadFile(filepath.Join(p.stage.Project, project.LockFile))
		if err != nil {
			t.Fatal(err)
		}
		var text lockText
		world.Decode(t, data, &text)
		p.pinned[version] = text
		for _, id := range p.identities(t, string(data)) {
			p.entries[id] = version
		}
	}
	return p
}

// kept is where the project is as it was pinned in a version.
func (p *aProject) kept(version string) string { return filepath.Join(p.stage.Dir, "kept", version) }

// publish publishes a version of the package.
func (p *aProject) publish(t *testing.T, version string) {
	t.Helper()
	number := numbers[version]
	if p.python {
		p.wheel(t, "words", number, "", "words/__init__.py", "word = '"+version+"'\n")
		p.wheel(t, "notes", number, "Requires-Dist: words=="+number+"\n", "notes/__init__.py", pythonServer,
			"notes-"+number+".dist-info/entry_points.txt", "[console_scripts]\nnotes = notes:main\n")
		return
	}
	if err := p.stage.NPM.Publish(npmtest.Package{Name: "notes", Version: number,
		Manifest: map[string]any{"bin": "index.js"}, Files: map[string]string{"index.js": nodeServer,
			"text.js": "module.exports = '" + version + "';\n"}}); err != nil {
		t.Fatal(err)
	}
}

// useIndex lets uv, or pip, ask the index, and nothing be between them and the PATH.
func (p *aProject) useIndex(t *testing.T) {
	t.Helper()
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	index := p.stage.NPM.URL + "/simple/"
	p.stage.Env = append(p.stage.Env, "UV_DEFAULT_INDEX="+index, "PIP_INDEX_URL="+index,
		"PIP_CERT="+filepath.Join(p.stage.Dir, "authority.pem"),
		"PATH="+p.stage.Bin+":"+filepath.Dir(strings.TrimSpace(string(python)))+":"+os.Getenv("PATH"))
}

// wheel puts a version of a Python package into the index, beside those before it.
func (p *aProject) wheel(t *testing.T, name, number, metadata string, files ...string) {
	t.Helper()
	index, release := p.stage.NPM, name+"-"+number
	data := forge.Wheel(release, append(files, release+".dist-info/METADATA",
		"Metadata-Version: 2.1\nName: "+name+"\nVersion: "+number+"\n"+metadata)...)
	file, sum := release+"-py3-none-any.whl", digest.FromBytes(data).Hex()
	index.File("/files/"+file, data)
	document := fmt.Appendf(nil, `{"info":{"name":%q,"version":%q},"urls":[{"filename":%q,"url":"%s/files/%s",`+
		`"digests":{"sha256":%q}}]}`, name, number, file, index.URL, file, sum)
	index.File("/pypi/"+name+"/"+number+"/json", document)
	index.File("/pypi/"+name+"/json", document)
	p.links = append(p.links, fmt.Sprintf(`<a href="/files/%s#sha256=%s">%s</a>`, file, sum, file))
	page := "<!DOCTYPE html><html><body>"
	for _, link := range p.links {
		if strings.Contains(link, ">"+name+"-") {
			page += link
		}
	}
	index.Break("/simple/"+name+"/", npmtest.Always, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page+"</body></html>")
	})
}

// write makes the files in dir those of a state.
func (p *aProject) write(t *testing.T, dir string, s state) {
	t.Helper()
	p.clear(t, dir)
	config := "manifest_version = 1\n[adapters]\ntargets = [\"dir:agents\"]\n"
	if s.declared["kit"] != "" {
		config += "[facets]\nkit = { path = \"facet\" }\n"
		p.writeFacet(t, dir, s.declared["kit"])
	}
	if version := s.declared["notes"]; version != "" {
		command := "npx"
		if p.python {
			command = "uvx"
		}
		config += fmt.Sprintf("[providers.mcp.notes]\ncommand = %q\narguments = [%q]\n", command,
			"notes@"+numbers[version])
	}
	if version := s.declared["local"]; version != "" {
		config += "[providers.mcp.local]\ncommand = \"./local\"\n"
		p.writeLocal(t, dir, version)
	}
	write(t, dir, project.ConfigFile, config)
	// The facet's server shows the same tool in both versions, which answers with the server's arguments.
	write(t, dir, "kit.json", `{"tools/list": {"tools": [{"name": "args", "inputSchema": {"type": "object"}}]}}`)
	p.writeBeside(t, dir, s.locked)
	if text := p.lock(t, s); text != "" {
		write(t, dir, project.LockFile, text)
	}
}

// writeBeside writes the files beside the lock.
func (p *aProject) writeBeside(t *testing.T, dir string, locked versions) {
	t.Helper()
	for _, server := range servers {
		for _, name := range []string{project.SurfaceFile(server), project.ClosureSubject(server)} {
			if locked[server] == "" {
				continue
			}
			data, err := os.ReadFile(filepath.Join(p.kept(locked[server]), name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			write(t, dir, name, string(data))
		}
	}
}

func (p *aProject) writeLocal(t *testing.T, dir, version string) {
	t.Helper()
	write(t, dir, "local", "#!/usr/bin/env puppet\n"+`{"tools/list": {"tools": [{"name": "say", "description": "`+version+
		`", "inputSchema": {"type": "object"}}]}}`)
	if err := os.Chmod(filepath.Join(dir, "local"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (p *aProject) writeFacet(t *testing.T, dir, version string) {
	t.Helper()
	write(t, dir, "facet/facet.json", `{"name": "kit", "version": "`+numbers[version]+
		`", "agents": {"a": {"description": "d"}}, "servers": {"kit": {"type": "stdio", "command": "puppet", `+
		`"args": ["kit.json", "`+version+`"]}}}`)
	write(t, dir, "facet/agents/a.md", version)
}

// lock is the text of a lock, or nothing.
func (p *aProject) lock(t *testing.T, s state) string {
	t.Helper()
	if len(s.locked) == 0 {
		return ""
	}
	text := lockText{Version: p.pinned["old"].Version, Facets: map[string]json.RawMessage{},
		Servers: map[string]json.RawMessage{}}
	for name, version := range s.locked {
		if name == facet {
			text.Facets["kit"] = p.pinned[version].Facets["kit"]
		} else {
			text.Servers[name] = p.pinned[version].Servers[name]
		}
	}
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := project.ParseLock(data)
	if err != nil {
		t.Fatal(err)
	}
	if entry, _ := lock.Server("notes"); s.elsewhere && entry.Closure != nil {
		trees := entry.Closure.Trees
		for platform, tree := range maps.Clone(trees) {
			delete(trees, platform)
			trees["plan9/arm+node20"] = tree
		}
	}
	if data, err = lock.Encode(); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// identities are the entries of a lock by what a person approves with each, save their trees.
func (p *aProject) identities(t *testing.T, text string) map[string]string {
	t.Helper()
	lock, err := project.ParseLock([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range lock.Servers() {
		entry, _ := lock.Server(name)
		all[name] = name + " " + entry.Approvable().String()
	}
	for _, name := range lock.Facets() {
		entry, _ := lock.Facet(name)
		all[facet] = facet + " " + entry.Integrity.String()
	}
	return all
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	world.Write(t, path, content)
}

// clear removes the project's files; but not its directory, by which a machine knows it, and not what is installed,
// which nobody commits.
func (p *aProject) clear(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "agents" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// copy makes the project's files in one directory those of another.
func (p *aProject) copy(t *testing.T, to, from string) {
	t.Helper()
	p.clear(t, to)
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case name == "agents":
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, info.Mode())
	})
	if err != nil {
		t.Fatal(err)
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

// pythonServer is the same in Python.
const pythonServer = `import json, sys, words
def main():
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m: continue
        r = {"jsonrpc": "2.0", "id": m["id"]}
        if m["method"] == "initialize":
            r["result"] = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
                           "serverInfo": {"name": "python", "version": "1"}}
        elif m["method"] == "tools/list":
            r["result"] = {"tools": [{"name": "say", "description": "Say it.", "inputSchema": {"type": "object"}}]}
        elif m["method"] == "tools/call":
            r["result"] = {"content": [{"type": "text", "text": words.word}]}
        else:
            r["error"] = {"code": -32601, "message": "no such method"}
        print(json.dumps(r), flush=True)
`
