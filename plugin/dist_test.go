package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// edited is a bundle with another manifest, which edit makes of the one that it has.
func edited(t *testing.T, b *Bundle, edit func(top, dist map[string]any)) (*Bundle, *Manifest) {
	t.Helper()
	var top map[string]any
	if err := json.Unmarshal(b.Manifest, &top); err != nil {
		t.Fatal(err)
	}
	edit(top, top["dist"].(map[string]any))
	data, err := json.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	other := *b
	other.Manifest = data
	return &other, m
}

// lines are the findings of a verdict: scheme, authority, subject, outcome, cause.
func lines(v policy.Verdict) (out []string) {
	for _, f := range v.Findings {
		e := f.Evidence
		out = append(out,
			strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", e.Scheme, e.Authority, e.Subject, e.Outcome, e.Cause)))
	}
	return out
}

// expect compares the findings that begin with one of the prefixes.
func expect(t *testing.T, name string, v policy.Verdict, want ...string) {
	t.Helper()
	var got []string
	for _, line := range lines(v) {
		if slices.ContainsFunc(want, func(w string) bool {
			return strings.HasPrefix(line, strings.Join(strings.Fields(w)[:2], " "))
		}) {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  got  %q\n  want %q", name, got, want)
	}
}

// reasonOf is the reason of the first finding of a scheme.
func reasonOf(v policy.Verdict, scheme evidence.Scheme) string {
	for _, f := range v.Findings {
		if f.Evidence.Scheme == scheme {
			return f.Evidence.Reason
		}
	}
	return ""
}

// dist.hash is compared under the profile that the manifest names, or guide alone where
// the host is strict, or the first of all that gives it.
func TestDistProfiles(t *testing.T) {
	b, _ := bundle(t, ``, map[string]string{"dist/B.js": "1", "dist/a.js": "1", "dist/.hidden": "2"})
	hashes := map[tree.Profile]string{}
	for _, p := range tree.Profiles() {
		d, err := b.Hash(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		hashes[p] = d.String()
	}
	for _, c := range []struct {
		hash, named tree.Profile
		strict      bool
		found       tree.Profile // whose hash it is; "" if it does not match
	}{
		{"guide", "", false, "guide"}, {"od", "", false, "od"},
		{"guide", "", true, "guide"}, {"od", "", true, ""},
		{"od", "od", true, "od"}, {"guide", "od", false, ""},
		{"od", "guide", false, ""}, {"guide", "od", true, ""},
	} {
		name := fmt.Sprintf("%s as %q, strict %v", c.hash, c.named, c.strict)
		b, m := edited(t, b, func(top, dist map[string]any) {
			dist["hash"] = hashes[c.hash]
			if c.named != "" {
				top["x-hash-profile"] = c.named
			}
		})
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Strict: c.strict})
		if err != nil {
			t.Fatal(err)
		}
		e := r.Verdict.Findings[0].Evidence
		expected := c.found
		if expected == "" {
			expected = tree.Guide
			if c.named != "" {
				expected = c.named
			}
		}
		said := e.Observed.From
		outcome := evidence.Match
		if c.found == "" {
			outcome, said = evidence.Mismatch, e.Reason
			if !strings.Contains(said, "under profile "+string(c.hash)) {
				t.Errorf("%s: %s", name, said)
			}
			if c.named == "" {
				outcome, said = evidence.Unverifiable, strings.TrimSuffix(said, " counts, or the one that x-hash-profile names")
			}
		}
		if e.Outcome != outcome || r.Profile != expected || !strings.HasSuffix(said, string(expected)) {
			t.Errorf("%s: %s, profile %s, %s", name, e.Outcome, r.Profile, said)
		}
	}
	// Where none matches, what is named is what the first one gives.
	b, m := edited(t, b, func(_, dist map[string]any) { dist["hash"] = "sha256:" + strings.Repeat("0", 64) })
	r, err := CheckFiles(t.Context(), b, m)
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Verdict.Findings[0].Evidence.Observed; r.Profile != tree.Guide ||
		o.From != "dist/, 3 files, profile guide" || o.Size != 3 {
		t.Errorf("no profile: %+v", o)
	}
}

// A dist.hash in any form but its own is malformed, even if it is the right hash.
func TestDistForms(t *testing.T) {
	b, m := bundle(t, ``, nil)
	hex := strings.TrimPrefix(m.Dist.Hash, "sha256:")
	h := digest.NewHasher(digest.SHA512)
	h.Write([]byte("index.js\n1"))
	for hash, want := range map[any]string{
		"sha256:" + hex: "match", "sha256:" + strings.ToUpper(hex): "match",
		hex: "unverifiable malformed", "SHA256:" + hex: "unverifiable malformed",
		"sha256-" + hex: "unverifiable malformed", " sha256:" + hex: "unverifiable malformed",
		h.Digest(digest.SHA512).SRI(): "unverifiable malformed", "sha1:" + hex[:40]: "unverifiable malformed",
		"md5:" + hex[:32]: "unverifiable unsupported",
		"":                "absent", 7: "absent",
	} {
		b, m := edited(t, b, func(_, dist map[string]any) { dist["hash"] = hash })
		r, err := CheckFiles(t.Context(), b, m)
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(r.Verdict)[0]; got != "dist manifest net-utils@1.1.0 "+want ||
			(r.Verdict.Class() == evidence.OK) != (want == "match") ||
			want != "match" && r.Verdict.Class() != evidence.Integrity {
			t.Errorf("%v: %s, %s", hash, got, r.Verdict.Class())
		}
	}
}

// A mismatch says so where other line ends explain it.
func TestLineEnds(t *testing.T) {
	for _, c := range []struct{ hashed, there, want string }{
		{"a\nb\n", "a\r\nb\r\n", "LF line ends"},
		{"a\r\nb\r\n", "a\nb\n", "CRLF line ends"},
		{"a\r\nb\r\n", "a\r\nb\n", "CRLF line ends"},
		{"a\nb\n", "a\nc\n", ""},
		{"a\nb\n", "a\r\nc\r\n", ""},
	} {
		b, m := bundle(t, ``, map[string]string{"dist/a.txt": c.hashed})
		b.Contents["a.txt"] = []byte(c.there)
		b.Files[0].Size = int64(len(c.there))
		r, err := CheckFiles(t.Context(), b, m)
		if err != nil {
			t.Fatal(err)
		}
		if got := reasonOf(r.Verdict, evidence.Dist); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q for %q: %q, want %q", c.there, c.hashed, got, c.want)
		}
	}
}

// What the manifest claims beside dist.hash, and what its claims cover.
func TestDistClaims(t *testing.T) {
	zero := strings.Repeat("0", 64)
	const subject = "net-utils@1.1.0 "
	bare := func(dist map[string]any) { // dist.hash alone
		for name := range dist {
			if name != "hash" {
				delete(dist, name)
			}
		}
	}
	sums := func(dist map[string]any) []any { return dist["checksums"].(map[string]any)["files"].([]any) }
	for _, c := range []struct {
		name string
		edit func(dist map[string]any)
		want []string
	}{
		{"all", func(map[string]any) {}, []string{
			"tree manifest " + subject + "match", "extent manifest " + subject + "match",
			"extent manifest " + subject + "match", "coverage manifest " + subject + "match"}},
		{"the hash alone", bare, []string{
			"tree manifest " + subject + "absent", "extent manifest " + subject + "absent",
			"extent manifest " + subject + "absent", "coverage manifest " + subject + "absent",
			"unhashed manifest dist/.hidden absent"}},
		{"the framed hash alone", func(dist map[string]any) { delete(dist, "checksums"); delete(dist, "coverage") },
			[]string{
				"tree manifest " + subject + "match", "coverage manifest " + subject + "match"}},
		{"a wrong framed hash", func(dist map[string]any) {
			dist["hashes"] = []Hash{{FramedAlg, "sha256:" + zero}}
			delete(dist, "coverage")
		}, []string{"tree manifest " + subject + "mismatch", "coverage manifest " + subject + "absent"}},
		{"a framed hash that is none", func(dist map[string]any) { dist["hashes"] = []Hash{{FramedAlg, "nonsense"}} },
			[]string{
				"tree manifest " + subject + "mismatch"}},
		{"a hash of another kind",
			func(dist map[string]any) { dist["hashes"] = []Hash{{"blake3-tree", "sha256:" + zero}} }, []string{
				"tree manifest " + subject + "unverifiable unsupported", "tree manifest " + subject + "absent"}},
		{"checksums of all files", func(dist map[string]any) { delete(dist, "hashes") },
			[]string{"coverage manifest " + subject + "match"}},
		{"checksums without a coverage",
			func(dist map[string]any) { delete(dist, "hashes"); dist["coverage"] = "partial" },
			[]string{"coverage manifest " + subject + "absent"}},
		{"coverage without checksums", func(dist map[string]any) { bare(dist); dist["coverage"] = "all" }, []string{
			"file manifest dist/index.js absent", "file manifest dist/z.js absent",
			"coverage manifest " + subject + "absent"}},
		{"a checksum too few", func(dist map[string]any) {
			delete(dist, "hashes")
			dist["checksums"].(map[string]any)["files"] = sums(dist)[:2]
		}, []string{
			"file manifest dist/.hidden match", "file manifest dist/index.js match", "file manifest dist/z.js absent",
			"coverage manifest " + subject + "absent"}},
		{"a checksum too few, of a dotfile", func(dist map[string]any) {
			delete(dist, "hashes")
			dist["checksums"].(map[string]any)["files"] = sums(dist)[1:]
		}, []string{
			"file manifest dist/index.js match", "file manifest dist/z.js match",
			"unhashed manifest dist/.hidden absent"}},
		{"a checksum too few, coverage partial", func(dist map[string]any) {
			dist["coverage"] = "partial"
			dist["checksums"].(map[string]any)["files"] = sums(dist)[:2]
		}, []string{"file manifest dist/.hidden match", "file manifest dist/index.js match"}},
		{"a checksum too many", func(dist map[string]any) {
			delete(dist, "hashes")
			dist["checksums"].(map[string]any)["files"] = append(sums(dist),
				map[string]any{"path": "dist/gone.js", "sha256": zero})
		}, []string{
			"file manifest dist/.hidden match", "file manifest dist/gone.js unverifiable not_found",
			"file manifest dist/index.js match", "file manifest dist/z.js match",
			"coverage manifest " + subject + "absent"}},
		{"a wrong checksum",
			func(dist map[string]any) { delete(dist, "hashes"); sums(dist)[1].(map[string]any)["sha256"] = zero },
			[]string{
				"file manifest dist/.hidden match", "file manifest dist/index.js mismatch",
				"file manifest dist/z.js match", "coverage manifest " + subject + "absent"}},
		{"a wrong checksum of a dotfile",
			func(dist map[string]any) { delete(dist, "hashes"); sums(dist)[0].(map[string]any)["sha256"] = zero },
			[]string{
				"file manifest dist/.hidden mismatch", "file manifest dist/index.js match",
				"file manifest dist/z.js match", "coverage manifest " + subject + "absent"}},
		{"checksums in capitals", func(dist map[string]any) {
			for _, s := range sums(dist) {
				s := s.(map[string]any)
				s["sha256"] = strings.ToUpper(s["sha256"].(string))
			}
		}, []string{
			"file manifest dist/.hidden match", "file manifest dist/index.js match", "file manifest dist/z.js match"}},
		{"a file too many", func(dist map[string]any) { dist["fileCount"] = 3 }, []string{
			"extent manifest " + subject + "mismatch", "extent manifest " + subject + "match"}},
		{"no bytes", func(dist map[string]any) { dist["totalBytes"] = 0 }, []string{
			"extent manifest " + subject + "match", "extent manifest " + subject + "mismatch"}},
	} {
		b, _ := bundle(t, ``, map[string]string{"dist/.hidden": "12345", "dist/z.js": "123"})
		b, m := edited(t, b, func(_, dist map[string]any) { c.edit(dist) })
		r, err := CheckFiles(t.Context(), b, m)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, c.name, r.Verdict, c.want...)
		bad := slices.ContainsFunc(c.want, func(w string) bool {
			return strings.HasSuffix(w, "mismatch") || strings.HasSuffix(w, "not_found") ||
				strings.HasPrefix(w, "file") && strings.HasSuffix(w, "absent")
		})
		if (r.Verdict.Class() == evidence.Integrity) != bad {
			t.Errorf("%s: %v", c.name, r.Verdict.Err())
		}
	}
	_, m := bundle(t, ``, map[string]string{"dist/.hidden": "12345", "dist/z.js": "123"})
	if m.Dist.FileCount != 2 || m.Dist.Bytes != 4 || len(m.Dist.Checksums) != 3 {
		t.Errorf("written: %+v", m.Dist)
	}
}

// What lies beside dist/, and what of dist/ no tree holds, is named.
func TestUnhashed(t *testing.T) {
	b, m := bundle(t, ``, map[string]string{"README.md": "x", "index.js": "x", "lib/a.js": "x", "lib/b.js": "x"})
	b.Refused = []*tree.EntryError{{Path: "dist/link.js", Kind: "a symbolic link"}}
	r, err := CheckFiles(t.Context(), b, m)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "beside", r.Verdict, "unhashed manifest dist/link.js absent", "unhashed manifest index.js absent",
		"unhashed manifest lib/ absent")
	for strict, want := range map[bool]evidence.Class{false: evidence.OK, true: evidence.Integrity} {
		if r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Strict: strict}); err != nil ||
			r.Verdict.Class() != want {
			t.Errorf("strict %v: %v, %v", strict, r.Verdict.Err(), err)
		}
	}
}
