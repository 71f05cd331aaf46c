package sequences

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestSequences gives two people's machines the states of a project in any order, with any commands between them.
// Whatever came before: a server runs only if the person at that machine approved its entry last, and then its bytes
// are those of the entry; what the machine accepted is missed where the project lost it, until that person takes it
// away; and none of this is ever called a matter of integrity. 'make sequences' tries many; one of them is repeated
// alone by the seed that it says.
func TestSequences(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many programs")
	}
	bySource := make([][]uint64, len(sources))
	for _, seed := range seeds(t) {
		i := seed % uint64(len(sources))
		bySource[i] = append(bySource[i], seed)
	}
	for i, from := range sources {
		if len(bySource[i]) == 0 {
			continue
		}
		t.Run(from.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, from)
			for _, seed := range bySource[i] {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { p.sequence(t, seed) })
			}
		})
	}
}

// seeds are those of the sequences to try: one of each source, or the one that is asked for, or many. Of the few, 1 and
// 23 find what this was tried with: trees that are used for another closure, an approval that counts for another entry,
// and an installation that drops what was approved and is not in the lock.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	first := sample.Seed(t)
	switch {
	case sample.Whole():
		many := make([]uint64, 100)
		for i := range many {
			many[i] = first + uint64(i)
		}
		return many
	case os.Getenv("HALLMARK_SEED") != "":
		return []uint64{first}
	}
	return []uint64{1, 2, 4, 23}
}

// sequence tries one sequence.
func (p *aProject) sequence(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	ours, theirs := p.newMachine(t), p.newMachine(t)
	ours.begin(t)
	theirs.begin(t)
	for range 30 {
		if random.IntN(5) > 0 {
			ours.step(t, random, theirs)
		} else {
			theirs.step(t, random, ours)
		}
		if t.Failed() {
			t.Fatalf("HALLMARK_SEED=%d: one did\n  %s\nand the other\n  %s", seed, strings.Join(ours.log, "\n  "),
				strings.Join(theirs.log, "\n  "))
		}
	}
}

// machine is one machine with the project, and what its person did there.
type machine struct {
	*aProject
	home, dir string
	at        state
	approved  versions // the version of each server that was approved last; none if it was forgotten
	kit       bool     // the facet was installed, and that is remembered
	installed string   // the version of the facet of which files are there
	log       []string
}

func (p *aProject) newMachine(t *testing.T) *machine {
	t.Helper()
	p.count++
	m := &machine{aProject: p, home: filepath.Join(p.stage.Dir, fmt.Sprint("home", p.count)),
		dir: filepath.Join(p.stage.Dir, fmt.Sprint("project", p.count)), approved: versions{}}
	p.useHome(t, m.home)
	all := versions{"notes": "old", "local": "old", "kit": "old", facet: "old"}
	m.pull(t, state{declared: all, locked: all, elsewhere: true}) // of which this machine makes trees
	return m
}

// begin is a first day.
func (m *machine) begin(t *testing.T) {
	m.install(t, "--frozen")
	m.review(t)
	m.call(t, "notes")
}

func (m *machine) note(format string, a ...any) { m.log = append(m.log, fmt.Sprintf(format, a...)) }

// pull makes the project's files those of a state.
func (m *machine) pull(t *testing.T, s state) {
	t.Helper()
	m.note("pull: %v", s)
	m.write(t, m.dir, s)
	m.at = s.clone()
}

func (s state) clone() state {
	return state{declared: maps.Clone(s.declared), locked: maps.Clone(s.locked), elsewhere: s.elsewhere}
}

// anyState is what branches may hold: each server in one version or the other, or not at all; and locks that lost
// something, as if somebody had removed it in silence.
func anyState(random *rand.Rand) state {
	s := state{declared: versions{}, locked: versions{}, elsewhere: random.IntN(3) == 0}
	both := []string{"old", "new"}
	one := both[random.IntN(2)]
	mixed, lost := random.IntN(3) == 0, random.IntN(8)
	if random.IntN(8) == 0 {
		return s
	}
	for _, server := range servers {
		version := one
		if mixed {
			if random.IntN(5) == 0 {
				continue
			}
			version = both[random.IntN(2)]
		}
		s.declared[server] = version
		if lost == 0 || lost == 1 && random.IntN(2) == 0 { // all of them, or some
			continue
		}
		s.locked[server] = version
	}
	if version := s.declared["kit"]; version != "" && lost > 0 {
		s.locked[facet] = version
	}
	return s
}

// run is start of what is no matter of integrity: nobody changed a byte.
func (m *machine) run(t *testing.T, program string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	code, stdout, stderr = m.start(t, program, args...)
	if code == 3 || strings.Contains(strings.ReplaceAll(stderr, "integrity  sha256:", ""), "integrity") {
		t.Errorf("%s %q speaks of integrity (%d)\n%s%s", program, args, code, stdout, stderr)
	}
	return code, stdout, stderr
}

// start starts a program on the machine.
func (m *machine) start(t *testing.T, program string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := m.stage.Command(t.Context(), program, args...)
	cmd.Dir, cmd.Env = m.dir, append(slices.Clone(cmd.Env), "HALLMARK_HOME="+m.home)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code = cmd.ProcessState.ExitCode()
	m.note("%s %s: %d", program, strings.Join(args, " "), code)
	return code, out.String(), messages.String()
}

// step does one thing that people and their clients do, and compares what comes of it.
func (m *machine) step(t *testing.T, random *rand.Rand, other *machine) {
	t.Helper()
	server, version := servers[random.IntN(len(servers))], []string{"old", "new"}[random.IntN(2)]
	switch n := random.IntN(33); {
	case n < 6:
		if random.IntN(4) == 0 {
			m.pullFrom(t, other)
		} else {
			m.pull(t, anyState(random))
		}
		if random.IntN(2) == 0 { // as a day begins
			m.review(t)
			m.call(t, "notes")
		}
	case n < 12:
		m.call(t, server)
	case n < 15:
		m.review(t)
	case n < 17:
		m.install(t, [][]string{{"--frozen"}, {"--offline"}, {}}[random.IntN(3)]...)
	case n < 19:
		m.check(t)
	case n == 19:
		m.forget(t, server)
	case n < 22:
		m.pin(t, server, version)
	case n < 24:
		m.upgrade(t, server, version)
	case n == 24:
		m.unpin(t, server)
	case n == 25:
		m.remove(t)
	case n < 31:
		m.merge(t, random)
	default:
		// What no person says anything by: it approves nothing, and forgets nothing.
		plain := [][]string{{"list"}, {"scan", "--project"}, {"check"}, {"outdated"}}
		m.run(t, "hallmark", plain[random.IntN(len(plain))]...)
	}
	m.compareLock(t)
	m.compareMemory(t)
}

// compareMemory finds in what the machine remembers what its person approved and installed there: no more, and no less.
func (m *machine) compareMemory(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.home, "state", "projects", "*", "approvals.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	var memory project.Approvals
	world.Decode(t, readFile(t, files[0]), &memory)
	got := versions{}
	for name, approval := range memory.Servers {
		got[name] = m.entries[name+" "+approval.Entry.String()]
	}
	if !maps.Equal(got, m.approved) {
		t.Errorf("remembered are %v, not %v", got, m.approved)
	}
	if _, kit := memory.Facets["kit"]; kit != m.kit {
		t.Errorf("the facet is remembered: %v, not %v", kit, m.kit)
	}
}

// compareLock finds in the lock the entries that are expected, each as somebody pinned it.
func (m *machine) compareLock(t *testing.T) {
	t.Helper()
	got := versions{}
	if text := m.readLock(t); text != "" {
		for name, id := range m.identities(t, text) {
			if got[name] = m.entries[id]; got[name] == "" {
				t.Errorf("nobody pinned the entry %s of\n%s", id, text)
			}
		}
	}
	if !maps.Equal(got, m.at.locked) {
		t.Errorf("locked are %v, not %v", got, m.at.locked)
	}
}

// pullFrom takes what the other machine has, as it was committed there.
func (m *machine) pullFrom(t *testing.T, other *machine) {
	t.Helper()
	m.note("pull from the other: %v", other.at)
	m.copy(t, m.dir, other.dir)
	m.at = other.at.clone()
}

// install installs the facet, if it is locked. It asks about everything else, and here nobody answers.
func (m *machine) install(t *testing.T, how ...string) bool {
	t.Helper()
	code, _, _ := m.run(t, "hallmark", append([]string{"install"}, how...)...)
	if code == 0 {
		m.installed = m.at.locked[facet]
		m.kit = m.kit || m.installed != ""
	}
	return code == 0
}

// call calls a server and compares who answers with what was approved and is locked.
func (m *machine) call(t *testing.T, server string) {
	t.Helper()
	tool := map[string]string{"notes": m.tool, "local": "say", "kit": "args"}[server]
	code, out, messages := m.run(t, "client", "-call", tool, filepath.Join(m.stage.Bin, "hallmark"), "run", server)
	version := m.at.locked[server]
	answer := version
	if server == "notes" {
		answer = m.answers[version]
	}
	may := version != "" && m.at.declared[server] == version && m.approved[server] == version
	switch answered := strings.Contains(out, answer) && strings.Contains(out, tool+":"); {
	case may && (!world.Ended(code) || !answered):
		t.Errorf("%s of %v was approved and does not run (%d)\n%s%s", server, m.at, code, out, messages)
	case !may && (code == 0 || strings.Contains(out, "tool")):
		t.Errorf("%s of %v runs, and %q was approved\n%s", server, m.at, m.approved[server], out)
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
		if m.approved[s.Name] == m.at.locked[s.Name] {
			t.Errorf("%s of %v was approved, and is asked for again", s.Name, m.at)
		}
	}
	if len(waiting.Servers) == 0 {
		return
	}
	code, _, messages := m.run(t, "hallmark", "review", "--approve", waiting.Consent)
	// Whether its facet declares a server can be seen once the facet was here.
	later := code == 1 && strings.Contains(messages, "run 'hallmark install --frozen' first")
	if code != 0 && !later {
		t.Errorf("review of %v: %d\n%s", m.at, code, messages)
	}
	for _, s := range waiting.Servers {
		if !later || s.Name != "kit" {
			m.approved[s.Name] = m.at.locked[s.Name]
		}
	}
	if later && m.install(t, "--frozen") {
		m.review(t)
	}
}

// pin pins a server as it is declared, or, if it is a file, as somebody changed it. Where its entry was lost there is
// nothing to compare with, so that consent which was given beforehand is none; and a server of a facet that has none
// is left out until 'install' asks.
func (m *machine) pin(t *testing.T, server, version string) {
	t.Helper()
	switch declared := m.at.declared[server]; {
	case declared == "":
	case server == "local":
		m.note("change local: %s", version)
		m.writeLocal(t, m.dir, version)
		m.at.declared["local"] = version
	default:
		version = declared
	}
	code, _, messages := m.run(t, "hallmark", "pin", server, "--yes")
	locked := m.at.locked[server] != ""
	may := m.at.declared[server] != "" && (locked || m.approved[server] == "" && server != "kit")
	if may != (code == 0) {
		t.Errorf("%s of %v can be pinned: %v; pin: %d\n%s", server, m.at, may, code, messages)
	}
	if code == 0 {
		m.at.locked[server], m.approved[server] = version, version
	} else if server == "local" && locked { // and undoes the change
		m.at.declared["local"] = m.at.locked["local"]
		m.writeLocal(t, m.dir, m.at.locked["local"])
	}
}

// upgrade takes a version of a server, newer or older. What is up to date is not asked about.
func (m *machine) upgrade(t *testing.T, server, version string) {
	t.Helper()
	before, name := m.at.locked[server], server
	switch declared := m.at.declared[server]; {
	case server == "notes" && m.form != "":
		name += "@" + fmt.Sprintf(m.form, numbers[version])
	case server == "notes" && declared != "":
		m.note("declare notes: %s", version)
		changed := maps.Clone(m.at.declared)
		changed["notes"] = version
		m.writeConfig(t, m.dir, changed)
	case server == "notes":
	case server == "local": // nobody says what is newer
		version = declared
	case declared != "" && before != "":
		m.note("change the facet: %s", version)
		m.clear(t, filepath.Join(m.dir, "facet"))
		m.writeFacet(t, m.dir, version)
	default: // its facet's upgrade would lock it anew
		return
	}
	code, _, messages := m.run(t, "hallmark", "upgrade", name, "--yes")
	if may := m.at.declared[server] != "" && before != "" && !m.misses(server); may != (code == 0) {
		t.Errorf("%s of %v can be upgraded: %v; upgrade: %d\n%s", server, m.at, may, code, messages)
	}
	if code != 0 {
		m.writeConfig(t, m.dir, m.at.declared)
		return
	}
	if before != version {
		m.approved[server] = version
	}
	m.at.declared[server], m.at.locked[server] = version, version
	if server == "kit" {
		m.at.locked[facet], m.installed, m.kit = version, version, true
	}
}

// misses reports whether hallmark.toml declares another server that this machine accepted, and of which the lock has
// lost the entry. What writes the lock says so first; that of a facet's server stays owed all the same.
func (m *machine) misses(but string) bool {
	for _, server := range servers {
		lost := m.at.declared[server] != "" && m.at.locked[server] == "" && m.approved[server] != ""
		if lost && server != but && server != "kit" {
			return true
		}
	}
	return false
}

// unpin and forget are a person's word: what was approved is not missed any more.
func (m *machine) unpin(t *testing.T, server string) {
	t.Helper()
	code, _, messages := m.run(t, "hallmark", "unpin", server)
	if locked := m.at.locked[server] != ""; locked != (code == 0) {
		t.Errorf("%s of %v is locked: %v; unpin: %d\n%s", server, m.at, locked, code, messages)
	}
	if code == 0 {
		delete(m.at.locked, server)
		delete(m.approved, server)
	}
}

// remove takes the facet out of the project, with its server and all that is remembered of both.
func (m *machine) remove(t *testing.T) {
	t.Helper()
	code, _, messages := m.run(t, "hallmark", "remove", "kit", "--yes")
	if may := m.at.declared["kit"] != "" && !m.misses("kit"); may != (code == 0) {
		t.Errorf("kit of %v can be removed: %v; remove: %d\n%s", m.at, may, code, messages)
	}
	if code == 0 {
		delete(m.at.declared, "kit")
		delete(m.at.locked, "kit")
		delete(m.at.locked, facet)
		delete(m.approved, "kit")
		m.installed, m.kit = "", false
	}
}

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

// readLock is the text of the lock, or nothing.
func (m *machine) readLock(t *testing.T) string {
	t.Helper()
	return string(readFile(t, filepath.Join(m.dir, project.LockFile)))
}

func (m *machine) writeLock(t *testing.T, text string) {
	t.Helper()
	if text != "" {
		write(t, m.dir, project.LockFile, text)
	} else if err := os.RemoveAll(filepath.Join(m.dir, project.LockFile)); err != nil {
		t.Fatal(err)
	}
}

// check compares how a check ends with what a person did not approve, and with what is gone.
func (m *machine) check(t *testing.T) {
	t.Helper()
	code, out, messages := m.run(t, "hallmark", "check", "--offline")
	refused := m.at.declared["kit"] != m.at.locked[facet] || m.installed != "" && m.installed != m.at.locked[facet]
	for _, server := range servers {
		declared, locked := m.at.declared[server], m.at.locked[server]
		was, ok := m.approved[server]
		leftOut := server == "kit" && locked == "" // which anybody may do with a server of a facet
		refused = refused || declared != locked && !leftOut || ok && declared != "" && was != locked
	}
	if refused != (code == 4) {
		t.Errorf("check of %v ends with %d; approved is %v\n%s%s", m.at, code, m.approved, out, messages)
	}
}
