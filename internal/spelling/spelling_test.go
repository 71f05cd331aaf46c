package spelling

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// repositorySpellings are names that git refuses as ".git" by its rules for NTFS and HFS, and others that a file system
// or a version control program may take for a repository's.
var repositorySpellings = []string{
	".git", ".GIT", ".Git", ".gIt", ".git.", ".git ", ".git. .", ".git...", ".git  ", ".git\u2026", "git~1", "GIT~1",
	"Git~1.", "git~1 ", "git~2", "git~10", "git~12", ".git::$INDEX_ALLOCATION", ".git:stream", ".git:x", "git~1:$DATA",
	"git~1::$DATA", `.git\config`, `a\.git`, `a:b\.git`, `a\git~1\x`, `.git:x\y`, ".g\u200cit", ".\u200dgit",
	".gi\u200et", ".gi\u200dt", ".git\u200f", ".\u202agit", ".g\u202eit", ".\u202egit", "\u206a.git", ".git\u206f",
	"\ufeff.git", ".G\u00adIT", ".gi\u00adt", ".\ufe0fgit", ".g\u0131t", ".G\u0130T", ".g\u00eft", ".\u0121it",
	".g\u0307it", "\uff0egit", ".\uff47it", "\u2024git", ".git\uff1ax", ".git\uff3cx", "a\uff3c.git", "a\uff0f.git",
	".git\u00a0", ".git\u3000", ".git\u2800", ".\U0001d420it", ".\u24d6it", ".gi\u1d57",
	".hg", ".HG", "hg~1", ".jj", ".\u01f0j", ".bzr", ".\uff22zr",
}

// otherNames are names that resemble those, and are none.
var otherNames = []string{
	"git", "gi", ".gitignore", ".gitattributes", ".gitmodules", ".github", ".gitlab-ci.yml", "x.git", "..git",
	".git1", ".gitx", "git~", "git~a", "git~x", "git~1x", ".hgignore", ".g it", "HEAD", "hooks", "objects", "", ".",
	".git-blame-ignore-revs", ".got", ".bzrignore", "~git", "digit~1", "agit~1", `a\b`, "caf\u00e9", "a:.git",
	".gi\u03c4", ".gi\u0442", "\xff.git",
}

// TestIsRepository knows every spelling, and nothing else.
func TestIsRepository(t *testing.T) {
	for _, name := range repositorySpellings {
		if !IsRepository(name) {
			t.Errorf("%+q is not known", name)
		}
	}
	for _, name := range otherNames {
		if IsRepository(name) {
			t.Errorf("%+q is taken for one", name)
		}
	}
}

// TestIsRepositoryIgnoring puts each character that HFS ignores, or that is not seen, at each place of a name.
func TestIsRepositoryIgnoring(t *testing.T) {
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		if !IsInvisible(r) && !unicode.Is(unicode.Mn, r) {
			continue
		}
		for _, name := range []string{".git", "git~1"} {
			for i := range len(name) + 1 {
				if spelled := name[:i] + string(r) + name[i:]; utf8.ValidRune(r) && !IsRepository(spelled) {
					t.Fatalf("%+q is not known", spelled)
				}
			}
		}
	}
}

func TestOf(t *testing.T) {
	for _, same := range [][]string{
		{"settings.json", "SETTINGS.JSON", "Settings.json.", "settings.json ", "settings.json::$DATA", "\u017fettings.json",
			"settings\u200b.json", `settings.json\x`, "\uff53ettings.json"},
		{"caf\u00e9", "cafe\u0301", "CAF\u00c9", "cafe"},
		{"stra\u00dfe", "STRASSE", "stra\u1e9ee"},
		{"fi", "\ufb01", "FI"},
		{"", ".", "..", " ", ":x"},
	} {
		for _, name := range same {
			if got := Of(name); got != Of(same[0]) {
				t.Errorf("%+q is %+q, and %+q is %+q", name, got, same[0], Of(same[0]))
			}
		}
	}
	for _, name := range []string{"a", "b", "a.b", "ab", "a~1", "\u0430"} {
		if slices.ContainsFunc([]string{"c", "a.c", "aa"}, func(other string) bool { return Of(other) == Of(name) }) {
			t.Errorf("%+q is taken for another", name)
		}
	}
}

func TestStem(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "a.": "a", "a. .": "a", "a.b": "a.b", "a:b": "a", "a .:b.": "a", " a": " a",
		".a": ".a", "...": "", "": ""} {
		if got := Stem(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// TestFold compares with full case folding as Unicode has it: two characters that it makes equal are folded alike.
func TestFold(t *testing.T) {
	full := cases.Fold()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.S) {
			continue
		}
		s := string(r)
		folded := Fold(s)
		for _, other := range []string{full.String(s), norm.NFC.String(s), norm.NFD.String(s), strings.ToUpper(s),
			strings.ToLower(s), folded} {
			if Fold(other) != folded {
				t.Errorf("%+q is folded to %+q, and %+q to %+q", s, folded, other, Fold(other))
			}
		}
	}
}

func TestIsInvisible(t *testing.T) {
	for _, r := range "\u00a0\u00ad\u034f\u115f\u180e\u200b\u200e\u2028\u202e\u2060\u2800\u3000\u3164\ufe0f\ufeff\U000e0041" {
		if !IsInvisible(r) {
			t.Errorf("%U is seen", r)
		}
	}
	for _, r := range " a.\u00e9\u0301\u4e00\u2014" {
		if IsInvisible(r) {
			t.Errorf("%U is not seen", r)
		}
	}
}

func TestIsASCII(t *testing.T) {
	for s, want := range map[string]bool{"": true, "a\x7f\x00": true, "\u0080": false, "a\u00e9": false, "\xff": false} {
		if IsASCII(s) != want {
			t.Errorf("%+q: %v", s, !want)
		}
	}
}

func TestGitParts(t *testing.T) {
	for name, want := range map[string]GitParts{
		"HEAD": GitHead, "head": GitHead, "Head.": GitHead, "HE\u200bAD": GitHead, "\uff28EAD": GitHead,
		"objects": GitObjects, "OBJECTS ": GitObjects, "refs": GitRefs, "refs::$INDEX_ALLOCATION": GitRefs,
		"commondir": GitCommon, "CommonDir": GitCommon, "heads": 0, "ref": 0, "object": 0, "": 0, "config": 0,
	} {
		if got := GitPartOf(name); got != want {
			t.Errorf("%+q is %d, want %d", name, got, want)
		}
		if dir := want == GitObjects || want == GitRefs; want.IsDir() != dir {
			t.Errorf("%q is a directory: %v", name, !dir)
		}
	}
	for parts := GitParts(0); parts < 16; parts++ {
		want := parts == GitHead|GitObjects|GitRefs || parts&(GitHead|GitCommon) == GitHead|GitCommon
		if parts.MakeGit() != want {
			t.Errorf("%04b: %v", parts, !want)
		}
	}
}

// BenchmarkIsRepository is of a segment as archives have them, and of others.
func BenchmarkIsRepository(b *testing.B) {
	for name, segment := range map[string]string{"plain": "package.json", "dot": ".npmignore", "marks": "caf\u00e9"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				IsRepository(segment)
			}
		})
	}
}
