package installed

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// liveText makes texts of what the patterns of clients are about.
func liveText(r *rand.Rand) string {
	pieces := []string{"!", "`", "```", "```!", "!`", "!{", "@{", "{", "}", "@", "~/a", "/etc/b", "../c", "x", " ", "\n", "\r\n", "\t", "\"", "é"}
	var b strings.Builder
	for range 1 + r.IntN(14) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// TestLiveIsWider: whatever a client would run of a text, by its pattern as the text of its program had it in November 2026,
// is part of what is found.
func TestLiveIsWider(t *testing.T) {
	inline := regexp.MustCompile("!`([^`]+)`")
	fence := regexp.MustCompile("```!\\s*\\n?([\\s\\S]*?)\\n?```")
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		text := liveText(r)
		found := func(target Target, kind facet.Kind) (all []string) {
			for _, run := range target.Live(facet.Deliverable{Kind: kind}, []byte(text)) {
				all = append(all, run.Text)
			}
			return all
		}
		hold := func(target Target, kind facet.Kind, want string) {
			if want = strings.TrimSpace(want); want == "" {
				return
			}
			all := found(target, kind)
			if !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, want) }) {
				t.Fatalf("%s runs %q of %q, and only %q is found", target.Name, want, text, all)
			}
		}
		for _, m := range inline.FindAllStringSubmatchIndex(text, -1) {
			hold(opencode, facet.KindCommand, text[m[2]:m[3]])
			if m[0] == 0 || strings.ContainsRune(" \t\r\n", rune(text[m[0]-1])) {
				hold(claudeCode, facet.KindSkill, text[m[2]:m[3]])
			}
		}
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			hold(claudeCode, facet.KindCommand, m[1])
		}
		for _, mark := range []string{"!{", "@{"} {
			for _, s := range injections(text, mark) {
				hold(gemini, facet.KindCommand, s)
				hold(qwen, facet.KindCommand, s)
			}
		}
	}
}

// injections are what Gemini CLI finds: from a mark to the brace that closes it, one after the other.
func injections(text, mark string) (found []string) {
	for at := strings.Index(text, mark); at >= 0; {
		depth, end := 1, -1
		for i := at + len(mark); i < len(text) && end < 0; i++ {
			switch text[i] {
			case '{':
				depth++
			case '}':
				if depth--; depth == 0 {
					end = i
				}
			}
		}
		if end < 0 {
			return found // which it refuses as a whole
		}
		found = append(found, text[at+len(mark):end])
		next := strings.Index(text[end:], mark)
		if at = -1; next >= 0 {
			at = end + next
		}
	}
	return found
}

// TestLiveFiles: files outside of the project are named, and what looks like them is not.
func TestLiveFiles(t *testing.T) {
	files := func(target Target, text string) (all []string) {
		for _, run := range target.Live(facet.Deliverable{Kind: facet.KindCommand}, []byte(text)) {
			if run.Kind == facet.RunFile {
				all = append(all, run.Text)
			}
		}
		return all
	}
	for text, want := range map[string][]string{
		"@~/.ssh/id_rsa":                  {"~/.ssh/id_rsa"},
		"see @/etc/passwd, and\n@../x":    {"/etc/passwd,", "../x"},
		"@\"/a b\"":                       {"\"/a"},
		"in @src/../../up":                {"src/../../up"},
		"@src/main.go, a@b.example.com/x": nil,
		"import x from \"@/lib/utils\"":   nil,
	} {
		if got := files(claudeCode, text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
	dir, _ := Find("dir:tools")
	if got := files(dir, "@{a}"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("a directory: %q", got)
	}
	if got := files(cursor, "@{a} @/etc/x !`date`"); got != nil {
		t.Errorf("a client that does nothing of that: %q", got)
	}
}

// TestLiveIsBounded: what is found of a hostile text is limited, and says so.
func TestLiveIsBounded(t *testing.T) {
	for _, mark := range []string{"!{", "!{ ", "!`x", "```!\n", "@{", "@/"} {
		for _, target := range table {
			size := 0
			all := target.Live(facet.Deliverable{Kind: facet.KindCommand}, []byte(strings.Repeat(mark, 1<<19)))
			for _, r := range all {
				size += len(r.Text)
			}
			if size > 2*maxLive*(maxLiveText+8) {
				t.Errorf("%s: %d finds of %d bytes", target.Name, len(all), size)
			}
		}
	}
	if r := claudeCode.Live(facet.Deliverable{}, []byte(strings.Repeat("!`a", 10)+"\n```!"+strings.Repeat("x", 1<<20))); len(r) == 0 ||
		!strings.HasSuffix(r[0].Text, " …") {
		t.Errorf("%d", len(r))
	}
}
