//go:build unix

package hashfile

import (
	"cmp"
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

// inEachMode runs a test with each of the ways to allow directories, and a directory for it.
func inEachMode(t *testing.T, test func(t *testing.T, base string, allow func(dirs ...string) *rawClient)) {
	for mode, m := range rootModes {
		t.Run(m.name, func(t *testing.T) {
			test(t, dir(t), func(dirs ...string) *rawClient { return allowing(t, mode, dirs...) })
		})
	}
}

// entries demands that a directory has so many.
func entries(t *testing.T, dir string, want int) {
	t.Helper()
	if left, _ := os.ReadDir(dir); len(left) != want {
		t.Errorf("%s holds %v", dir, left)
	}
}

// withheld demands that answers are refusals, and that none tells a secret.
func withheld(t *testing.T, all ...reply) {
	t.Helper()
	for i, r := range all {
		if r.Error == "" || strings.Contains(r.Text, "SECRET") {
			t.Errorf("call %d: %s", i, r.Text)
		}
	}
}

// TestRootReplaced: the directory that was named is served as what it is, and what it was is
// outside: moved away and made again, with and without a notification, removed and made
// again, and named through a link that is re-pointed.
func TestRootReplaced(t *testing.T) {
	inEachMode(t, func(t *testing.T, base string, allow func(dirs ...string) *rawClient) {
		root, old := filepath.Join(base, "root"), filepath.Join(base, "root.old")
		f := write(t, root, "f", "before\n")
		p := allow(root)
		read := p.read(f).ok()
		must(t, os.Rename(root, old))
		// Not there: nothing is served, and nothing is made.
		for _, dir := range []string{root, old} {
			withheld(t, p.read(dir+"/f"), p.write(dir+"/f2", "x\n"))
			p.changed()
		}
		write(t, root, "f", "after\n")
		p.read(f).ok().says("|after")
		p.read(old + "/f").refused("outside_roots")
		p.edit(f, read.hash(), replaceOp(read.anchor("before"), "edited")).refused("stale")
		// What was read in the one directory is nothing to merge into the other.
		p.rebase(f, read.hash(), insertOp(read.anchor("before"), "more")).refused("stale").says("no longer known")
		allOK(p.write(root+"/new", "x\n"), p.move(root+"/new", root+"/newer"))
		p.search(".").ok().says("|after").not("before")
		if entries(t, old, 1); content(t, old+"/f") != "before\n" {
			t.Error("the directory that was moved away is changed")
		}
		// Removed and made again, where the system gives the number again.
		for range 5 {
			must(t, os.RemoveAll(root))
			write(t, root, "f", "again\n")
			read := p.read(f).ok()
			must(t, os.RemoveAll(root))
			write(t, root, "f", "again, and other\nlines\n")
			p.rebase(f, read.hash(), insertOp(read.anchor("again"), "more")).refused("stale")
		}
		// It becomes a file, a link to nothing, a link to itself, a pipe.
		must(t, os.RemoveAll(root))
		for _, make := range []func() error{
			func() error { return os.WriteFile(root, nil, 0o600) },
			func() error { return os.Symlink("none", root) },
			func() error { return os.Symlink("root", root) },
			func() error { return syscall.Mkfifo(root, 0o600) },
		} {
			must(t, make())
			withheld(t, p.read(f), p.mkdir(root+"/d"), p.list(root), p.list())
			must(t, os.Remove(root))
		}
	})
}

// TestRootRelinked: whoever names a link agrees to where it leads, also later.
func TestRootRelinked(t *testing.T) {
	inEachMode(t, func(t *testing.T, base string, allow func(dirs ...string) *rawClient) {
		v1, v2 := write(t, base, "v1/f", "v1\n"), write(t, base, "v2/f", "v2\n")
		current := link(t, base, "current", "v1")
		p := allow(current)
		p.read(current + "/f").ok().anchor("v1")
		p.read(v1).ok()
		p.read(v2).refused("outside_roots")
		must(t, os.Rename(link(t, base, "new", "v2"), current))
		p.replace(current+"/f", "v2", "edited").ok()
		allRefused("outside_roots", p.read(v1), p.write(base+"/v1/g", ""))
		if r := p.list().ok(); !slices.Equal(r.directories(), []string{base + "/v2"}) {
			t.Error(r.Text)
		}
		if content(t, v1) != "v1\n" || content(t, v2) != "edited\n" {
			t.Error("written to the wrong one")
		}
	})
}

// TestRootLinkInContent: a link that lies in an allowed directory is content, which makes no
// allowed directory of what nobody named.
func TestRootLinkInContent(t *testing.T) {
	inEachMode(t, func(t *testing.T, base string, allow func(dirs ...string) *rawClient) {
		writeAll(t, base, "secret/f", "SECRET\n", "vendor/f", "vendor\n", "project/docs/f", "docs\n")
		project := filepath.Join(base, "project")
		vendor, docs := link(t, project, "vendor", "../vendor"), filepath.Join(project, "docs")
		p := allow(project, vendor, docs)
		allOK(p.read(vendor+"/f"), p.read(docs+"/f"))
		// A branch is checked out that brings other links along.
		must(t, errors.Join(os.Remove(vendor), os.RemoveAll(docs)))
		link(t, project, "vendor", "../secret")
		link(t, project, "docs", "../secret")
		for _, path := range []string{vendor, docs, base + "/secret"} {
			withheld(t, p.read(path+"/f"), p.list(path), p.write(path+"/new", "x\n"))
		}
		p.list(project).ok()
		entries(t, base+"/secret", 1)
		// The way back is what was agreed to.
		must(t, errors.Join(os.Remove(vendor), os.Remove(docs)))
		link(t, project, "vendor", "../vendor")
		p.read(vendor + "/f").ok()
		// What an allowed directory is named by is not moved.
		write(t, docs, "f", "docs\n")
		p.move(docs, project+"/d").refused("read_only")
	})
}

// TestRootLinkInContentRace puts such a link there and takes it away all the time.
func TestRootLinkInContentRace(t *testing.T) {
	inEachMode(t, func(t *testing.T, base string, allow func(dirs ...string) *rawClient) {
		write(t, base, "secret/sub/f", "SECRET\n")
		write(t, base, "project/docs/sub/f", "docs\n")
		project, sub := filepath.Join(base, "project"), filepath.Join(base, "project/docs/sub")
		p := allow(project, sub)
		p.list().ok() // a client names its roots when it is asked
		served := 0
		race(t, project+"/docs", "../secret", func() {
			for _, r := range []reply{p.read(sub + "/f"), p.search("."), p.write(sub+"/new", "x\n"), p.list()} {
				if r.Error == "" {
					served++
				}
				if r.not("SECRET", "secret"); t.Failed() {
					t.FailNow()
				}
			}
			os.Remove(sub + "/new")
		})
		if entries(t, base+"/secret/sub", 1); served == 0 {
			t.Error("no call was served")
		}
	})
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

// badRoots are answers to the question for roots that name none.
var badRoots = []string{
	`"result":{}`, `"result":{"roots":null}`, `"result":{"roots":"all"}`, `"result":{"roots":[null]}`,
	`"result":{"roots":[{"name":"x"}]}`, `"result":{"roots":{}}`, `"result":null`, `"result":[]`,
	`"error":{"code":-32603,"message":"no"}`, `"result":{"roots":[{"uri":7}]}`,
}

// TestRootsTakenBack: a client that does not tell of changes is asked before each call, and
// one that does after each change; a call without an answer is refused, in time.
func TestRootsTakenBack(t *testing.T) {
	base := dir(t)
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	write(t, a, "f", "a\n")
	write(t, b, "f", "b\n")
	for _, flags := range [][]string{nil, {base}} {
		for _, capabilities := range []string{tells, silent} {
			t.Run(fmt.Sprint(flags != nil, capabilities), func(t *testing.T) {
				t.Parallel()
				p := connectRaw(t, Config{Roots: flags, RootsWait: hang.Long}, capabilities)
				can := func(dirs ...string) {
					t.Helper()
					for _, dir := range []string{a, b} {
						r, w := p.read(dir+"/f"), p.write(dir+"/f", "x")
						if slices.Contains(dirs, dir) {
							r.ok()
							w.refused("exists")
						} else {
							r.refused("outside_roots")
							w.refused("outside_roots")
						}
					}
				}
				next := func() {
					if capabilities == tells {
						p.changed()
					}
				}
				p.lists(a, b)
				can(a, b)
				before := p.questions()
				can(a, b)
				if n := p.questions() - before; capabilities == tells && n != 0 || capabilities == silent && n != 4 {
					t.Errorf("four calls asked %d times", n)
				}
				for _, dirs := range [][]string{{b}, {}, {a}} {
					p.lists(dirs...)
					next()
					can(dirs...)
				}
				for _, answer := range badRoots {
					p.replies(answer)
					next()
					can()
					p.lists(a)
					can(a) // a refusal is not kept
				}
				p = connectRaw(t, Config{Roots: flags, RootsWait: 200 * time.Millisecond}, capabilities)
				p.silent()
				can() // no call waits until the client answers
				p.lists(a)
				hang.Until(t, "what the client tells counts again", func() bool { return p.read(a+"/f").Error == "" })
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
			begin := func(dir string) <-chan rawMessage {
				defer time.Sleep(20 * time.Millisecond) // for it to ask
				return p.begin("tools/call", params("read_text_file", arguments{"path": dir + "/f"}))
			}
			p.lists(a)
			p.read(a + "/f").ok()
			// The client is slow, and takes a root back before it answers as it had been.
			asked := p.defers()
			if capabilities == tells {
				p.changed()
			}
			first := begin(a)
			var id jsonID
			hang.Ends(t, "the question for roots", func() { id = <-asked })
			p.changed()
			late := begin(a)
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
			begin(b)
			late = begin(b)
			p.lists(b)
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, p.id-1))
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
		if err == nil && e.Type().IsRegular() {
			found[path] = content(t, path)
		} else if err == nil {
			found[path] = e.Type().String()
		}
		return err
	}))
	return found
}

// changed are the paths at which two states differ.
func changed(before, after map[string]string) (paths []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for path := range all {
		if before[path] != after[path] {
			paths = append(paths, path)
		}
	}
	return paths
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

// act is a call in a world.
type act struct {
	tool, path string
	reply
	exists bool // what makes the call succeed where it is allowed
	may    bool // whether it is allowed
}

// isKind reports whether a path leads to a file or a directory, as is wanted.
func isKind(path string, wanted func(fs.FileMode) bool) bool {
	st, err := os.Stat(path)
	return err == nil && wanted(st.Mode())
}

// call calls a tool with a path in a directory.
func (w *world) call(before map[string]string, path, dir, other string) act {
	p, was := w.p, before[realOf(path)]
	_, err := os.Lstat(path)
	a := act{path: path, exists: err == nil, may: w.allowed(path)}
	a.tool = []string{"read", "edit", "write", "rewrite", "move", "list", "tree", "search", "info", "mkdir", "several",
		"directories"}[w.r.IntN(12)]
	switch a.tool {
	case "read":
		if a.reply = p.read(path); a.Error == "" {
			w.read[path] = a.hash()
		}
		a.exists = isKind(path, fs.FileMode.IsRegular)
	case "edit":
		hash := cmp.Or(w.read[path], sum(nil).String())
		way := []func(path, hash string, operation arguments) reply{p.rebase,
			func(path, hash string, o arguments) reply { return p.edit(path, hash, o) }}[w.r.IntN(2)]
		a.reply = way(path, hash, insertOp("1:"+tagOf(was), "edited"))
		a.exists = a.exists && strings.HasPrefix(sum([]byte(was)).String(), hash) // as it is shown
		if a.Error == "" && !a.exists && !strings.Contains(a.Text, "[rebased onto") &&
			!strings.Contains(a.Text, "merged onto it]") {
			w.t.Errorf("%s: an edit for %s of %q", path, hash, was)
		}
		delete(w.read, path)
	case "write":
		a.reply = p.write(path, "new\n")
		a.exists = !a.exists && isKind(filepath.Dir(path), fs.FileMode.IsDir)
	case "rewrite":
		a.reply = p.write(path, was+"re\n", sum([]byte(was)).String())
		a.exists = isKind(path, fs.FileMode.IsRegular)
	case "move":
		to := filepath.Join(other, fmt.Sprint("moved", w.made))
		a.reply, a.exists, a.may = p.move(path, to), false, a.may && w.allowed(to)
	case "list", "tree":
		list := map[string]func(string) reply{"list": func(d string) reply { return p.list(d) }, "tree": p.tree}[a.tool]
		a.path, a.reply, a.exists, a.may = dir, list(dir), isKind(dir, fs.FileMode.IsDir), w.allowed(dir)
	case "search":
		a.reply, a.exists, a.may = p.search("<"), false, true
	case "info":
		a.reply = p.list(path)
	case "mkdir":
		a.path = filepath.Join(dir, fmt.Sprint("made", w.made))
		a.reply, a.exists, a.may = p.mkdir(a.path), false, w.allowed(a.path)
	case "several":
		a.reply = p.caller("read_multiple_files", arguments{"paths": []string{path, dir + "/f"}})
		a.exists, a.may = true, true
	case "directories":
		a.reply, a.exists, a.may = p.list(), false, true
		for _, allowed := range a.directories() {
			if !w.allowed(allowed) {
				w.t.Errorf("allowed is %s", allowed)
			}
		}
	}
	return a
}

// judge demands that a call was served if it may be, that it told of nothing else, and changed nothing else.
func (w *world) judge(a act, before, after map[string]string) {
	t := w.t
	if a.Error == "" && !a.may {
		t.Errorf("%s %s is served: %s", a.tool, a.path, a.Text)
	}
	if a.Error != "" && a.may && a.exists && w.found(a.path) {
		t.Errorf("%s %s is refused: %s", a.tool, a.path, a.Text)
	}
	for file, text := range before { // the mark of each file
		if mark, _, ok := strings.Cut(text, ">"); ok && strings.HasPrefix(mark, "<") &&
			strings.Contains(a.Text, mark+">") && !w.allowedMark(before, mark+">") {
			t.Errorf("%s %s tells of %s: %s", a.tool, a.path, file, a.Text)
		}
	}
	for _, file := range changed(before, after) {
		if !w.allowed(file) || strings.HasSuffix(file, ".tmp") {
			t.Errorf("%s %s changed %s from %q to %q", a.tool, a.path, file, before[file], after[file])
		}
	}
}

func (w *world) play(steps int) {
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
		must(w.t, err)
		deep, _ := filepath.Glob(w.base + "/deep*/*")
		dirs = append(dirs, deep...)
		d, other := dirs[w.r.IntN(len(dirs))], dirs[w.r.IntN(len(dirs))]
		if w.r.IntN(2) == 0 {
			d = w.pick(rootNames...)
		}
		before := state(w.t, w.base)
		a := w.call(before, filepath.Join(d, []string{"f", "sub/g", "n1", "n2"}[w.r.IntN(4)]), d, other)
		w.log = append(w.log, fmt.Sprintf("%s %s (allowed %v): %q %.80q", a.tool, a.path, a.may, a.Error, a.Text))
		if w.judge(a, before, state(w.t, w.base)); w.t.Failed() {
			return
		}
		if a.Error == "" {
			served++
		}
	}
	if served < steps/10 {
		w.t.Errorf("only %d calls were served", served)
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

func realOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
