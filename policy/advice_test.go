package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// advice is what is said next about a refused finding, in each flow that refuses it but scan, validate and plugin,
// or in those that are named.
var advice = []struct {
	outcomes string
	of       findings
	flows    string
	text     string // how it begins
}{
	{"mismatch", "file: manifest; tree: manifest; dist: manifest; facet-tar: manifest; api-surface: manifest; " +
		"extent: manifest; coverage: manifest; unhashed: manifest", "",
		"the archive contradicts itself; do not use it, and tell its"},
	{"mismatch", "file: publisher; document: publisher", "",
		"the file changed after hashing, or was hashed elsewhere; run"},
	{"absent", "file: record; tree: record; facet-tar: record; document: record", "",
		"there is no record of it; name a registry that has one in"},
	{"mismatch", "file: record; tree: record; facet-tar: record; api-surface: record; document: record", "",
		"these are not the bytes that were published; do not run them"},
	{"unverifiable", "facet-tar: record", "",
		"no confirmation: a facet is locked only if its registry confirms"},
	{"mismatch", "file: registry", "",
		"the bytes are not those that the package registry vouches for; a"},
	{"absent mismatch unverifiable", "ownership: registry manifest", "",
		"the package must name the server that it belongs to (npm:"},
	{"mismatch", "approval: machine", "check",
		"run 'hallmark review' for this server, or give --trust-lock where"},
	{"mismatch", "finding: log", "check",
		"'hallmark info' shows what its publisher claimed and what failed;"},
	{"absent mismatch unverifiable", "approval: machine", "launch bare",
		"run 'hallmark review' for this server, or give --trust-lock where"},
	{"mismatch", "file: lock; go-module: lock; document: lock; import: lock", "",
		"the file is not the one that was approved; if the change is"},
	{"mismatch", "file: lock", "install",
		"these are not the contents that were locked: a published version"},
	{"mismatch unverifiable waived", "file: machine", "",
		"if you updated it, run 'hallmark review' for this server; else"},
	{"mismatch", "file: verify", "",
		"if you updated the file, 'hallmark verify-server' with --write"},
	{"absent", "launch: lock machine project", "",
		"run 'hallmark pin' for this server first"},
	{"mismatch", "launch: lock", "",
		"its facet declares it otherwise than it was locked; run 'hallmark"},
	{"waived absent mismatch", "checkpoint: log", "",
		"nobody vouched lately that this is the newest state of the log;"},
	{"absent mismatch unverifiable waived", "cosignature: log", "",
		"too few of the witnesses in hallmark.toml vouch that others see"},
	{"absent", "document: log", "",
		"SECURITY ERROR: the registry's log does not hold what the"},
	{"mismatch unverifiable waived", "document: log; proof: log", "",
		"SECURITY ERROR: the registry's log does not hold what the"},
	{"mismatch", "facet-tar: log lock sidecar", "check",
		"the store's copy was changed; 'hallmark install' moves it to"},
	{"mismatch", "installed: lock", "",
		"if the change is not yours find out who made it; 'hallmark"},
	{"waived", "launch: lock project", "",
		"run 'hallmark pin' for this server, and take the opt-out away"},
	{"absent", "log-key: lock machine", "",
		"ask the registry's operator for the key of its log, and give it"},
	{"mismatch unverifiable waived", "log-key: lock machine", "",
		"SECURITY ERROR: if the operator announced another key, run"},
	{"mismatch waived unverifiable", "oci: lock", "",
		"the tag leads to another image than the one that was approved,"},
	{"absent mismatch", "pin: lock", "",
		"run 'hallmark pin' for this server again"},
	{"unverifiable waived", "pin: lock", "launch check",
		"run 'hallmark pin' for this server again"},
	{"match unverifiable", "pin: lock", "bare",
		"run 'hallmark pin' for this server again"},
	{"absent unverifiable waived", "source: lock manifest project", "",
		"run 'hallmark install' without --frozen, and commit hallmark.lock"},
	{"mismatch", "source: lock manifest project", "",
		"hallmark.lock says otherwise than the facet that brings it along;"},
	{"mismatch unverifiable", "status: record log", "",
		"its publisher took it back; pin another version"},
	{"mismatch", "status: registry", "",
		"find out why it was taken back, then run 'hallmark upgrade' for"},
	{"absent mismatch unverifiable waived", "age: project", "",
		"name an older version, or wait; min_age under [policy] in"},
	{"mismatch", "malware: advisories", "pin",
		"do not start it; name another version, or another package"},
	{"mismatch", "malware: advisories", "check",
		"do not start it again: 'hallmark unpin' takes the server out of"},
	{"absent unverifiable waived", "advisory: advisories; malware: advisories", "",
		"advisories under [policy] in hallmark.toml names a directory or"},
	{"absent mismatch", "surface: lock", "",
		"run 'hallmark review' for this server"},
	{"unverifiable", "surface: lock", "session check",
		"run 'hallmark review' for this server"},
	{"mismatch unverifiable waived", "surface: machine", "",
		"review the changes; --approve with the digest that is shown as"},
	{"mismatch", "tree: log lock sidecar machine", "",
		"the slot was moved to quarantine; the next run installs it again"},
	{"absent mismatch unverifiable waived", "unhashed: lock", "",
		"move it out of the directory, or publish it with the facet: a"},
	{"mismatch", "facet-tar: lock", "pin launch install",
		"these are not the contents that were locked: a published version"},
	{"mismatch", "file: sidecar; facet-tar: sidecar", "install",
		"the store was tampered with; the slot was moved to quarantine"},
	{"mismatch unverifiable waived", "tag: lock", "",
		"the author moved it, which happens by accident or by attack;"},
	{"absent mismatch unverifiable", "approval: machine", "pin",
		"answer 'yes' at the prompt, or give --yes, or --approve with the"},
	{"waived", "approval: machine", "",
		"answer 'yes' at the prompt, or give --yes, or --approve with the"},
	{"absent mismatch unverifiable waived", "approval: machine", "install",
		"answer 'yes' at the prompt, or give --yes"},
	{"mismatch unverifiable waived", "pin: caller", "",
		"name an exact version"},
	{"unverifiable waived", "pin: lock", "pin",
		"an older version may have faults that were mended since; take it"},
	{"mismatch unverifiable waived", "coverage: manifest", "validate plugin",
		"run 'hallmark plugin hash --write', which adds hallmark-tree-v1"},
	{"mismatch", "dist: lock manifest", "validate plugin",
		"if you changed the files, run 'hallmark plugin hash --write';"},
	{"unverifiable waived", "dist: lock manifest", "validate plugin",
		"run 'hallmark plugin hash --write' after the build"},
	{"absent", "dist: manifest", "validate plugin",
		"run 'hallmark plugin hash --write' after the build"},
	{"absent mismatch", "import: manifest", "validate plugin",
		"bundle it into dist/, or declare it in externalDependencies under"},
	{"mismatch", "signature: manifest; statement: manifest", "plugin",
		"if it is your plugin, run 'hallmark plugin sign'; else ask its"},
	{"absent mismatch unverifiable waived", "permission: caller", "plugin", "the host permits it by this"},
	{"absent mismatch unverifiable waived", "allowlist: caller", "plugin", "have it bundled into dist/; or put it on"},
	{"mismatch", "unhashed: manifest", "validate plugin",
		"bundle it into dist/, and run 'hallmark plugin hash --write'"},
}

// What is refused comes with advice where there is some: as stated above, or about what could not be compared, or
// about drift. The evidence of flow scan says itself what to write.
func TestAdvice(t *testing.T) {
	for flow, known := range judged {
		for _, scheme := range schemes {
			for _, authority := range authorities {
				for _, outcome := range outcomes {
					e := made(scheme, authority, outcome)
					if e.Cause != "" {
						e.Cause = evidence.Unsupported
					}
					v := Judge(flow, Settings{}, evidence.Report{e})
					if v.Allowed() || outcome == evidence.Missing || !known.has(scheme, authority) {
						continue
					}
					want := ""
					for _, a := range advice {
						of := a.flows == "" && !slices.Contains([]Flow{Scan, Validate, Plugin}, flow) ||
							slices.Contains(strings.Fields(a.flows), string(flow))
						if of && a.of.has(scheme, authority) &&
							slices.Contains(strings.Fields(a.outcomes), string(outcome)) {
							want = a.text
						}
					}
					_, got, _ := strings.Cut(v.Err().Error(), "\n  hint: ")
					if !strings.HasPrefix(got, want) || want == "" && got != "" {
						t.Errorf("%s: %s by %s that is %s: %q, want %q", flow, scheme, authority, outcome, got, want)
					}
				}
			}
		}
	}
}

// What is decided, and what is said next, where more than flow, scheme, authority and outcome counts: the place of
// the claim, what was observed, why nothing could be compared, and the settings.
func TestCases(t *testing.T) {
	of := func(scheme evidence.Scheme, authority evidence.Authority,
		outcome evidence.Outcome) func() evidence.Evidence {
		return func() evidence.Evidence { return made(scheme, authority, outcome) }
	}
	with := func(e func() evidence.Evidence, change func(*evidence.Evidence)) func() evidence.Evidence {
		return func() evidence.Evidence { out := e(); change(&out); return out }
	}
	from := func(s string) func(*evidence.Evidence) { return func(e *evidence.Evidence) { e.Observed.From = s } }
	because := func(c evidence.Cause) func(*evidence.Evidence) { return func(e *evidence.Evidence) { e.Cause = c } }
	weak := func(e *evidence.Evidence) { e.Weak = true }
	const (
		unreached = "nothing was decided; try again when the server can be reached"
		malformed = "a digest is written sha256:<64 hex digits>"
	)
	launch := of(evidence.Launch, evidence.Lock, evidence.Mismatch)
	source := of(evidence.Source, evidence.Lock, evidence.Mismatch)
	record := of(evidence.File, evidence.Record, evidence.Absent)
	file := of(evidence.File, evidence.Lock, evidence.Unverifiable)
	approval := of(evidence.Approval, evidence.Machine, evidence.Absent)
	for name, c := range map[string]struct {
		flow     Flow
		mode     Settings
		evidence func() evidence.Evidence
		verdict  string
		advice   string // how it begins; "" is none
	}{
		"the declaration was changed": {Launch, Settings{}, with(launch, from("hallmark.toml line 3")),
			"policy", "hallmark.toml was changed after the server"},
		"the facet declares another": {Launch, Settings{}, with(launch, from("facet kit")),
			"policy", "its facet declares it otherwise"},
		"a facet of another source": {Install, Settings{}, with(source, from("hallmark.toml")),
			"policy", "hallmark.toml was changed after the facet"},
		"composed of another source": {Install, Settings{}, with(source, from("facet kit")),
			"policy", "hallmark.lock says otherwise than the facet"},
		"there is no record": {Pin, Settings{MissingHashes: MissingRefuse}, record,
			"policy", "there is no record of it"},
		"a record without hashes": {Pin, Settings{MissingHashes: MissingRefuse},
			with(record, func(e *evidence.Evidence) { e.Where = "the record" }),
			"policy", "the record has no file_hashes"},
		"a record without, by default": {Pin, Settings{}, record, "warn", ""},
		"the registry was not reached": {Launch, Settings{},
			with(file, because(evidence.Unreachable)), "operation", unreached},
		"a claim that is no digest": {Launch, Settings{},
			with(file, because(evidence.Malformed)), "validation", malformed},
		"a file that is not there": {Generate, Settings{},
			with(of(evidence.File, evidence.Registry, evidence.Unverifiable), because(evidence.NotFound)), "operation",
			"is this version published, and is its file still there?"},
		"a file that is not there, of which its registry says more": {Generate, Settings{},
			with(of(evidence.File, evidence.Registry, evidence.Unverifiable), func(e *evidence.Evidence) {
				e.Cause, e.Fix = evidence.NotFound, "a new one takes some minutes to appear"
			}), "operation",
			"a new one takes some minutes to appear"},
		"a file that is too large": {Launch, Settings{}, with(file, because(evidence.TooLarge)), "operation", ""},
		"a surface that was not read": {Check, Settings{},
			with(of(evidence.Surface, evidence.Lock, evidence.Unverifiable), because(evidence.Unreachable)), "drift",
			unreached},
		"a log that was not reached": {Install, Settings{},
			with(of(evidence.Proof, evidence.Log, evidence.Unverifiable), because(evidence.Unreachable)),
			"integrity", "SECURITY ERROR"},
		"witnesses were not reached": {Install, Settings{},
			with(of(evidence.Cosignature, evidence.Log, evidence.Unverifiable), because(evidence.Unreachable)),
			"operation", "too few of the witnesses"},
		"scan says what to write": {Scan, Settings{}, of(evidence.Launch, evidence.Lock, evidence.Absent),
			"policy", ""},
		"a lock that was edited": {Check, Settings{}, with(of(evidence.Document, evidence.Lock, evidence.Mismatch),
			func(e *evidence.Evidence) { e.Where = "its self member" }),
			"integrity", "hallmark.lock was edited or damaged since Hallmark wrote it"},
		"a list of files that was edited": {Install, Settings{}, with(of(evidence.Document, evidence.Lock,
			evidence.Mismatch), func(e *evidence.Evidence) { e.Where = "hallmark.lock, assets" }),
			"integrity", "hallmark.lock was edited or damaged since Hallmark wrote it"},
		"a registry that has none": {Install, Settings{}, with(of(evidence.FacetTar, evidence.Record,
			evidence.Unverifiable), because(evidence.NotFound)),
			"policy", "the registry answered that it has none"},
		"a tag that is gone": {Install, Settings{}, with(of(evidence.Tag, evidence.Lock, evidence.Mismatch),
			func(e *evidence.Evidence) { e.Observed.Text = "none: there is no such tag" }),
			"drift", "ask its author what replaces the tag"},
		"a skill that no lock covers": {Scan, Settings{}, of(evidence.Unhashed, evidence.Lock, evidence.Absent), "warn", ""},
		"the same, strictly, in a scan": {Scan, Settings{RefuseWaived: true},
			of(evidence.Unhashed, evidence.Lock, evidence.Absent), "policy", ""},
		"with what leads on": {Check, Settings{}, with(of(evidence.Unhashed, evidence.Lock, evidence.Absent),
			func(e *evidence.Evidence) { e.Fix = "remove it" }), "policy", "remove it"},
		"hashes are required": {Send, Settings{RequireHashes: true},
			of(evidence.File, evidence.Publisher, evidence.Absent),
			"policy", "run 'hallmark hash-gen --write"},
		"a sha1 alone": {Check, Settings{}, with(of(evidence.File, evidence.Lock, evidence.Match), weak),
			"policy", ""},
		"a sha1 of a verify block": {Check, Settings{}, with(of(evidence.File, evidence.Verify, evidence.Match), weak),
			"warn", ""},
		"an opt-out": {Check, Settings{}, of(evidence.Launch, evidence.Lock, evidence.Waived),
			"warn", ""},
		"an opt-out, strictly": {Check, Settings{RefuseWaived: true},
			of(evidence.Launch, evidence.Lock, evidence.Waived),
			"policy", "run 'hallmark pin' for this server, and take"},
		"not approved here": {Check, Settings{}, approval, "warn", ""},
		"not approved, and to be run": {Check, Settings{RequireApproval: true}, approval,
			"policy", "run 'hallmark review' for this server, or give"},
		"a plugin's computed import": {Plugin, Settings{},
			of(evidence.Import, evidence.Manifest, evidence.Unverifiable),
			"warn", ""},
		"the same, strictly": {Plugin, Settings{Strict: true},
			of(evidence.Import, evidence.Manifest, evidence.Unverifiable),
			"policy", ""},
		"an unsigned manifest": {Plugin, Settings{}, of(evidence.Statement, evidence.Machine, evidence.Absent),
			"-", ""},
		"an unsigned one, strictly": {Plugin, Settings{Strict: true},
			of(evidence.Statement, evidence.Machine, evidence.Absent),
			"signature", "run 'hallmark plugin sign'"},
		"an unsigned plugin, required": {Plugin, Settings{RequireSignatures: true},
			of(evidence.Signed, evidence.Machine, evidence.Absent),
			"signature", "'hallmark trust add'"},
		"the log of a plugin, no words": {Plugin, Settings{}, of(evidence.Document, evidence.Log, evidence.Mismatch),
			"integrity", ""},
	} {
		v := Judge(c.flow, c.mode, evidence.Report{c.evidence()})
		f := v.Findings[0]
		if got := (decision{f.Class, f.Warning}).String(); got != c.verdict {
			t.Errorf("%s: %s, want %s", name, got, c.verdict)
		}
		advice := ""
		if err := v.Err(); err != nil {
			_, advice, _ = strings.Cut(err.Error(), "\n  hint: ")
		}
		if !strings.HasPrefix(advice, c.advice) || c.advice == "" && advice != "" {
			t.Errorf("%s: %q, want %q", name, advice, c.advice)
		}
	}
}

// A row that several flows share stands once, and each flow has at most one row of a scheme and an authority.
func TestRowsStandOnce(t *testing.T) {
	type of struct {
		scheme    evidence.Scheme
		authority evidence.Authority
		does      cells
	}
	seen := map[of]bool{}
	for _, r := range rows {
		if row := (of{r.scheme, r.authority, r.does}); seen[row] {
			t.Errorf("the row of %s by %s in %s stands twice", r.scheme, r.authority, r.flows)
		} else {
			seen[row] = true
		}
		for _, flow := range r.flows {
			n := 0
			for _, other := range table[flow] {
				if other.scheme == r.scheme && other.authority == r.authority {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s has %d rows of %s by %s", flow, n, r.scheme, r.authority)
			}
		}
	}
}
