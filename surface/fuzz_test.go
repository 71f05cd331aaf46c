package surface

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
)

// FuzzNew: no input panics, and the canonical form is a fixpoint of Read, of
// package jcs and of the indented form.
func FuzzNew(f *testing.F) {
	for _, c := range readVectors(f).Cases {
		l := c.listing()
		for _, k := range listedKinds {
			for _, raw := range l.kind(k) {
				f.Add([]byte(raw), c.Instructions)
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, instructions string) {
		for _, l := range []Listing{
			{Instructions: instructions, Tools: []json.RawMessage{raw}},
			{Resources: []json.RawMessage{raw, []byte(`{"uri":"u"}`)}, Prompts: []json.RawMessage{raw}},
		} {
			s, err := New(l)
			if err != nil {
				if len(FindHidden(err.Error())) > 0 {
					t.Errorf("the message is not escaped: %q", err)
				}
				continue
			}
			for _, form := range [][]byte{s.Canonical(), s.FormatIndented()} {
				again, err := Read(form)
				if err != nil {
					t.Fatalf("%v\n%s", err, form)
				}
				if again.Digest().Hex() != s.Digest().Hex() {
					t.Fatalf("%s\nreads as\n%s", form, again.Canonical())
				}
			}
			if out, err := jcs.Transform(s.Canonical()); err != nil || string(out) != string(s.Canonical()) {
				t.Fatalf("package jcs: %v\n%s\n%s", err, out, s.Canonical())
			}
			if !json.Valid(s.FormatIndented()) {
				t.Fatalf("not JSON\n%s", s.FormatIndented())
			}
			s.APISurface()
			Warnings(s)
			FormatChanges(Diff(mustNew(t, Listing{}), s))
		}
	})
}

// FuzzCheckJSON: what is accepted, encoding/json accepts.
func FuzzCheckJSON(f *testing.F) {
	for _, n := range readVectors(f).Numbers {
		f.Add([]byte(n.JSON))
	}
	f.Add([]byte(`{"a":[true,false,null,"\u00e9\ud83d\ude00"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := CheckJSON(data, Limits{}); err == nil && !json.Valid(data) {
			t.Fatalf("%q is accepted", data)
		} else if err != nil && err.(*Error).Problem == ProblemSyntax && json.Valid(data) {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

// FuzzRead: no input panics, and what is read is read again from its own form.
func FuzzRead(f *testing.F) {
	for _, c := range readVectors(f).Read {
		f.Add([]byte(c.Text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(data)
		if err != nil {
			return
		}
		again, err := Read(s.Canonical())
		if err != nil || again.Digest().Hex() != s.Digest().Hex() {
			t.Fatalf("%v\n%s", err, s.Canonical())
		}
	})
}

// FuzzDiff: no two tools of a name panic, and the diff is empty only if they are
// the same.
func FuzzDiff(f *testing.F) {
	for _, c := range readVectors(f).Diff {
		if len(c.Old.Tools) == 1 && len(c.New.Tools) == 1 {
			f.Add(c.Old.Tools[0].raw, c.New.Tools[0].raw)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		old, err := New(Listing{Tools: []json.RawMessage{a}})
		if err != nil {
			return
		}
		new, err := New(Listing{Tools: []json.RawMessage{b}})
		if err != nil {
			return
		}
		changes := Diff(old, new)
		if (len(changes) == 0) != (string(old.Canonical()) == string(new.Canonical())) {
			t.Fatalf("%d changes\n%s\n%s", len(changes), old.Canonical(), new.Canonical())
		}
		if text := FormatChanges(changes); len(FindHidden(text)) > 0 {
			t.Fatalf("text %q", text)
		}
	})
}

// A tool as servers have them: about 2 kB, ten parameters.
func benchmarkTool() []byte {
	var p []string
	for i := range 10 {
		p = append(p,
			fmt.Sprintf(`"parameter%d":{"type":"string","description":"%s","maxLength":%d}`, i,
				strings.Repeat("What it is for. ", 8), i*100))
	}
	return []byte(
		`{"name":"tool","description":"` + strings.Repeat("What the tool does. ", 10) +
			`","inputSchema":{"type":"object","properties":{` + strings.Join(p, ",") +
			`},"required":["parameter1","parameter0"]}}`)
}

func BenchmarkNewItem(b *testing.B) {
	raw := benchmarkTool()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewItem(KindTool, raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode is the reference for BenchmarkNewItem: the standard library's
// decoding of the same item.
func BenchmarkDecode(b *testing.B) {
	raw := benchmarkTool()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil {
			b.Fatal(err)
		}
	}
}
