package surface

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

// someText has every kind of code point that is treated differently somewhere.
var someText = rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00\n\"\\/~é\u202e\u2028\ue000\uffee😀\U000e0041 ")), 0, 6,
	-1)

// someJSON is a JSON value without canonical ambiguity of its own: numbers are
// small integers or halves.
func someJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 6
		if depth == 0 {
			most = 4
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return float64(rapid.IntRange(-9, 99).Draw(t, "number")) / 2
		case 3, 4:
			return someText.Draw(t, "text")
		case 5:
			return rapid.SliceOfN(someJSON(depth-1), 0, 3).Draw(t, "array")
		}
		return someMembers(depth-1, someText).Draw(t, "object")
	})
}

func someMembers(depth int, names *rapid.Generator[string]) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		return map[string]any(rapid.MapOfN(names, someJSON(depth), 0, 4).Draw(t, "members"))
	})
}

var keywords = rapid.OneOf(someText, rapid.SampledFrom([]string{
	"type", "properties", "required", "items", "anyOf", "allOf", "oneOf", "not", "$defs", "enum", "const", "default",
	"description", "minimum", "maxLength", "additionalProperties", "patternProperties", "prefixItems", "if",
	"uniqueItems",
}))

// someSchema is a JSON object that looks like a schema, well formed or not.
func someSchema(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		m := map[string]any{}
		for _, k := range rapid.SliceOfN(keywords, 0, 4).Draw(t, "keywords") {
			switch {
			case depth > 0 && (k == "items" || k == "not" || k == "if" || k == "additionalProperties"):
				m[k] = someSchema(depth-1).Draw(t, k)
			case depth > 0 && (k == "anyOf" || k == "allOf" || k == "oneOf" || k == "prefixItems"):
				m[k] = rapid.SliceOfN(someSchema(depth-1), 0, 3).Draw(t, k)
			case depth > 0 && (k == "properties" || k == "$defs" || k == "patternProperties"):
				m[k] = map[string]any(
					rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "required", "é/~"}), someSchema(depth-1), 0,
						3).Draw(t, k))
			case k == "required":
				m[k] = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "required", "c"}), 0, 4,
					rapid.ID).Draw(t, k)
			default:
				m[k] = someJSON(depth).Draw(t, k)
			}
		}
		return m
	})
}

type model struct {
	instructions string
	tools        map[string]map[string]any
	resources    map[string]map[string]any
}

var someModel = rapid.Custom(func(t *rapid.T) model {
	m := model{someText.Draw(t, "instructions"), map[string]map[string]any{}, map[string]map[string]any{}}
	names := rapid.SampledFrom([]string{"a", "b", "ab", "é", "\uffee", "😀"})
	for _, n := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID).Draw(t, "tools") {
		tool := someMembers(2, keywords).Draw(t, "tool").(map[string]any)
		tool["name"] = n
		tool["inputSchema"] = someSchema(3).Draw(t, "schema")
		m.tools[n] = tool
	}
	for _, n := range rapid.SliceOfNDistinct(names, 0, 2, rapid.ID).Draw(t, "resources") {
		r := someMembers(2, someText).Draw(t, "resource").(map[string]any)
		r["uri"] = n
		m.resources[n] = r
	}
	return m
})

// spell writes v as JSON with random order of members, white space, escapes and
// spellings of numbers. schema says that v is at a schema position, where the
// order of required does not matter either.
func spell(r *rand.Rand, b *strings.Builder, v any, schema bool) {
	space := func() { b.WriteString([]string{"", "", " ", "\n", "\t\r"}[r.IntN(5)]) }
	space()
	defer space()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case float64:
		switch r.IntN(4) {
		case 0:
			b.WriteString(strconv.FormatFloat(v, 'e', -1, 64))
		case 1:
			b.WriteString(strconv.FormatFloat(v, 'f', 3, 64))
		case 2:
			fmt.Fprintf(b, "%vE-2", v*100)
		default:
			fmt.Fprint(b, v)
		}
	case string:
		b.WriteByte('"')
		for _, c := range v {
			switch {
			case c < ' ' || c == '"' || c == '\\' || r.IntN(4) == 0:
				for _, u := range utf16.Encode([]rune{c}) {
					fmt.Fprintf(b, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], u)
				}
			default:
				b.WriteRune(c)
			}
		}
		b.WriteByte('"')
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		if schema {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		spell(r, b, list, false)
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(r, b, x, schema)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		keys := slices.Sorted(maps.Keys(v))
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(r, b, k, false)
			b.WriteByte(':')
			below := schema && (k == "required" || schemaMembers[k])
			if m, ok := v[k].(map[string]any); ok && schema && schemaMaps[k] {
				spellMap(r, b, m)
			} else {
				spell(r, b, v[k], below)
			}
		}
		b.WriteByte('}')
	default:
		panic(fmt.Sprintf("%T", v))
	}
}

// spellMap writes an object whose members are schemas.
func spellMap(r *rand.Rand, b *strings.Builder, m map[string]any) {
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(',')
		}
		spell(r, b, k, false)
		b.WriteByte(':')
		_, object := m[k].(map[string]any)
		spell(r, b, m[k], object)
	}
	b.WriteByte('}')
}

func (m model) listing(r *rand.Rand) Listing {
	l := Listing{Instructions: m.instructions}
	raw := func(items map[string]map[string]any, tool bool) (list []json.RawMessage) {
		for _, n := range slices.Sorted(maps.Keys(items)) {
			var b strings.Builder
			b.WriteByte('{')
			keys := slices.Sorted(maps.Keys(items[n]))
			r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			for i, k := range keys {
				if i > 0 {
					b.WriteByte(',')
				}
				spell(r, &b, k, false)
				b.WriteByte(':')
				spell(r, &b, items[n][k], tool && k == "inputSchema")
			}
			b.WriteByte('}')
			list = append(list, json.RawMessage(b.String()))
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	l.Tools, l.Resources = raw(m.tools, true), raw(m.resources, false)
	return l
}

func drawSurface(t *rapid.T, m model, label string) *Surface {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label), 1))
	l := m.listing(r)
	s, err := New(l)
	if err != nil {
		t.Fatalf("%v in %q", err, l.Tools)
	}
	return s
}

// Order and spelling do not change a digest, and the form is a fixpoint.
func TestSpellingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := someModel.Draw(t, "surface")
		a, b := drawSurface(t, m, "first"), drawSurface(t, m, "second")
		if a.Digest().Hex() != b.Digest().Hex() || a.APISurface().Hex() != b.APISurface().Hex() {
			t.Fatalf("differ\n%s\n%s", a.Canonical(), b.Canonical())
		}
		if d := Diff(a, b); len(d) != 0 {
			t.Fatalf("changes %v", d)
		}
		for _, form := range [][]byte{a.Canonical(), a.FormatIndented()} {
			again, err := Read(form)
			if err != nil {
				t.Fatal(err)
			}
			if string(again.Canonical()) != string(a.Canonical()) {
				t.Fatalf("read as\n%s\nfrom\n%s", again.Canonical(), form)
			}
		}
		if out, err := jcs.Transform(a.Canonical()); err != nil || string(out) != string(a.Canonical()) {
			t.Fatalf("package jcs writes\n%s\nfor\n%s (%v)", out, a.Canonical(), err)
		}
	})
}

// A change anywhere in an item changes the digest and is in the diff, below the
// path where it was made.
func TestEveryChangeMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := someModel.Draw(t, "surface")
		if len(m.tools) == 0 {
			m.tools["a"] = map[string]any{"name": "a", "inputSchema": map[string]any{}}
		}
		old := drawSurface(t, m, "first")
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(m.tools))).Draw(t, "tool")
		tool := m.tools[name]
		var places []func()
		find(tool, &places)
		rapid.SampledFrom(places).Draw(t, "place")()
		tool["name"] = name
		new := drawSurface(t, m, "second")
		if old.Digest().Hex() == new.Digest().Hex() {
			t.Fatalf("not noticed in\n%s", new.Canonical())
		}
		changes := Diff(old, new)
		if len(changes) == 0 {
			t.Fatalf("no change between\n%s\n%s", old.Canonical(), new.Canonical())
		}
		for _, c := range changes {
			if c.Item != "tool:"+name || c.Severity == "" || c.Summary == "" || c.Old == c.New {
				t.Fatalf("change %+v", c)
			}
			if got, want := standing(t, old, c.Item, c.Path),
				standing(t, new, c.Item, c.Path); c.Class != ParameterRequired && c.Class != ParameterOptional &&
				(got != c.Old || want != c.New) {
				t.Fatalf("%s: old %q and new %q are not what stands at %q: %q and %q", c.Class, c.Old, c.New, c.Path,
					got, want)
			}
		}
	})
}

// find lists ways to change one value below v, an object.
func find(v any, places *[]func()) {
	switch v := v.(type) {
	case map[string]any:
		*places = append(*places, func() { v["another member"] = "x" })
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "name" {
				continue
			}
			*places = append(*places, func() { v[k] = "another value" })
			find(v[k], places)
		}
	case []any:
		for i := range v {
			*places = append(*places, func() { v[i] = "another value" })
			find(v[i], places)
		}
	}
}

// standing is the value at a JSON pointer in an item, in canonical JSON.
func standing(t *rapid.T, s *Surface, key, path string) string {
	for _, i := range s.items {
		if i.Key() != key {
			continue
		}
		v := i.parseJSON()
		for _, token := range strings.Split(path, "/")[1:] {
			token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
			if v.kind == isArray {
				n, err := strconv.Atoi(token)
				if err != nil || n >= len(v.list) {
					return ""
				}
				v = v.list[n]
				continue
			}
			below, ok := v.get(token)
			if !ok {
				return ""
			}
			v = below
		}
		return string(v.canonical())
	}
	return ""
}

// The diff of any two surfaces is empty exactly if they are the same, and its
// text has nothing that is not printable.
func TestDiffOfAnyTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawSurface(t, someModel.Draw(t, "old"), "first")
		b := drawSurface(t, someModel.Draw(t, "new"), "second")
		changes := Diff(a, b)
		if (len(changes) == 0) != (string(a.Canonical()) == string(b.Canonical())) {
			t.Fatalf("%d changes between\n%s\n%s", len(changes), a.Canonical(), b.Canonical())
		}
		text := FormatChanges(changes)
		if h := FindHidden(text); len(h) > 0 || strings.ContainsAny(text, "\t\r") {
			t.Fatalf("text %q has %v", text, h)
		}
		for _, w := range Warnings(b) {
			if Escape(w.Text) != w.Text && len(FindHidden(w.Text)) > 0 {
				t.Fatalf("warning %q", w.Text)
			}
		}
	})
}

// Escape loses nothing: unescape brings every text back.
func TestEscapeIsUnambiguous(t *testing.T) {
	pieces := rapid.SampledFrom(
		[]string{`\`, `n`, `r`, `t`, `x`, `u`, `{`, `}`, `0`, `8`, "\n", "\t", "\x1b", "\x80", "\xff", "\u0080",
			"\u202e", "é", "\U000e0041", " ", "a"})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "text"), "")
		e := Escape(s)
		if got := unescape(e); got != s {
			t.Fatalf("%q is escaped %q, which means %q", s, e, got)
		}
		if len(FindHidden(e)) > 0 || strings.ContainsAny(e, "\n\r\t") {
			t.Fatalf("%q is escaped %q", s, e)
		}
		sentence := EscapeSentence(s)
		if len(FindHidden(sentence)) > 0 || strings.ContainsAny(sentence, "\n\r\t") || EscapeSentence(sentence) != sentence {
			t.Fatalf("%q in a sentence is escaped %q", s, sentence)
		}
	})
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case '\\':
			b.WriteByte('\\')
		case 'x':
			n, _ := strconv.ParseUint(s[i+1:i+3], 16, 8)
			b.WriteByte(byte(n))
			i += 2
		case 'u':
			end := i + strings.IndexByte(s[i:], '}')
			n, _ := strconv.ParseUint(s[i+2:end], 16, 32)
			b.WriteRune(rune(n))
			i = end
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func TestCompareUTF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someText.Draw(t, "a"), someText.Draw(t, "b")
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := compareUTF16(a, b); got < 0 != (want < 0) || got > 0 != (want > 0) {
			t.Fatalf("%q, %q: %d, want %d", a, b, got, want)
		}
	})
}

func TestCompareWords(t *testing.T) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", " ", "c", "\n"}), 0, 12),
		func(s []string) string {
			return strings.Join(s, "")
		})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		var old, new string
		for _, r := range compareWords(splitWords(a), splitWords(b)) {
			if r.what != '+' {
				old += strings.Join(r.words, "")
			}
			if r.what != '-' {
				new += strings.Join(r.words, "")
			}
		}
		if old != a || new != b {
			t.Fatalf("%q, %q come back as %q, %q", a, b, old, new)
		}
	})
}
