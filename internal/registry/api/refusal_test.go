package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func TestRefusals(t *testing.T) {
	registryClaim := registrytest.Mismatching(registrytest.NpmID)
	registryClaim.Authority, registryClaim.Where = evidence.Registry, "dist.integrity"
	registryClaim.Want = []digest.Digest{registrytest.Sum("the registry's")}
	absent := evidence.Compare(
		evidence.Claim{Subject: registrytest.NpmID, Scheme: evidence.File, Authority: evidence.Publisher},
		registrytest.Observe("bytes"))
	unclaimed := absent
	unclaimed.Subject = "pypi:other==1.0.0"
	stranger := registrytest.Matching(registrytest.NpmID)
	stranger.Authority = evidence.Caller

	for name, c := range map[string]struct {
		report   evidence.Report
		require  bool
		status   int
		detail   string
		statuses map[string]registry.HashStatus
		errors   int
		expected string // whose digest is expected of npmID, if it matters
	}{
		"every status at once": {
			report: evidence.Report{registrytest.Mismatching("https://example.com/m"),
				registrytest.Unverifiable("https://example.com/n", evidence.NotFound),
				registrytest.Unverifiable("https://example.com/u", evidence.Unreachable),
				registrytest.Unverifiable("https://example.com/l", evidence.TooLarge),
				registrytest.Unverifiable("https://example.com/a", evidence.Ambiguous),
				registrytest.Unverifiable("https://example.com/s", evidence.Unsupported)},
			status: 422, detail: "6 of 6 file hashes failed",
			statuses: map[string]registry.HashStatus{"https://example.com/m": registry.HashMismatch,
				"https://example.com/n": registry.HashNotFound, "https://example.com/u": registry.HashUnreachable,
				"https://example.com/l": registry.HashTooLarge, "https://example.com/a": registry.HashAmbiguous,
				"https://example.com/s": registry.HashUnsupported},
		},
		"all unreachable": {
			report: evidence.Report{registrytest.Unverifiable("npm:a@1.0.0", evidence.Unreachable),
				registrytest.Unverifiable("npm:b@1.0.0", evidence.Unreadable),
				registrytest.Matching(registrytest.NpmID)},
			status: 503, detail: "2 of 3 file hashes could not be computed",
			statuses: map[string]registry.HashStatus{"npm:a@1.0.0": registry.HashUnreachable,
				"npm:b@1.0.0": registry.HashUnreachable},
		},
		"unreachable and not found": {
			report: evidence.Report{registrytest.Unverifiable("npm:a@1.0.0", evidence.Unreachable),
				registrytest.Unverifiable(registrytest.NpmID, evidence.NotFound)},
			status: 422, detail: "2 of 2 file hashes could not be computed",
			statuses: map[string]registry.HashStatus{"npm:a@1.0.0": registry.HashUnreachable,
				registrytest.NpmID: registry.HashNotFound},
		},
		"one hash": {report: evidence.Report{registrytest.Mismatching(registrytest.NpmID)}, status: 422,
			detail:   "1 of 1 file hash did not match",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
		"owner unknown": {
			report: evidence.Report{registrytest.Owner(""), registrytest.Matching(registrytest.NpmID)}, status: 422,
			detail: "1 other check failed", errors: 1},
		"another owner": {
			report: evidence.Report{registrytest.Owner("io.github.evil/x"), registrytest.Matching(registrytest.NpmID)},
			status: 422, detail: "1 other check failed", errors: 1},
		"owner and hash": {
			report: evidence.Report{registrytest.Owner("io.github.evil/x"),
				registrytest.Mismatching(registrytest.NpmID)}, status: 422,
			detail:   "1 of 1 file hash did not match; 1 other check failed",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}, errors: 1},
		"owner unreachable": {
			report: evidence.Report{
				evidence.CannotVerify(registrytest.Owner("").Claim, evidence.Unreachable, "no route"),
				registrytest.Matching(registrytest.NpmID)}, status: 503, detail: "1 other check failed", errors: 1},
		"unreachable, not owner": {
			report: evidence.Report{registrytest.Owner(""),
				registrytest.Unverifiable(registrytest.NpmID, evidence.Unreachable)}, status: 422,
			detail:   "1 of 1 file hash could not be computed; 1 other check failed",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashUnreachable}, errors: 1},
		"the package registry's": {report: evidence.Report{registrytest.Matching(registrytest.NpmID), registryClaim},
			status: 422, detail: "1 of 1 file hash did not match",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
		"both claims, ours first": {
			report: evidence.Report{registrytest.Mismatching(registrytest.NpmID), registryClaim}, status: 422,
			detail:   "1 of 1 file hash did not match",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}, expected: "claimed"},
		"both claims, ours second": {
			report: evidence.Report{registryClaim, registrytest.Mismatching(registrytest.NpmID)}, status: 422,
			detail:   "1 of 1 file hash did not match",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}, expected: "claimed"},
		"not all is claimed": {
			report: evidence.Report{unclaimed, registrytest.Owner("io.github.o/notes"),
				registrytest.Mismatching(registrytest.NpmID)}, status: 422, detail: "1 of 1 file hash did not match",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
		"required": {report: evidence.Report{absent}, require: true, status: 422,
			detail: "1 other check failed", errors: 1},
		"evidence of a stranger": {report: evidence.Report{stranger}, status: 422, detail: "1 other check failed",
			errors: 1},
		"mismatch before unknown": {
			report: evidence.Report{registrytest.Mismatching(registrytest.NpmID),
				registrytest.Unverifiable(registrytest.NpmID, evidence.TooLarge)}, status: 422,
			detail:   "1 of 1 file hash did not match",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
		"mismatch after unknown": {
			report: evidence.Report{registrytest.Unverifiable(registrytest.NpmID, evidence.TooLarge),
				registrytest.Mismatching(registrytest.NpmID)}, status: 422, detail: "1 of 1 file hash did not match",
			statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
	} {
		t.Run(name, func(t *testing.T) {
			f := servertest.Serve(t, c.report, func(cfg *api.Config) { cfg.RequireHashes = c.require })
			_, err := f.Publish(context.Background(), registrytest.Document("io.github.o/notes", "1.0.0"), "")
			p := registrytest.WantProblem(t, err, c.status)
			if p.Detail != c.detail || len(p.Errors) != c.errors || len(p.Details) != len(c.statuses) {
				t.Errorf("problem %+v", p)
			}
			if (p.Failure == registry.HashFailed) != (len(c.statuses) > 0) {
				t.Errorf("error %q", p.Failure)
			}
			for id, s := range c.statuses {
				if p.Details[id].Status != s || p.Details[id].Expected == "" ||
					(p.Details[id].Actual == "") == (s == registry.HashMismatch) {
					t.Errorf("%s: %+v, want %s", id, p.Details[id], s)
				}
				if f.Counters.Failures(s) == 0 {
					t.Errorf("%s is not counted", s)
				}
			}
			if c.expected != "" && p.Details[registrytest.NpmID].Expected != registrytest.Sum(c.expected).String() {
				t.Errorf("expected %s", p.Details[registrytest.NpmID].Expected)
			}
			if (p.RetryAfter > 0) != (c.status == 503) {
				t.Errorf("retry after %v", p.RetryAfter)
			}
			if f.Counters.Refused.Load() != 1 {
				t.Error("not counted as refused")
			}
			if page, err := f.List(context.Background(), registry.Query{}); err != nil || page.Metadata.Count != 0 {
				t.Errorf("%d records, %v", page.Metadata.Count, err)
			}
		})
	}
}

// The body of a refusal for hashes, byte for byte.
func TestHashRefusalGolden(t *testing.T) {
	f := servertest.Serve(t,
		evidence.Report{registrytest.Matching("npm:a@1.0.0"), registrytest.Mismatching(registrytest.NpmID),
			registrytest.Matching("npm:b@1.0.0")}, nil)
	res, body := registrytest.Send(t, "POST", f.URL+"/v0/publish",
		string(registrytest.Document("io.github.o/notes", "1.0.0")), "Content-Type", "application/json")
	want := `{"title":"Unprocessable Entity","status":422,"detail":"1 of 3 file hashes did not match",` +
		`"error":"Hash validation failed","details":{"npm:@example/server@1.0.0":{` +
		`"expected":"` + registrytest.Sum("claimed").String() + `","actual":"` + registrytest.Sum("actual").String() +
		`","status":"mismatch"}}}` + "\n"
	if res.StatusCode != 422 || body != want || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s\n got %s\nwant %s", res.StatusCode, res.Header.Get("Content-Type"), body, want)
	}
	if _, err := f.Get(context.Background(), "io.github.o/notes", "1.0.0"); err == nil {
		t.Error("published")
	}
	if f.Counters.Refused.Load() != 1 || f.Counters.Failures(registry.HashMismatch) != 1 ||
		f.Counters.Published.Load() != 0 {
		t.Error("not counted")
	}
}

// A record is verified only if a claim of the publisher was recomputed for each of its
// packages, and nothing failed.
func TestVerified(t *testing.T) {
	npm := serverjson.Package{RegistryType: "npm", Identifier: "@example/server", Version: "1.0.0"}
	pypi := serverjson.Package{RegistryType: "pypi", Identifier: "Other_Notes", Version: "1.0"}
	const wheel = "pypi:other-notes==1.0.0/other_notes-1.0-py3-none-any.whl"
	weak := registrytest.Matching(registrytest.NpmID)
	weak.Weak = true
	absent := evidence.Compare(
		evidence.Claim{Subject: registrytest.NpmID, Scheme: evidence.File, Authority: evidence.Publisher},
		registrytest.Observe("x"))
	dist := registrytest.Matching(registrytest.NpmID)
	dist.Authority = evidence.Registry
	tree := registrytest.Matching(registrytest.NpmID)
	tree.Scheme = evidence.Tree
	one, two := []serverjson.Package{npm}, []serverjson.Package{npm, pypi}
	for name, c := range map[string]struct {
		packages []serverjson.Package
		report   evidence.Report
		want     bool
	}{
		"nothing":                       {one, nil, false},
		"no packages":                   {nil, nil, false},
		"an owner":                      {one, evidence.Report{registrytest.Owner("io.github.o/notes")}, false},
		"no claim":                      {one, evidence.Report{absent}, false},
		"a weak one":                    {one, evidence.Report{weak}, false},
		"the registry's":                {one, evidence.Report{dist}, false},
		"the registry's beside none":    {one, evidence.Report{absent, dist}, false},
		"of something else than a file": {one, evidence.Report{tree}, false},
		"one that matches":              {one, evidence.Report{registrytest.Matching(registrytest.NpmID)}, true},
		"an owner, and one": {one,
			evidence.Report{registrytest.Owner(""), registrytest.Matching(registrytest.NpmID), dist}, true},
		"a mismatch": {one,
			evidence.Report{registrytest.Matching(registrytest.NpmID), registrytest.Mismatching("npm:b@1.0.0")}, false},
		"the registry does not match": {one,
			evidence.Report{registrytest.Matching(registrytest.NpmID), func() evidence.Evidence {
				e := registrytest.Mismatching(registrytest.NpmID)
				e.Authority = evidence.Registry
				return e
			}()}, false},
		"not found": {one,
			evidence.Report{registrytest.Unverifiable("npm:b@1.0.0", evidence.NotFound),
				registrytest.Matching(registrytest.NpmID)}, false},
		"of another package": {one, evidence.Report{registrytest.Matching("npm:b@1.0.0")}, false},
		"one of two":         {two, evidence.Report{registrytest.Matching(registrytest.NpmID)}, false},
		"the other of two":   {two, evidence.Report{registrytest.Matching(wheel), absent}, false},
		"one of two, twice": {two,
			evidence.Report{registrytest.Matching(registrytest.NpmID), registrytest.Matching(registrytest.NpmID)},
			false},
		"both": {two, evidence.Report{registrytest.Matching(registrytest.NpmID), registrytest.Matching(wheel)},
			true},
		"of no Ref": {one, evidence.Report{registrytest.Matching("notes")}, false},
	} {
		if got := api.Verified(&serverjson.Document{Packages: c.packages}, c.report); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}

	// The same through a publish.
	ctx := context.Background()
	two2 := strings.Replace(string(registrytest.Document("io.github.o/notes", "1.0.0")), `"packages": [`,
		`"packages": [{"registryType": "npm", "identifier": "b", "version": "1.0.0", "transport": {"type": "stdio"}},`,
		1)
	none := absent
	none.Subject = "npm:b@1.0.0"
	env, err := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID), none}, nil).Publish(ctx,
		[]byte(two2), "")
	if err != nil || env.Meta.Integrity.VerifiedAt != nil {
		t.Errorf("one package of two: %+v, %v", env, err)
	}
}

func TestProblemEscapes(t *testing.T) {
	p := &registry.Problem{Status: 422, Title: "\x1b[31m", Detail: "a\nb",
		Errors: []registry.ProblemError{{Message: "\u202e", Location: "\r"}},
		Details: map[string]registry.HashFailure{
			"\x07": {Expected: "\x1b", Actual: "\x1b", Status: "\x1b", Reason: "\x1b"}}}
	text := p.Error()
	if strings.ContainsAny(text, "\x1b\x07\r\u202e") || strings.Contains(text, "a\nb") {
		t.Errorf("%q", text)
	}
}
