//go:build unix

package script

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
)

// FollowHints runs some scripts once more, and after each refusal the command that its hint names,
// in the same place: it must not refuse the same with the same hint. Each hint is followed once for each command that
// gives it. Nothing else is asked of the scripts, some of which count what a followed hint does. They are those
// whose refusals have the most hints with commands: it runs the quick ones and one more, and 'make hints' all.
func FollowHints(t *testing.T, scripts []string) {
	f := &follower{t: t}
	p := params(t)
	scripts = slices.DeleteFunc(scripts, func(name string) bool { return !hinting.MatchString(filepath.Base(name)) })
	p.Files = chooseHinting(t, scripts)
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Values[followerKey{}] = f
		return setup(env)
	}
	t.Run("scripts", func(t *testing.T) { testscript.RunT(lenientT{t}, p) })
	if f.followed == 0 || sample.Whole() && f.followed < 30 {
		t.Errorf("%d hints were followed in %d scripts", f.followed, len(p.Files))
	}
}

// hinting are the scripts that FollowHints chooses from.
var hinting = regexp.MustCompile(`^(facet_|git_tag|hints|install_|plugin_(usage|revalidate|version_kept)|` +
	`reads_environment|removed_(lock|project)|run_(script|tampered\.|unlocked)|scan_project|source_server|strays|` +
	`surface|upgrade_gone|usage|verify_locked|waived)`)

// quick are the scripts of them that take little time and give most of the hints. As most hints come from one
// script, a few scripts at random would seldom follow one that leads nowhere.
var quick = regexp.MustCompile(`^(git_tag|install_local|plugin_(revalidate|version_kept)|removed_lock|run_tampered\.|` +
	`run_unlocked|surface|waived)`)

func chooseHinting(t *testing.T, scripts []string) []string {
	if sample.Whole() {
		return scripts
	}
	var always, others []string
	for _, name := range scripts {
		if quick.MatchString(filepath.Base(name)) {
			always = append(always, name)
		} else {
			others = append(others, name)
		}
	}
	return append(always, sample.Of(t, others, 1)...)
}

// lenientT is a test that does not fail, whatever its scripts find.
type lenientT struct{ *testing.T }

func (lenientT) FailNow()      { runtime.Goexit() }
func (lenientT) Fatal(...any)  { runtime.Goexit() }
func (lenientT) Skip(...any)   { runtime.Goexit() }
func (lenientT) Log(...any)    {}
func (lenientT) Parallel()     {}
func (lenientT) Verbose() bool { return false }
func (l lenientT) Run(name string, f func(testscript.T)) {
	l.T.Run(name, func(t *testing.T) {
		t.Parallel()
		done := make(chan struct{})
		go func() { // which Goexit may end, and the test goes on
			defer close(done)
			f(lenientT{t})
		}()
		<-done
	})
}

// followerKey is under which a script finds the follower, if there is one.
type followerKey struct{}

// follower runs the commands that hints name.
type follower struct {
	t    *testing.T
	seen sync.Map // hints by command, without what is of one script

	mu       sync.Mutex
	followed int
}

// refusal is what a command says on stderr of one thing that it refuses.
type refusal struct{ title, hint string }

// readRefusals reads the refusals that have hints.
func readRefusals(stderr string) (all []refusal) {
	title := ""
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\n")
		if hint, ok := strings.CutPrefix(line, "  hint: "); ok {
			all = append(all, refusal{title, hint})
		} else if !strings.HasPrefix(line, " ") {
			title = strings.TrimPrefix(line, "hallmark: ")
		}
	}
	return all
}

var (
	hintedCommand = regexp.MustCompile(`'(hallmark [^']*)'( for this (?:server|facet))?`)
	// byHand are hints whose commands follow what a person does first.
	byHand = regexp.MustCompile(`^(take either side, then|restore .* and run) `)
	// openWord is a word that stands for one which the reader knows.
	openWord = regexp.MustCompile(`^[A-Z][A-Z_]*$|\.\.\.|…|^<`)
	// ofOneScript is what differs between two scripts of one hint.
	ofOneScript = regexp.MustCompile(`[0-9a-f]{8,}|/[^ ']*|127\.0\.0\.1:\d+|\d{4}-\d\d-\d\d \S+`)
)

// follow runs what the hints of the last command name, which was hallmark with args.
func (f *follower) follow(ts *testscript.TestScript, args []string) {
	for _, r := range readRefusals(ts.ReadFile("stderr")) {
		m := hintedCommand.FindStringSubmatch(r.hint)
		if m == nil || byHand.MatchString(r.hint) {
			continue
		}
		words := strings.Fields(m[1])[1:]
		if m[2] != "" {
			words = append(words, subjectOf(r.title, args))
		}
		if len(words) == 0 || words[0] == "registry" || openWords(words) {
			continue
		}
		kind := args[0] + ": " + ofOneScript.ReplaceAllString(r.hint, "")
		for _, name := range []string{subjectOf(r.title, nil), words[len(words)-1]} {
			if name != "" {
				kind = strings.ReplaceAll(kind, name, "NAME")
			}
		}
		if _, known := f.seen.LoadOrStore(kind, true); known {
			continue
		}
		f.mu.Lock()
		f.followed++
		f.mu.Unlock()
		ended, text := runAside(ts, words)
		f.t.Logf("%s: hallmark %s: %s: hallmark %s: done %t", ts.Name(), args[0], r.hint, strings.Join(words, " "),
			ended)
		if ended {
			continue
		}
		for _, again := range readRefusals(text) {
			if again == r {
				f.t.Errorf("%s: hallmark %s is refused:\n%s\n  hint: %s\nand hallmark %s is refused the same",
					ts.Name(), strings.Join(args, " "), r.title, r.hint, strings.Join(words, " "))
			}
		}
	}
}

func openWords(words []string) bool {
	for _, w := range words {
		if openWord.MatchString(w) {
			return true
		}
	}
	return false
}

// subjectOf is the server or facet that a refusal is about: what the command named, else what the title does.
func subjectOf(title string, args []string) string {
	if len(args) > 1 && args[1] != "" && !strings.HasPrefix(args[1], "-") && args[0] != "install" &&
		args[0] != "check" {
		return args[1]
	}
	name, _, _ := strings.Cut(title, ":")
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	return name
}

// runAside runs hallmark where a script is, and puts everything back as it was. It returns whether the command
// succeeded, and what it said.
func runAside(ts *testscript.TestScript, words []string) (ended bool, stderr string) {
	work := ts.Getenv("WORK")
	kept := work + ".kept"
	ts.Check(copyTree(work, kept))
	defer func() {
		ts.Check(emptyTree(work))
		ts.Check(copyTree(kept, work))
		writable(kept)
		ts.Check(os.RemoveAll(kept))
	}()
	bin, err := exec.LookPath("hallmark") // SetPath puts it into PATH
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), hang.Long)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, words...)
	cmd.Dir = ts.MkAbs(".")
	var said strings.Builder
	cmd.Stderr = &said
	for _, name := range scriptVariables {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd.Run() == nil, said.String()
}

// scriptVariables are those that scripts set and programs read.
var scriptVariables = []string{"PATH", "HOME", "HALLMARK_HOME", "HALLMARK_REGISTRY", "HALLMARK_ALLOW_HOSTS", "LANG",
	"TMPDIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "npm_config_registry", "npm_config_cafile",
	"npm_config_fetch_retries", "GIT_SSH_COMMAND", "PUPPET", "WORK"}

// served is the directory of a registry that runs, whose files are left alone.
const served = "registry"

// copyTree copies what lies in a directory, with its links and modes.
func copyTree(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	args := []string{"-a", "--"}
	for _, e := range entries {
		if e.Name() != served {
			args = append(args, filepath.Join(from, e.Name()))
		}
	}
	if out, err := exec.Command("cp", append(args, to)...).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}

// emptyTree removes what lies in a directory.
func emptyTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == served {
			continue
		}
		path := filepath.Join(dir, e.Name())
		writable(path)
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
