package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

var (
	some  = digest.FromBytes([]byte("some"))
	other = digest.FromBytes([]byte("other"))
)

func under(t *testing.T, alg digest.Algorithm, text string) digest.Digest {
	t.Helper()
	h := digest.NewHasher(alg)
	h.Write([]byte(text))
	return h.Digest(alg)
}

func TestCompare(t *testing.T) {
	sha1Some, sha1Other := under(t, digest.SHA1, "some"), under(t, digest.SHA1, "other")
	sha512Some, sha512Other := under(t, digest.SHA512, "some"), under(t, digest.SHA512, "other")
	for name, c := range map[string]struct {
		want, got []digest.Digest
		outcome   Outcome
		weak      bool
		cause     Cause
	}{
		"match": {want: []digest.Digest{some}, got: []digest.Digest{some}, outcome: Match},
		"mismatch": {want: []digest.Digest{some}, got: []digest.Digest{other},
			outcome: Mismatch},
		"nobody claims":    {got: []digest.Digest{some}, outcome: Absent},
		"nothing at all":   {outcome: Absent},
		"nothing computed": {want: []digest.Digest{some}, outcome: Unverifiable, cause: Unsupported},
		"another algorithm computed": {want: []digest.Digest{sha512Some}, got: []digest.Digest{some},
			outcome: Unverifiable, cause: Unsupported},
		"the zero value claimed": {want: []digest.Digest{{}}, got: []digest.Digest{some},
			outcome: Unverifiable, cause: Unsupported},
		"the zero value on both sides": {want: []digest.Digest{{}}, got: []digest.Digest{{}},
			outcome: Unverifiable, cause: Unsupported},
		"the zero value computed": {want: []digest.Digest{some}, got: []digest.Digest{{}},
			outcome: Unverifiable, cause: Unsupported},
		"weak match": {want: []digest.Digest{sha1Some}, got: []digest.Digest{some, sha1Some},
			outcome: Match, weak: true},
		"weak mismatch": {want: []digest.Digest{sha1Some}, got: []digest.Digest{some, sha1Other},
			outcome: Mismatch},
		"second of several": {want: []digest.Digest{sha512Other, sha512Some},
			got: []digest.Digest{some, sha512Some}, outcome: Match},
		"none of several": {want: []digest.Digest{sha512Other, other},
			got: []digest.Digest{some, sha512Some}, outcome: Mismatch},
		"several, one not computed": {want: []digest.Digest{sha512Other, some}, got: []digest.Digest{some},
			outcome: Match},
		"several, the computed one is wrong": {want: []digest.Digest{sha512Some, other}, got: []digest.Digest{some},
			outcome: Mismatch},
	} {
		t.Run(name, func(t *testing.T) {
			e := Compare(Claim{Subject: "s", Scheme: File, Want: c.want, Authority: Lock}, Observed{Digests: c.got})
			if e.Outcome != c.outcome || e.Weak != c.weak || e.Cause != c.cause {
				t.Errorf("got %s, weak %v, cause %q; want %s, %v, %q", e.Outcome, e.Weak, e.Cause, c.outcome, c.weak,
					c.cause)
			}
			if e.Subject != "s" || e.Authority != Lock || len(e.Observed.Digests) != len(c.got) {
				t.Error("the evidence lost its claim or what was observed")
			}
			if (e.Outcome == Unverifiable) != (e.Reason != "") {
				t.Errorf("reason %q", e.Reason)
			}
		})
	}
}

func TestFactWaiveCannot(t *testing.T) {
	c := Claim{Subject: "tool:search", Scheme: Ownership, Text: "io.github.acme/notes"}
	for found, want := range map[string]Outcome{"": Absent, "io.github.acme/notes": Match,
		"io.github.acme/Notes": Mismatch, "io.github.acme/notes ": Mismatch} {
		if e := Fact(c, found); e.Outcome != want || e.Observed.Text != found {
			t.Errorf("%q: %+v", found, e)
		}
	}
	// A claim of nothing does not match something that was found.
	if e := Fact(Claim{}, "x"); e.Outcome != Mismatch {
		t.Errorf("%+v", e)
	}
	if e := Waive(c, Observed{Size: 3}, "test data"); e.Outcome != Waived || e.Reason != "test data" ||
		e.Observed.Size != 3 {
		t.Errorf("%+v", e)
	}
	if e := CannotVerify(c, Unreachable, "no network"); e.Outcome != Unverifiable || e.Cause != Unreachable ||
		e.Reason != "no network" {
		t.Errorf("%+v", e)
	}
}

func TestParseClaim(t *testing.T) {
	hex := some.Hex()
	for text, want := range map[string]struct {
		ok    bool
		cause Cause
	}{
		"sha256:" + hex:                        {ok: true},
		"sha256:" + strings.ToUpper(hex):       {ok: true},
		"sha256:" + hex[1:]:                    {cause: Malformed},
		"sha256:" + hex + "0":                  {cause: Malformed},
		"sha256:" + hex[:63] + "g":             {cause: Malformed},
		hex:                                    {cause: Malformed},
		"":                                     {cause: Malformed},
		"blake3:" + hex:                        {cause: Unsupported},
		"md5:d41d8cd98f00b204e9800998ecf8427e": {cause: Unsupported},
		"SHA256:" + hex:                        {cause: Malformed},
		"sha256:\x1b[2J":                       {cause: Malformed},
	} {
		c, bad, ok := ParseClaim(Claim{Subject: "s", Scheme: File}, text)
		if ok != want.ok || c.Text != text {
			t.Errorf("%q: ok %v", text, ok)
		}
		if ok {
			if Compare(c, Observed{Digests: []digest.Digest{some}}).Outcome != Match {
				t.Errorf("%q does not match", text)
			}
			continue
		}
		if bad.Outcome != Unverifiable || bad.Cause != want.cause || bad.Text != text || bad.Subject != "s" ||
			bad.Reason == "" {
			t.Errorf("%q: %+v", text, bad)
		}
		if len(c.Want) > 0 {
			t.Errorf("%q gave a digest", text)
		}
	}
}

// An integrity string with several digests is satisfied by any one of the strongest.
func TestSRI(t *testing.T) {
	a, b := under(t, digest.SHA512, "some"), under(t, digest.SHA512, "other")
	want, err := digest.ParseSRI(
		under(t, digest.SHA1, "third").SRI() + " " + b.SRI() + " " + a.SRI() + "?x blake3-AAAA")
	if err != nil {
		t.Fatal(err)
	}
	c := Claim{Subject: "npm:a@1.0.0", Scheme: File, Want: want, Authority: Registry}
	for text, outcome := range map[string]Outcome{"some": Match, "other": Match, "third": Mismatch} {
		e := Compare(c,
			Observed{Digests: []digest.Digest{digest.FromBytes([]byte(text)), under(t, digest.SHA1, text),
				under(t, digest.SHA512, text)}})
		if e.Outcome != outcome || e.Weak {
			t.Errorf("%s: %s, weak %v", text, e.Outcome, e.Weak)
		}
	}
	if _, err := digest.ParseSRI("blake3-AAAA"); !isUnknownAlgorithm(err) {
		t.Error(err)
	}
}

// golden is the mismatch of the product's description.
func golden() Evidence {
	return Compare(Claim{
		Subject: "npm:@acme/notes@1.4.0", Scheme: File, Want: []digest.Digest{some},
		Authority: Publisher, Where: "server.json, file_hashes",
	}, Observed{
		Digests: []digest.Digest{under1(digest.SHA1, "x"), other}, Size: 23114,
		From: "https://npm.example.com/@acme/notes/-/notes-1.4.0.tgz",
	})
}

func under1(alg digest.Algorithm, text string) digest.Digest {
	h := digest.NewHasher(alg)
	h.Write([]byte(text))
	return h.Digest(alg)
}

func TestMessage(t *testing.T) {
	e := golden()
	if got, want := e.Title(), "npm:@acme/notes@1.4.0: sha256 mismatch"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want := "  expected sha256:a6b46dd0d1ae5e86cbc8f37e75ceeb6760230c1ca4ffbcb0c97b96dd7d9c464b  (claimed by " +
		"server.json, file_hashes)\n" +
		"  actual   sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa  (23,114 bytes of " +
		"https://npm.example.com/@acme/notes/-/notes-1.4.0.tgz)\n"
	if got := e.Detail(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	err := &Error{Subject: "npm:@acme/notes@1.4.0", Kind: Integrity, Err: errors.New("sha256 mismatch"),
		Detail: e.Detail(), Hint: "the file changed"}
	if got, want := err.Error(), e.Title()+"\n"+want+"  hint: the file changed"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	for want, e := range map[string]Evidence{
		"s: sha512 mismatch": Compare(
			Claim{Subject: "s", Scheme: File, Want: []digest.Digest{under1(digest.SHA512, "a")}},
			Observed{Digests: []digest.Digest{under1(digest.SHA512, "b")}}),
		"s: tree mismatch": Compare(
			Claim{Subject: "s", Scheme: Tree, Want: []digest.Digest{some}}, Observed{Digests: []digest.Digest{other}}),
		"s: sha256 cannot be verified: not found": CannotVerify(Claim{Subject: "s", Scheme: File}, NotFound, "404"),
		"s: blake3 cannot be verified: unsupported": CannotVerify(Claim{Subject: "s", Scheme: File, Text: "blake3:00"},
			Unsupported, "x"),
		"s: md5 cannot be verified: unsupported": CannotVerify(Claim{Subject: "s", Scheme: File, Text: "md5-AAAA"},
			Unsupported, "x"),
		"s: sha256 cannot be verified: malformed": CannotVerify(Claim{Subject: "s", Scheme: File, Text: "\x1b:00"},
			Malformed, "x"),
		"s: sha256 absent": Compare(Claim{Subject: "s", Scheme: File}, Observed{}),
		"s: launch waived": Waive(Claim{Subject: "s", Scheme: Launch}, Observed{}, ""),
		"s: sha1, weak match": Compare(
			Claim{Subject: "s", Scheme: File, Want: []digest.Digest{under1(digest.SHA1, "a")}},
			Observed{Digests: []digest.Digest{under1(digest.SHA1, "a")}}),
	} {
		if e.Title() != want {
			t.Errorf("got %q, want %q", e.Title(), want)
		}
	}
}

func TestText(t *testing.T) {
	r := Report{
		golden(),
		Compare(Claim{Subject: "a", Scheme: Tree, Want: []digest.Digest{some}, Authority: Lock},
			Observed{Digests: []digest.Digest{some}}),
		Compare(Claim{Subject: "b", Scheme: File}, Observed{Digests: []digest.Digest{other}, From: "b.tgz"}),
		CannotVerify(Claim{Subject: "c", Scheme: File, Authority: Record, Text: "md9:00"}, Unsupported, "unknown"),
		Waive(Claim{Subject: "d", Scheme: File, Authority: Verify, Where: "hallmark.toml, line 3"}, Observed{},
			"built here"),
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := "mismatch      npm:@acme/notes@1.4.0  sha256  (server.json, file_hashes)\n" + golden().Detail() +
		"match         a  tree  (lock)\n" +
		"absent        b  sha256  (nobody claims it)\n" +
		"  actual   " + other.String() + "  (b.tgz)\n" +
		"unverifiable  c  md9  (record)\n" +
		"  expected md9:00  (claimed by record)\n" +
		"  reason   unknown\n" +
		"waived        d  sha256  (hallmark.toml, line 3)\n" +
		"  reason   built here\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if r.Count(Match) != 1 || r.Count(Mismatch) != 1 || r.Count("none") != 0 {
		t.Error("Count")
	}
}

func TestJSON(t *testing.T) {
	for want, e := range map[string]Evidence{
		`{"subject":"npm:@acme/notes@1.4.0","scheme":"file","outcome":"mismatch","authority":"publisher",` +
			`"where":"server.json, file_hashes","expected":"` + some.String() + `","actual":"` + other.String() +
			`","size":23114,"from":"https://npm.example.com/@acme/notes/-/notes-1.4.0.tgz"}`: golden(),
		`{"subject":"s","scheme":"file","outcome":"match","authority":"verify","expected":"` +
			under1(digest.SHA1, "a").String() + `","actual":"` + under1(digest.SHA1, "a").String() +
			`","weak":true}`: Compare(
			Claim{Subject: "s", Scheme: File, Want: []digest.Digest{under1(digest.SHA1, "a")}, Authority: Verify},
			Observed{Digests: []digest.Digest{some, under1(digest.SHA1, "a")}}),
		`{"subject":"s","scheme":"file","outcome":"unverifiable","expected":"x","cause":"malformed",` +
			`"reason":"r"}`: CannotVerify(Claim{Subject: "s", Scheme: File, Text: "x"}, Malformed, "r"),
		`{"subject":"s","scheme":"tree","outcome":"absent"}`: Compare(Claim{Subject: "s", Scheme: Tree}, Observed{}),
	} {
		got, err := json.Marshal(e)
		if err != nil || string(got) != want {
			t.Errorf("got  %s %v\nwant %s", got, err, want)
		}
	}
}

// Nothing that a publisher wrote moves a cursor or makes a line of its own.
func TestHostileText(t *testing.T) {
	evil := "x\x1b[2J\r\n  actual   fine\u202e\u200b\U000e0041\x00\xff"
	e := Evidence{
		Claim:    Claim{Subject: evil, Scheme: File, Text: evil, Where: evil, Authority: Publisher},
		Observed: Observed{Text: evil, From: evil, Size: 5}, Outcome: Mismatch, Reason: evil,
	}
	for _, outcome := range []Outcome{Match, Mismatch, Absent, Waived, Unverifiable} {
		e.Outcome = outcome
		var b bytes.Buffer
		Report{e}.WriteText(&b)
		lines := strings.Count(b.String(), "\n")
		if want := 4; outcome != Match && lines != want || outcome == Match && lines != 1 {
			t.Errorf("%s: %d lines:\n%s", outcome, lines, b.String())
		}
		all := b.String() + e.Title() + e.Detail()
		if strings.ContainsAny(all, "\x1b\r\x00\u202e\u200b\U000e0041") || strings.Contains(all, "\xff") ||
			strings.Contains(e.Title(), "\n") {
			t.Errorf("%s: %q", outcome, all)
		}
	}
}

func TestGroup(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 23114: "23,114",
		1234567: "1,234,567", -1: "-1", -999: "-999", -1000: "-1,000", -123456: "-123,456"} {
		if got := Group(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// The order of exit codes: 3, 5, 4, 6, 2, 1.
func TestClassOrder(t *testing.T) {
	order := []Class{Integrity, Signature, Refused, Drift, Validation, Operation}
	for i, c := range order {
		if Worse(c, OK) != c || Worse(OK, c) != c || Worse(c, c) != c {
			t.Errorf("%v and ok", c)
		}
		for _, later := range order[i+1:] {
			if Worse(c, later) != c || Worse(later, c) != c {
				t.Errorf("%v and %v", c, later)
			}
			a, b := Errorf(c, "a", "", nil), Errorf(later, "b", "", nil)
			for _, err := range []error{errors.Join(a, b), errors.Join(b, a), fmt.Errorf("x: %w, %w", b, a),
				fmt.Errorf("x: %w", errors.Join(b, fmt.Errorf("y: %w", a)))} {
				if ClassOf(err) != c {
					t.Errorf("%v: %v, want %v", err, ClassOf(err), c)
				}
			}
		}
	}
	if Worse(OK, OK) != OK || ClassOf(nil) != OK {
		t.Error("ok")
	}
	plain := errors.New("plain")
	if ClassOf(plain) != Operation || ClassOf(errors.Join(plain, plain)) != Operation {
		t.Error("an error without a class is an operation's")
	}
	if got := ClassOf(errors.Join(plain, Errorf(Drift, "a", "", nil))); got != Drift {
		t.Errorf("beside an error without a class: %v", got)
	}
	if got := ClassOf(&Error{Err: Errorf(Signature, "", "", nil)}); got != Signature {
		t.Errorf("class of the cause: %v", got)
	}
	if got := ClassOf(&Error{Err: plain}); got != Operation {
		t.Errorf("no class anywhere: %v", got)
	}
	names := map[Class]string{OK: "ok", Integrity: "integrity", Signature: "signature", Refused: "policy",
		Drift: "drift", Validation: "validation", Operation: "operation"}
	for c, name := range names {
		if text, _ := c.MarshalText(); c.String() != name || string(text) != name {
			t.Errorf("%d prints as %s", c, c)
		}
	}
}

func TestCount(t *testing.T) {
	for want, c := range map[string]struct {
		n    int
		noun string
	}{
		"0 records": {0, "record"}, "1 record": {1, "record"}, "1,234 records": {1234, "record"},
		"1 file hash": {1, "file hash"}, "2 file hashes": {2, "file hash"}, "1 entry": {1, "entry"},
		"3 entries": {3, "entry"},
	} {
		if got := Count(c.n, c.noun); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSame(t *testing.T) {
	a, b := digest.FromBytes([]byte("a")), digest.FromBytes([]byte("b"))
	short, err := digest.Parse("sha1:86f7e437faa5a7fce15d1ddcb9eaeaea377667b8") // of "a" too
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		a, b digest.Digest
		want bool
	}{
		{a, a, true},
		{short, short, true},
		{a, b, false},
		{a, short, false},
		{a, digest.Digest{}, false},
		{digest.Digest{}, a, false},
		{digest.Digest{}, digest.Digest{}, false},
	} {
		if Same(test.a, test.b) != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, !test.want)
		}
	}
}
