package owed

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

var some = digest.FromBytes([]byte("some"))

func claim(subject string) evidence.Claim {
	return evidence.Claim{Subject: subject, Scheme: evidence.Launch, Authority: evidence.Lock}
}

// What answers an expectation, and what does not: an absent claim never does, a waiver answers
// the project and the lock, whose files say it, and nobody else.
func TestSettle(t *testing.T) {
	owes := func(by evidence.Authority) Expectation {
		return Expectation{Claim: claim("a"), By: by, Why: "because of " + string(by), Fix: "pay " + string(by)}
	}
	of := func(o evidence.Outcome) evidence.Evidence { return evidence.Evidence{Claim: claim("a"), Outcome: o} }
	for name, c := range map[string]struct {
		list   List
		report evidence.Report
		missed []evidence.Authority // nil: nothing is missing
	}{
		"nothing is owed":             {nil, nil, nil},
		"nothing was gathered":        {List{owes(evidence.Project)}, nil, []evidence.Authority{evidence.Project}},
		"a match":                     {List{owes(evidence.Project)}, evidence.Report{of(evidence.Match)}, nil},
		"a mismatch says it itself":   {List{owes(evidence.Project)}, evidence.Report{of(evidence.Mismatch)}, nil},
		"unverifiable says it itself": {List{owes(evidence.Machine)}, evidence.Report{of(evidence.Unverifiable)}, nil},
		"absent": {List{owes(evidence.Lock)}, evidence.Report{of(evidence.Absent)},
			[]evidence.Authority{evidence.Lock}},
		"absent beside a match": {List{owes(evidence.Lock)},
			evidence.Report{of(evidence.Absent), of(evidence.Match)}, nil},
		"waived, project": {List{owes(evidence.Project)}, evidence.Report{of(evidence.Waived)}, nil},
		"waived, lock":    {List{owes(evidence.Lock)}, evidence.Report{of(evidence.Waived)}, nil},
		"waived, machine": {List{owes(evidence.Machine)}, evidence.Report{of(evidence.Waived)},
			[]evidence.Authority{evidence.Machine}},
		"waived, caller": {List{owes(evidence.Caller)}, evidence.Report{of(evidence.Waived)},
			[]evidence.Authority{evidence.Caller}},
		"waived, log": {List{owes(evidence.Log)}, evidence.Report{of(evidence.Waived)},
			[]evidence.Authority{evidence.Log}},
		"waived, project and machine": {List{owes(evidence.Project), owes(evidence.Machine)},
			evidence.Report{of(evidence.Waived)}, []evidence.Authority{evidence.Machine}},
		"two owners": {List{owes(evidence.Project), owes(evidence.Machine)}, nil,
			[]evidence.Authority{evidence.Project, evidence.Machine}},
		"another subject": {List{owes(evidence.Project)}, evidence.Report{{Claim: claim("b"), Outcome: evidence.Match}},
			[]evidence.Authority{evidence.Project}},
		"another authority": {List{owes(evidence.Project)},
			evidence.Report{
				{Claim: evidence.Claim{Subject: "a", Scheme: evidence.Launch, Authority: evidence.Machine},
					Outcome: evidence.Match}},
			[]evidence.Authority{evidence.Project}},
		"another scheme": {List{owes(evidence.Project)},
			evidence.Report{
				{Claim: evidence.Claim{Subject: "a", Scheme: evidence.Approval, Authority: evidence.Lock},
					Outcome: evidence.Match}},
			[]evidence.Authority{evidence.Project}},
	} {
		settled := c.list.Settle(c.report)
		var missed []evidence.Evidence
		for _, e := range settled {
			if e.Outcome == evidence.Missing {
				missed = append(missed, e)
			}
			if e.Outcome == evidence.Absent && len(c.missed) > 0 {
				t.Errorf("%s: is still absent", name)
			}
		}
		if len(c.missed) == 0 && len(missed) > 0 ||
			len(c.missed) > 0 && (len(missed) != 1 || !slices.Equal(missed[0].Owed, c.missed)) {
			t.Errorf("%s: missed %+v, want %v", name, missed, c.missed)
			continue
		}
		if policy.Judge(policy.Launch, policy.Settings{}, settled).Allowed() && len(c.missed) > 0 {
			t.Errorf("%s: is allowed", name)
		}
		if len(missed) == 1 && slices.Contains(c.missed, evidence.Machine) && missed[0].Fix != "pay machine" {
			t.Errorf("%s: the hint is %q, which the machine would not forget by", name, missed[0].Fix)
		}
	}
}

// demands are of a project that declares what is named and has locked nothing.
func demands(t *testing.T, toml string) Demands {
	t.Helper()
	config, err := project.ParseConfig([]byte("manifest_version = 1\n" + toml))
	if err != nil {
		t.Fatal(err)
	}
	return New(config, &project.Lock{}, project.NewApprovals("/p"), nil)
}

// who are the owners of a lock entry of a server or facet.
func who(l List) (by []string) {
	for _, x := range l {
		if x.Authority == evidence.Lock && (x.Scheme == evidence.Launch || x.Scheme == evidence.Source) {
			by = append(by, string(x.By))
		}
	}
	return by
}

// A lock entry is owed by the project that declares a server of any kind, by the machine that
// approved one, and by the caller who requires it.
func TestServerOwesItsEntry(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for name, toml := range map[string]string{
		"command": `command = "./a"`, "package": `command = "npx"` + "\narguments = [\"-y\", \"a@1.0.0\"]",
		"image":  `command = "docker"` + "\narguments = [\"run\", \"x\"]",
		"record": `server = "io.github.acme/a@1.0.0"`, "source": `source = "notes@1.0.0"`, "facet": `facet = "kit"`,
		"url": "type = \"http\"\nurl = \"https://mcp.example.com/\"", "unlocked": "command = \"./a\"\nunlocked = true",
		"verify": "command = \"./a\"\nverify = { type = \"none\" }",
	} {
		b := demands(t, "[providers.mcp.a]\n"+toml+"\n")
		if got := who(b.Server("a")); !slices.Equal(got, []string{"project"}) {
			t.Errorf("%s: owed by %q", name, got)
		}
		b.Memory.Servers["a"] = project.Approval{Entry: some, At: at}
		if got := who(b.Server("a")); !slices.Equal(got, []string{"project", "machine"}) {
			t.Errorf("%s, approved: owed by %q", name, got)
		}
		b.RequireLock = true
		if got := who(b.Server("a")); !slices.Equal(got, []string{"project", "caller", "machine"}) {
			t.Errorf("%s, required: owed by %q", name, got)
		}
		for _, x := range b.Server("a") {
			if x.Why == "" || !strings.Contains(x.Fix, "hallmark ") {
				t.Errorf("%s: %q, %q leads nowhere", name, x.Why, x.Fix)
			}
		}
	}
	// What is neither declared nor locked starts nothing.
	b := demands(t, "")
	b.Memory.Servers["a"] = project.Approval{Entry: some, At: at}
	if l := b.Server("a"); len(l) != 0 {
		t.Errorf("not declared: %+v", l)
	}
	// But for a server of a facet, which needs no table.
	b = demands(t, "[facets]\nkit = \"1.*\"\n")
	b.Memory.Servers["a"] = project.Approval{Entry: some, At: at, Facet: "kit"}
	if got := who(b.Server("a")); !slices.Equal(got, []string{"machine"}) {
		t.Errorf("of a facet: owed by %q", got)
	}
	if got := b.Servers(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("of a facet: %q are looked at", got)
	}
	b.Config.Facets = nil
	if got, l := b.Servers(), b.Server("a"); len(got) != 0 || len(l) != 0 {
		t.Errorf("of a facet that is not declared: %q, %+v", got, l)
	}
}

func TestFacetOwesItsEntry(t *testing.T) {
	b := demands(t, "[facets]\nkit = \"1.*\"\n")
	if got := who(b.Facet("kit")); !slices.Equal(got, []string{"project"}) {
		t.Errorf("declared: owed by %q", got)
	}
	b.Memory.Facets["kit"] = project.AcceptedFacet{Version: "1.0.0", Integrity: some}
	if got := who(b.Facet("kit")); !slices.Equal(got, []string{"project", "machine"}) {
		t.Errorf("installed: owed by %q", got)
	}
	if l := b.Facet("other"); len(l) != 0 {
		t.Errorf("neither declared nor locked: %+v", l)
	}
	if got := b.Facets(); !slices.Equal(got, []string{"kit"}) {
		t.Errorf("%q", got)
	}
}

// The proof of a record is owed by whoever knows that its registry has a log.
func TestProofOwed(t *testing.T) {
	const registry = "registry.example.com"
	accepted := ""
	of := func(b Demands) (by []string) {
		for _, x := range b.proof("a", registry, "log proof of a@1", "hallmark pin a", accepted) {
			by = append(by, string(x.By))
		}
		return by
	}
	key := "log.example.com+1a544000+Aci0yXPBULeJAD63VOyBsF2qy0udw/b4H0oOTPb0EITe"
	b := demands(t, "[registry]\nurl = \"https://registry.example.com\"\n")
	if got := of(b); got != nil {
		t.Errorf("nobody knows of a log: %q", got)
	}
	b.LogKey = key
	if got := of(b); !slices.Equal(got, []string{"caller"}) {
		t.Errorf("--log-key: %q", got)
	}
	b.LogKey = ""
	b.Config.Registry.LogKey = key
	if got := of(b); !slices.Equal(got, []string{"project"}) {
		t.Errorf("log_key: %q", got)
	}
	b.Logs = &machine.Logs{Registries: map[string]machine.LogKey{registry: {Key: key}}}
	if got := of(b); !slices.Equal(got, []string{"project", "machine"}) {
		t.Errorf("known: %q", got)
	}
	b.Config.Registry.URL = "https://other.example.com"
	if got := of(b); !slices.Equal(got, []string{"machine"}) {
		t.Errorf("of another registry than the project's: %q", got)
	}
	b.Logs, accepted = nil, key
	if got := of(b); !slices.Equal(got, []string{"machine"}) {
		t.Errorf("accepted with a proof: %q", got)
	}
	if l := b.proof("a", registry, "log proof of a@1", "hallmark pin a", key); !strings.Contains(l[0].Fix,
		"'hallmark forget a'") {
		t.Errorf("%q does not say how it is given up", l[0].Fix)
	}
}

// An entry whose record is of a registry that hallmark.toml does not name was verified by nobody
// whom the project asks.
func TestRegistryOwed(t *testing.T) {
	const toml = "[registry]\nurl = \"https://registry.example.com/v\"\n"
	for url, owes := range map[string]bool{toml: false, "": true, strings.Replace(toml, "/v", "", 1): true,
		strings.Replace(toml, "registry.e", "e", 1): true} {
		l := demands(t, url).registry("a",
			project.RecordLock{Registry: "registry.example.com/v", Name: "io.x/a", Version: "1.0.0"})
		if owes != (len(l) == 1) {
			t.Errorf("%q: %+v", url, l)
		}
		if settled := l.Settle(nil); owes &&
			(policy.Judge(policy.Launch, policy.Settings{}, settled).Allowed() ||
				policy.Judge(policy.Check, policy.Settings{}, settled).Allowed()) {
			t.Errorf("%q: is allowed", url)
		}
	}
}
