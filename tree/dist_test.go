package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDistVectors(t *testing.T) {
	data, err := os.ReadFile("../spec/dist-hash.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Trees []struct {
			Name  string `json:"name"`
			Files []struct {
				Path string `json:"path"`
				Text string `json:"text"`
			} `json:"files"`
			Profiles map[Profile]struct {
				Hash  string `json:"hash"`
				Error string `json:"error"`
			} `json:"profiles"`
		} `json:"trees"`
		ICU []string `json:"icu"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	hashes := map[string]string{}
	for _, c := range v.Trees {
		m := memory{}
		for _, f := range c.Files {
			m[f.Path] = entry{content: []byte(f.Text)}
		}
		if len(c.Profiles) != len(Profiles()) {
			t.Errorf("%s: %d profiles", c.Name, len(c.Profiles))
		}
		for p, want := range c.Profiles {
			d, err := Dist(t.Context(), p, m.files(), m.open, 0)
			switch {
			case want.Error != "":
				if err == nil || !strings.Contains(err.Error(), want.Error) {
					t.Errorf("%s, %s: got %s, %v; want an error that holds %q", c.Name, p, d, err, want.Error)
				}
			case err != nil || d.String() != want.Hash:
				t.Errorf("%s, %s: got %s, %v; want %s", c.Name, p, d, err, want.Hash)
			}
			hashes[c.Name+"/"+string(p)] = d.String()
		}
	}
	// What the profiles are known for in plugins that others published.
	for name, want := range map[string]string{
		"ordering/guide":             "sha256:98721a980e4220fbb50f90543a46b543f666b927bbe477810489beccf4cc8694",
		"ordering/od":                "sha256:ca2ef534de27ddb11217fb4bdda36c198c8dc4ec4a29d5ecb524242ce0443edd",
		"ambiguous, one file/guide":  "sha256:3eff44b05528a4eb6c81f471a6e61615ff5df9f76f1142fcc44127acf30a08e7",
		"ambiguous, two files/guide": "sha256:3eff44b05528a4eb6c81f471a6e61615ff5df9f76f1142fcc44127acf30a08e7",
	} {
		if hashes[name] != want {
			t.Errorf("%s: got %s, want %s", name, hashes[name], want)
		}
	}
	for i, a := range v.ICU {
		for j, b := range v.ICU {
			if got := CompareICU(a, b); got != min(max(i-j, -1), 1) {
				t.Errorf("CompareICU(%q, %q) = %d", a, b, got)
			}
		}
	}
}

// Whatever the profile, the hash does not depend on the order in which files come, and
// changes with each byte of what is hashed, with names, and with nothing else.
func TestDistProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := memory{}
		for range rapid.IntRange(1, 6).Draw(t, "files") {
			path := rapid.StringMatching(`[ -.0-\[\]-~]{1,4}(/[ -.0-\[\]-~]{1,3})?`).Draw(t, "path")
			if CheckPath(path) == nil {
				m[path] = entry{content: []byte(rapid.String().Draw(t, "content"))}
			}
		}
		p := rapid.SampledFrom(Profiles()).Draw(t, "profile")
		hashed := p.SelectFiles(m.files())
		got, err := Dist(t.Context(), p, m.files(), m.open, 1)
		if len(hashed) == 0 {
			if !errors.Is(err, ErrEmpty) {
				t.Fatal(err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		shuffled := rapid.Permutation(m.files()).Draw(t, "order")
		again, err := Dist(t.Context(), p, shuffled, m.open, 3)
		if err != nil || again.String() != got.String() {
			t.Fatalf("%s, then %s, %v", got, again, err)
		}
		for path, e := range m {
			was := e.content
			m[path] = entry{content: append([]byte("!"), was...)}
			other, err := Dist(t.Context(), p, m.files(), m.open, 1)
			m[path] = e
			if err != nil {
				t.Fatal(err)
			}
			isHashed := slices.ContainsFunc(hashed, func(f File) bool { return f.Path == path })
			if (other.String() != got.String()) != isHashed {
				t.Fatalf("%q, hashed: %v; %s and %s", path, isHashed, got, other)
			}
		}
	})
}

func TestDistRefuses(t *testing.T) {
	m := memory{"a": {content: []byte("a")}}
	if _, err := Dist(t.Context(), "other", m.files(), m.open, 1); err == nil || Profile("other").Known() ||
		!OD.Known() {
		t.Error("an unknown profile is known")
	}
	twice := append(m.files(), m.files()...)
	for _, p := range Profiles() {
		if _, err := Dist(t.Context(), p, twice, m.open, 1); err == nil {
			t.Errorf("%s: a path twice has a hash", p)
		}
		if _, err := Dist(t.Context(), p, []File{{Path: "a", Size: 2}}, m.open, 1); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", p, err)
		}
	}
}
