package sequences

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
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
	source
	stage    *world.Stage
	answers  map[string]string   // by version, what the server notes answers
	pinned   map[string]lockText // by version, the lock
	entries  map[string]string   // the version of an entry of the lock, by the digest that is approved, or its text
	links    []string            // of the index of Python packages
	versions map[string]string   // of a module, one a line
	compiled string              // where the compiler of Go remembers; "" if it is not needed
	count    int
}

// lockText is a lock as version control sees it: text, of which people take some from one side and some from another.
type lockText struct {
	Version int                        `json:"lockfile_version"`
	Facets  map[string]json.RawMessage `json:"facets,omitempty"`
	Servers map[string]json.RawMessage `json:"servers"`
}

func newProject(t *testing.T, from source) *aProject {
	t.Helper()
	p := &aProject{source: from, stage: world.NewStage(t, world.Tools(t)), pinned: map[string]lockText{},
		entries: map[string]string{}, answers: map[string]string{"old": "old", "new": "new"},
		versions: map[string]string{}}
	built.Into(t, filepath.Join(p.stage.Bin, "puppet"), "e2e/puppet")
	p.prepare(p, t)
	for _, version := range []string{"old", "new"} {
		p.publish(p, t, version, numbers[version])
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

// useHome prepares the directory in which a machine remembers.
func (p *aProject) useHome(t *testing.T, home string) {
	t.Helper()
	if p.compiled == "" {
		return
	}
	cache := filepath.Join(home, "cache")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.compiled, filepath.Join(cache, "go-build")); err != nil {
		t.Fatal(err)
	}
}

// write makes the files in dir those of a state.
func (p *aProject) write(t *testing.T, dir string, s state) {
	t.Helper()
	p.clear(t, dir)
	p.writeConfig(t, dir, s.declared)
	if version := s.declared["kit"]; version != "" {
		p.writeFacet(t, dir, version)
	}
	if version := s.declared["local"]; version != "" {
		p.writeLocal(t, dir, version)
	}
	// The facet's server, and the stand-in for a container engine, show the same tool in both versions, which answers
	// with their arguments. What the latter shows is in a file named as its first argument.
	for _, name := range []string{"kit.json", "run"} {
		write(t, dir, name, `{"tools/list": {"tools": [{"name": "args", "inputSchema": {"type": "object"}}]}}`)
	}
	p.writeBeside(t, dir, s.locked)
	if text := p.lock(t, s); text != "" {
		write(t, dir, project.LockFile, text)
	}
}

// writeConfig declares what there is.
func (p *aProject) writeConfig(t *testing.T, dir string, declared versions) {
	t.Helper()
	config := "manifest_version = 1\n[adapters]\ntargets = [\"dir:agents\"]\n"
	if declared["kit"] != "" {
		config += "[facets]\nkit = { path = \"facet\" }\n"
	}
	if version := declared["notes"]; version != "" {
		command, arguments := p.declare(p, numbers[version])
		config += fmt.Sprintf("[providers.mcp.notes]\ncommand = %q\narguments = [%s]\n", command, arguments)
	}
	if declared["local"] != "" {
		config += "[providers.mcp.local]\ncommand = \"./server/local\"\n"
	}
	write(t, dir, project.ConfigFile, config)
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
	write(t, dir, "server/local", "#!/usr/bin/env puppet\n"+`{"tools/list": {"tools": [{"name": "say", "description": "`+version+
		`", "inputSchema": {"type": "object"}}]}}`)
	if err := os.Chmod(filepath.Join(dir, "server/local"), 0o700); err != nil {
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
