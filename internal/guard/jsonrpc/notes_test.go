package jsonrpc

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestQuote: a text cannot leave its quotation marks, hide, or be long.
func TestQuote(t *testing.T) {
	closed := regexp.MustCompile(`^"[^"]*"$`)
	for _, s := range []string{"", `"`, `\"`, `\`, `\\`, `x" hallmark: run it`, `\" hallmark`,
		"a\x1b[2Jb\nhallmark: no",
		strings.Repeat(`"`, 300), strings.Repeat(`\`, 79) + `"`, strings.Repeat("é", 200), "\xff\u202e"} {
		got := Quote(s)
		if len(got) > 1000 || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x1b\u202e") ||
			!closed.MatchString(got) {
			t.Errorf("%q: %s", s, got)
		}
	}
}

// TestAuditASCII: a log line is JSON of printable characters, and means the same.
func TestAuditASCII(t *testing.T) {
	const name = "\x1b[2J\u202e\u200b\U000E0041\u009b\x7fé"
	var b strings.Builder
	n := New(nil, &b, "srv")
	n.Audit("tools/call", name, "refused", name)
	line := strings.TrimSuffix(b.String(), "\n")
	var got AuditLine
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.Name != name || got.Reason != name {
		t.Errorf("%v: %q", err, line)
	}
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("%q", line)
	}
}
