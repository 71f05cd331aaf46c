package artifact

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
)

// vectors is spec/refs.json.
type vectors struct {
	Valid []struct {
		Ref, Kind, Name, Version, Filename, Digest, URL, Normal string
	}
	Invalid []struct{ Ref, Error string }
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("../spec/refs.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Valid) < 50 || len(v.Invalid) < 100 {
		t.Fatalf("%d valid and %d invalid vectors: the file is not whole", len(v.Valid), len(v.Invalid))
	}
	return v
}

func TestParseVectors(t *testing.T) {
	for _, v := range readVectors(t).Valid {
		r, err := Parse(v.Ref)
		if err != nil {
			t.Errorf("%s: %v", v.Ref, err)
			continue
		}
		for _, f := range []struct{ field, got, want string }{
			{"String", r.String(), v.Ref},
			{"Kind", string(r.Kind()), v.Kind},
			{"Name", r.Name(), v.Name},
			{"Version", r.Version(), v.Version},
			{"Filename", r.Filename(), v.Filename},
			{"Digest", r.Digest().String(), v.Digest},
			{"URL", r.URL(), v.URL},
			{"Normal", r.Normal().String(), v.Normal},
		} {
			if f.got != f.want {
				t.Errorf("%s: %s is %q, want %q", v.Ref, f.field, f.got, f.want)
			}
		}
	}
}

func TestParseInvalidVectors(t *testing.T) {
	for _, v := range readVectors(t).Invalid {
		r, err := Parse(v.Ref)
		var e *ParseError
		if !errors.As(err, &e) {
			t.Errorf("%q: error %v is no ParseError (parsed as %v)", v.Ref, err, r)
			continue
		}
		if string(e.Part) != v.Error || e.Text != v.Ref {
			t.Errorf("%q: part %q of %q, want %q (%v)", v.Ref, e.Part, e.Text, v.Error, err)
		}
		if !r.IsZero() || r != (Ref{}) {
			t.Errorf("%q: an error came with the Ref %v", v.Ref, r)
		}
	}
}

// Normal tells artifacts apart: exactly the listed groups are the same.
func TestNormalGroups(t *testing.T) {
	groups := [][]string{
		{"pypi:A.b==1.0", "pypi:a_B==1.0.0", "pypi:a--b==v1", "pypi:a-b==0!1.0"},
		{"pypi:a-b==1.0/f.whl", "pypi:a.b==1/f.whl"},
		{"pypi:a-b==1.0/F.whl"},
		{"pypi:a-b==1.0.post1", "pypi:a-b==1-1"},
		{"pypi:ab==1.0"},
		{"nuget:A@1.0.0", "nuget:a@1.0", "nuget:a@1.0.0.0+x"},
		{"nuget:a@1.0.0.1"},
		{"cargo:A@1.0.0", "cargo:a@1.0.0"},
		{"npm:A@1.0.0"},
		{"npm:a@1.0.0"},
		{"github:O/R/v1/a", "https://github.com/o/r/releases/download/v1/a",
			"https://GITHUB.com:443/o/R/releases/download/%76%31/a#frag"},
		{"github:o/r/V1/a"},
		{"github:o/r/v1/A"},
		{"https://github.com/o/r/releases/download/v1/a?x"},
		{"github:o/r/a/b/c", "https://github.com/o/r/releases/download/a/b/c",
			"https://github.com/o/r/releases/download/a%2fb/c"},
		{"https://h.example/a", "https://H.EXAMPLE:443/%61#x"},
		{"https://h.example:444/a"},
		{"https://h.example/A"},
		{"https://h.example/a?"},
		{"https://h.example", "https://h.example/"},
		{"https://h.example/a%2Fb", "https://h.example/a%2fb"},
		{"https://h.example/a/b"},
		{"oci:h.example/a:1"},
		{"oci:h.example/a:2"},
		{"file:a/b", "file:./a//b"},
	}
	seen := map[Ref]int{}
	for i, group := range groups {
		for _, s := range group {
			r, err := Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			if j, ok := seen[r.Normal()]; ok && j != i {
				t.Errorf("%s names the same artifact as %s", s, groups[j][0])
			}
			seen[r.Normal()] = i
		}
	}
	if len(seen) != len(groups) {
		t.Errorf("%d artifacts, want %d: %v", len(seen), len(groups), seen)
	}
}

// The default registry of image references has two names and an implied namespace.
func TestNormalDefaultRegistry(t *testing.T) {
	alias := strings.TrimPrefix(name.DefaultRegistry, "index.")
	var want Ref
	for i, s := range []string{name.DefaultRegistry + "/library/redis:7", alias + "/redis:7",
		name.DefaultRegistry + "/redis:7"} {
		r, err := NewOCI(s)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want = r
		}
		if r.Normal() != want {
			t.Errorf("%s: normal %s, want %s", s, r.Normal(), want)
		}
	}
}

func TestConstructors(t *testing.T) {
	for _, c := range []struct {
		make func() (Ref, error)
		want string
	}{
		{func() (Ref, error) { return NewNPM("@s/n", "1.2.3") }, "npm:@s/n@1.2.3"},
		{func() (Ref, error) { return NewPyPI("n", "1.2", "") }, "pypi:n==1.2"},
		{func() (Ref, error) { return NewPyPI("n", "1.2", "n-1.2.tar.gz") }, "pypi:n==1.2/n-1.2.tar.gz"},
		{func() (Ref, error) { return NewNuGet("N", "1.2") }, "nuget:N@1.2"},
		{func() (Ref, error) { return NewCargo("n", "1.2.3") }, "cargo:n@1.2.3"},
		{func() (Ref, error) { return NewGitHub("o", "r", "a/b", "x") }, "github:o/r/a/b/x"},
		{func() (Ref, error) { return NewOCI("h.example/r:1") }, "oci:h.example/r:1"},
		{func() (Ref, error) { return NewFile("a/b") }, "file:a/b"},
	} {
		if r, err := c.make(); err != nil || r.String() != c.want {
			t.Errorf("%q, %v, want %s", r, err, c.want)
		}
	}
	// No part may smuggle in another.
	for _, c := range []struct{ got Ref }{
		{first(NewNPM("a@1.0.0", "2.0.0"))},
		{first(NewPyPI("n==1.0/x", "2.0", ""))},
		{first(NewPyPI("n", "1.0/x", "y"))},
		{first(NewCargo("a@1.0.0", "2.0.0"))},
		{first(NewGitHub("o", "", "v1", "a"))},
	} {
		if !c.got.IsZero() {
			t.Errorf("made %s of parts that are none", c.got)
		}
	}
}

func first(r Ref, _ error) Ref { return r }

func TestText(t *testing.T) {
	type doc struct {
		R Ref `json:"r"`
	}
	var d doc
	if err := json.Unmarshal([]byte(`{"r":"npm:a@1.0.0"}`), &d); err != nil {
		t.Fatal(err)
	}
	if out, err := json.Marshal(d); err != nil || string(out) != `{"r":"npm:a@1.0.0"}` {
		t.Errorf("%s, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"r":"npm:a@latest"}`), &d); err == nil {
		t.Error("latest was read")
	}
	d = doc{R: d.R}
	if err := json.Unmarshal([]byte(`{"r":""}`), &d); err != nil || !d.R.IsZero() {
		t.Errorf("%v, %v", d.R, err)
	}
	var zero Ref
	if zero.String() != "" || !zero.IsZero() || zero.Normal() != zero || !zero.Digest().IsZero() {
		t.Error("the zero value names something")
	}
}

// Text from outside is bounded and escaped in messages.
func TestErrorText(t *testing.T) {
	_, err := Parse("npm:\x1b[31mred\u202e@1.0.0" + strings.Repeat("x", 5000))
	if s := err.Error(); len(s) > 700 || strings.ContainsAny(s, "\x1b\u202e\n") {
		t.Errorf("message %q", s)
	}
}

func FuzzParse(f *testing.F) {
	v := readVectors(f)
	for _, x := range v.Valid {
		f.Add(x.Ref)
	}
	for _, x := range v.Invalid {
		f.Add(x.Ref)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err != nil {
			var e *ParseError
			if !errors.As(err, &e) || e.Reason == "" || e.Part == "" {
				t.Fatalf("%q: error %v", s, err)
			}
			return
		}
		if r.String() != s || r.IsZero() {
			t.Fatalf("%q prints as %q", s, r)
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Fatalf("%q: parsed twice: %v, %v", s, again, err)
		}
		n := r.Normal()
		if n.Normal() != n {
			t.Fatalf("%q: normal %q, of which the normal is %q", s, n, n.Normal())
		}
		// A spelling may grow in normal form, past a limit only if it was near it.
		grown := len(n.String()) > MaxLength || len(n.Version()) > maxVersion
		if p, err := Parse(n.String()); (err != nil || p != n) && !grown {
			t.Fatalf("%q: normal %q does not parse to itself: %v", s, n, err)
		}
		if r.Kind() == NPM && n != r {
			t.Fatalf("%q: normal %q", s, n)
		}
		// The standard library must see the same host and path as we do.
		if r.URL() != "" {
			u, err := url.Parse(r.URL())
			if err != nil {
				t.Fatalf("%q: net/url: %v", s, err)
			}
			ours, _ := splitURL(r.URL()[strings.IndexByte(r.URL(), ':')+1:])
			if u.Host != ours.host || u.EscapedPath() != ours.path || u.Fragment != "" ||
				strings.TrimPrefix(ours.query, "?") != u.RawQuery {
				t.Fatalf("%q: net/url reads %q %q %q", s, u.Host, u.EscapedPath(), u.RawQuery)
			}
			if _, password := u.User.Password(); password || u.User != nil && r.Kind() == HTTPS {
				t.Fatalf("%q: userinfo", s)
			}
		}
		for _, segment := range strings.Split(r.Filename(), "/") {
			if segment == ".." || strings.Contains(segment, `\`) {
				t.Fatalf("%q: file name %q", s, r.Filename())
			}
		}
	})
}

// A package at another version is the same package; what has no versions is an error.
func TestWithVersion(t *testing.T) {
	for from, want := range map[string]string{
		"npm:@acme/notes@1.0.0": "npm:@acme/notes@2.0.0", "nuget:Notes@1.0.0": "nuget:Notes@2.0.0",
		"cargo:notes@1.0.0": "cargo:notes@2.0.0", "go:example.com/notes@v1.0.0": "",
		"pypi:notes==1.0.0": "pypi:notes==2.0.0", "pypi:notes==1.0.0/notes-1.0.0-py3-none-any.whl": "pypi:notes==2.0.0",
		"oci:example.com/notes:1.0.0": "", "file:notes.json": "",
	} {
		ref, err := Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ref.WithVersion("2.0.0"); got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v, want %s", from, got, err, want)
		}
	}
}
