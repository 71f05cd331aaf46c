package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

var texts = []string{
	`{}`, `[]`, `null`, `true`, `-0`, `1e5`, `1.5E-3`, `01`, `1.`, `.5`, `-`, `+1`, `1e`, `tru`, `nulll`,
	`"a"`, `"\u00e9\ud800"`, `"\x"`, `"\u12g4"`, "\"\t\"", "\"\x7f\xff\"", `"`, `"\`, `"\"`,
	`{"a":1}`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":[{"b":[1,2,{}]}],"c":""}`, `[1,]`, `[1 2]`, `[[[[]]]`, `{"a":{}`, `[}`, `{]`,
	` [ 1 , 2 ] `, "\ufeff{}", "{}\x00", "[\"\u2028\"]", `"01234567\\89abcdef\"01234567"`, `"\\"`, `"\""`, `"\\\"`, `"\\\""`, `{"\\":"\"\\\\","":"\\\""}`, `"0123456"`, `"01234567"`, "\"0123456\x01\"",
	strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting),
	strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1),
	strings.Repeat(`{"a":`, maxNesting+1) + "1" + strings.Repeat("}", maxNesting+1),
}

func validByScanner(b []byte) bool {
	var s scanner
	i := space(b, 0)
	if i == len(b) {
		return false
	}
	end, err := s.value(b, i)
	if err == nil { // and is passed over in the same way once that is known
		s.again = true
		if once, err := s.value(b, i); err != nil || once != end {
			panic(fmt.Sprintf("%q ends at %d, and when it is scanned again at %d (%v)", b, end, once, err))
		}
	}
	return err == nil && ends(b, end)
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
	f.Add([]byte(hello))
	f.Add([]byte(`{"id":1,"i\u0064":2,"ID":3}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		valid := json.Valid(b)
		if got := validByScanner(b); got != valid {
			t.Fatalf("%q: %v, encoding/json says %v", b, got, valid)
		}
		i := space(b, 0)
		if i == len(b) || b[i] != '{' {
			return
		}
		var s scanner
		m, err := s.message(b, i)
		if !valid {
			return
		}
		var all map[string]json.RawMessage
		if json.Unmarshal(b, &all) != nil {
			return
		}
		for name, at := range map[string]span{"id": m.id, "method": m.method, "params": m.params, "result": m.result, "error": m.err} {
			if raw, there := all[name]; err == nil && (there != at.ok() || there && !bytes.Equal(raw, at.of(b))) {
				t.Fatalf("%q: %s is %q, encoding/json says %q", b, name, at.of(b), raw)
			}
		}
		if err != nil {
			return
		}
		// Taking a member out leaves an object with all others.
		for _, at := range []span{m.id, m.params} {
			if !at.ok() {
				continue
			}
			var left map[string]json.RawMessage
			cut := cutMember(b, m.whole, at)
			if json.Unmarshal(cut, &left) != nil || len(left) != len(all)-1 {
				t.Fatalf("%q without %q: %q", b, at.of(b), cut)
			}
		}
		idKey(m.id.of(b))
		text(m.method.of(b))
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
			s  scanner
			at [1]span
		)
		b := []byte("  " + x.in)
		end, err := s.object(b, 2, names("x"), at[:])
		if err != nil {
			t.Fatal(err)
		}
		if got := string(cutMember(b, span{2, end}, at[0])); got != x.want || !json.Valid([]byte(got)) {
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
		a, ok := idKey([]byte(x.a))
		b, ok2 := idKey([]byte(x.b))
		if !ok || !ok2 || (a == b) != x.same {
			t.Errorf("%s and %s: %q and %q", x.a, x.b, a, b)
		}
	}
	for _, bad := range []string{``, `null`, `{}`, `[1]`, `true`, `"\ud800"`, "\"\xff\"", `1e999999999`, `1e-999999999`, `"` + strings.Repeat("x", maxID) + `"`} {
		if k, ok := idKey([]byte(bad)); ok {
			t.Errorf("%.40s: %.40q", bad, k)
		}
	}
}

// TestLines cuts streams that arrive in any pieces.
func TestLines(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const limit = 200_000
	for range 50 {
		var (
			want   []string
			stream strings.Builder
		)
		for range rnd.IntN(30) {
			n := []int{0, 1, 10, 1000, 70_000, limit - 1, limit, limit + 1, 3 * limit}[rnd.IntN(9)]
			line := strings.Repeat("x", n)
			stream.WriteString(line + "\n")
			want = append(want, fmt.Sprint(min(n+1, limit+1)))
		}
		for _, r := range []io.Reader{strings.NewReader(stream.String()), iotest.HalfReader(strings.NewReader(stream.String())), iotest.DataErrReader(strings.NewReader(stream.String()))} {
			l := newLines(r, limit)
			var got []string
			for {
				line, err := l.next()
				if err == io.EOF {
					break
				}
				if err == errLong {
					got = append(got, fmt.Sprint(limit+1))
					continue
				}
				if err != nil || line[len(line)-1] != '\n' {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(len(line)))
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
			if len(l.buf) > 2*limit {
				t.Errorf("the buffer has %d bytes", len(l.buf))
			}
		}
	}
	l := newLines(strings.NewReader("a\nlast"), 10)
	for _, want := range []string{"a\n", "last"} {
		if got, err := l.next(); string(got) != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestTemplates(t *testing.T) {
	for _, x := range []struct {
		template, uri string
		want          bool
	}{
		{"a://b", "a://b", true}, {"a://b", "a://bc", false}, {"a://{x}", "a://", true}, {"a://{x}/c", "a://b/c", true},
		{"a://{x}/c", "a://b/d", false}, {"a://{x}/c", "a://b/c/c", true}, {"{+x}", "anything", true}, {"a{x}b{y}c", "abbc", true},
		{"a{x}b{y}c", "acb", false}, {"a{x}a", "a", false}, {"a{x", "a{x", true}, {"a{x", "ab", false}, {"x{?q,r}", "x?q=1&r=2", true},
	} {
		if got := matchTemplate(x.template, x.uri); got != x.want {
			t.Errorf("%s %s: %v", x.template, x.uri, got)
		}
	}
	for _, same := range [][]string{
		{"file:///a/b", "FILE:///a//b", "file:///a/./b", "file:///a/c/../b", "file:///%61/b", "file:///a%2Fb", "file:///a/b/", "file:///a/b#x", "file:///%2561/b"},
		{"http://h/x?q=1", "http://H/x?q=1"},
		{"mem:a/b", "mem:a//b"},
	} {
		for _, uri := range same {
			if normalURI(uri) != normalURI(same[0]) {
				t.Errorf("%s is %s, %s is %s", uri, normalURI(uri), same[0], normalURI(same[0]))
			}
		}
	}
	if normalURI("a://x/y?q=1") == normalURI("a://x/y?q=2") {
		t.Error("queries are the same")
	}
}

// TestScanAllocates: what is only passed on costs no memory.
func TestScanAllocates(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"` + strings.Repeat("abc\\n", 1000) + `"}]}}`)
	var s scanner
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.message(line, 0); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkScan(b *testing.B) {
	for _, n := range []int{64, 4096} {
		line := []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var s scanner
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := s.message(line, 0); err != nil {
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
			line := []byte(`"` + strings.Repeat("\xff", n) + `"   more "text" of forty bytes, so that no loop ends early`)
			line[1+at] = byte(c)
			end, ok := scanString(line, 0)
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
