package hallmark

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Installed files are those of the lock, whoever wrote them, on the machine that installed
// them and on one that has only the checkout: an edited one is an integrity error, one that is
// gone or lies there besides is refused.
func TestInstalledFilesAreLocked(t *testing.T) {
	const skill = "skills/greet/SKILL.md"
	for name, c := range map[string]struct {
		change func(*facetWorld)
		class  evidence.Class
		fresh  evidence.Class // of a machine with an empty state and store
		text   string
	}{
		"as it was": {func(*facetWorld) {}, evidence.OK, evidence.OK, ""},
		"edited": {func(w *facetWorld) { w.write("tools/"+skill, "Other.\n") }, evidence.Integrity,
			evidence.Integrity, "tools/" + skill + ": installed mismatch"},
		"an extra file": {func(w *facetWorld) { w.write("tools/skills/greet/more.md", "x") }, evidence.Refused,
			evidence.Refused, "tools/skills/greet/more.md: unhashed mismatch"},
		"a hidden file": {func(w *facetWorld) { w.write("tools/skills/greet/.more", "x") }, evidence.Refused,
			evidence.Refused, "unhashed mismatch"},
		"a directory": {func(w *facetWorld) { w.done(os.Mkdir(w.path("tools/skills/greet/more"), 0o755)) },
			evidence.Refused, evidence.Refused, "tools/skills/greet/more: unhashed mismatch"},
		"a link": {func(w *facetWorld) { w.done(os.Symlink("SKILL.md", w.path("tools/skills/greet/link.md"))) },
			evidence.Refused, evidence.Refused, "unhashed mismatch"},
		"beside a skill": {func(w *facetWorld) { w.write("tools/skills/mine/SKILL.md", "mine") }, evidence.OK,
			evidence.OK, ""},
		"gone": {func(w *facetWorld) { w.done(os.Remove(w.path("tools/" + skill))) }, evidence.Refused, evidence.OK,
			"tools/" + skill + ": installed missing"},
		"replaced by a link": {func(w *facetWorld) {
			w.write("aside.md", w.read("tools/"+skill))
			w.done(os.Remove(w.path("tools/" + skill)))
			w.done(os.Symlink("../../../aside.md", w.path("tools/"+skill)))
		}, evidence.Integrity, evidence.Integrity, "installed mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFacetWorld(t)
			w.must(w.install(facets.Options{}))
			c.change(w)
			v, err := check.Check(t.Context(), w.host, w.dir, check.Options{Offline: true})
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
				out, err := w.install(facets.Options{Frozen: true, Offline: offline})
				if evidence.ClassOf(err) != want || want != evidence.OK && !strings.Contains(err.Error(), c.text) {
					t.Errorf("frozen, offline %t: %v; want %s %q; %+v", offline, err, want, c.text, out)
				}
			}
			if name == "gone" {
				w.done(os.Remove(w.path("tools/" + skill)))
			}
			// Another machine has the checkout, and nothing else.
			w.host.Places.State, w.host.Places.Cache = t.TempDir(), t.TempDir()
			v, err = check.Check(t.Context(), w.host, w.dir, check.Options{Offline: true})
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
		w := newFacetWorld(t)
		w.must(w.install(facets.Options{}))
		w.write(project.ConfigFile, strings.Replace(w.read(project.ConfigFile), "dir:tools", "dir:other", 1))
		if edited {
			w.write(left, "Other.\n")
		}
		v, err := check.Check(t.Context(), w.host, w.dir, check.Options{Offline: true})
		if err != nil || v.Class() != evidence.Refused ||
			!strings.Contains(v.Err().Error(), left+": unhashed mismatch") {
			t.Errorf("edited %t: check: %v, %v", edited, err, v.Err())
		}
		if want := "kit@1.0.0 (not installed here for dir:other)"; !slices.Contains(v.Unseen, want) {
			t.Errorf("check does not say %q: %q", want, v.Unseen)
		}
		_, err = w.install(facets.Options{Frozen: true})
		if edited != (evidence.ClassOf(err) == evidence.Refused) ||
			edited && !strings.Contains(err.Error(), left+": unhashed mismatch") {
			t.Errorf("edited %t: frozen: %v", edited, err)
		}
		if _, err := os.Stat(w.path(left)); (err == nil) != edited {
			t.Errorf("edited %t: %v", edited, err)
		}
		if edited {
			continue
		}
		v, err = check.Check(t.Context(), w.host, w.dir, check.Options{Offline: true})
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
		change func(w *facetWorld, lock map[string]any)
		class  evidence.Class
		text   string
	}{
		"no lock": {func(w *facetWorld, _ map[string]any) { w.done(os.Remove(w.path(project.LockFile))) },
			evidence.Refused, "kit: source missing"},
		"no facets": {
			func(_ *facetWorld, lock map[string]any) { lock["facets"] = map[string]any{}; delete(lock, "logs") },
			evidence.Refused, "kit: source missing"},
		"a composed facet that is not there": {func(_ *facetWorld, lock map[string]any) {
			entryOf(lock, "kit")["composes"] = map[string]any{"gone": "1.0.0"}
		}, evidence.Refused, "gone: source missing"},
		"no proof": {func(_ *facetWorld, lock map[string]any) { delete(entryOf(lock, "kit"), "proof") },
			evidence.Refused, "proof missing"},
		"neither proof nor log": {func(_ *facetWorld, lock map[string]any) {
			delete(entryOf(lock, "kit"), "proof")
			delete(lock, "logs")
		}, evidence.Refused, "proof missing"},
		"a damaged proof": {func(_ *facetWorld, lock map[string]any) {
			text := entryOf(lock, "kit")["proof"].(string)
			at := strings.Index(text, "\n\n") - 10
			entryOf(lock, "kit")["proof"] = text[:at] + otherDigit(text[at]) + text[at+1:]
		}, evidence.Integrity, "proof"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFacetWorld(t)
			w.must(w.install(facets.Options{}))
			w.forge(c.change)
			for _, offline := range []bool{true, false} {
				v, err := check.Check(t.Context(), w.host, w.dir, check.Options{Offline: offline})
				if err == nil {
					err = v.Err()
				}
				if got := evidence.ClassOf(err); got != c.class && got != evidence.Validation {
					t.Errorf("check, offline %t: %s: %v", offline, got, err)
				} else if !strings.Contains(err.Error(), c.text) {
					t.Errorf("check, offline %t: %v", offline, err)
				}
			}
			_, err := w.install(facets.Options{Frozen: true})
			if got := evidence.ClassOf(err); err == nil || got != c.class && got != evidence.Validation ||
				!strings.Contains(err.Error(), c.text) {
				t.Errorf("frozen: %v", err)
			}
			// An installation that may write the lock does not help itself either.
			if _, err := w.install(facets.Options{}); err == nil && name != "a composed facet that is not there" {
				t.Error("install resolved anew what was removed")
			}
		})
	}
}

func entryOf(lock map[string]any, name string) map[string]any {
	return lock["facets"].(map[string]any)[name].(map[string]any)
}

func otherDigit(b byte) string {
	if b == 'A' {
		return "B"
	}
	return "A"
}

func (w *facetWorld) done(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// forge changes the lock, whose own digest is made to fit.
func (w *facetWorld) forge(change func(*facetWorld, map[string]any)) {
	w.t.Helper()
	var lock map[string]any
	w.done(json.Unmarshal([]byte(w.read(project.LockFile)), &lock))
	change(w, lock)
	if w.read(project.LockFile) == "" {
		return // it was removed
	}
	delete(lock, "self")
	plain, err := json.Marshal(lock)
	w.done(err)
	canonical, err := surface.Canonical(plain, surface.Limits{Depth: 16, Size: project.MaxLock})
	w.done(err)
	lock["self"] = digest.FromBytes(canonical).String()
	plain, err = json.MarshalIndent(lock, "", "  ")
	w.done(err)
	w.write(project.LockFile, string(plain)+"\n")
}
