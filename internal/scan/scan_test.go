package scan

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// scanBench is a machine with its hallmark, and a project that locks the server say, which
// this machine approved, and moved, whose declaration was changed since.
type scanBench struct {
	t       *testing.T
	root    string
	project string
	home    string
	path    string
	h       *host.Host
	o       Options
}

func newScanBench(t *testing.T) *scanBench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &scanBench{t: t, root: root, project: filepath.Join(root, "src", "project"), home: filepath.Join(root, "home")}
	own := b.file("usr/bin/hallmark", "the program", 0o755)
	b.file("usr/bin/hashfile-mcp", "the editor", 0o755)
	b.file("other/bin/hallmark", "the program", 0o755)
	b.file("src/project/bin/hallmark", "the program", 0o755)
	b.file("src/project/hallmark", "the program", 0o755)
	b.file("src/elsewhere/hallmark.toml", "manifest_version = 1\n", 0o644)
	b.path = filepath.Dir(own)
	b.h = &host.Host{
		Places: host.Places{Cache: filepath.Join(root, "cache"), State: filepath.Join(root, "state")},
		Getenv: func(name string) string {
			if name == "PATH" {
				return b.path
			}
			return ""
		},
		Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	b.o = Options{Dir: b.project, Home: b.home, Program: own}
	b.lock()
	return b
}

// file writes a file below the root and gives its path.
func (b *scanBench) file(name, text string, perm os.FileMode) string {
	b.t.Helper()
	name = filepath.Join(b.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), perm); err != nil {
		b.t.Fatal(err)
	}
	return name
}

// lock writes the project's files, and this machine's approval of say and moved.
func (b *scanBench) lock() {
	b.t.Helper()
	shown, err := surface.New(
		surface.Listing{Tools: []json.RawMessage{[]byte(`{"name":"add","inputSchema":{"type":"object"}}`)}})
	if err != nil {
		b.t.Fatal(err)
	}
	declare := func(args string) string {
		text := "manifest_version = 1\n"
		for _, name := range []string{"say", "moved"} {
			text += "[providers.mcp." + name +
				"]\ncommand = \"./say\"\nvariables = [\"SAY_KEY\", \"HALLMARK_HOME\", \"LD_PRELOAD\"]\n"
		}
		return text + "arguments = [" + args + "]\n"
	}
	config, err := project.ParseConfig([]byte(declare(`"one"`)))
	if err != nil {
		b.t.Fatal(err)
	}
	lock, approvals := &project.Lock{},
		&project.Approvals{Version: 1, Project: b.project, Servers: map[string]project.Approval{}}
	exe := digest.FromBytes([]byte("say"))
	for name, s := range config.Servers {
		seen := func(subject string, scheme evidence.Scheme, d digest.Digest) evidence.Evidence {
			return evidence.Compare(evidence.Claim{Subject: subject, Scheme: scheme, Authority: evidence.Lock},
				evidence.Observed{Digests: []digest.Digest{d}})
		}
		adm := policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{
			seen("./say", evidence.File, exe), seen(project.SurfaceSubject(name), evidence.Surface, shown.Digest()),
		}).Admitted()
		entry := project.ServerLock{Source: "command", Launch: s.Launch(), Ref: "./say",
			Artifacts: map[string]digest.Digest{"./say": exe}, Arguments: s.Arguments, Variables: s.Variables}
		if err := lock.Add(adm, name, entry, shown); err != nil {
			b.t.Fatal(err)
		}
		kept, _ := lock.Server(name)
		approvals.Servers[name] = project.Approval{Entry: kept.Approvable(), Path: b.path, At: time.Now()}
		b.file("src/project/hallmark.surfaces/"+name+".json", string(shown.Canonical()), 0o644)
	}
	text, err := lock.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	approved, err := approvals.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	state, err := filepath.Rel(b.root, workspace.ProjectState(b.h, b.project))
	if err != nil {
		b.t.Fatal(err)
	}
	b.file("src/project/hallmark.toml", declare(`"two"`), 0o644)
	b.file("src/project/hallmark.lock", string(text), 0o644)
	b.file(filepath.ToSlash(state)+"/approvals.json", string(approved), 0o600)
}

// entry is one of a client's file.
type entry map[string]any

// scan scans entries in a file of the project, or at the path that is named.
func (b *scanBench) scan(entries map[string]entry, at ...string) *Result {
	b.t.Helper()
	data, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		b.t.Fatal(err)
	}
	o := b.o
	o.Paths = []string{b.file(append(at, "src/project/.mcp.json")[0], string(data), 0o644)}
	found, err := Scan(b.t.Context(), b.h, o)
	if err != nil || len(found.Servers) != len(entries) {
		b.t.Fatalf("%d of %d servers, %v", len(found.Servers), len(entries), err)
	}
	return found
}

// choice is one way to write a part of an entry, and whether it may be guarded.
type choice struct {
	ok   bool
	what string
	edit func(*draft)
}

// draft is an entry that is being written.
type draft struct {
	program string
	sub     string
	name    []string
	before  []string // flags before the name
	after   []string
	wrap    func(words []string) []string
	more    entry
}

func (d draft) entry() entry {
	words := slices.Concat([]string{d.program, d.sub}, d.before, d.name, d.after)
	if d.wrap != nil {
		words = d.wrap(words)
	}
	out := entry{"command": words[0], "args": words[1:]}
	maps.Copy(out, d.more)
	return out
}

// parts are what entries are made of.
func (b *scanBench) parts() [][]choice {
	program := func(ok bool, name string) choice {
		return choice{ok, "program " + name, func(d *draft) { d.program = name }}
	}
	env := func(ok bool, names ...string) choice {
		return choice{ok, fmt.Sprint("env ", names), func(d *draft) {
			values := map[string]string{}
			for _, name := range names {
				values[name] = "./evil"
			}
			d.more["env"] = values
		}}
	}
	flags := func(ok bool, words ...string) []choice {
		after := choice{ok, fmt.Sprint("flags ", words), func(d *draft) { d.after = words }}
		if len(words) > 0 && words[0] == "--" {
			return []choice{after}
		}
		return []choice{after, {ok, fmt.Sprint("flags first ", words), func(d *draft) { d.before = words }}}
	}
	wrap := func(words ...string) choice {
		return choice{false, fmt.Sprint("wrapped ", words),
			func(d *draft) { d.wrap = func(w []string) []string { return slices.Concat(words, w) } }}
	}
	line := func(words ...string) choice {
		return choice{false, fmt.Sprint("line of ", words), func(d *draft) {
			d.wrap = func(w []string) []string { return append(slices.Clone(words), strings.Join(w, " ")) }
		}}
	}
	member := func(ok bool, key string, value any) choice {
		return choice{ok, fmt.Sprint("member ", key, value), func(d *draft) { d.more[key] = value }}
	}
	sub := func(ok bool, words string) choice {
		return choice{ok, "sub " + words, func(d *draft) { d.sub = words }}
	}
	name := func(ok bool, names ...string) choice {
		return choice{ok, fmt.Sprint("name ", names), func(d *draft) { d.name = names }}
	}
	plain := choice{true, "", func(*draft) {}}
	return [][]choice{
		{program(true, "hallmark"), program(true, b.o.Program),
			program(false, "./hallmark"), program(false, "bin/hallmark"), program(false, "../project/hallmark"),
			program(false, `.\hallmark`),
			program(false, filepath.Join(b.project, "hallmark")),
			program(false, filepath.Join(b.root, "other/bin/hallmark")),
			program(false, filepath.Join(b.project, "linked")),
			program(false, filepath.Join(b.root, "nowhere/hallmark")),
			program(false, "${HOME}/hallmark"), program(false, "~/hallmark"), program(false, "hallmark "),
			program(false, "h\u0430llmark"),
			program(false, "hallmark\u200b"), program(false, "hallmark.sh"), program(false, "hashfile-mcp"),
			program(false, filepath.Join(b.root, "usr/bin/hashfile-mcp"))},
		{plain, env(true), env(true, "SAY_KEY"),
			env(false, "HALLMARK_HOME"), env(false, "SAY_KEY", "PATH"), env(false, "HOME"),
			env(false, "XDG_STATE_HOME"), env(false, "LD_PRELOAD"),
			env(false, "DYLD_INSERT_LIBRARIES"), env(false, "GODEBUG"), env(false, "OTHER"), env(false, "say_key"),
			env(false, "HTTPS_PROXY"),
			env(false, "NODE_OPTIONS"), env(false, "TMPDIR"), env(false, "")},
		slices.Concat([]choice{plain}, flags(true, "--require-lock"), flags(true, "--project", b.project),
			flags(true, "--project="+b.project),
			flags(true, "--project", "."), flags(true, "--project", "${workspaceFolder}"),
			flags(true, "--log", "calls.jsonl"),
			flags(false, "--trust-lock"), flags(false, "--trust-lock=true"), flags(false, "--unlocked"),
			flags(false, "--log-key", "k"), flags(false, "--log-key=k"),
			flags(false, "--allow-env", "A=b"), flags(false, "--project", "../elsewhere"),
			flags(false, "--project="+filepath.Join(b.root, "src/elsewhere")),
			flags(false, "--project", "/"), flags(false, "--project", "${EVIL}"),
			flags(false, "--project", b.project, "--project", "../elsewhere"),
			flags(false, "--project="), flags(false, "--log", "/home/me/.bashrc"), flags(false, "--log", "../x.jsonl"),
			flags(false, "--log=.git/x.jsonl"), flags(false, "--log=build.sh"),
			flags(false, "--help"), flags(false, "-h"), flags(false, "-t"), flags(false, "say2"),
			flags(false, "--", "--root", "/"), flags(false, "--require-lock=false")),
		{plain, wrap("env"), wrap("env", "HALLMARK_HOME=./evil"), wrap("env", "-i"), wrap("/usr/bin/env", "PATH=./bin"),
			wrap("nice"), wrap("timeout", "5"), wrap("sudo"),
			wrap("xargs"), wrap("cmd", "/c"), wrap("npx", "-y"), wrap("npx"), wrap("node"), wrap("python", "-m"),
			wrap("docker", "run", "-i"), wrap("./run"),
			line("sh", "-c"), line("bash", "-lc"), line("cmd", "/c"), line("powershell", "-Command")},
		{plain, member(true, "cwd", "."), member(true, "cwd", b.project), member(true, "timeout", 5),
			member(true, "type", "stdio"), member(true, "envFile", nil),
			member(false, "cwd", ".."), member(false, "cwd", "bin"), member(false, "cwd", "/"),
			member(false, "cwd", "${EVIL}"), member(false, "cwd", []string{"."}),
			member(false, "envFile", ".env"), member(false, "shell", true),
			member(false, "url", "https://example.com/mcp"), member(false, "type", "http"),
			member(false, "transport", map[string]any{"command": "evil"}), member(false, "cmd", "evil"),
			member(false, "executable", "evil")},
		{sub(true, "run"), sub(false, "Run"), sub(false, "pin"), sub(false, "review"), sub(false, "--trust-lock"),
			sub(false, "")},
		{name(true, "say"), name(false, "moved"), name(false, "gone"), name(false), name(false, ""), name(false, "Say"),
			name(false, "say", "say"), name(false, "../say"), name(false, "$SAY")},
	}
}

// Whatever an entry is made of, it is guarded if every part is one of those that are known
// to be harmless, and refused if one is not.
func TestDisguises(t *testing.T) {
	b := newScanBench(t)
	if runtime.GOOS != "windows" {
		if err := os.Symlink(b.o.Program, filepath.Join(b.project, "linked")); err != nil {
			t.Fatal(err)
		}
	}
	parts := b.parts()
	entries, guarded, made := map[string]entry{}, map[string]bool{}, map[string]string{}
	add := func(chosen []choice) {
		d, ok, what := draft{more: entry{}}, true, ""
		for _, c := range chosen {
			c.edit(&d)
			ok = ok && c.ok
			what += c.what + "; "
		}
		name := fmt.Sprintf("e%05d", len(entries))
		entries[name], guarded[name], made[name] = d.entry(), ok, what
	}
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(part []choice, only bool) choice {
		for {
			if c := part[r.IntN(len(part))]; c.ok || !only {
				return c
			}
		}
	}
	for i, part := range parts { // each part once with every harmless rest that chance gives, alone
		for _, c := range part {
			for range 12 {
				var chosen []choice
				for j, other := range parts {
					if i == j {
						chosen = append(chosen, c)
					} else {
						chosen = append(chosen, pick(other, true))
					}
				}
				add(chosen)
			}
		}
	}
	for range 1500 { // several disguises at once
		var chosen []choice
		for _, part := range parts {
			chosen = append(chosen, pick(part, r.IntN(3) > 0))
		}
		add(chosen)
	}
	found := b.scan(entries)
	count := map[bool]int{}
	for _, s := range found.Servers {
		want := guarded[s.Name]
		refused := slices.ContainsFunc(s.Findings, func(f policy.Finding) bool {
			return f.Class != evidence.OK && f.Evidence.Rule != "" && f.Evidence.Place.Line > 0
		})
		if count[want]++; s.Guarded != want || refused == want || (s.Cover == Guarded) != want {
			t.Errorf("guarded %v, refused %v, want guarded %v: %s\n%v %q", s.Guarded, refused, want, made[s.Name],
				entries[s.Name], reasons(s))
		}
	}
	if count[true] < 100 || count[false] < 1000 {
		t.Errorf("%v entries", count)
	}
}

func reasons(s Server) (out []string) {
	for _, f := range s.Findings {
		if f.Class != evidence.OK {
			out = append(out, f.Evidence.Rule+": "+f.Evidence.Reason)
		}
	}
	return out
}

// What is found through PATH is this machine's program, or nothing is guarded.
func TestGuardedThroughPath(t *testing.T) {
	b := newScanBench(t)
	bin, list := b.path, string(os.PathListSeparator)
	for path, want := range map[string]bool{
		bin: true, filepath.Join(b.root, "empty") + list + bin: true, bin + list + ".": true,
		"": false, "." + list + bin: false, list + bin: false, "bin" + list + bin: false,
		filepath.Join(b.project, "bin") + list + bin: false, filepath.Join(b.root, "other/bin") + list + bin: false,
		filepath.Join(b.root, "empty"): false,
	} {
		b.path = path
		s := b.scan(map[string]entry{"say": {"command": "hallmark", "args": []string{"run", "say"}}}).Servers[0]
		if s.Guarded != want {
			t.Errorf("PATH=%s: guarded %v, %q", path, s.Guarded, reasons(s))
		}
	}
	b.path = bin
	for _, own := range []string{"", filepath.Join(b.root, "nowhere"), filepath.Join(b.root, "other/bin/hallmark"),
		filepath.Join(b.project, "hallmark")} {
		b.o.Program = own
		if s := b.scan(map[string]entry{"say": {"command": "hallmark",
			"args": []string{"run", "say"}}}).Servers[0]; s.Guarded {
			t.Errorf("with the program %q it is guarded", own)
		}
	}
}

// An entry is guarded as long as run would start what it names.
func TestGuardedAsLongAsItRuns(t *testing.T) {
	for name, c := range map[string]struct {
		remove, write, text string
		cover               Cover
		class               evidence.Class
	}{
		"as it is":      {cover: Guarded},
		"not approved":  {remove: "state", cover: Unapproved},
		"no lock":       {remove: "src/project/hallmark.lock", class: evidence.Refused},
		"empty lock":    {write: "src/project/hallmark.lock", text: "{}", class: evidence.Refused},
		"no toml":       {remove: "src/project/hallmark.toml", class: evidence.Refused},
		"empty toml":    {write: "src/project/hallmark.toml", text: "manifest_version = 1\n", class: evidence.Refused},
		"no surface":    {remove: "src/project/hallmark.surfaces", class: evidence.Refused},
		"other surface": {write: "src/project/hallmark.surfaces/say.json", text: "{}", class: evidence.Integrity},
	} {
		t.Run(name, func(t *testing.T) {
			b := newScanBench(t)
			if c.remove != "" {
				if err := os.RemoveAll(filepath.Join(b.root, c.remove)); err != nil {
					t.Fatal(err)
				}
			}
			if c.write != "" {
				b.file(c.write, c.text, 0o644)
			}
			found := b.scan(map[string]entry{"say": {"command": "hallmark", "args": []string{"run", "say"}}})
			s := found.Servers[0]
			got := evidence.ClassOf(found.Verdict.Err())
			if c.class == evidence.Refused && got == evidence.Integrity {
				got = evidence.Refused // a missing file may be either
			}
			if s.Cover != c.cover || s.Guarded != (c.cover == Guarded) || got != c.class {
				t.Errorf("%q, guarded %v, class %v %q", s.Cover, s.Guarded, got, reasons(s))
			}
		})
	}
}

// In a file of the user's an entry names its project, and no other variable or place counts.
func TestGuardedInUserFiles(t *testing.T) {
	b := newScanBench(t)
	for _, c := range []struct {
		args []string
		more entry
		want bool
	}{
		{[]string{"run", "say", "--project", b.project}, nil, true}, // as pin --write-config writes it
		{[]string{"run", "say", "--project", b.project},
			entry{"cwd": b.project, "env": map[string]string{"SAY_KEY": "x"}}, true},
		{[]string{"run", "say", "--project", b.project, "--log", filepath.Join(b.home, "calls.jsonl")}, nil, true},
		{[]string{"run", "say"}, nil, false},
		{[]string{"run", "say", "--project", "."}, nil, false},
		{[]string{"run", "say"}, entry{"cwd": b.project}, false},
		{[]string{"run", "say", "--project", b.project}, entry{"cwd": b.root}, false},
		{[]string{"run", "say", "--project", filepath.Join(b.root, "src/elsewhere")}, nil, false},
		{[]string{"run", "moved", "--project", b.project}, nil, false},
		{[]string{"run", "say", "--project", b.project, "--trust-lock"}, nil, false},
		{[]string{"run", "say", "--project", b.project}, entry{"env": map[string]string{"HALLMARK_HOME": "x"}}, false},
	} {
		e := entry{"command": "hallmark", "args": c.args}
		maps.Copy(e, c.more)
		s := b.scan(map[string]entry{"say": e}, "home/.cursor/mcp.json").Servers[0]
		if s.Guarded != c.want || (len(reasons(s)) == 0) != c.want {
			t.Errorf("%v: guarded %v, %q", e, s.Guarded, reasons(s))
		}
	}
	// Other servers of the user's are none of a project.
	if found := b.scan(map[string]entry{"mine": {"command": "mine"}},
		"home/.cursor/mcp.json"); found.Verdict.Err() != nil {
		t.Error(found.Verdict.Err())
	}
}

// TestAutoApprove: an entry whose client calls tools without asking is warned of, and refused strictly, whether it
// starts Hallmark or not; it is not counted as guarded.
func TestAutoApprove(t *testing.T) {
	b := newScanBench(t)
	const kiro, gemini, cursor = "home/.kiro/settings/mcp.json", "home/.gemini/settings.json",
		"home/.cursor/mcp.json"
	run := []string{"run", "say", "--project", b.project}
	for _, c := range []struct {
		file, command string
		args          []string
		more          entry
		found         bool
	}{
		{kiro, "hallmark", run, entry{"autoApprove": []string{"*"}}, true},
		{kiro, "hallmark", run, entry{"autoApprove": "*"}, true},
		{kiro, "hallmark", run, entry{"autoApprove": []string{}}, false},
		{kiro, "hallmark", run, entry{"autoApprove": []string{"*"}, "disabled": true}, false},
		{gemini, "hallmark", run, entry{"trust": true}, true},
		{gemini, "hallmark", run, entry{"trust": false, "autoApprove": []string{"*"}}, false},
		{cursor, "hallmark", run, entry{"trust": true}, false},
		{kiro, "npx", []string{"-y", "notes@1.0.0"}, entry{"autoApprove": []string{"search"}}, true},
	} {
		e := entry{"command": c.command, "args": c.args}
		maps.Copy(e, c.more)
		has := func(f policy.Finding) bool { return f.Evidence.Rule == launcher.RuleAutoApprove }
		s := b.scan(map[string]entry{"say": e}, c.file).Servers[0]
		at := slices.IndexFunc(s.Findings, has)
		if (at >= 0) != c.found || at >= 0 && !s.Findings[at].Warning {
			t.Errorf("%v: %+v", e, s.Findings)
		}
		if want := c.command == "hallmark" && !c.found; s.Guarded != want && !s.Disabled {
			t.Errorf("%v: guarded %v, want %v", e, s.Guarded, want)
		}
		b.o.Strict = true
		strict := b.scan(map[string]entry{"say": e}, c.file)
		b.o.Strict = false
		at = slices.IndexFunc(strict.Rules, has)
		if (at >= 0) != c.found || at >= 0 && strict.Rules[at].Warning {
			t.Errorf("%v, strict: %+v", e, strict.Rules)
		}
	}
}

// A project's file that starts a server around Hallmark is refused, whatever it starts and
// in whichever directory it lies; outside of a project it is not.
func TestAroundHallmark(t *testing.T) {
	b := newScanBench(t)
	entries := map[string]entry{
		"script": {"command": "./server.sh"}, "absolute": {"command": filepath.Join(b.root, "usr/bin/true")},
		"url":      {"url": "https://example.com/mcp"},
		"pinned":   {"command": "npx", "args": []string{"-y", "@acme/notes@1.4.0"}},
		"image":    {"command": "docker", "args": []string{"run", "img@sha256:" + strings.Repeat("a", 64)}},
		"disabled": {"command": "./server.sh", "disabled": true},
		"off":      {"url": "https://example.com/mcp", "enabled": false}, "same": {"command": "./say"},
		"editor": {"command": filepath.Join(b.root, "other/bin/hashfile-mcp"), "args": []string{"--root", "."}},
	}
	for _, at := range []string{"src/project/.mcp.json", "src/project/.roo/mcp.json",
		"src/project/sub/.cursor/mcp.json", "src/project/any.json"} {
		for _, s := range b.scan(entries, at).Servers {
			if !slices.ContainsFunc(s.Findings, func(f policy.Finding) bool {
				return f.Evidence.Rule == launcher.RuleAround && f.Class == evidence.Refused
			}) {
				t.Errorf("%s: %s is not refused: %q", at, s.Name, reasons(s))
			}
		}
	}
	for _, s := range b.scan(entries, "src/without/.mcp.json").Servers {
		if len(reasons(s)) > 0 {
			t.Errorf("without a project %s is refused: %q", s.Name, reasons(s))
		}
	}
	// A lock alone, or a declaration alone, makes a project.
	for _, name := range []string{"hallmark.toml", "hallmark.lock"} {
		b.file("src/half/"+name, "", 0o644)
		if found := b.scan(map[string]entry{"s": {"command": "./s"}},
			"src/half/.mcp.json"); evidence.ClassOf(found.Verdict.Err()) != evidence.Refused {
			t.Errorf("%s alone: %v", name, found.Verdict.Err())
		}
		os.Remove(filepath.Join(b.root, "src/half", name))
	}
}

// An entry that cannot be read as one server is refused, wherever it stands.
func TestMalformedEntries(t *testing.T) {
	b := newScanBench(t)
	for name, e := range map[string]entry{
		"number": {"command": 7}, "unknown member": {"command": "", "run": "x"},
		"both": {"command": "x", "url": "https://example.com"}, "text of arguments": {"command": "x", "args": "run y"},
	} {
		for _, at := range []string{"src/project/.mcp.json", "src/without/.mcp.json", "home/.cursor/mcp.json"} {
			s := b.scan(map[string]entry{"e": e}, at).Servers[0]
			if !slices.ContainsFunc(s.Findings, func(f policy.Finding) bool {
				return f.Evidence.Rule == launcher.RuleMalformed && f.Class == evidence.Refused
			}) {
				t.Errorf("%s in %s: %q", name, at, reasons(s))
			}
		}
	}
}

// An entry that names no program and no URL is no finding, in a project of Hallmark either.
func TestEntriesThatStartNothing(t *testing.T) {
	b := newScanBench(t)
	for name, e := range map[string]entry{
		"empty": {}, "no words": {"command": ""}, "no URL": {"type": "http", "url": nil, "headers": entry{"A": "b"}},
	} {
		for _, at := range []string{"src/project/.mcp.json", "home/.cursor/mcp.json"} {
			s := b.scan(map[string]entry{"e": e}, at).Servers[0]
			if s.Starts != clients.StartsNothing || len(s.Findings) > 0 {
				t.Errorf("%s in %s: %q, %q", name, at, s.Starts, reasons(s))
			}
		}
	}
}

// The editing server is this machine's own, and its roots are in the project.
func TestEditorEntries(t *testing.T) {
	b := newScanBench(t)
	b.file("src/project/docs/x", "", 0o644)
	if runtime.GOOS != "windows" {
		if err := os.Symlink(b.home, filepath.Join(b.project, "out")); err != nil {
			t.Fatal(err)
		}
	}
	os.MkdirAll(b.home, 0o755)
	for _, c := range []struct {
		command string
		args    []string
		more    entry
		rule    string
	}{
		{"hallmark", []string{"hashfile", "--root", "."}, nil, ""},
		{"hallmark", []string{"hashfile", "--root", "docs", "--read-only", "--root=" + b.project}, nil, ""},
		{"hallmark", []string{"hashfile"}, nil, ""},
		{"hashfile-mcp", []string{"--root", "docs"}, nil, ""},
		{"hallmark", []string{"hashfile", "--root", "/"}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root=/"}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root", b.home}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root", b.root}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root", ".."}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root", "docs", "--root", "../elsewhere"}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root", "${HOME}"}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root", "~"}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root", "out"}, nil, launcher.RuleRoot},
		{"hashfile-mcp", []string{"--root", "/"}, nil, launcher.RuleRoot},
		{"hallmark", []string{"hashfile", "--root", "docs", "--hard-links"}, nil, launcher.RuleUnguarded},
		{"hallmark", []string{"hashfile", "--root"}, nil, launcher.RuleUnguarded},
		{"hallmark", []string{"hashfile", "--root", "docs"}, entry{"env": map[string]string{"HALLMARK_HOME": "x"}},
			launcher.RuleUnguarded},
		{"hallmark", []string{"hashfile", "--root", "docs"}, entry{"cwd": "/"}, launcher.RuleRoot},
		{"./hallmark", []string{"hashfile", "--root", "docs"}, nil, launcher.RuleUnguarded},
		{"./hashfile-mcp", []string{"--root", "docs"}, nil, launcher.RuleAround},
	} {
		e := entry{"command": c.command, "args": c.args}
		maps.Copy(e, c.more)
		s := b.scan(map[string]entry{"e": e}).Servers[0]
		ok := len(reasons(s)) == 0
		if c.rule != "" {
			ok = slices.ContainsFunc(s.Findings, func(f policy.Finding) bool {
				return f.Evidence.Rule == c.rule &&
					f.Class == evidence.Refused
			})
		}
		if !ok || s.Guarded {
			t.Errorf("%v: %q, want %s", e, reasons(s), c.rule)
		}
	}
}

// What a reviewer of hallmark.toml sees opted out is waived for the very entry that it
// declares and no other, and on no machine that once approved a lock of it.
func TestUnlockedEntries(t *testing.T) {
	b := newScanBench(t)
	toml := "manifest_version = 1\n"
	for _, name := range []string{"tool", "say"} {
		toml += "[providers.mcp." + name +
			"]\ncommand = \"./tool\"\narguments = [\"a\"]\nvariables = [\"KEY\"]\nunlocked = true\n"
	}
	b.file("src/project/hallmark.toml", toml+"[providers.mcp.any]\ncommand = \"./tool\"\n", 0o644)
	os.Remove(filepath.Join(b.project, "hallmark.lock"))
	for _, c := range []struct {
		name string
		e    entry
		rule string // that refuses; "" if it is waived
	}{
		{"tool", entry{"command": "./tool", "args": []string{"a"}}, ""},
		{"tool", entry{"command": "./tool", "args": []string{"a"}, "env": map[string]string{"KEY": "x"}}, ""},
		{"tool", entry{"command": "hallmark", "args": []string{"run", "tool"}}, ""},
		{"tool", entry{"command": "./tool", "args": []string{"a", "b"}}, launcher.RuleAround},
		{"tool", entry{"command": "./tool"}, launcher.RuleAround},
		{"tool", entry{"command": "./other", "args": []string{"a"}}, launcher.RuleAround},
		{"tool", entry{"command": "./tool", "args": []string{"a"}, "env": map[string]string{"OTHER": "x"}},
			launcher.RuleAround},
		{"tool", entry{"command": "./tool", "args": []string{"a"}, "cwd": "sub"}, launcher.RuleAround},
		{"tool", entry{"command": "./tool", "args": []string{"a"}, "envFile": ".env"}, launcher.RuleAround},
		{"other", entry{"command": "./tool", "args": []string{"a"}}, launcher.RuleAround},
		{"any", entry{"command": "./tool"}, launcher.RuleAround},
		{"any", entry{"command": "hallmark", "args": []string{"run", "any"}}, launcher.RuleUnguarded},
		{"say", entry{"command": "./tool", "args": []string{"a"}}, launcher.RuleAround},
		{"say", entry{"command": "hallmark", "args": []string{"run", "say"}}, launcher.RuleUnguarded},
	} {
		s := b.scan(map[string]entry{c.name: c.e}).Servers[0]
		waived := slices.ContainsFunc(s.Findings,
			func(f policy.Finding) bool { return f.Evidence.Outcome == evidence.Waived && f.Warning })
		refused := slices.ContainsFunc(s.Findings, func(f policy.Finding) bool {
			return f.Evidence.Rule == c.rule &&
				f.Class == evidence.Refused
		})
		if s.Guarded || waived != (c.rule == "") || refused != (c.rule != "") {
			t.Errorf("%s %v: waived %v, guarded %v, %q; want %q", c.name, c.e, waived, s.Guarded, reasons(s), c.rule)
		}
	}
}

// Arguments after -- need a word in the declaration, or this machine's approval of them.
func TestExtraArguments(t *testing.T) {
	b := newScanBench(t)
	e := entry{"command": "hallmark", "args": []string{"run", "say", "--", "--root", "/"}}
	if s := b.scan(map[string]entry{"say": e}).Servers[0]; s.Guarded {
		t.Error("arguments that nobody approved are guarded")
	}
	name := filepath.Join(workspace.ProjectState(b.h, b.project), "approvals.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	approvals, err := project.ParseApprovals(data, b.project)
	if err != nil {
		t.Fatal(err)
	}
	a := approvals.Servers["say"]
	a.Extra = [][]string{{"--root", "/"}}
	approvals.Servers["say"] = a
	if data, err = approvals.Encode(); err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if s := b.scan(map[string]entry{"say": e}).Servers[0]; !s.Guarded {
		t.Errorf("arguments that this machine approved are refused: %q", reasons(s))
	}
	e["args"] = []string{"run", "say", "--", "--root", "/etc"}
	if s := b.scan(map[string]entry{"say": e}).Servers[0]; s.Guarded {
		t.Error("other arguments are guarded")
	}
}

// A file of a project starts that project's servers, and none that another has approved.
func TestGuardedInItsProject(t *testing.T) {
	b := newScanBench(t)
	b.file("src/project/nested/hallmark.toml", "manifest_version = 1\n", 0o644)
	e := map[string]entry{"say": {"command": "hallmark", "args": []string{"run", "say", "--project", ".."}}}
	if s := b.scan(e, "src/project/nested/.mcp.json").Servers[0]; s.Guarded || len(reasons(s)) == 0 {
		t.Error("the server of another project is guarded")
	}
	if s := b.scan(e, "src/project/sub/.mcp.json").Servers[0]; !s.Guarded {
		t.Errorf("the project's own server is refused: %q", reasons(s))
	}
}

// An entry of the lock without a file that it owes is not guarded: hallmark run refuses it.
func TestGuardedOwesFiles(t *testing.T) {
	b := newScanBench(t)
	run := map[string]entry{"say": {"command": "hallmark", "args": []string{"run", "say"}}}
	if s := b.scan(run).Servers[0]; !s.Guarded {
		t.Fatalf("not guarded: %q", reasons(s))
	}
	if err := os.Remove(filepath.Join(b.project, "hallmark.surfaces", "say.json")); err != nil {
		t.Fatal(err)
	}
	s := b.scan(run).Servers[0]
	missing := slices.ContainsFunc(s.Findings, func(f policy.Finding) bool {
		return f.Evidence.Outcome == evidence.Missing && f.Evidence.Scheme == evidence.Document &&
			f.Evidence.Rule == launcher.RuleUnguarded
	})
	if s.Guarded || s.Cover != "" || !missing {
		t.Errorf("guarded %v, cover %q, %q", s.Guarded, s.Cover, reasons(s))
	}
}

// One word says how far a server is covered; what cannot be told is open.
func TestState(t *testing.T) {
	b := newScanBench(t)
	for name, c := range map[string]struct {
		e    entry
		want State
	}{
		"newest":      {entry{"command": "npx", "args": []string{"-y", "pkg"}}, StateOpen},
		"pinned":      {entry{"command": "npx", "args": []string{"-y", "pkg@1.0.0"}}, StatePinned},
		"elsewhere":   {entry{"command": "npx", "args": []string{"--registry", "https://x.example", "pkg@1.0.0"}}, StateOpen},
		"a URL":       {entry{"command": "npx", "args": []string{"-y", "https://host.example/x"}}, StateOpen},
		"local":       {entry{"command": "/opt/tool"}, StateOpen},
		"remote":      {entry{"type": "http", "url": "https://mcp.example.com/mcp"}, StateOpen},
		"off":         {entry{"command": "npx", "args": []string{"pkg"}, "disabled": true}, StateOff},
		"starts none": {entry{"type": "http", "url": ""}, ""},
	} {
		data, err := json.Marshal(map[string]any{"mcpServers": map[string]entry{"x": c.e}})
		if err != nil {
			t.Fatal(err)
		}
		b.file("home/.cursor/mcp.json", string(data), 0o600)
		found, err := Scan(t.Context(), b.h, b.o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found.Servers, func(s Server) bool { return s.Name == "x" })
		if i < 0 || found.Servers[i].State != c.want {
			t.Errorf("%s: %+v, want %q", name, found.Servers, c.want)
		}
	}
}
