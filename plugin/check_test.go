package plugin

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

// What others claim of a plugin is compared with what it is, each with its own part.
func TestClaims(t *testing.T) {
	b, m := bundle(t, ``, nil)
	framed, err := b.Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hash, err := digest.Parse(m.Dist.Hash)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		scheme    evidence.Scheme
		authority evidence.Authority
		want      digest.Digest
		outcome   string
	}{
		{evidence.Tree, evidence.Lock, framed, "match"}, {evidence.Tree, evidence.Lock, hash, "mismatch"},
		{evidence.Dist, evidence.Lock, hash, "match"}, {evidence.Dist, evidence.Lock, framed, "mismatch"},
		{evidence.File, evidence.Lock, digest.FromBytes(b.Manifest), "match"},
		{evidence.File, evidence.Lock, digest.FromBytes(b.Manifest[1:]), "mismatch"},
		{evidence.OCI, evidence.Lock, hash, "unverifiable unsupported"},
	} {
		claim := evidence.Claim{Subject: "theirs", Scheme: c.scheme, Authority: c.authority,
			Want: []digest.Digest{c.want}}
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines}, claim)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, string(c.scheme), r.Verdict, string(c.scheme)+" lock theirs "+c.outcome)
		if r.Verdict.Allowed() != (c.outcome == "match") {
			t.Errorf("%s %s: %v", c.scheme, c.outcome, r.Verdict.Err())
		}
	}
	// What the files cannot be hashed under is no match.
	b, m = bundle(t, ``, map[string]string{"dist/.x": "1"})
	delete(b.Contents, "index.js")
	b.Files = b.Files[:1]
	r, err := Check(t.Context(), b, m, Host{Scan: scanLines},
		evidence.Claim{Subject: "theirs", Scheme: evidence.Dist, Authority: evidence.Lock, Want: []digest.Digest{hash}})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "nothing to hash", r.Verdict, "dist lock theirs unverifiable unsupported")
}

// What was learned elsewhere is judged with the rest, and comes first.
func TestOutside(t *testing.T) {
	b, m := bundle(t, ``, nil)
	yanked := evidence.Evidence{
		Claim:   evidence.Claim{Subject: "theirs", Scheme: evidence.Status, Authority: evidence.Record},
		Outcome: evidence.Mismatch}
	host := Host{Scan: scanLines, Outside: evidence.Report{yanked}}
	r, err := Check(t.Context(), b, m, host)
	if err != nil || r.Verdict.Class() != evidence.Refused || r.Verdict.Findings[0].Evidence.Subject != "theirs" ||
		len(host.Outside) != 1 {
		t.Errorf("%v, %v, %d", r.Verdict.Err(), err, len(host.Outside))
	}
}

// The entry must be one of the files.
func TestEntry(t *testing.T) {
	for entry, want := range map[string]evidence.Class{"dist/index.js": evidence.OK,
		"dist/other.js": evidence.Integrity, "dist/sub/index.js": evidence.Integrity} {
		b, m := bundle(t, `"entry":"`+entry+`"`, nil)
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines})
		if err != nil || r.Verdict.Class() != want {
			t.Errorf("%s: %v, %v", entry, r.Verdict.Err(), err)
		}
		if r, err = CheckFiles(t.Context(), b, m); err != nil || r.Verdict.Class() != want {
			t.Errorf("files of %s: %v, %v", entry, r.Verdict.Err(), err)
		}
	}
}

// Whoever looked at the files alone has not been permitted to do anything.
func TestFilesAdmitNothing(t *testing.T) {
	b, m := bundle(t, ``, map[string]string{"dist/index.js": "require axios"})
	r, err := CheckFiles(t.Context(), b, m)
	if err != nil || !r.Verdict.Allowed() {
		t.Fatal(r.Verdict.Err(), err)
	}
	if err := r.Verdict.Admitted().Permits(m.Subject(), r.Tree, policy.Place); err == nil {
		t.Error("a plugin whose code nobody looked at may be placed")
	}
	b, m = bundle(t, ``, nil)
	if r, err = Check(t.Context(), b, m, Host{Scan: scanLines}); err != nil {
		t.Fatal(err)
	}
	if err := r.Verdict.Admitted().Permits(m.Subject(), r.Tree, policy.Place); err != nil {
		t.Error(err)
	}
	o, report, err := Observe(t.Context(), b, m)
	if err != nil || len(report) == 0 || o.Tree.String() != r.Tree.String() ||
		o.Verdict.Allowed() && len(o.Verdict.Findings) > 0 {
		t.Errorf("observed: %v, %d pieces of evidence", err, len(report))
	}
}

// Capabilities are looked at only where nothing before them is refused.
func TestCapabilitiesComeLast(t *testing.T) {
	for code, want := range map[string]bool{"1": true, "require axios": false} {
		b, m := bundle(t, ``, map[string]string{"dist/index.js": code})
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Registered: &Registered{Prompts: []string{"p"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(lines(r.Verdict), "\n"), "capability caller prompt:p absent"); got !=
			want {
			t.Errorf("%s: capabilities are looked at: %v", code, got)
		}
	}
}

// What was declared and what was registered are compared kind by kind.
func TestCapabilities(t *testing.T) {
	const declared = `"capabilities":{"tools":["a","b"],"resources":["file:///r"],"prompts":["p"]}`
	for _, c := range []struct {
		registered string
		want       []string // capability and tool findings that are no match
		strict     evidence.Class
		tools      evidence.Class
	}{
		{`{"tools":["a","b"],"resources":["file:///r"],"prompts":["p"]}`, nil, evidence.OK, evidence.OK},
		{`{"tools":[{"name":"a","inputSchema":{"type":"object"}},"b"],"resources":[{"uri":"file:///r"}],` +
			`"prompts":[{"name":"p"}]}`, nil, evidence.OK, evidence.OK},
		{`{"tools":["a"],"resources":["file:///r"],"prompts":["p"]}`, []string{"capability caller tool:b mismatch"},
			evidence.Refused, evidence.OK},
		{`{"tools":["a","b","c"],"resources":["file:///r"],"prompts":["p"]}`,
			[]string{"capability caller tool:c absent"}, evidence.Refused, evidence.OK},
		{`{"tools":["a","b","a"],"resources":["file:///r"],"prompts":["p"]}`,
			[]string{"capability caller tool:a mismatch"}, evidence.Refused, evidence.OK},
		{`{"tools":["a","b"],"prompts":["p","q"]}`,
			[]string{"capability caller resource:file:///r mismatch", "capability caller prompt:q absent"},
			evidence.Refused, evidence.OK},
		{`{"tools":["a","b"],"resources":["file:///r","p"]}`,
			[]string{"capability caller resource:p absent", "capability caller prompt:p mismatch"}, evidence.Refused,
			evidence.OK},
		{`{"tools":["a","b"],"resources":[{"name":"r","uri":"file:///r"}],"prompts":["p"]}`,
			[]string{"capability caller resource:file:///r mismatch", "capability caller resource:r absent"},
			evidence.Refused, evidence.OK},
		{`{"tools":[{"name":"a"},"b"],"resources":["file:///r"],"prompts":["p"]}`,
			[]string{"tool caller tool:a mismatch"}, evidence.OK, evidence.Validation},
		{`{"tools":[{"name":"a","inputSchema":{"type":"array"}},"b"],"resources":["file:///r"],"prompts":["p"]}`,
			[]string{"tool caller tool:a mismatch"}, evidence.OK, evidence.Validation},
		{`{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}],` +
			`"resources":["file:///r"],"prompts":["p"]}`, nil, evidence.OK, evidence.OK},
		{`{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b"}],"resources":["file:///r"],` +
			`"prompts":["p"]}`, []string{"tool caller tool:b mismatch"}, evidence.OK, evidence.Validation},
		{`{"tools":["a","b","c d"],"resources":["file:///r"],"prompts":["p"]}`,
			[]string{"capability caller tool:c d absent", "tool caller tool:c d mismatch"}, evidence.Refused,
			evidence.Validation},
		{`{"tools":["a",{"Name":"b","inputSchema":{"type":"object"}}],"resources":["file:///r"],"prompts":["p"]}`,
			[]string{"capability caller tool:b mismatch", "capability caller tool: absent",
				"tool caller tool: mismatch"}, evidence.Refused, evidence.Validation},
		{`{"tools":["a","b",{"uri":"c","inputSchema":{"type":"object"}}],"resources":["file:///r"],"prompts":["p"]}`,
			[]string{"capability caller tool: absent", "tool caller tool: mismatch"}, evidence.Refused,
			evidence.Validation},
	} {
		r, err := ParseRegistered([]byte(c.registered))
		if err != nil {
			t.Fatal(c.registered, err)
		}
		b, m := bundle(t, declared, nil)
		for _, flags := range []Flags{{}, {StrictCapabilities: true}, {StrictTools: true}} {
			v, err := Check(t.Context(), b, m, Host{Scan: scanLines, Registered: r, Flags: flags})
			if err != nil {
				t.Fatal(err)
			}
			// Of a tool that was told by its name STRICT_TOOLS cannot see the schema.
			named := 0
			if flags.StrictTools {
				for _, tool := range r.Tools {
					if tool.named && tool.checkTool() == nil {
						named++
					}
				}
			}
			owed := 0
			var got []string
			for _, line := range lines(v.Verdict) {
				if strings.HasPrefix(line, "tool caller") && strings.HasSuffix(line, " missing") {
					owed++
					continue
				}
				if (strings.HasPrefix(line, "capability") || strings.HasPrefix(line, "tool")) &&
					!strings.HasSuffix(line, " match") {
					got = append(got, line)
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%s:\n  got  %q\n  want %q", c.registered, got, c.want)
			}
			if owed != named {
				t.Errorf("%s, %+v: %d missing, want %d", c.registered, flags, owed, named)
			}
			want := evidence.OK
			switch {
			case named > 0:
				want = evidence.Refused
			case flags.StrictCapabilities:
				want = c.strict
			case flags.StrictTools:
				want = c.tools
			}
			if v.Verdict.Class() != want {
				t.Errorf("%s, %+v: %v, want %s", c.registered, flags, v.Verdict.Err(), want)
			}
		}
	}
	for _, text := range []string{``, `null`, `[]`, `{"tools":{}}`, `{"tools":[7]}`, `{"tools":[["a"]]}`,
		`{"other":[]}`, `{"Tools":[]}`, `{"tools":[{"name":7}]}`, `{"resources":[{"uri":[]}]}`,
		`{"tools":[],"tools":["a"]}`} {
		if r, err := ParseRegistered([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, r)
		}
	}
	for n, valid := range map[int]bool{0: false, 1: true, 128: true, 129: false} {
		if err := (RegisteredTool{Name: strings.Repeat("a", n), named: true}).checkTool(); (err == nil) != valid {
			t.Errorf("a name of %d characters: %v", n, err)
		}
	}
}
