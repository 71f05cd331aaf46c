package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// answers asks a server that gives these answers one after the other, and notes what it is asked.
func answers(asked *[]string, these ...string) Ask {
	return func(_ context.Context, method string, params []byte) (Answer, error) {
		*asked = append(*asked, method+" "+string(params))
		if len(*asked) > len(these) {
			return Answer{}, errors.New("asked once more")
		}
		if text, ok := strings.CutPrefix(these[len(*asked)-1], "error "); ok {
			return Answer{Err: []byte(text)}, nil
		}
		return Answer{Result: []byte(these[len(*asked)-1])}, nil
	}
}

// All pages are one list, in their order; a server that repeats itself or says what is no page is an error,
// and one without the method has no list.
func TestList(t *testing.T) {
	for _, c := range []struct {
		pages []string
		want  string // the items, "none" for no list, or what an error says
		asked string // the last request
	}{
		{[]string{`{"tools":[{"name":"a"},{"name":"b"}]}`}, `{"name":"a"} {"name":"b"}`, "tools/list {}"},
		{[]string{`{"tools":[]}`}, "", "tools/list {}"},
		{[]string{`{"tools":[1],"nextCursor":"\u0041"}`, `{"nextCursor":"","tools":[2]}`}, "1 2",
			`tools/list {"cursor":"\u0041"}`},
		{[]string{`{"tools":[1],"nextCursor":null}`}, "1", "tools/list {}"},
		{[]string{`{"tools":[1],"nextCursor":"A"}`, `{"tools":[2],"nextCursor":"\u0041"}`}, "that of an earlier one",
			""},
		{[]string{`{"tools":[1],"nextCursor":7}`}, "not a string", ""},
		{[]string{`{"prompts":[]}`}, `no member "tools"`, ""},
		{[]string{`{"tools":{}}`}, `the member "tools" is not an array`, ""},
		{[]string{`{"tools":[],"tools":[1]}`}, "twice", ""},
		{[]string{`[]`}, "", ""},
		{[]string{`error {"code":-32601,"message":"no"}`}, "none", "tools/list {}"},
		{[]string{`{"tools":[1],"nextCursor":"A"}`, `error {"code":-32601,"message":"no"}`}, "error -32601", ""},
		{[]string{`error {"code":1,"message":"a\u001b[2J"}`}, "error 1", ""},
		{[]string{`error "x"`}, "malformed error", ""},
		{nil, "asked once more", ""},
	} {
		var asked []string
		l := &Lister{Ask: answers(&asked, c.pages...)}
		items, err := l.List(t.Context(), FindMethod("tools/list"))
		if c.asked == "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%q: %q, %v", c.pages, items, err)
			}
			continue
		}
		var got []string
		for _, item := range items {
			got = append(got, string(item))
		}
		if items == nil {
			got = []string{"none"}
		}
		if err != nil || strings.Join(got, " ") != c.want || asked[len(asked)-1] != c.asked {
			t.Errorf("%q: %q, %v; asked %q", c.pages, got, err, asked)
		}
	}
}

// The bounds are over all kinds and pages of one lister, and a server without end is left.
func TestBounds(t *testing.T) {
	var asked []string
	many := `{"tools":[` + strings.TrimSuffix(strings.Repeat("1,", MaxItems), ",") + `]}`
	l := &Lister{Ask: answers(&asked, many, `{"prompts":[1]}`), Meta: []byte(`{"k":1}`)}
	if items, err := l.List(t.Context(), 0); err != nil || len(items) != MaxItems {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if _, err := l.List(t.Context(), 1); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("more than %d items", MaxItems)) {
		t.Errorf("one item more: %v", err)
	}
	if asked[1] != `prompts/list {"_meta":{"k":1}}` {
		t.Errorf("asked %q", asked[1])
	}
	page := 0
	l = &Lister{Ask: func(_ context.Context, _ string, params []byte) (Answer, error) {
		page++
		return Answer{Result: fmt.Appendf(nil, `{"tools":[],"nextCursor":"%d"}`, page)}, nil
	}}
	if _, err := l.List(t.Context(), 0); err == nil || page != maxPages+1 {
		t.Errorf("%d pages: %v", page, err)
	}
	big := `{"tools":[],"x":"` + strings.Repeat("x", MaxSize/2) + `"`
	l = &Lister{Ask: answers(new([]string), big+`,"nextCursor":"a"}`, big+"}")}
	if _, err := l.List(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("too many bytes: %v", err)
	}
}

// What a server offers is what its capabilities name with a value; one that names nothing offers nothing.
func TestReadOffers(t *testing.T) {
	for text, want := range map[string]Offers{
		`{}`: {}, `null`: {}, `{"tools":{}}`: {Tools: true},
		`{"tools":null,"prompts":{"listChanged":true}}`: {Prompts: true},
		`{"resources":{},"x":1}`:                        {Resources: true},
	} {
		got, err := ReadOffers(new(jsonrpc.Scanner), []byte(text), jsonrpc.Span{Lo: 0, Hi: len(text)})
		if err != nil || got != want || got.Has("tools") != want.Tools || got.Has("resources") != want.Resources {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`[]`, `"x"`, `{"tools":{},"tools":null}`, `{"Tools":{}}`} {
		if got, err := ReadOffers(new(jsonrpc.Scanner), []byte(text), jsonrpc.Span{Lo: 0, Hi: len(text)}); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if none, err := ReadOffers(new(jsonrpc.Scanner), nil, jsonrpc.Span{}); err != nil || none != (Offers{}) {
		t.Errorf("without capabilities: %+v, %v", none, err)
	}
}

// An item stays as it was when the answer that it came in is used for the next one.
func TestCopyAnswer(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}`)
	at := strings.Index(string(line), `{"tools"`)
	a := CopyAnswer(line, &jsonrpc.Message{Result: jsonrpc.Span{Lo: at, Hi: len(line) - 1}})
	clear(line)
	if !json.Valid(a.Result) || a.Err != nil {
		t.Errorf("%q, %q", a.Result, a.Err)
	}
}
