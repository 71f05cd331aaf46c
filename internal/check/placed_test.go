package check_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/project"
)

// Installed files are those of the lock, whoever wrote them, on the machine that installed
// them and on one that has only the checkout: an edited one is an integrity error, one that is
// gone or lies there besides is refused.
func TestInstalledFilesAreLocked(t *testing.T) {
	const skill = "skills/greet/SKILL.md"
	for name, c := range map[string]struct {
		change func(*hosttest.FacetWorld)
		class  evidence.Class
		fresh  evidence.Class // of a machine with an empty state and store
		text   string
	}{
		"as it was": {func(*hosttest.FacetWorld) {}, evidence.OK, evidence.OK, ""},
		"edited": {func(w *hosttest.FacetWorld) { w.Write("tools/"+skill, "Other.\n") }, evidence.Integrity,
			evidence.Integrity, "tools/" + skill + ": installed mismatch"},
		"an extra file": {func(w *hosttest.FacetWorld) { w.Write("tools/skills/greet/more.md", "x") }, evidence.Refused,
			evidence.Refused, "tools/skills/greet/more.md: unhashed mismatch"},
		"a hidden file": {func(w *hosttest.FacetWorld) { w.Write("tools/skills/greet/.more", "x") }, evidence.Refused,
			evidence.Refused, "unhashed mismatch"},
		"a directory": {func(w *hosttest.FacetWorld) { w.Done(os.Mkdir(w.Path("tools/skills/greet/more"), 0o755)) },
			evidence.Refused, evidence.Refused, "tools/skills/greet/more: unhashed mismatch"},
		"a link": {func(w *hosttest.FacetWorld) { w.Done(os.Symlink("SKILL.md", w.Path("tools/skills/greet/link.md"))) },
			evidence.Refused, evidence.Refused, "unhashed mismatch"},
		"beside a skill": {func(w *hosttest.FacetWorld) { w.Write("tools/skills/mine/SKILL.md", "mine") }, evidence.OK,
			evidence.OK, ""},
		"gone": {func(w *hosttest.FacetWorld) { w.Done(os.Remove(w.Path("tools/" + skill))) }, evidence.Refused, evidence.OK,
			"tools/" + skill + ": installed missing"},
		"replaced by a link": {func(w *hosttest.FacetWorld) {
			w.Write("aside.md", w.Read("tools/"+skill))
			w.Done(os.Remove(w.Path("tools/" + skill)))
			w.Done(os.Symlink("../../../aside.md", w.Path("tools/"+skill)))
		}, evidence.Integrity, evidence.Integrity, "installed mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.NewFacetWorld(t)
			w.Must(w.Install(facets.Options{}))
			c.change(w)
			v, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{Offline: true})
			if err != nil {
				t.Fatal(err)
			}
			if v.Class() != c.class || c.text != "" && !strings.Contains(v.Err().Error(), c.text) {
				t.Errorf("%s, %v; want %s %q", v.Class(), v.Err(), c.class, c.text)
			}
			if sound := v.Sound == v.Entries; sound != (v.Class() == evidence.OK) && v.Class() == evidence.OK {
				t.Errorf("%d of %d verified", v.Sound, v.Entries)
			}
			// Whoever asks for exactly what is locked is told the same, but for what is put back.
			want := c.class
			if name == "gone" {
				want = evidence.OK
			}
			for _, offline := range []bool{true, false} {
				out, err := w.Install(facets.Options{Frozen: true, Offline: offline})
				if evidence.ClassOf(err) != want || want != evidence.OK && !strings.Contains(err.Error(), c.text) {
					t.Errorf("frozen, offline %t: %v; want %s %q; %+v", offline, err, want, c.text, out)
				}
			}
			if name == "gone" {
				w.Done(os.Remove(w.Path("tools/" + skill)))
			}
			// Another machine has the checkout, and nothing else.
			w.Host.Places.State, w.Host.Places.Cache = t.TempDir(), t.TempDir()
			v, err = check.Check(t.Context(), w.Host, w.Dir, check.Options{Offline: true})
			if err != nil {
				t.Fatal(err)
			}
			if v.Class() != c.fresh {
				t.Errorf("elsewhere: %s, %v; want %s", v.Class(), v.Err(), c.fresh)
			}
			if len(v.Unseen) == 0 {
				t.Error("elsewhere: it does not say what it did not look at")
			}
		})
	}
}

// Files that were installed for a target which hallmark.toml has no more are read by its client,
// and compared with nothing: check and a frozen installation refuse them until an installation
// takes them away. An edited one is not taken away by itself.
func TestInstalledForATargetThatIsGone(t *testing.T) {
	const left = "tools/skills/greet/SKILL.md"
	for _, edited := range []bool{false, true} {
		w := hosttest.NewFacetWorld(t)
		w.Must(w.Install(facets.Options{}))
		w.Write(project.ConfigFile, strings.Replace(w.Read(project.ConfigFile), "dir:tools", "dir:other", 1))
		if edited {
			w.Write(left, "Other.\n")
		}
		v, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{Offline: true})
		if err != nil || v.Class() != evidence.Refused ||
			!strings.Contains(v.Err().Error(), left+": unhashed mismatch") {
			t.Errorf("edited %t: check: %v, %v", edited, err, v.Err())
		}
		if want := "kit@1.0.0 (not installed here for dir:other)"; !slices.Contains(v.Unseen, want) {
			t.Errorf("check does not say %q: %q", want, v.Unseen)
		}
		_, err = w.Install(facets.Options{Frozen: true})
		if edited != (evidence.ClassOf(err) == evidence.Refused) ||
			edited && !strings.Contains(err.Error(), left+": unhashed mismatch") {
			t.Errorf("edited %t: frozen: %v", edited, err)
		}
		if _, err := os.Stat(w.Path(left)); (err == nil) != edited {
			t.Errorf("edited %t: %v", edited, err)
		}
		if edited {
			continue
		}
		v, err = check.Check(t.Context(), w.Host, w.Dir, check.Options{Offline: true})
		if err != nil || v.Class() != evidence.OK ||
			slices.ContainsFunc(v.Unseen, func(s string) bool { return strings.Contains(s, "not installed") }) {
			t.Errorf("check: %v, %v, %q", err, v.Err(), v.Unseen)
		}
	}
}

// A lock that does not cover the manifest is refused by check and by a frozen installation,
// with a warm store too, online or not; so is one whose proofs are gone or damaged.
func TestFacetsOwed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *hosttest.FacetWorld, lock map[string]any)
		class  evidence.Class
		text   string
	}{
		"no lock": {func(w *hosttest.FacetWorld, _ map[string]any) { w.Done(os.Remove(w.Path(project.LockFile))) },
			evidence.Refused, "kit: source missing"},
		"no facets": {
			func(_ *hosttest.FacetWorld, lock map[string]any) {
				lock["facets"] = map[string]any{}
			},
			evidence.Refused, "kit: source missing"},
		"a composed facet that is not there": {func(_ *hosttest.FacetWorld, lock map[string]any) {
			hosttest.EntryOf(lock, "kit")["composes"] = map[string]any{"gone": "1.0.0"}
		}, evidence.Refused, "gone: source missing"},
		"no proof": {func(_ *hosttest.FacetWorld, lock map[string]any) { delete(hosttest.EntryOf(lock, "kit"), "proof") },
			evidence.Refused, "proof missing"},
		"neither proof nor log": {func(_ *hosttest.FacetWorld, lock map[string]any) {
			delete(hosttest.EntryOf(lock, "kit"), "proof")
			delete(hosttest.EntryOf(lock, "kit"), "log")
		}, evidence.Refused, "proof missing"},
		"a damaged proof": {func(_ *hosttest.FacetWorld, lock map[string]any) {
			text := hosttest.EntryOf(lock, "kit")["proof"].(string)
			at := strings.Index(text, "\n\n") - 10
			hosttest.EntryOf(lock, "kit")["proof"] = text[:at] + hosttest.OtherDigit(text[at]) + text[at+1:]
		}, evidence.Integrity, "proof"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.NewFacetWorld(t)
			w.Must(w.Install(facets.Options{}))
			w.Forge(c.change)
			for _, offline := range []bool{true, false} {
				v, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{Offline: offline})
				if err == nil {
					err = v.Err()
				}
				if got := evidence.ClassOf(err); got != c.class && got != evidence.Validation {
					t.Errorf("check, offline %t: %s: %v", offline, got, err)
				} else if !strings.Contains(err.Error(), c.text) {
					t.Errorf("check, offline %t: %v", offline, err)
				}
			}
			_, err := w.Install(facets.Options{Frozen: true})
			if got := evidence.ClassOf(err); err == nil || got != c.class && got != evidence.Validation ||
				!strings.Contains(err.Error(), c.text) {
				t.Errorf("frozen: %v", err)
			}
			// An installation that may write the lock does not help itself either.
			if _, err := w.Install(facets.Options{}); err == nil && name != "a composed facet that is not there" {
				t.Error("install resolved anew what was removed")
			}
		})
	}
}
