//go:build unix

package hashfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

const (
	tells  = `{"roots":{"listChanged":true}}`
	silent = `{"roots":{}}`
)

// rootModes are the ways in which a directory is allowed.
var rootModes = []struct {
	name, capabilities string
	flag               bool
}{
	{"flag", `{}`, true}, {"client that tells", tells, false}, {"client", silent, false}, {"both", silent, true},
	{"both, client that tells", tells, true},
}

// allowing starts a server that allows the directories in one of the ways.
func allowing(t *testing.T, mode int, dirs ...string) *rawClient {
	t.Helper()
	c := Config{}
	if rootModes[mode].flag {
		c.Roots = dirs
	}
	p := connectRaw(t, c, rootModes[mode].capabilities)
	p.lists(dirs...)
	return p
}

// TestRootReplaced: the directory that was named is served as what it is, and what it was is
// outside: moved away and made again, with and without a notification, removed and made
// again, and named through a link that is re-pointed.
func TestRootReplaced(t *testing.T) {
	for mode := range rootModes {
		t.Run(rootModes[mode].name, func(t *testing.T) {
			base := dir(t)
			root, old := filepath.Join(base, "root"), filepath.Join(base, "root.old")
			write(t, root, "f", "before\n")
			p := allowing(t, mode, root)
			read := p.read(root + "/f").ok()
			must(t, os.Rename(root, old))
			// Not there: nothing is served, and nothing is made.
			for _, path := range []string{root + "/f", old + "/f"} {
				if r := p.read(path); r.Error == "" {
					t.Errorf("%s is read: %s", path, r.Text)
				}
				if r := p.write(path+"2", "x\n"); r.Error == "" {
					t.Errorf("%s is written", path)
				}
				p.changed()
			}
			write(t, root, "f", "after\n")
			if r := p.read(root + "/f").ok(); !strings.Contains(r.Text, "|after") {
				t.Errorf("%s", r.Text)
			}
			p.read(old + "/f").refused("outside_roots")
			p.edit(root+"/f", read.hash(), replaceOp(read.anchor("before"), "edited")).refused("stale")
			// What was read in the one directory is nothing to merge into the other.
			r := p.call("edit_text_file",
				arguments{"path": root + "/f", "file_hash": read.hash(), "on_stale": "rebase",
					"operations": ops(
						arguments{"op": "insert_after", "anchor": read.anchor("before"), "content": "more"})}).refused("stale")
			r.says("no longer known")
			p.write(root+"/new", "x\n").ok()
			p.move(root+"/new", root+"/newer").ok()
			if r := p.search(".").ok(); strings.Contains(r.Text, "before") ||
				!strings.Contains(r.Text, "|after") {
				t.Error(r.Text)
			}
			if left, _ := os.ReadDir(old); len(left) != 1 || content(t, old+"/f") != "before\n" {
				t.Errorf("%v in the directory that was moved away", left)
			}
			// Removed and made again, where the system gives the number again.
			for range 5 {
				must(t, os.RemoveAll(root))
				write(t, root, "f", "again\n")
				read := p.read(root + "/f").ok()
				must(t, os.RemoveAll(root))
				write(t, root, "f", "again, and other\nlines\n")
				p.call("edit_text_file",
					arguments{"path": root + "/f", "file_hash": read.hash(), "on_stale": "rebase",
						"operations": ops(
							arguments{"op": "insert_before", "anchor": read.anchor("again"),
								"content": "more"})}).refused("stale")
			}
			// It becomes a file, a link to nothing, a link to itself.
			must(t, os.RemoveAll(root))
			for _, make := range []func() error{
				func() error { return os.WriteFile(root, nil, 0o600) },
				func() error { return os.Symlink("none", root) },
				func() error { return os.Symlink("root", root) }, func() error { return syscall.Mkfifo(root, 0o600) },
			} {
				must(t, make())
				for tool, r := range map[string]reply{
					"read":    p.read(root + "/f"),
					"mkdir":   p.mkdir(root + "/d"),
					"list":    p.list(root),
					"allowed": p.list(),
				} {
					if r.Error == "" {
						t.Errorf("%s: %s", tool, r.Text)
					}
				}
				must(t, os.Remove(root))
			}
		})
	}
}

// TestRootRelinked: whoever names a link agrees to where it leads, also later.
func TestRootRelinked(t *testing.T) {
	for mode := range rootModes {
		t.Run(rootModes[mode].name, func(t *testing.T) {
			base := dir(t)
			for _, name := range []string{"v1", "v2"} {
				write(t, base, name+"/f", name+"\n")
			}
			link := filepath.Join(base, "current")
			must(t, os.Symlink("v1", link))
			p := allowing(t, mode, link)
			p.read(link + "/f").ok().anchor("v1")
			p.read(base + "/v1/f").ok()
			p.read(base + "/v2/f").refused("outside_roots")
			must(t, os.Symlink("v2", link+".new"))
			must(t, os.Rename(link+".new", link))
			read := p.read(link + "/f").ok()
			p.edit("f", read.hash(), replaceOp(read.anchor("v2"), "edited")).ok()
			p.read(base + "/v1/f").refused("outside_roots")
			p.write(base+"/v1/g", "").refused("outside_roots")
			if r := p.list().ok(); !slices.Equal(r.directories(), []string{base + "/v2"}) {
				t.Error(r.Text)
			}
			if content(t, base+"/v1/f") != "v1\n" || content(t, base+"/v2/f") != "edited\n" {
				t.Error("written to the wrong one")
			}
		})
	}
}

// TestRootLinkInContent: a link that lies in an allowed directory is content, which makes no
// allowed directory of what nobody named.
func TestRootLinkInContent(t *testing.T) {
	for mode, m := range rootModes[:3] {
		t.Run(m.name, func(t *testing.T) {
			base := dir(t)
			write(t, base, "secret/f", "SECRET\n")
			write(t, base, "vendor/f", "vendor\n")
			write(t, base, "project/docs/f", "docs\n")
			project := filepath.Join(base, "project")
			link := filepath.Join(project, "vendor")
			must(t, os.Symlink("../vendor", link))
			p := allowing(t, mode, project, link, project+"/docs")
			p.read(link + "/f").ok()
			p.read(project + "/docs/f").ok()
			// A branch is checked out that brings other links along.
			must(t, os.Remove(link))
			must(t, os.RemoveAll(project+"/docs"))
			must(t, os.Symlink("../secret", link))
			must(t, os.Symlink("../secret", project+"/docs"))
			for _, path := range []string{link, project + "/docs", base + "/secret"} {
				for tool, r := range map[string]reply{
					"read":  p.read(path + "/f"),
					"list":  p.list(path),
					"write": p.write(path+"/new", "x\n"),
				} {
					if r.Error == "" || strings.Contains(r.Text, "SECRET") {
						t.Errorf("%s %s: %s", tool, path, r.Text)
					}
				}
			}
			p.list(project).ok()
			if left, _ := os.ReadDir(base + "/secret"); len(left) != 1 {
				t.Errorf("%v", left)
			}
			// The way back is what was agreed to.
			must(t, os.Remove(link))
			must(t, os.Symlink("../vendor", link))
			p.read(link + "/f").ok()
			// What an allowed directory is named by is not moved.
			must(t, os.Remove(project+"/docs"))
			write(t, project, "docs/f", "docs\n")
			p.move(project+"/docs", project+"/d").refused("read_only")
		})
	}
}

// TestRootLinkInContentRace puts such a link there and takes it away all the time.
func TestRootLinkInContentRace(t *testing.T) {
	for mode, m := range rootModes[:3] {
		t.Run(m.name, func(t *testing.T) {
			base := dir(t)
			write(t, base, "secret/sub/f", "SECRET\n")
			write(t, base, "project/docs/sub/f", "docs\n")
			project := filepath.Join(base, "project")
			p := allowing(t, mode, project, project+"/docs/sub")
			p.list().ok() // a client names its roots when it is asked
			served := 0
			race(t, project+"/docs", "../secret", func() {
				for tool, args := range map[string]arguments{
					"read_text_file": {"path": project + "/docs/sub/f"}, "search_files": {"pattern": "."},
					"write_text_file": {"path": project + "/docs/sub/new", "content": "x\n"},
					"list_directory":  {},
				} {
					r := p.call(tool, args)
					if r.Error == "" {
						served++
					}
					if strings.Contains(r.Text, "SECRET") || strings.Contains(r.Text, "secret") {
						t.Fatalf("%s: %s", tool, r.Text)
					}
				}
				os.Remove(project + "/docs/sub/new")
			})
			if left, _ := os.ReadDir(base + "/secret/sub"); len(left) != 1 || served == 0 {
				t.Errorf("%v, %d calls were served", left, served)
			}
		})
	}
}

// TestRootMovedWhileWritten moves the directory away while files are written: those that were
// reported are there, others are not, and nothing else is left.
func TestRootMovedWhileWritten(t *testing.T) {
	base := dir(t)
	root := filepath.Join(base, "root")
	must(t, os.Mkdir(root, 0o755))
	p := allowing(t, 0, root)
	for round := range 60 {
		name := fmt.Sprint("n", round)
		began := p.begin("tools/call",
			params("write_text_file", arguments{"path": root + "/" + name, "content": "x\n"}))
		time.Sleep(time.Duration(round%12) * 100 * time.Microsecond)
		old := fmt.Sprintf("%s.old%d", root, round)
		must(t, os.Rename(root, old))
		must(t, os.Mkdir(root, 0o755))
		r := outcome(t, <-began)
		_, inOld := os.Stat(filepath.Join(old, name))
		_, inNew := os.Stat(filepath.Join(root, name))
		if (r.Error == "") != (inOld == nil || inNew == nil) {
			t.Errorf("%q %s; old %v, new %v", r.Error, r.Text, inOld, inNew)
		}
		tidy(t, old)
		tidy(t, root)
	}
}

// TestRootsTakenBack: a client that does not tell of changes is asked before each call, and
// one that does after each change; a call without an answer is refused, in time.
func TestRootsTakenBack(t *testing.T) {
	base := dir(t)
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	write(t, a, "f", "a\n")
	write(t, b, "f", "b\n")
	bad := []string{
		`"result":{}`, `"result":{"roots":null}`, `"result":{"roots":"all"}`, `"result":{"roots":[null]}`,
		`"result":{"roots":[{"name":"x"}]}`,
		`"result":{"roots":{}}`, `"result":null`, `"result":[]`, `"error":{"code":-32603,"message":"no"}`,
		`"result":{"roots":[{"uri":7}]}`,
	}
	for _, flags := range [][]string{nil, {base}} {
		for _, capabilities := range []string{tells, silent} {
			t.Run(fmt.Sprint(flags != nil, capabilities), func(t *testing.T) {
				t.Parallel()
				p := connectRaw(t, Config{Roots: flags, RootsWait: hang.Long}, capabilities)
				next := func() {
					if capabilities == tells {
						p.changed()
					}
				}
				can := func(which string) {
					t.Helper()
					for dir, name := range map[string]string{a: "a", b: "b"} {
						r, w := p.read(dir+"/f"),
							p.write(dir+"/f", "x")
						switch strings.Contains(which, name) {
						case true:
							r.ok()
							w.refused("exists")
						default:
							r.refused("outside_roots")
							w.refused("outside_roots")
						}
					}
				}
				p.lists(a, b)
				can("ab")
				before := p.questions()
				can("ab")
				if n := p.questions() - before; capabilities == tells && n != 0 || capabilities == silent && n != 4 {
					t.Errorf("four calls asked %d times", n)
				}
				p.lists(b)
				next()
				can("b")
				p.lists()
				next()
				can("")
				p.lists(a)
				next()
				can("a")
				for _, answer := range bad {
					p.replies(answer)
					next()
					can("")
					p.lists(a)
					can("a") // a refusal is not kept
				}
				p = connectRaw(t, Config{Roots: flags, RootsWait: 200 * time.Millisecond}, capabilities)
				p.silent()
				can("") // no call waits until the client answers
				p.lists(a)
				hang.Until(t, "what the client tells counts again", func() bool {
					return p.read(a+"/f").Error == ""
				})
			})
		}
	}
}

// TestRootsInFlight: calls at once share a question, but none takes an answer to one that was
// put before it came; a notification while the client is asked makes it be asked again.
func TestRootsInFlight(t *testing.T) {
	base := dir(t)
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	write(t, a, "f", "a\n")
	write(t, b, "f", "b\n")
	for _, capabilities := range []string{tells, silent} {
		t.Run(capabilities, func(t *testing.T) {
			p := connectRaw(t, Config{}, capabilities)
			p.lists(a)
			p.read(a + "/f").ok()
			// The client is slow, and takes a root back before it answers as it had been.
			asked := make(chan string, 10)
			p.mu.Lock()
			p.answer = func(id jsonID) string { asked <- string(id); return "" }
			p.mu.Unlock()
			if capabilities == tells {
				p.changed()
			}
			first := p.begin("tools/call", params("read_text_file", arguments{"path": a + "/f"}))
			var id string
			select {
			case id = <-asked:
			case <-time.After(hang.Long):
				t.Fatal("the client is not asked")
			}
			p.changed()
			late := p.begin("tools/call", params("read_text_file", arguments{"path": a + "/f"}))
			time.Sleep(20 * time.Millisecond)
			p.lists(b)
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file://%s"}]}}`, id, a))
			for _, w := range []<-chan rawMessage{first, late} {
				outcome(t, <-w).refused("outside_roots")
			}
			p.read(b + "/f").ok()
			// Many at once.
			before := p.questions()
			var all []<-chan rawMessage
			for range 200 {
				all = append(all, p.begin("tools/call", params("read_text_file", arguments{"path": b + "/f"})))
			}
			for _, w := range all {
				outcome(t, <-w).ok()
			}
			if n := p.questions() - before; n > 200 || capabilities == tells && n > 0 {
				t.Errorf("200 calls asked %d times", n)
			}
			// A call that is canceled while it asks refuses no other.
			p.silent()
			p.changed()
			p.begin("tools/call", params("read_text_file", arguments{"path": b + "/f"}))
			time.Sleep(20 * time.Millisecond)
			late = p.begin("tools/call", params("read_text_file", arguments{"path": b + "/f"}))
			time.Sleep(20 * time.Millisecond)
			p.lists(b)
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
				p.id-1))
			outcome(t, <-late).ok()
		})
	}
}

// TestRootsOfACall: from 2026-07-28 on each call says by itself whether the client has roots,
// and brings them along; no call uses those of another one.
func TestRootsOfACall(t *testing.T) {
	base := dir(t)
	write(t, base, "a/f", "a\n")
	write(t, base, "b/f", "b\n")
	p := connectBare(t, Config{Roots: []string{base}})
	ask := func(name, capabilities, responses string) rawMessage {
		return p.ask("tools/call",
			fmt.Sprintf(`{"name":"read_text_file","arguments":{"path":%q}%s,`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},`+
				`"io.modelcontextprotocol/clientCapabilities":%s}}`,
				filepath.Join(base, name, "f"), responses, capabilities))
	}
	bring := func(roots string) string { return `,"inputResponses":{"roots":{"roots":` + roots + `}}` }
	one := func(name string) string { return fmt.Sprintf(`[{"uri":"file://%s"}]`, filepath.Join(base, name)) }
	outcome(t, ask("a", `{}`, "")).ok()
	if m := ask("a", silent, ""); m.Error != nil || len(m.Result.Content) > 0 {
		t.Errorf("a client with roots is not asked for them: %+v", m)
	}
	outcome(t, ask("a", silent, bring(one("a")))).ok()
	outcome(t, ask("b", silent, bring(one("a")))).refused("outside_roots")
	outcome(t, ask("b", silent, bring(one("b")))).ok()
	outcome(t, ask("a", silent, bring(one("b")))).refused("outside_roots")
	outcome(t, ask("a", silent, bring(`[]`))).refused("outside_roots")
	for _, roots := range []string{`[null]`, `[{"name":"x"}]`} {
		if m := ask("a", silent, bring(roots)); m.Error == nil {
			outcome(t, m).refused("outside_roots")
		}
	}
}

// state is every file below a directory, by path, without following links.
func state(t *testing.T, base string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		found[path] = e.Type().String()
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			found[path] = string(data)
			return err
		}
		return nil
	}))
	return found
}

// TestRootSequences changes what paths stand for, and which of them are allowed, in every
// order, and calls every tool on every path between. Nothing outside the directories that
// are allowed now is read, written or told of; what is inside is served. HALLMARK_SEQUENCES
// is how many sequences of each kind.
func TestRootSequences(t *testing.T) {
	seeds, _ := strconv.Atoi(os.Getenv("HALLMARK_SEQUENCES"))
	seeds = max(seeds, 2)
	for mode := range rootModes {
		for seed := range seeds {
			t.Run(fmt.Sprint(rootModes[mode].name, " ", seed), func(t *testing.T) {
				t.Parallel()
				newWorld(t, mode, uint64(seed)).play(120)
			})
		}
	}
}

// world is a directory in which things change, and what is allowed in it.
type world struct {
	t       *testing.T
	r       *rand.Rand
	base    string
	disk    string // what is mounted, which is seen nowhere else
	p       *rawClient
	mode    int
	flags   []string // --root
	listed  []string // the client's
	made    int      // directories so far
	mounted []string
	log     []string
	read    map[string]string // the hash of a path when it was last read
	flagged map[string]agreement
	agreed  map[string]agreement // of what the client lists
}

// agreement is what a root was when it was named: a link that was not there then makes no root
// of another directory.
type agreement struct {
	real    string
	through []string
}

func agreeTo(path string) (a agreement) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		a.real, a.through = real, chainOf(path)
	}
	return a
}

// chainOf are the links that a path leads through; in a world all have absolute targets.
func chainOf(path string) (links []string) {
	for to, err := os.Readlink(path); err == nil && len(links) < 40; to, err = os.Readlink(path) {
		links, path = append(links, path), to
	}
	return links
}

// holds reports whether a root may be used as what it is now.
func (a agreement) holds(path string) bool {
	return realOf(path) == a.real ||
		!slices.ContainsFunc(chainOf(path), func(link string) bool { return !slices.Contains(a.through, link) })
}

// agree names what the client lists, as a server does when it asks, and reports whether
// anything is new.
func (w *world) agree() (fresh bool) {
	now := map[string]agreement{}
	for _, path := range w.listed {
		a, ok := w.agreed[path]
		if !ok {
			a, fresh = agreeTo(path), true
		}
		now[path] = a
	}
	w.agreed = now
	return fresh
}

// usable are the directories of what was named that may be used as what they are now.
func usable(dirs []string, named map[string]agreement) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return !named[dir].holds(dir) })
}

// Names of the world: those that may be allowed, and others. None lies in another.
var (
	rootNames  = []string{"r1", "r2", "deep/r3"}
	otherNames = []string{"o1", "o2", "deep/o3"}
)

func newWorld(t *testing.T, mode int, seed uint64) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, uint64(mode))), base: dir(t), disk: dir(t), mode: mode,
		read: map[string]string{}}
	must(t, os.Mkdir(filepath.Join(w.base, "deep"), 0o755))
	for _, name := range slices.Concat(rootNames, otherNames) {
		w.make(filepath.Join(w.base, name))
	}
	for _, name := range rootNames {
		w.listed = append(w.listed, filepath.Join(w.base, name))
	}
	if rootModes[mode].flag {
		w.flags, w.flagged = slices.Clone(w.listed), map[string]agreement{}
		for _, path := range w.flags {
			w.flagged[path] = agreeTo(path)
		}
	}
	w.p = allowing(t, mode, w.listed...)
	t.Cleanup(func() {
		for _, m := range w.mounted {
			unmount(m)
		}
		if t.Failed() {
			t.Logf("%s", strings.Join(w.log[max(0, len(w.log)-12):], "\n"))
		}
	})
	return w
}

// make makes a directory whose files bear a mark of their own.
func (w *world) make(path string) {
	w.made++
	mark := fmt.Sprintf("<%d>", w.made)
	write(w.t, path, "f", mark+"\nline\n")
	write(w.t, path, "sub/g", mark+"\n")
}

func (w *world) pick(names ...string) string {
	return filepath.Join(w.base, names[w.r.IntN(len(names))])
}

// change changes what a path stands for, or what is allowed.
func (w *world) change() string {
	root, other := w.pick(rootNames...), w.pick(otherNames...)
	note := func(what string, err error) string { return fmt.Sprintf("%s %s %s: %v", what, root, other, err) }
	switch w.r.IntN(9) {
	case 0: // moved away, and perhaps made again
		err := os.Rename(root, fmt.Sprintf("%s.old%d", root, w.made))
		if err == nil && w.r.IntN(2) == 0 {
			w.make(root)
		}
		return note("rename", err)
	case 1:
		if slices.Contains(w.mounted, root) {
			return ""
		}
		err := os.RemoveAll(root)
		if w.r.IntN(2) == 0 {
			w.make(root)
		}
		return note("remove", err)
	case 2: // a link, or one that leads elsewhere
		if st, err := os.Lstat(root); err == nil && st.IsDir() &&
			os.Rename(root, fmt.Sprintf("%s.was%d", root, w.made)) != nil {
			return ""
		}
		w.made++
		os.Remove(root)
		to := other
		if w.r.IntN(3) == 0 {
			to = w.pick(rootNames...)
		}
		return note("link to "+to, os.Symlink(to, root))
	case 3: // two are exchanged
		spare := filepath.Join(w.base, "spare")
		return note("exchange", errors.Join(os.Rename(root, spare), os.Rename(other, root), os.Rename(spare, other)))
	case 4: // the directory above is replaced
		deep := filepath.Join(w.base, "deep")
		if slices.ContainsFunc(w.mounted, func(m string) bool { return strings.HasPrefix(m, deep) }) {
			return ""
		}
		w.made++
		err := errors.Join(os.Rename(deep, fmt.Sprintf("%s.old%d", deep, w.made)), os.Mkdir(deep, 0o755))
		for _, name := range []string{"r3", "o3"} {
			w.make(filepath.Join(deep, name))
		}
		return note("deep", err)
	case 5: // something is mounted, or not any more
		if i := slices.Index(w.mounted, root); i >= 0 {
			w.mounted = slices.Delete(w.mounted, i, i+1)
			return note("unmount", unmount(root))
		}
		if st, err := os.Lstat(root); err != nil || !st.IsDir() || os.Getuid() != 0 {
			return ""
		}
		w.made++
		from := filepath.Join(w.disk, fmt.Sprint(w.made))
		w.make(from)
		err := mount(from, root)
		if err == nil {
			w.mounted = append(w.mounted, root)
		}
		return note("mount", err)
	case 6: // made where nothing is
		if _, err := os.Lstat(root); err != nil {
			w.make(root)
		}
		return note("make", nil)
	default: // other roots
		if w.p.answer == nil || rootModes[w.mode].capabilities == `{}` {
			return ""
		}
		w.listed = nil
		for _, name := range slices.Concat(rootNames, otherNames) {
			if w.r.IntN(2) == 0 {
				w.listed = append(w.listed, filepath.Join(w.base, name))
			}
		}
		w.p.lists(w.listed...)
		if rootModes[w.mode].capabilities == tells {
			w.p.changed()
		}
		return fmt.Sprintf("list %q", w.listed)
	}
}

// within reports whether a path is now in one of the directories.
func within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return false
		}
		if st, err := os.Stat(real); err != nil || !st.IsDir() {
			return false
		}
		_, ok := place.CutDir(real, path)
		return ok
	})
}

// found reports whether the path is that of an allowed directory by name, or below it: others
// may lead into one, but are not looked up.
func (w *world) found(path string) bool {
	may := func(dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			_, named := place.CutDir(dir, path)
			_, real := place.CutDir(realOf(dir), path)
			return named || real
		})
	}
	return (!rootModes[w.mode].flag || may(usable(w.flags, w.flagged))) &&
		(rootModes[w.mode].capabilities == `{}` || may(usable(w.listed, w.agreed)))
}

// allowed reports whether a path, resolved by the system, may be used now.
func (w *world) allowed(path string) bool {
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return false
	}
	real = filepath.Join(real, filepath.Base(path))
	if to, err := filepath.EvalSymlinks(real); err == nil {
		real = to
	}
	if rootModes[w.mode].flag && !within(real, usable(w.flags, w.flagged)) {
		return false
	}
	return rootModes[w.mode].capabilities == `{}` || within(real, usable(w.listed, w.agreed))
}

func (w *world) play(steps int) {
	t := w.t
	served := 0
	for range steps {
		for range w.r.IntN(3) {
			if what := w.change(); what != "" {
				w.log = append(w.log, what)
			}
		}
		if w.agree() { // what is wrong with a call may be said before the client is asked
			w.p.list()
		}
		dirs, err := filepath.Glob(w.base + "/*")
		must(t, err)
		deep, _ := filepath.Glob(w.base + "/deep*/*")
		dirs = append(dirs, deep...)
		d, d2 := dirs[w.r.IntN(len(dirs))], dirs[w.r.IntN(len(dirs))]
		if w.r.IntN(2) == 0 {
			d = w.pick(rootNames...)
		}
		path := filepath.Join(d, []string{"f", "sub/g", "n1", "n2"}[w.r.IntN(4)])
		before := state(t, w.base)
		_, err = os.Lstat(path)
		exists, may := err == nil, w.allowed(path)
		var r reply
		tool := []string{"read", "edit", "write", "rewrite", "move", "list", "tree", "search", "info", "mkdir",
			"several", "directories"}[w.r.IntN(12)]
		expect := exists
		switch tool {
		case "read":
			r = w.p.read(path)
			if r.Error == "" {
				w.read[path] = r.hash()
			}
			st, err := os.Stat(path)
			expect = err == nil && st.Mode().IsRegular()
		case "edit":
			hash := w.read[path]
			if hash == "" {
				hash = sum(nil).String()
			}
			r = w.p.call("edit_text_file",
				arguments{"path": path, "file_hash": hash, "on_stale": []string{"reject", "rebase"}[w.r.IntN(2)],
					"operations": ops(
						arguments{"op": "insert_after", "anchor": "1:" + tagOf(before[realOf(path)]),
							"content": "edited"})})
			expect = exists && strings.HasPrefix(sum([]byte(before[realOf(path)])).String(), hash) // as it is shown
			if r.Error == "" && !expect && !strings.Contains(r.Text, "[rebased onto") && !strings.Contains(r.Text, "merged onto it]") {
				t.Errorf("%s: an edit for %s of %q", path, hash, before[realOf(path)])
			}
			delete(w.read, path)
		case "write":
			r = w.p.write(path, "new\n")
			_, err := os.Stat(filepath.Dir(path))
			expect = !exists && err == nil
		case "rewrite":
			r = w.p.write(path, before[realOf(path)]+"re\n", sum([]byte(before[realOf(path)])).String())
			st, err := os.Stat(path)
			expect = err == nil && st.Mode().IsRegular()
		case "move":
			to := filepath.Join(d2, fmt.Sprint("moved", w.made))
			r = w.p.move(path, to)
			expect, may = false, may && w.allowed(to)
		case "list":
			r = w.p.list(d)
			st, err := os.Stat(d)
			path, expect, may = d, err == nil && st.IsDir(), w.allowed(d)
		case "tree":
			r = w.p.tree(d)
			st, err := os.Stat(d)
			path, expect, may = d, err == nil && st.IsDir(), w.allowed(d)
		case "search":
			r = w.p.search("<")
			expect, may = false, true
		case "info":
			r = w.p.list(path)
		case "mkdir":
			path = filepath.Join(d, fmt.Sprint("made", w.made))
			r = w.p.mkdir(path)
			expect, may = false, w.allowed(path)
		case "several":
			r = w.p.call("read_multiple_files", arguments{"paths": []string{path, d + "/f"}})
			expect, may = true, true
		case "directories":
			r = w.p.list()
			expect, may = false, true
			for _, allowed := range r.directories() {
				if !w.allowed(allowed) {
					t.Errorf("allowed is %s", allowed)
				}
			}
		}
		w.log = append(w.log, fmt.Sprintf("%s %s (allowed %v): %q %.80q", tool, path, may, r.Error, r.Text))
		switch {
		case r.Error == "" && !may:
			t.Errorf("%s %s is served: %s", tool, path, r.Text)
		case r.Error != "" && may && expect && w.found(path):
			t.Errorf("%s %s is refused: %s", tool, path, r.Text)
		case r.Error == "":
			served++
		}
		// No mark of a file that may not be read is told.
		for file, text := range before {
			if mark, _, ok := strings.Cut(text, ">"); ok && strings.HasPrefix(mark, "<") &&
				strings.Contains(r.Text, mark+">") && !w.allowedMark(before, mark+">") {
				t.Errorf("%s %s tells of %s: %s", tool, path, file, r.Text)
			}
		}
		// Only what may be written was.
		after := state(t, w.base)
		for file := range union(before, after) {
			if before[file] != after[file] && !w.allowed(file) {
				t.Errorf("%s %s changed %s from %q to %q", tool, path, file, before[file], after[file])
			}
			if strings.HasSuffix(file, ".tmp") {
				t.Errorf("%s is left", file)
			}
		}
		if t.Failed() {
			return
		}
	}
	if served < steps/10 {
		t.Errorf("only %d calls were served", served)
	}
}

// allowedMark reports whether some file with a mark may be read.
func (w *world) allowedMark(files map[string]string, mark string) bool {
	for file, text := range files {
		if strings.HasPrefix(text, mark) && w.allowed(file) {
			return true
		}
	}
	return false
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func realOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
