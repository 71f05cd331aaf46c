package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

var texts = []string{
	`{}`, `[]`, `null`, `true`, `-0`, `1e5`, `1.5E-3`, `01`, `1.`, `.5`, `-`, `+1`, `1e`, `tru`, `nulll`,
	`"a"`, `"\u00e9\ud800"`, `"\x"`, `"\u12g4"`, "\"\t\"", "\"\x7f\xff\"", `"`, `"\`, `"\"`,
	`{"a":1}`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":[{"b":[1,2,{}]}],"c":""}`, `[1,]`, `[1 2]`, `[[[[]]]`, `{"a":{}`,
	`[}`, `{]`,
	` [ 1 , 2 ] `, "\ufeff{}", "{}\x00", "[\"\u2028\"]", `"01234567\\89abcdef\"01234567"`, `"\\"`, `"\""`, `"\\\"`,
	`"\\\""`, `{"\\":"\"\\\\","":"\\\""}`, `"0123456"`, `"01234567"`, "\"0123456\x01\"",
	strings.Repeat("[", MaxNesting) + strings.Repeat("]", MaxNesting),
	strings.Repeat("[", MaxNesting+1) + strings.Repeat("]", MaxNesting+1),
	strings.Repeat(`{"a":`, MaxNesting+1) + "1" + strings.Repeat("}", MaxNesting+1),
}

func validByScanner(b []byte) bool {
	var s Scanner
	i := SkipSpace(b, 0)
	if i == len(b) {
		return false
	}
	end, err := s.Value(b, i)
	if err == nil { // and is passed over in the same way once that is known
		s.Rescan = true
		if once, err := s.Value(b, i); err != nil || once != end {
			panic(fmt.Sprintf("%q ends at %d, and when it is scanned again at %d (%v)", b, end, once, err))
		}
	}
	return err == nil && Ends(b, end)
}

func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	for _, x := range texts {
		if got, want := validByScanner([]byte(x)), json.Valid([]byte(x)); got != want {
			t.Errorf("%.60q: %v, encoding/json says %v", x, got, want)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, x := range texts {
		f.Add([]byte(x))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
	f.Add([]byte(`{"id":1,"i\u0064":2,"ID":3}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		valid := json.Valid(b)
		if got := validByScanner(b); got != valid {
			t.Fatalf("%q: %v, encoding/json says %v", b, got, valid)
		}
		i := SkipSpace(b, 0)
		if i == len(b) || b[i] != '{' {
			return
		}
		var s Scanner
		m, err := s.Message(b, i)
		if !valid {
			return
		}
		var all map[string]json.RawMessage
		if json.Unmarshal(b, &all) != nil {
			return
		}
		for name, at := range map[string]Span{"id": m.ID, "method": m.Method, "params": m.Params, "result": m.Result,
			"error": m.Err} {
			if raw, there := all[name]; err == nil && (there != at.Present() || there && !bytes.Equal(raw, at.Of(b))) {
				t.Fatalf("%q: %s is %q, encoding/json says %q", b, name, at.Of(b), raw)
			}
		}
		if err != nil {
			return
		}
		// Taking a member out leaves an object with all others.
		for _, at := range []Span{m.ID, m.Params} {
			if !at.Present() {
				continue
			}
			var left map[string]json.RawMessage
			cut := CutMember(b, m.Whole, at)
			if json.Unmarshal(cut, &left) != nil || len(left) != len(all)-1 {
				t.Fatalf("%q without %q: %q", b, at.Of(b), cut)
			}
		}
		IDKey(m.ID.Of(b))
		Text(m.Method.Of(b))
	})
}

func TestCutMember(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{`{"x":1}`, `{}`},
		{`{ "x" : 1 }`, `{  }`},
		{`{"x":1,"y":2}`, `{"y":2}`},
		{`{"y":2 , "x":[1,"}"] }`, `{"y":2  }`},
		{`{"y":2,"x":1 , "z":3}`, `{"y":2,"z":3}`},
	} {
		var (
			s  Scanner
			at [1]Span
		)
		b := []byte("  " + x.in)
		end, err := s.Object(b, 2, Names("x"), at[:])
		if err != nil {
			t.Fatal(err)
		}
		if got := string(CutMember(b, Span{2, end}, at[0])); got != x.want || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s, want %s", x.in, got, x.want)
		}
	}
}

func TestIDKey(t *testing.T) {
	for _, x := range []struct {
		a, b string
		same bool
	}{
		{`1`, `"1"`, false}, {`1`, `1.0`, true}, {`1`, `10e-1`, true}, {`0`, `-0`, true}, {`0`, `-0.0`, true},
		{`9007199254740993`, `9007199254740992`, false}, {`"a"`, `"\u0061"`, true}, {`"A"`, `"a"`, false},
		{`1.5`, `15e-1`, true}, {`123456789012345678901234567890`, `123456789012345678901234567890.0`, true},
	} {
		a, ok := IDKey([]byte(x.a))
		b, ok2 := IDKey([]byte(x.b))
		if !ok || !ok2 || (a == b) != x.same {
			t.Errorf("%s and %s: %q and %q", x.a, x.b, a, b)
		}
	}
	for _, bad := range []string{``, `null`, `{}`, `[1]`, `true`, `"\ud800"`, "\"\xff\"", `1e999999999`, `1e-999999999`,
		`"` + strings.Repeat("x", MaxID) + `"`} {
		if k, ok := IDKey([]byte(bad)); ok {
			t.Errorf("%.40s: %.40q", bad, k)
		}
	}
}

func TestTemplates(t *testing.T) {
	for _, x := range []struct {
		template, uri string
		want          bool
	}{
		{"a://b", "a://b", true}, {"a://b", "a://bc", false}, {"a://{x}", "a://", true}, {"a://{x}/c", "a://b/c", true},
		{"a://{x}/c", "a://b/d", false}, {"a://{x}/c", "a://b/c/c", true}, {"{+x}", "anything", true},
		{"a{x}b{y}c", "abbc", true},
		{"a{x}b{y}c", "acb", false}, {"a{x}a", "a", false}, {"a{x", "a{x", true}, {"a{x", "ab", false},
		{"x{?q,r}", "x?q=1&r=2", true},
	} {
		if got := MatchTemplate(x.template, x.uri); got != x.want {
			t.Errorf("%s %s: %v", x.template, x.uri, got)
		}
	}
	for _, same := range [][]string{
		{"file:///a/b", "FILE:///a//b", "file:///a/./b", "file:///a/c/../b", "file:///%61/b", "file:///a%2Fb",
			"file:///a/b/", "file:///a/b#x", "file:///%2561/b"},
		{"http://h/x?q=1", "http://H/x?q=1"},
		{"mem:a/b", "mem:a//b"},
	} {
		for _, uri := range same {
			if NormalURI(uri) != NormalURI(same[0]) {
				t.Errorf("%s is %s, %s is %s", uri, NormalURI(uri), same[0], NormalURI(same[0]))
			}
		}
	}
	if NormalURI("a://x/y?q=1") == NormalURI("a://x/y?q=2") {
		t.Error("queries are the same")
	}
}

// TestScanAllocates: what is only passed on costs no memory.
func TestScanAllocates(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"` +
		strings.Repeat("abc\\n", 1000) + `"}]}}`)
	var s Scanner
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Message(line, 0); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{64, 4096} {
		line := []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"` +
			strings.Repeat("x", n) +
			`"}]}}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var s Scanner
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := s.Message(line, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestScanStringEverywhere has each byte at each place of a string that is long enough for
// every width in which strings are scanned.
func TestScanStringEverywhere(t *testing.T) {
	const n = 75
	for c := range 256 {
		for at := range n - 1 { // a backslash at the last place would make the quote a part
			line := []byte(`"` + strings.Repeat("\xff", n) +
				`"   more "text" of forty bytes, so that no loop ends early`)
			line[1+at] = byte(c)
			end, ok := ScanString(line, 0)
			want, valid := n+2, true
			switch {
			case c == '"':
				want = at + 2
			case c < ' ' || c == '\\':
				want, valid = at+1, false
			}
			if end != want || ok != valid {
				t.Fatalf("byte %#x at %d: got %d, %t; want %d, %t", c, at, end, ok, want, valid)
			}
		}
	}
}
