package place

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGlobsOfGit matches random globs with random paths as git does. Rules, for which letter
// case does not count, match what git matches with core.ignoreCase, and without.
func TestGlobsOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	d := t.TempDir()
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = d, strings.NewReader(in)
		cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		var failed bytes.Buffer
		cmd.Stderr = &failed
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: none is ignored
			t.Fatal(err, failed.String())
		}
		return string(out)
	}
	git("", "init", "-q")
	// rng is seeded, so that a failure comes again.
	rng := rand.New(rand.NewPCG(13, 7))
	pick := func(of []string) string { return of[rng.IntN(len(of))] }
	letters := []string{"a", "b", "c", "B", "Z", "1", "-", "_", "]", "[", "^", "!", ".", ":", "é", " x"}
	parts := []string{"a", "b", "B", "1", "-", "]", "é", "*", "*", "**", "***", "?", `\*`, `\a`, `\[`, "/", "/",
		"/**/",
		"[ab]", "[!a]", "[^b]", "[]a]", "[]-a]", "[!]]", "[a-c]", "[c-a]", "[Z-a]", "[A-Z]", "[!A-Z]", "[--a]", "[a-]",
		"[a-c-z]",
		`[\]]`, `[a-\c]`, `[\a-c]`, "[[:alpha:]]", "[[:digit:]1-]", "[![:space:]]", "[[:upper:][:digit:]]",
		"[[:lower:]]", "[^[:punct:]]", "[[:xdigit:]-z]", "[[:graph:]]", "[[:print:]]", "[[:cntrl:]]", "[[:blank:]]",
		"[[:alnum:]_]",
		"[[:foo:]]", "[[:ALPHA:]]", "[[:a]", "[[::]]", "[[:]", "[a", "[[:alpha:]", "[!", "[é]", "[[.a.]]"}
	rounds, paths := 60, 60
	if testing.Short() {
		rounds = 15
	}
	matched := 0
	for range rounds {
		var globs []string
		for range 10 {
			g := ""
			for range 1 + rng.IntN(5) {
				g += pick(parts)
			}
			globs = append(globs, g)
		}
		var in strings.Builder
		var asked []string
		for range paths {
			p := ""
			for e := range 1 + rng.IntN(3) {
				if e > 0 {
					p += "/"
				}
				for range 1 + rng.IntN(3) {
					p += pick(letters)
				}
			}
			if asked = append(asked, p); strings.Contains("/"+p+"/", "/./") || strings.Contains("/"+p+"/", "/../") {
				asked = asked[:len(asked)-1]
				continue
			}
			fmt.Fprintf(&in, "./%s\x00", p) // some begin with what git takes for magic
		}
		for _, glob := range globs {
			if glob[0] == '!' || glob[0] == '#' || strings.Contains(glob, `\/`) || strings.Contains(glob, "//") {
				continue
			}
			must(t, os.WriteFile(filepath.Join(d, ".git/info/exclude"), []byte(glob+"\n"), 0o600))
			exact, exactOK := newGlob(glob, false)
			fold, foldOK := newGlob(glob, true)
			if exactOK != foldOK {
				t.Errorf("%q: %v, %v", glob, exactOK, foldOK)
			}
			for _, ignoreCase := range []bool{false, true} {
				out := git(in.String(), "-c", fmt.Sprint("core.ignoreCase=", ignoreCase), "check-ignore", "--no-index",
					"-z", "--stdin")
				ignored := map[string]bool{}
				for p := range strings.SplitSeq(out, "\x00") {
					ignored[strings.TrimPrefix(p, "./")] = true
				}
				for _, p := range asked {
					if ignored[p] {
						matched++
					}
					if !ignoreCase {
						// Git looks at the directories above, too.
						ours, at := false, ""
						for e := range strings.SplitSeq(p, "/") {
							at = strings.TrimPrefix(at+"/"+e, "/")
							ours = ours || exactOK && exact.Matches(at, at != p)
						}
						if ours != ignored[p] {
							t.Errorf("%q matches %q: %v", glob, p, ours)
						}
					}
					if foldOK && ignored[p] && !fold.covers(p) {
						t.Errorf("%q does not cover %q, with core.ignoreCase=%v git ignores it", glob, p, ignoreCase)
					}
					if !foldOK && ignored[p] {
						t.Logf("%q is refused, git knows it", glob)
					}
				}
			}
		}
	}
	if matched < rounds*20 {
		t.Errorf("only %d matches: this says nothing", matched)
	}
}
