package hashfile

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
)

// TestReadHeader: the first line of a read says what an edit and the next read need, and of the rest what is unusual.
func TestReadHeader(t *testing.T) {
	usual := engine.Facts{Hash: digest.FromBytes([]byte("x")), Lines: 9, LineEnding: "lf", FinalNewline: true,
		Encoding: "utf-8"}
	const hash = "[file_hash=sha256:2d711642b726 total_lines="
	with := func(change func(r *engine.Reading)) *engine.Reading {
		r := &engine.Reading{Facts: usual, First: 1, Last: 9}
		change(r)
		return r
	}
	for want, r := range map[string]*engine.Reading{
		hash + "9]\n":                  with(func(*engine.Reading) {}),
		hash + "9 lines=2-4]\n":        with(func(r *engine.Reading) { r.First, r.Last = 2, 4 }),
		hash + "9 line_ending=crlf]\n": with(func(r *engine.Reading) { r.LineEnding = "crlf" }),
		hash + "9 line_ending=mixed final_newline=false encoding=utf-8-bom]\n": with(func(r *engine.Reading) {
			r.LineEnding, r.FinalNewline, r.Encoding = "mixed", false, "utf-8-bom"
		}),
		hash + "9 lines=1-4 next_start_line=5]\n": with(func(r *engine.Reading) { r.Last, r.Cut = 4, true }),
		hash + "0]\n": with(func(r *engine.Reading) {
			r.Lines, r.First, r.Last, r.FinalNewline, r.LineEnding = 0, 0, 0, false, "none"
		}),
	} {
		if got := readHeader(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMarks: each kind of entry has its mark.
func TestMarks(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{0: "[FILE]", fs.ModeDir: "[DIR]", fs.ModeSymlink: "[LINK]",
		fs.ModeNamedPipe: "[OTHER]", fs.ModeSocket: "[OTHER]"} {
		if got := markOf(mode); got != want {
			t.Errorf("%v is %s, want %s", mode, got, want)
		}
	}
}

// TestWritePaths: a listing ends when it is long, and no name forges a line of it.
func TestWritePaths(t *testing.T) {
	var text strings.Builder
	if n := writePaths(&text, []engine.Entry{{Path: "a"}, {Path: "b\nc", Mode: fs.ModeDir}}); n != 2 ||
		text.String() != "a\nb\\nc/\n" {
		t.Errorf("%d, %q", n, text.String())
	}
	long := make([]engine.Entry, maxEntries)
	for i := range long {
		long[i].Path = strings.Repeat("n", 200)
	}
	text.Reset()
	if n := writePaths(&text, long); n >= len(long) || strings.Count(text.String(), "\n") != n ||
		text.Len() > maxListing+201 {
		t.Errorf("%d, %d bytes", n, text.Len())
	}
}

// TestLimitsLeft: what several files share is used up, and never so that one shows nothing.
func TestLimitsLeft(t *testing.T) {
	left := limits{lines: 100, bytes: 10_000, tokens: 1000}
	left.take(&engine.Reading{First: 1, Last: 10, Text: []byte(strings.Repeat("word\n", 10))})
	if left.lines != 90 || left.bytes != 9950 || left.tokens >= 1000 || left.tokens < 800 {
		t.Errorf("%+v", left)
	}
	left.take(&engine.Reading{First: 1, Last: 200, Text: []byte(strings.Repeat("word\n", 20_000))})
	if left.lines < 1 || left.bytes < 1 || left.tokens < 1 {
		t.Errorf("%+v", left)
	}
}

// TestPatterns: what is no pattern is refused with what to give in its place.
func TestPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"(": `give \(;`, "*.go": `give \*\.go;`, "a(?=b)": "neither lookaround", `(a)\1`: `give `,
		`a\Z`: `it has no \Z; to find this text as it is, give a\\Z;`, "caf\u00e9.(": "give caf\u00e9\\.\\(;",
		strings.Repeat("x", maxPattern+1): "at most 1000",
	} {
		if _, err := parsePattern(searchArguments{Pattern: pattern}); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "error parsing") {
			t.Errorf("%.20s: %v, want %s", pattern, err, want)
		}
	}
	re, err := parsePattern(searchArguments{Pattern: "a|b", IgnoreCase: true})
	if err != nil || !re.MatchString("B") {
		t.Errorf("%v, %v", re, err)
	}
}

// TestBounds: what is out of bounds is refused with the flag that gave it.
func TestBounds(t *testing.T) {
	for flag, c := range map[string]Config{"--max-file": {MaxFile: -1}, "--max-request": {MaxRequest: -1},
		"--read-tokens": {ReadTokens: -1}, "--max-relocation": {MaxMove: -1}, "--tag-width": {TagWidth: 5}} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestDescriptions: what tools and instructions name exists.
func TestDescriptions(t *testing.T) {
	all := map[string]bool{}
	text := instructions
	for _, tool := range (&Server{}).tools() {
		all[tool.Name] = true
		text += " " + tool.Description
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		if strings.HasSuffix(word, "_file") && !all[word] {
			t.Errorf("%s is no tool", word)
		}
	}
}
