package policy

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

var (
	some  = digest.FromBytes([]byte("some"))
	other = digest.FromBytes([]byte("other"))
)

var outcomes = []evidence.Outcome{evidence.Match, evidence.Mismatch, evidence.Absent, evidence.Waived,
	evidence.Unverifiable, evidence.Missing}

func (d decision) String() string {
	switch {
	case d.refuse != evidence.OK:
		return d.refuse.String()
	case d.warn:
		return "warn"
	}
	return "-"
}

// made is evidence with a given outcome.
func made(scheme evidence.Scheme, authority evidence.Authority, o evidence.Outcome) evidence.Evidence {
	e := evidence.Evidence{Claim: evidence.Claim{Subject: "s", Scheme: scheme, Authority: authority}, Outcome: o}
	switch o {
	case evidence.Match:
		e.Want, e.Observed.Digests = []digest.Digest{some}, []digest.Digest{some}
	case evidence.Mismatch:
		e.Want, e.Observed.Digests = []digest.Digest{some}, []digest.Digest{other}
	case evidence.Unverifiable:
		e.Cause = evidence.Unreachable
	default:
		e.Observed.Digests = []digest.Digest{some}
	}
	return e
}

// Every cell decides as it says, whatever stands beside it: what is refused has its class and admits nothing, and a
// claim that is malformed, or a weak match, is refused at least as much. Which cell says what, TestVerdicts knows.
func TestEveryCell(t *testing.T) {
	for flow, rules := range table {
		for _, r := range rules {
			for _, o := range outcomes {
				testCell(t, flow, r, o)
			}
		}
	}
}

func testCell(t *testing.T, flow Flow, r *rule, o evidence.Outcome) {
	name := strings.Join([]string{string(flow), string(r.scheme), string(r.authority), string(o)}, " ")
	e, want := made(r.scheme, r.authority, o), r.does.of(o)
	v := Judge(flow, Settings{}, evidence.Report{e})
	if v.Class() != want.refuse || v.Allowed() != (want.refuse == evidence.OK) || (v.Err() == nil) != v.Allowed() ||
		(len(v.Warnings()) == 1) != want.warn {
		t.Errorf("%s: class %v, warnings %d; want %s", name, v.Class(), len(v.Warnings()), want)
	}
	if !v.Allowed() {
		if evidence.ClassOf(v.Err()) != v.Class() || len(v.Refused()) != 1 {
			t.Errorf("%s: %v", name, v.Err())
		}
		if v.Admitted().grants != nil {
			t.Errorf("%s: a refusal admits", name)
		}
		// One refusal outweighs any number of matches.
		first := table[flow][0]
		if Judge(flow, Settings{}, evidence.Report{made(first.scheme, first.authority, evidence.Match), e, e}).Allowed() {
			t.Errorf("%s: allowed beside a match", name)
		}
	}
	if o == evidence.Unverifiable {
		e.Cause = evidence.Malformed
		class := want.refuse
		if want == operation {
			class = evidence.Validation
		}
		if got := Judge(flow, Settings{}, evidence.Report{e}).Class(); got != class {
			t.Errorf("%s, malformed: %s, want %s", name, got, class)
		}
	}
	if o == evidence.Match && want == allow {
		e.Weak = true
		wanted := r.does.absent
		if r.authority == evidence.Verify {
			wanted = warn
		}
		if got := Judge(flow, Settings{}, evidence.Report{e}).Findings[0]; (decision{got.Class, got.Warning}) != wanted {
			t.Errorf("%s, weak: %+v, want %s", name, got, wanted)
		}
	}
}

// All schemes and authorities, and words that are none.
var (
	schemes = []evidence.Scheme{evidence.File, evidence.Tree, evidence.Module, evidence.Dist, evidence.FacetTar,
		evidence.OCI, evidence.APISurface, evidence.Surface,
		evidence.Document, evidence.Launch, evidence.Ownership, evidence.Pin, evidence.Approval, evidence.Status, evidence.Age,
		evidence.Advisory, evidence.Malware,
		evidence.Transport, evidence.Secret, evidence.Access,
		evidence.LogKey, evidence.Proof, evidence.Cosignature, evidence.Checkpoint, evidence.Finding, evidence.Source,
		evidence.Tag, evidence.Installed,
		evidence.Extent, evidence.Coverage,
		evidence.Unhashed, evidence.Import, evidence.Permission, evidence.Allowlist, evidence.Signed,
		evidence.Statement, evidence.Capability, evidence.Tool, evidence.Form, "other", ""}
	authorities = []evidence.Authority{evidence.Publisher, evidence.Registry, evidence.Record, evidence.Log,
		evidence.Lock, evidence.Sidecar,
		evidence.Manifest, evidence.Verify, evidence.Machine, evidence.Caller, evidence.Project, evidence.Advisories, "other", ""}
)

// What the table does not name is refused, whatever its outcome.
func TestUnknownIsRefused(t *testing.T) {
	known := map[string]bool{}
	for flow, rules := range table {
		for _, r := range rules {
			known[string(flow)+string(r.scheme)+string(r.authority)] = true
		}
	}
	flows := []Flow{Generate, Verify, Send, Accept, Pin, Launch, Bare, Session, Install, Check, Scan, Validate, Plugin,
		"other", ""}
	seen := 0
	for _, f := range flows {
		for _, s := range schemes {
			for _, a := range authorities {
				if known[string(f)+string(s)+string(a)] {
					seen++
					continue
				}
				for _, o := range outcomes {
					if v := Judge(f, Settings{MissingHashes: MissingAllow},
						evidence.Report{made(s, a, o)}); v.Allowed() {
						t.Errorf("%s %s %s %s is allowed", f, s, a, o)
					}
				}
			}
		}
	}
	if seen != len(known) {
		t.Errorf("%d of %d rows are made of known words", seen, len(known))
	}
	for _, o := range []evidence.Outcome{"", "matched", "MATCH"} {
		if Judge(Verify, Settings{}, evidence.Report{made(evidence.File, evidence.Publisher, o)}).Allowed() {
			t.Errorf("outcome %q is allowed", o)
		}
	}
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		flow      Flow
		settings  Settings
		scheme    evidence.Scheme
		authority evidence.Authority
		outcome   evidence.Outcome
		want      string
	}{
		"require hashes": {Verify, Settings{RequireHashes: true}, evidence.File, evidence.Publisher,
			evidence.Absent, "policy"},
		"require hashes, match": {Verify, Settings{RequireHashes: true}, evidence.File, evidence.Publisher,
			evidence.Match, "-"},
		"require hashes, send": {Send, Settings{RequireHashes: true}, evidence.File, evidence.Publisher,
			evidence.Absent, "policy"},
		"require hashes, registry": {Verify, Settings{RequireHashes: true}, evidence.File, evidence.Registry,
			evidence.Absent, "-"},
		"missing hashes, default": {Pin, Settings{}, evidence.File, evidence.Record, evidence.Absent, "warn"},
		"missing hashes, allow": {Pin, Settings{MissingHashes: MissingAllow}, evidence.File, evidence.Record,
			evidence.Absent, "-"},
		"missing hashes, warn": {Pin, Settings{MissingHashes: MissingWarn}, evidence.File, evidence.Record,
			evidence.Absent, "warn"},
		"missing hashes, refuse": {Pin, Settings{MissingHashes: MissingRefuse}, evidence.File, evidence.Record,
			evidence.Absent, "policy"},
		"missing hashes, unknown": {Pin, Settings{MissingHashes: "alow"}, evidence.File, evidence.Record,
			evidence.Absent, "policy"},
		"missing hashes, mismatch": {Pin, Settings{MissingHashes: MissingAllow}, evidence.File, evidence.Record,
			evidence.Mismatch, "integrity"},
		"missing hashes, other flow": {Check, Settings{MissingHashes: MissingAllow}, evidence.File, evidence.Record,
			evidence.Absent, "policy"},
		"require lock": {Bare, Settings{RequireLock: true}, evidence.Launch, evidence.Lock,
			evidence.Absent, "policy"},
		"require lock, a moved tag": {Install, Settings{RequireLock: true}, evidence.Tag, evidence.Lock,
			evidence.Mismatch, "warn"},
		"a moved tag": {Install, Settings{}, evidence.Tag, evidence.Lock, evidence.Mismatch, "drift"},
		"require lock, an unreadable tag": {Install, Settings{RequireLock: true}, evidence.Tag, evidence.Lock,
			evidence.Waived, "policy"},
		"require lock, locked": {Launch, Settings{RequireLock: true}, evidence.Launch, evidence.Lock,
			evidence.Match, "-"},
		"require approval": {Check, Settings{RequireApproval: true}, evidence.Approval, evidence.Machine,
			evidence.Absent, "policy"},
		"require approval, another": {Check, Settings{RequireApproval: true}, evidence.Approval, evidence.Machine,
			evidence.Mismatch, "policy"},
		"require approval, approved": {Check, Settings{RequireApproval: true}, evidence.Approval, evidence.Machine,
			evidence.Match, "-"},
		"require approval, trusted": {Check, Settings{RequireApproval: true}, evidence.Approval, evidence.Machine,
			evidence.Waived, "-"},
		"approval not required": {Check, Settings{}, evidence.Approval, evidence.Machine, evidence.Absent, "warn"},
		"approval, launch": {Launch, Settings{}, evidence.Approval, evidence.Machine, evidence.Absent,
			"policy"},
		"a match is no waiver": {Check, Settings{RefuseWaived: true}, evidence.Launch, evidence.Lock,
			evidence.Match, "-"},
		"waived, strict": {Check, Settings{RefuseWaived: true}, evidence.Launch, evidence.Lock,
			evidence.Waived, "policy"},
		"waived, by the caller": {Check, Settings{RefuseWaived: true}, evidence.Approval, evidence.Machine,
			evidence.Waived, "-"},
		"deprecated, strict": {Check, Settings{RefuseWaived: true}, evidence.Status, evidence.Log,
			evidence.Waived, "warn"},
		"waived, strict scan": {Scan, Settings{RefuseWaived: true}, evidence.Launch, evidence.Lock,
			evidence.Waived, "policy"},
		"disabled, strict scan": {Scan, Settings{RefuseWaived: true}, evidence.Pin, evidence.Caller,
			evidence.Waived, "-"},
		"waived, scan": {Scan, Settings{}, evidence.Launch, evidence.Lock, evidence.Waived, "warn"},
		"waived, other flow": {Launch, Settings{RefuseWaived: true}, evidence.File, evidence.Verify,
			evidence.Waived, "-"},
		"lock not required": {Bare, Settings{}, evidence.Launch, evidence.Lock, evidence.Absent, "policy"},
		// a lock is owed, whoever asks for it
		"lock waived": {Bare, Settings{}, evidence.Launch, evidence.Lock, evidence.Waived, "warn"},
	} {
		f := Judge(c.flow, c.settings, evidence.Report{made(c.scheme, c.authority, c.outcome)}).Findings[0]
		if got := (decision{f.Class, f.Warning}).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The settings of flow plugin, each against every cell: it changes those that are named here, and no cell
// becomes laxer.
func TestPluginSettings(t *testing.T) {
	type cell struct {
		scheme    evidence.Scheme
		authority evidence.Authority
		outcome   evidence.Outcome
	}
	for name, c := range map[string]struct {
		settings Settings
		want     map[cell]string
	}{
		"Strict": {Settings{Strict: true}, map[cell]string{
			{evidence.Coverage, evidence.Manifest, evidence.Absent}:       "integrity",
			{evidence.Unhashed, evidence.Manifest, evidence.Absent}:       "integrity",
			{evidence.Unhashed, evidence.Manifest, evidence.Mismatch}:     "integrity",
			{evidence.Unhashed, evidence.Manifest, evidence.Unverifiable}: "integrity",
			{evidence.Import, evidence.Manifest, evidence.Unverifiable}:   "policy",
			{evidence.Statement, evidence.Machine, evidence.Absent}:       "signature",
			{evidence.Form, evidence.Manifest, evidence.Absent}:           "warn",
		}},
		"StrictIntegrity": {Settings{StrictIntegrity: true}, map[cell]string{
			{evidence.Coverage, evidence.Manifest, evidence.Absent}:    "integrity",
			{evidence.Extent, evidence.Manifest, evidence.Absent}:      "integrity",
			{evidence.File, evidence.Publisher, evidence.Absent}:       "integrity",
			{evidence.File, evidence.Publisher, evidence.Unverifiable}: "integrity",
		}},
		"RequireSignatures": {Settings{RequireSignatures: true}, map[cell]string{
			{evidence.Signed, evidence.Machine, evidence.Absent}: "signature",
		}},
		"StrictCapabilities": {Settings{StrictCapabilities: true}, map[cell]string{
			{evidence.Capability, evidence.Caller, evidence.Absent}:       "policy",
			{evidence.Capability, evidence.Caller, evidence.Mismatch}:     "policy",
			{evidence.Capability, evidence.Caller, evidence.Unverifiable}: "policy",
		}},
		"StrictTools": {Settings{StrictTools: true}, map[cell]string{
			{evidence.Tool, evidence.Caller, evidence.Absent}:       "validation",
			{evidence.Tool, evidence.Caller, evidence.Mismatch}:     "validation",
			{evidence.Tool, evidence.Caller, evidence.Unverifiable}: "validation",
		}},
	} {
		for flow, rules := range table {
			for _, r := range rules {
				for _, o := range outcomes {
					want := r.does.of(o).String()
					if s, ok := c.want[cell{r.scheme, r.authority, o}]; ok && flow == Plugin {
						want = s
					}
					f := Judge(flow, c.settings, evidence.Report{made(r.scheme, r.authority, o)}).Findings[0]
					if got := (decision{f.Class, f.Warning}).String(); got != want {
						t.Errorf("%s: %s %s %s %s: %s, want %s", name, flow, r.scheme, r.authority, o, got, want)
					}
				}
			}
		}
	}
	unparsed := made(evidence.Import, evidence.Manifest, evidence.Unverifiable)
	unparsed.Cause = evidence.Unreadable
	if got := Judge(Plugin, Settings{}, evidence.Report{unparsed}).Class(); got != evidence.Refused {
		t.Errorf("code that could not be parsed: %s", got)
	}
}

func TestAdmitted(t *testing.T) {
	report := evidence.Report{
		evidence.Compare(evidence.Claim{Subject: "a", Scheme: evidence.Tree, Authority: evidence.Lock,
			Want: []digest.Digest{some}}, evidence.Observed{Digests: []digest.Digest{some}}),
		evidence.Compare(evidence.Claim{Subject: "b", Scheme: evidence.File, Authority: evidence.Registry},
			evidence.Observed{Digests: []digest.Digest{other}}),
	}
	adm := Judge(Pin, Settings{}, report).Admitted()
	for _, ok := range []struct {
		subject string
		d       digest.Digest
	}{{"a", some}, {"b", other}} {
		for _, action := range []Action{Keep, Add, Execute} {
			if err := adm.Permits(ok.subject, ok.d, action); err != nil {
				t.Error(err)
			}
		}
	}
	h := digest.NewHasher(digest.SHA512)
	h.Write([]byte("some"))
	for name, c := range map[string]struct {
		adm     Admitted
		subject string
		d       digest.Digest
		action  Action
	}{
		"the zero value":               {Admitted{}, "a", some, Keep},
		"the zero value, no action":    {Admitted{}, "a", some, ""},
		"the zero value of all":        {Admitted{}, "", digest.Digest{}, ""},
		"another subject":              {adm, "c", some, Keep},
		"no subject":                   {adm, "", some, Keep},
		"another subject's digest":     {adm, "a", other, Keep},
		"the zero digest":              {adm, "a", digest.Digest{}, Keep},
		"another algorithm":            {adm, "a", h.Digest(digest.SHA512), Keep},
		"another action":               {adm, "a", some, Publish},
		"an unknown action":            {adm, "a", some, "other"},
		"a longer subject":             {adm, "a ", some, Keep},
		"a flow that leads to nothing": {Judge(Check, Settings{}, report[:1]).Admitted(), "a", some, Execute},
		"a launch does not add":        {Judge(Launch, Settings{}, report[:1]).Admitted(), "a", some, Add},
		"an empty report":              {Judge(Pin, Settings{}, nil).Admitted(), "a", some, Keep},
		"a refusal": {Judge(Pin, Settings{}, append(slices.Clone(report),
			made(evidence.File, evidence.Registry, evidence.Mismatch))).Admitted(), "a", some, Keep},
	} {
		if err := c.adm.Permits(c.subject, c.d, c.action); !errors.Is(err, ErrNotAdmitted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := adm.Permits("x\x1b[2J\ny", some, Keep); strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("%q is not escaped", err)
	}
	if v := Judge(Pin, Settings{}, nil); !v.Allowed() || v.Err() != nil {
		t.Error("an empty report is a refusal")
	}
	if err := adm.Permits("a", some, Keep); err != nil {
		t.Error("asking twice:", err)
	}
}

// The hint about a missing hash tells whether there is a record that lacks it.
func TestMissingHashHint(t *testing.T) {
	for where, want := range map[string]string{
		"":                        "hint: there is no record of it; name a registry",
		"the record of a/b@1.0.0": "hint: the record has no file_hashes; ",
	} {
		e := evidence.Compare(evidence.Claim{Subject: "npm:a@1", Scheme: evidence.File, Authority: evidence.Record,
			Where: where}, evidence.Observed{})
		if err := Judge(Pin, Settings{MissingHashes: MissingRefuse}, evidence.Report{e}).Err(); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", where, err)
		}
	}
}

func TestRefusalPrints(t *testing.T) {
	e := evidence.Compare(
		evidence.Claim{Subject: "npm:@acme/notes@1.4.0", Scheme: evidence.File, Want: []digest.Digest{some},
			Authority: evidence.Publisher, Where: "server.json, file_hashes"},
		evidence.Observed{Digests: []digest.Digest{other}, Size: 23114,
			From: "https://npm.example.com/@acme/notes/-/notes-1.4.0.tgz"})
	tampered := evidence.Fact(evidence.Claim{Subject: "npm:a@1: lib/x.js", Scheme: evidence.File,
		Authority: evidence.Sidecar}, "missing")
	want := "npm:@acme/notes@1.4.0: sha256 mismatch\n" +
		"  expected " + some.String() + "  (claimed by server.json, file_hashes)\n" +
		"  actual   " + other.String() + "  (23,114 bytes of https://npm.example.com/@acme/notes/-/notes-1.4.0.tgz)\n" +
		"  hint: the file changed after hashing, or was hashed elsewhere; run 'hallmark hash-gen server.json' and compare"
	if got := Judge(Verify, Settings{}, evidence.Report{e}).Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	both := Judge(Launch, Settings{}, evidence.Report{tampered, tampered}).Err().Error()
	if strings.Count(both, "npm:a@1: lib/x.js: sha256 mismatch\n  actual   missing") != 2 {
		t.Errorf("got\n%s", both)
	}
}

// What is owed and gone is refused wherever it can be asked for, with exit code 4, or 3 where
// bytes are about to be used that nothing else covers; no setting makes a warning of it.
func TestMissingIsRefused(t *testing.T) {
	lax := []Settings{{}, {MissingHashes: MissingAllow}, {MissingHashes: MissingWarn}}
	for flow, rules := range table {
		for _, r := range rules {
			for _, s := range lax {
				e := evidence.Miss(evidence.Claim{Subject: "s", Scheme: r.scheme, Authority: r.authority},
					evidence.Project, "why", "what to do")
				v := Judge(flow, s, evidence.Report{e, made(r.scheme, r.authority, evidence.Match)})
				if c := v.Findings[0].Class; c != evidence.Refused && c != evidence.Integrity || v.Findings[0].Warning {
					t.Errorf("%s %s %s with %+v: missing is %s", flow, r.scheme, r.authority, s, v.Findings[0].Class)
				}
				if v.Allowed() || v.Admitted().grants != nil {
					t.Errorf("%s %s %s with %+v: missing admits", flow, r.scheme, r.authority, s)
				}
				if h := r.advise(flow, v.Findings[0]); h != "what to do" {
					t.Errorf("%s %s %s: the hint is %q", flow, r.scheme, r.authority, h)
				}
			}
		}
	}
	for flow, rows := range map[Flow][][2]string{
		Launch: {{"document", "lock"}, {"file", "sidecar"}}, Check: {{"document", "lock"}},
		Install: {{"facet-tar", "sidecar"}}, Plugin: {{"tree", "lock"}},
	} {
		for _, r := range rows {
			v := Judge(flow, Settings{}, evidence.Report{evidence.Miss(evidence.Claim{Scheme: evidence.Scheme(r[0]),
				Authority: evidence.Authority(r[1])}, evidence.Lock, "", "")})
			if v.Class() != evidence.Integrity {
				t.Errorf("%s %v: %s, want integrity", flow, r, v.Class())
			}
		}
	}
}

// A check that ends with "verified" holds no row that says mismatch: none is only warned of. An advisory is about a
// version that still has the bytes that were locked.
func TestCheckRefusesMismatches(t *testing.T) {
	for _, r := range table[Check] {
		if r.scheme == evidence.Advisory {
			continue
		}
		e := evidence.Evidence{Claim: evidence.Claim{Scheme: r.scheme, Authority: r.authority}, Outcome: evidence.Mismatch}
		if Judge(Check, Settings{}, evidence.Report{e}).Allowed() {
			t.Errorf("%s by %s that differs is allowed", r.scheme, r.authority)
		}
	}
}

// Where a report says which server or facet it is about, each command of a hint that takes a name has it.
func TestHintsNameEntry(t *testing.T) {
	nameless := regexp.MustCompile(`'hallmark (pin|review|unpin|info)'`)
	for _, r := range rows {
		for _, flow := range r.flows {
			for _, o := range outcomes {
				e := made(r.scheme, r.authority, o)
				e.Subject, e.Of = "io.github.acme/notes@1.0.0", evidence.Entry{Server: "notes"}
				e.Cause = evidence.Unsupported
				for _, from := range []string{"", "hallmark.toml line 3"} {
					e.Observed.From = from
					hint := r.advise(flow, Finding{Evidence: e, Class: r.does.of(o).refuse})
					if nameless.MatchString(hint) {
						t.Errorf("%s: %s-%s by %s: %s", flow, r.scheme, o, r.authority, hint)
					}
				}
			}
		}
	}
	for of, want := range map[evidence.Entry]string{
		{}:                "run 'hallmark upgrade' for this server, 'hallmark unpin' or 'hallmark remove'",
		{Server: "notes"}: "run 'hallmark upgrade' for this server, 'hallmark unpin notes' or 'hallmark remove'",
		{Facet: "kit"}:    "run 'hallmark upgrade kit', 'hallmark unpin' or 'hallmark remove kit'",
	} {
		got := nameEntry("run 'hallmark upgrade' for this server, 'hallmark unpin' or 'hallmark remove'", of)
		if got != want {
			t.Errorf("%+v: %q, want %q", of, got, want)
		}
	}
}
