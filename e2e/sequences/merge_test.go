package sequences

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/project"
)

// merge merges a branch into what this machine has, as git lets its driver do, or after git found a conflict. Where both
// sides changed an entry the lock starts nothing. Then the person goes back, or says in git whose entries to take.
func (m *machine) merge(t *testing.T, random *rand.Rand) {
	t.Helper()
	base, theirs := m.branches(random)
	m.note("merge into %v of %v: %v", m.at, base, theirs)
	sides := [3]side{{base.locked, m.lock(t, base)}, {maps.Clone(m.at.locked), m.readLock(t)},
		{theirs.locked, m.lock(t, theirs)}}
	merged, conflicts := mergeVersions(t, sides)
	inGit, command := random.IntN(2) == 0 && m.mergeInGit(t, sides), []string{"lock", "merge"}
	if !inGit {
		names := [3]string{"base", project.LockFile, "theirs"}
		for i, name := range names {
			write(t, m.dir, name, sides[i].text)
		}
		command = append(command, names[:]...)
	}
	code, _, messages := m.run(t, "hallmark", command...)
	if conflict := len(conflicts) > 0; conflict != (code == 4) || !conflict && code != 0 {
		t.Errorf("conflict: %v; lock merge: %d\n%s", conflicts, code, messages)
	}
	if code != 0 {
		m.runInConflict(t, inGit, sides)
		if !inGit {
			m.writeLock(t, sides[1].text)
			return
		}
		m.settle(t, random, conflicts, sides, merged)
	}
	if inGit {
		m.endMerge(t)
		m.compareBeside(t, merged)
	}
	text := m.readLock(t)
	declared := maps.Clone(merged) // as the person writes what goes with it
	delete(declared, facet)
	if merged[facet] != "" {
		declared["kit"] = merged[facet]
	}
	m.at = state{declared: declared, locked: merged}
	m.write(t, m.dir, m.at)
	m.writeLock(t, text)
}

// branches returns a common ancestor and a branch that is merged into what this machine has.
func (m *machine) branches(random *rand.Rand) (base, theirs state) {
	base, theirs = anyState(random), anyState(random)
	if random.IntN(4) > 0 { // each side changed some entries, and mostly others
		ours := m.at.clone()
		base = state{locked: versions{}, elsewhere: ours.elsewhere}
		for _, names := range [][]string{{"notes"}, {"local"}, {"kit", facet}} {
			from := []state{ours, theirs}[random.IntN(2)]
			for _, name := range names {
				if version := from.locked[name]; version != "" {
					base.locked[name] = version
				}
			}
		}
	}
	return base, theirs
}

// side is a lock that is merged: its entries, and its text.
type side struct {
	locked versions
	text   string
}

// mergeVersions says which version of each entry is merged of a common ancestor, ours and theirs: that of the side that
// changed it. Trees, of which each machine adds its own, are no other version; but what one side removed and the other
// added a tree to is a conflict. Of an entry in conflict it is ours.
func mergeVersions(t *testing.T, sides [3]side) (merged versions, conflicts []string) {
	t.Helper()
	merged = versions{}
	for _, name := range append(slices.Clone(servers), facet) {
		base, ours, theirs := sides[0].locked[name], sides[1].locked[name], sides[2].locked[name]
		one, two, three := entryText(t, sides[0].text, name), entryText(t, sides[1].text, name),
			entryText(t, sides[2].text, name)
		version := ours
		switch both := ours != "" && theirs != ""; {
		case two == three || one == three:
		case one == two || both && ours == base:
			version = theirs
		case both && (ours == theirs || theirs == base):
		default:
			conflicts = append(conflicts, name)
		}
		if version != "" {
			merged[name] = version
		}
	}
	return merged, conflicts
}

// entryText is the text of an entry of a lock, or nothing.
func entryText(t *testing.T, lock, name string) string {
	t.Helper()
	var text lockText
	if lock != "" {
		world.Decode(t, []byte(lock), &text)
	}
	if name == facet {
		return string(text.Facets["kit"])
	}
	return string(text.Servers[name])
}

// runInConflict runs a server where the lock is in conflict, which starts nothing. But where one branch has no lock git
// leaves the whole lock of the other there, and takes away the files beside it that this other did not change: they are
// missed.
func (m *machine) runInConflict(t *testing.T, inGit bool, sides [3]side) {
	t.Helper()
	whole := versions{}
	if inGit && sides[1].text == "" {
		whole = sides[2].locked
	} else if inGit && sides[2].text == "" {
		whole = sides[1].locked
	}
	version := whole["local"]
	if version != "" && readFile(t, filepath.Join(m.dir, project.SurfaceFile("local"))) == nil {
		code, _, messages := m.start(t, "hallmark", "run", "local")
		if missed := code == 3 && strings.Contains(messages, "local.json: document missing"); !missed && code != 4 {
			t.Errorf("local was taken away beside its entry, and run ends with %d\n%s", code, messages)
		}
		return
	}
	may := version != "" && m.at.declared["local"] == version && m.approved["local"] == version
	if code, _, messages := m.run(t, "hallmark", "run", "local"); may != (code == 0) {
		t.Errorf("local may run: %v; run in a conflict: %d\n%s", may, code, messages)
	}
}

// mergeInGit merges two branches in git, which has no driver for the lock. It returns false, with the project's files
// as they were, where git finds no conflict in the lock: what git merges line by line is nobody's lock.
func (m *machine) mergeInGit(t *testing.T, sides [3]side) bool {
	t.Helper()
	m.git(t, "init", "--quiet", "--initial-branch=ours")
	write(t, m.dir, ".git/info/exclude", "/*\n!/"+project.LockFile+"\n!/"+project.SurfacesDir+"\n!/"+
		project.ClosuresDir+"\n")
	m.commit(t, sides[0])
	m.git(t, "checkout", "--quiet", "-b", "theirs")
	m.commit(t, sides[2])
	m.git(t, "checkout", "--quiet", "ours")
	m.commit(t, sides[1])
	code, _ := world.InDir(t, m.dir, m.gitEnv(), "git", "merge", "--quiet", "theirs")
	if code != 0 && m.git(t, "ls-files", "--unmerged", "--", project.LockFile) != "" {
		m.note("git merge: %d", code)
		return true
	}
	m.endMerge(t)
	m.writeSide(t, sides[1])
	return false
}

// commit commits a lock and the files beside it, and nothing else of the project.
func (m *machine) commit(t *testing.T, s side) {
	t.Helper()
	m.writeSide(t, s)
	m.git(t, "add", "--all", ".")
	m.git(t, "commit", "--quiet", "--allow-empty", "--message=lock")
}

// writeSide makes the lock, and the files beside it, those of a side.
func (m *machine) writeSide(t *testing.T, s side) {
	t.Helper()
	for _, name := range []string{project.LockFile, project.SurfacesDir, project.ClosuresDir} {
		if err := os.RemoveAll(filepath.Join(m.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	m.writeBeside(t, m.dir, s.locked)
	if s.text != "" {
		write(t, m.dir, project.LockFile, s.text)
	}
}

// git runs git, which must succeed, and gives what it printed.
func (m *machine) git(t *testing.T, args ...string) string {
	t.Helper()
	code, out := world.InDir(t, m.dir, m.gitEnv(), "git", args...)
	if code != 0 {
		t.Fatalf("git %q: %d\n%s", args, code, out)
	}
	return out
}

func (m *machine) gitEnv() []string {
	return append(slices.Clone(m.stage.Env), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_NOSYSTEM=1")
}

// endMerge ends what git knows of the project.
func (m *machine) endMerge(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(m.dir, ".git")); err != nil {
		t.Fatal(err)
	}
}

// settle says of each entry in conflict whose to take, and puts its version into merged.
func (m *machine) settle(t *testing.T, random *rand.Rand, conflicts []string, sides [3]side, merged versions) {
	t.Helper()
	command, take := []string{"lock", "merge"}, map[string]int{}
	for _, name := range conflicts {
		called := name
		if name == facet {
			called = "kit" // as its server is
		}
		if take[called] == 0 {
			take[called] = 1 + random.IntN(2)
			command = append(command, []string{"--ours", "--theirs"}[take[called]-1], called)
		}
		delete(merged, name)
		if version := sides[take[called]].locked[name]; version != "" {
			merged[name] = version
		}
	}
	if code, _, messages := m.run(t, "hallmark", command...); code != 0 {
		t.Errorf("lock merge: %d\n%s", code, messages)
	}
}

// compareBeside finds beside the lock the files of its entries, and no others.
func (m *machine) compareBeside(t *testing.T, locked versions) {
	t.Helper()
	for _, server := range servers {
		for _, name := range []string{project.SurfaceFile(server), project.ClosureSubject(server)} {
			var want []byte
			if version := locked[server]; version != "" {
				want = readFile(t, filepath.Join(m.kept(version), name))
			}
			if got := readFile(t, filepath.Join(m.dir, name)); string(got) != string(want) {
				t.Errorf("after the merge of %v, %s is\n%s\nand not\n%s", locked, name, got, want)
			}
		}
	}
}

// readFile reads a file; one that is not there is empty.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}
