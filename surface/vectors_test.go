package surface

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// sent is an item as a server sent it: a JSON string, or {"base64": …} where the
// bytes are not UTF-8.
type sent struct{ raw []byte }

func (s *sent) UnmarshalJSON(data []byte) error {
	var text string
	if data[0] == '"' {
		err := json.Unmarshal(data, &text)
		s.raw = []byte(text)
		return err
	}
	var bytes struct{ Base64 []byte }
	err := json.Unmarshal(data, &bytes)
	s.raw = bytes.Base64
	return err
}

type vectorListing struct {
	Instructions      string
	Tools             []sent
	Prompts           []sent
	Resources         []sent
	ResourceTemplates []sent
}

func (v vectorListing) listing() Listing {
	raw := func(list []sent) (out []json.RawMessage) {
		for _, s := range list {
			out = append(out, s.raw)
		}
		return out
	}
	return Listing{v.Instructions, raw(v.Tools), raw(v.Prompts), raw(v.Resources), raw(v.ResourceTemplates)}
}

type vectors struct {
	Words []string
	Cases []struct {
		Name string
		vectorListing
		Error      Problem
		Canonical  string
		Surface    string
		APISurface string `json:"api_surface"`
		Items      map[string]string
	}
	Pairs []struct {
		A, B       string
		Surface    string
		APISurface string `json:"api_surface"`
	}
	Numbers []struct {
		JSON      string
		Error     Problem
		Canonical string
	}
	Read []struct {
		Name    string
		Text    string
		Base64  []byte
		Error   Problem
		Surface string
	}
	Diff []struct {
		Name     string
		Old, New vectorListing
		Changes  []vectorChange
	}
	Escape []struct {
		Text    string
		Base64  string
		Escaped string
	}
}

type vectorChange struct {
	Class    Class
	Severity Severity
	Item     string
	Path     string
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("../spec/surface.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// wantProblem fails unless err is an *Error of that problem with one line of
// text.
func wantProblem(t *testing.T, err error, want Problem) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *Error with %s", err, want)
	}
	if e.Problem != want {
		t.Errorf("problem %s (%v), want %s", e.Problem, e, want)
	}
	if got := e.Error(); len(FindHidden(got)) > 0 || strings.ContainsAny(got, "\t\n\r") {
		t.Errorf("the message is not escaped: %q", got)
	}
}

func TestVectors(t *testing.T) {
	surface, api := map[string]string{}, map[string]string{}
	v := readVectors(t)
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			s, err := New(c.listing())
			if c.Error != "" {
				wantProblem(t, err, c.Error)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			surface[c.Name], api[c.Name] = c.Surface, c.APISurface
			if got := string(s.Canonical()); got != c.Canonical {
				t.Errorf("canonical form\n got %s\nwant %s", got, c.Canonical)
			}
			if got := s.Digest().String(); got != c.Surface {
				t.Errorf("surface %s, want %s", got, c.Surface)
			}
			if got := s.APISurface().String(); got != c.APISurface {
				t.Errorf("api_surface %s, want %s", got, c.APISurface)
			}
			items := map[string]string{}
			for _, i := range s.Items() {
				items[i.Key()] = i.Digest.String()
			}
			if !reflect.DeepEqual(items, c.Items) {
				t.Errorf("items %v, want %v", items, c.Items)
			}
			for name, b := range map[string][]byte{"canonical": s.Canonical(), "indented": s.FormatIndented()} {
				again, err := Read(b)
				if err != nil {
					t.Fatalf("the %s form is not read: %v\n%s", name, err, b)
				}
				if got := again.Digest().String(); got != c.Surface {
					t.Errorf("surface %s from the %s form, want %s", got, name, c.Surface)
				}
			}
		})
	}
	for _, p := range v.Pairs {
		if surface[p.A] == "" || surface[p.B] == "" {
			t.Errorf("pair %q, %q names no case", p.A, p.B)
		}
		if got := surface[p.A] == surface[p.B]; got != (p.Surface == "same") {
			t.Errorf("surface of %q and %q: same is %v", p.A, p.B, got)
		}
		if got := api[p.A] == api[p.B]; got != (p.APISurface == "same") {
			t.Errorf("api_surface of %q and %q: same is %v", p.A, p.B, got)
		}
	}
}

// NewItem alone gives the same items and errors as a listing of one.
func TestNewItemVectors(t *testing.T) {
	for _, c := range readVectors(t).Cases {
		l := c.listing()
		for _, k := range listedKinds {
			for _, raw := range l.kind(k) {
				item, err := NewItem(k, raw)
				if err == nil && c.Error == "" && item.Digest.String() != c.Items[item.Key()] {
					t.Errorf("%s: NewItem gives %s the digest %s, want %s", c.Name, item.Key(), item.Digest,
						c.Items[item.Key()])
				}
				if c.Error == "" && err != nil {
					t.Errorf("%s: %v", c.Name, err)
				}
				if c.Error != "" && c.Error != ProblemDuplicateItem {
					if len(l.kind(k)) == 1 {
						wantProblem(t, err, c.Error)
					}
				}
			}
		}
	}
}

func TestNumberVectors(t *testing.T) {
	for _, n := range readVectors(t).Numbers {
		v, err := parse([]byte(n.JSON), Limits{}, modeSent)
		if n.Error != "" {
			if err == nil || err.Problem != n.Error {
				t.Errorf("%s: error %v, want %s", n.JSON, err, n.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", n.JSON, err)
			continue
		}
		if got := string(v.canonical()); got != n.Canonical {
			t.Errorf("%s is %s, want %s", n.JSON, got, n.Canonical)
		}
	}
}

func TestReadVectors(t *testing.T) {
	for _, c := range readVectors(t).Read {
		t.Run(c.Name, func(t *testing.T) {
			data := c.Base64
			if data == nil {
				data = []byte(c.Text)
			}
			s, err := Read(data)
			if c.Error != "" {
				wantProblem(t, err, c.Error)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Digest().String(); got != c.Surface {
				t.Errorf("surface %s, want %s", got, c.Surface)
			}
		})
	}
}

func TestDiffVectors(t *testing.T) {
	for _, c := range readVectors(t).Diff {
		t.Run(c.Name, func(t *testing.T) {
			old, err := New(c.Old.listing())
			if err != nil {
				t.Fatal(err)
			}
			new, err := New(c.New.listing())
			if err != nil {
				t.Fatal(err)
			}
			got := []vectorChange{}
			for _, x := range Diff(old, new) {
				got = append(got, vectorChange{x.Class, x.Severity, x.Item, x.Path})
			}
			if !reflect.DeepEqual(got, c.Changes) {
				t.Errorf("changes\n got %v\nwant %v", got, c.Changes)
			}
			if same := Diff(new, new); len(same) != 0 {
				t.Errorf("a surface differs from itself: %v", same)
			}
		})
	}
}

func TestStandardWords(t *testing.T) {
	if got := slices.Sorted(maps.Keys(standardWords())); !slices.Equal(got, slices.Sorted(slices.Values(readVectors(t).Words))) {
		t.Errorf("the words are %q", got)
	}
}

func TestEscapeVectors(t *testing.T) {
	for _, c := range readVectors(t).Escape {
		text := c.Text
		if c.Base64 != "" {
			raw, err := base64.StdEncoding.DecodeString(c.Base64)
			if err != nil {
				t.Fatal(err)
			}
			text = string(raw)
		}
		if got := Escape(text); got != c.Escaped {
			t.Errorf("Escape(%+q) = %q, want %q", text, got, c.Escaped)
		}
	}
}
