package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func TestPublish(t *testing.T) {
	f := serve(t, evidence.Report{owner("io.github.o/notes"), matching(npmID)}, nil)
	ctx := context.Background()
	raw := document("io.github.o/notes", "1.0.0")
	env, err := f.Publish(ctx, raw, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Get(ctx, "io.github.o/notes", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "read back", got, env)

	// The document is served as it was sent: markup is not escaped, order is kept.
	_, body := send(t, "GET", f.URL+"/v0/servers/io.github.o%2Fnotes/versions/1.0.0", "")
	var compact strings.Builder
	for line := range strings.Lines(string(raw)) {
		compact.WriteString(strings.TrimSpace(strings.ReplaceAll(line, `": `, `":`)))
	}
	if want := `{"server":` + strings.ReplaceAll(compact.String(), `, "`, `,"`); !strings.HasPrefix(body, want) {
		t.Errorf("answer\n%s\nwant\n%s", body, want)
	}
	i := env.Meta.Integrity
	if i.VerifiedAt == nil || !i.VerifiedAt.Equal(env.Meta.Official.PublishedAt) || i.Build != "1.2.3" {
		t.Errorf("integrity %+v", i)
	}
	var found []map[string]any
	if err := json.Unmarshal(i.Evidence, &found); err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[1]["subject"] != npmID || found[1]["outcome"] != "match" || found[1]["size"] != 5.0 ||
		found[1]["from"] != "https://npm.example.com/server-1.0.0.tgz?a=1&b=2" || found[1]["actual"] != sum("bytes").String() {
		t.Errorf("evidence %s", i.Evidence)
	}
	if f.Counters.Published.Load() != 1 {
		t.Errorf("published %d", f.Counters.Published.Load())
	}
}

// The body of a refusal for hashes, byte for byte.
func TestHashRefusalGolden(t *testing.T) {
	f := serve(t, evidence.Report{matching("npm:a@1.0.0"), mismatching(npmID), matching("npm:b@1.0.0")}, nil)
	res, body := send(t, "POST", f.URL+"/v0/publish", string(document("io.github.o/notes", "1.0.0")), "Content-Type", "application/json")
	want := `{"title":"Unprocessable Entity","status":422,"detail":"1 of 3 file hashes did not match",` +
		`"error":"Hash validation failed","details":{"npm:@example/server@1.0.0":{` +
		`"expected":"` + sum("claimed").String() + `","actual":"` + sum("actual").String() + `","status":"mismatch"}}}` + "\n"
	if res.StatusCode != 422 || body != want || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s\n got %s\nwant %s", res.StatusCode, res.Header.Get("Content-Type"), body, want)
	}
	if _, err := f.Get(context.Background(), "io.github.o/notes", "1.0.0"); err == nil {
		t.Error("published")
	}
	if f.Counters.Refused.Load() != 1 || f.Counters.Failures(HashMismatch) != 1 || f.Counters.Published.Load() != 0 {
		t.Error("not counted")
	}
}

func TestRefusals(t *testing.T) {
	registryClaim := mismatching(npmID)
	registryClaim.Authority, registryClaim.Where = evidence.Registry, "dist.integrity"
	registryClaim.Want = []digest.Digest{sum("the registry's")}
	absent := evidence.Compare(evidence.Claim{Subject: npmID, Scheme: evidence.File, Authority: evidence.Publisher}, observed("bytes"))
	unclaimed := absent
	unclaimed.Subject = "pypi:other==1.0.0"
	stranger := matching(npmID)
	stranger.Authority = evidence.Caller

	for name, c := range map[string]struct {
		report   evidence.Report
		require  bool
		status   int
		detail   string
		statuses map[string]HashStatus
		errors   int
		expected string // whose digest is expected of npmID, if it matters
	}{
		"every status at once": {
			report: evidence.Report{mismatching("https://example.com/m"), unverifiable("https://example.com/n", evidence.NotFound),
				unverifiable("https://example.com/u", evidence.Unreachable), unverifiable("https://example.com/l", evidence.TooLarge),
				unverifiable("https://example.com/a", evidence.Ambiguous), unverifiable("https://example.com/s", evidence.Unsupported)},
			status: 422, detail: "6 of 6 file hashes failed",
			statuses: map[string]HashStatus{"https://example.com/m": HashMismatch, "https://example.com/n": HashNotFound, "https://example.com/u": HashUnreachable,
				"https://example.com/l": HashTooLarge, "https://example.com/a": HashAmbiguous, "https://example.com/s": HashUnsupported},
		},
		"all unreachable": {
			report: evidence.Report{unverifiable("npm:a@1.0.0", evidence.Unreachable), unverifiable("npm:b@1.0.0", evidence.Unreadable), matching(npmID)},
			status: 503, detail: "2 of 3 file hashes could not be computed",
			statuses: map[string]HashStatus{"npm:a@1.0.0": HashUnreachable, "npm:b@1.0.0": HashUnreachable},
		},
		"unreachable and not found": {
			report: evidence.Report{unverifiable("npm:a@1.0.0", evidence.Unreachable), unverifiable(npmID, evidence.NotFound)},
			status: 422, detail: "2 of 2 file hashes could not be computed",
			statuses: map[string]HashStatus{"npm:a@1.0.0": HashUnreachable, npmID: HashNotFound},
		},
		"one hash":                 {report: evidence.Report{mismatching(npmID)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]HashStatus{npmID: HashMismatch}},
		"owner unknown":            {report: evidence.Report{owner(""), matching(npmID)}, status: 422, detail: "1 other check failed", errors: 1},
		"another owner":            {report: evidence.Report{owner("io.github.evil/x"), matching(npmID)}, status: 422, detail: "1 other check failed", errors: 1},
		"owner and hash":           {report: evidence.Report{owner("io.github.evil/x"), mismatching(npmID)}, status: 422, detail: "1 of 1 file hash did not match; 1 other check failed", statuses: map[string]HashStatus{npmID: HashMismatch}, errors: 1},
		"owner unreachable":        {report: evidence.Report{evidence.CannotVerify(owner("").Claim, evidence.Unreachable, "no route"), matching(npmID)}, status: 503, detail: "1 other check failed", errors: 1},
		"unreachable, not owner":   {report: evidence.Report{owner(""), unverifiable(npmID, evidence.Unreachable)}, status: 422, detail: "1 of 1 file hash could not be computed; 1 other check failed", statuses: map[string]HashStatus{npmID: HashUnreachable}, errors: 1},
		"the package registry's":   {report: evidence.Report{matching(npmID), registryClaim}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]HashStatus{npmID: HashMismatch}},
		"both claims, ours first":  {report: evidence.Report{mismatching(npmID), registryClaim}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]HashStatus{npmID: HashMismatch}, expected: "claimed"},
		"both claims, ours second": {report: evidence.Report{registryClaim, mismatching(npmID)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]HashStatus{npmID: HashMismatch}, expected: "claimed"},
		"not all is claimed":       {report: evidence.Report{unclaimed, owner("io.github.o/notes"), mismatching(npmID)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]HashStatus{npmID: HashMismatch}},
		"required":                 {report: evidence.Report{absent}, require: true, status: 422, detail: "1 other check failed", errors: 1},
		"evidence of a stranger":   {report: evidence.Report{stranger}, status: 422, detail: "1 other check failed", errors: 1},
		"mismatch before unknown":  {report: evidence.Report{mismatching(npmID), unverifiable(npmID, evidence.TooLarge)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]HashStatus{npmID: HashMismatch}},
		"mismatch after unknown":   {report: evidence.Report{unverifiable(npmID, evidence.TooLarge), mismatching(npmID)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]HashStatus{npmID: HashMismatch}},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, c.report, func(cfg *Config) { cfg.RequireHashes = c.require })
			_, err := f.Publish(context.Background(), document("io.github.o/notes", "1.0.0"), "")
			p := wantProblem(t, err, c.status)
			if p.Detail != c.detail || len(p.Errors) != c.errors || len(p.Details) != len(c.statuses) {
				t.Errorf("problem %+v", p)
			}
			if (p.Failure == HashFailed) != (len(c.statuses) > 0) {
				t.Errorf("error %q", p.Failure)
			}
			for id, s := range c.statuses {
				if p.Details[id].Status != s || p.Details[id].Expected == "" || (p.Details[id].Actual == "") == (s == HashMismatch) {
					t.Errorf("%s: %+v, want %s", id, p.Details[id], s)
				}
				if f.Counters.Failures(s) == 0 {
					t.Errorf("%s is not counted", s)
				}
			}
			if c.expected != "" && p.Details[npmID].Expected != sum(c.expected).String() {
				t.Errorf("expected %s", p.Details[npmID].Expected)
			}
			if (p.RetryAfter > 0) != (c.status == 503) {
				t.Errorf("retry after %v", p.RetryAfter)
			}
			if f.Counters.Refused.Load() != 1 {
				t.Error("not counted as refused")
			}
			if page, err := f.List(context.Background(), Query{}); err != nil || page.Metadata.Count != 0 {
				t.Errorf("%d records, %v", page.Metadata.Count, err)
			}
		})
	}
}

// Without file_hashes there is nothing to recompute; that is allowed, and said.
func TestNoHashes(t *testing.T) {
	absent := evidence.Compare(evidence.Claim{Subject: npmID, Scheme: evidence.File, Authority: evidence.Publisher}, evidence.Observed{})
	f := serve(t, evidence.Report{owner("io.github.o/notes"), absent}, nil)
	env, err := f.Publish(context.Background(), []byte(`{"$schema":"`+serverjson.CurrentSchema+`","name":"io.github.o/notes","version":"1.0.0","description":"d","packages":[{"registryType":"npm","identifier":"@example/server","version":"1.0.0","transport":{"type":"stdio"}}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if env.Meta.Integrity.VerifiedAt != nil || !strings.Contains(string(env.Meta.Integrity.Evidence), `"absent"`) {
		t.Errorf("integrity %+v %s", env.Meta.Integrity, env.Meta.Integrity.Evidence)
	}
}

func TestObserve(t *testing.T) {
	ctx := context.Background()
	observe := func(c *Config) { c.Validation = Observe }
	f := serve(t, evidence.Report{owner("io.github.o/notes"), mismatching(npmID), unverifiable("npm:b@1.0.0", evidence.NotFound)}, observe)
	env, err := f.Publish(ctx, document("io.github.o/notes", "1.0.0"), "")
	if err != nil {
		t.Fatal(err)
	}
	if env.Meta.Integrity.VerifiedAt != nil || !strings.Contains(string(env.Meta.Integrity.Evidence), `"mismatch"`) {
		t.Errorf("a failure is stored as %+v %s", env.Meta.Integrity, env.Meta.Integrity.Evidence)
	}
	c := f.Counters
	if c.Failures(HashMismatch) != 1 || c.Failures(HashNotFound) != 1 || c.Failures(HashTooLarge) != 0 || c.Tolerated.Load() != 1 || c.Refused.Load() != 0 || c.Published.Load() != 1 {
		t.Errorf("counted %d mismatches, %d not found, %d tolerated, %d refused", c.Failures(HashMismatch), c.Failures(HashNotFound), c.Tolerated.Load(), c.Refused.Load())
	}
	if log := f.Log(); !strings.Contains(log, "status=mismatch") || !strings.Contains(log, "identifier="+npmID) {
		t.Errorf("log %s", log)
	}

	f = serve(t, evidence.Report{owner("io.github.evil/x"), mismatching(npmID)}, observe)
	_, err = f.Publish(ctx, document("io.github.o/notes", "1.0.0"), "")
	if p := wantProblem(t, err, 422, "ownership"); len(p.Details) != 0 || len(p.Errors) != 1 {
		t.Errorf("problem %+v", p)
	}
}

func TestOff(t *testing.T) {
	f := serve(t, nil, func(c *Config) { c.Validation = Off })
	env, err := f.Publish(context.Background(), document("io.github.o/notes", "1.0.0"), "")
	if err != nil {
		t.Fatal(err)
	}
	if f.Checks.Load() != 0 || env.Meta.Integrity.VerifiedAt != nil || string(env.Meta.Integrity.Evidence) != "[]" {
		t.Errorf("%d checks, integrity %+v", f.Checks.Load(), env.Meta.Integrity)
	}
}

// A version that exists is settled without fetching anything.
func TestPublishAgain(t *testing.T) {
	ctx := context.Background()
	f := serve(t, evidence.Report{matching(npmID)}, nil)
	raw := document("io.github.o/notes", "1.0.0")
	first, err := f.Publish(ctx, raw, "")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string][]byte{"the same bytes": raw, "the same document": sorted} {
		again, err := f.Publish(ctx, same, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		equal(t, name, again, first)
	}
	other := []byte(strings.Replace(string(raw), "& more", "& less", 1))
	_, err = f.Publish(ctx, other, "")
	wantProblem(t, err, 409, "1.0.0", "new version")
	hashes := []byte(strings.Replace(string(raw), "abab", "cdcd", 1))
	_, err = f.Publish(ctx, hashes, "")
	wantProblem(t, err, 409)
	if f.Checks.Load() != 1 {
		t.Errorf("%d checks, want 1", f.Checks.Load())
	}
	if c := f.Counters; c.Published.Load() != 1 || c.Repeated.Load() != 2 || c.Conflicts.Load() != 2 {
		t.Errorf("%d published, %d repeated, %d conflicts", c.Published.Load(), c.Repeated.Load(), c.Conflicts.Load())
	}
	got, err := f.Get(ctx, "io.github.o/notes", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the record", got, first)
}

// Publishes that pass the first look together are settled by the transaction.
func TestPublishRace(t *testing.T) {
	const n = 8
	var together sync.WaitGroup
	together.Add(n)
	f := serve(t, nil, func(c *Config) {
		c.Check = func(context.Context, *serverjson.Document) (evidence.Report, error) {
			together.Done()
			together.Wait()
			return evidence.Report{matching(npmID)}, nil
		}
	})
	raw := string(document("io.github.o/notes", "1.0.0"))
	other := strings.Replace(raw, "& more", "& less", 1)
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		answers  = map[string]int{}
		problems int
	)
	for i := range n {
		wg.Go(func() {
			env, err := f.Publish(context.Background(), []byte([]string{raw, other}[i%2]), "")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				b, _ := json.Marshal(env)
				answers[string(b)]++
			} else if p := (*Problem)(nil); errors.As(err, &p) && p.Status == 409 {
				problems++
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(answers) != 1 || problems != n/2 {
		t.Errorf("%d records, %d conflicts", len(answers), problems)
	}
	if c := f.Counters; c.Published.Load() != 1 || c.Repeated.Load() != n/2-1 || c.Conflicts.Load() != n/2 {
		t.Errorf("%d published, %d repeated, %d conflicts", c.Published.Load(), c.Repeated.Load(), c.Conflicts.Load())
	}
}

func TestAuthentication(t *testing.T) {
	body := string(document("io.github.o/notes", "1.0.0"))
	for _, c := range []struct {
		anonymous bool
		headers   []string
		status    int
	}{
		{false, nil, 401},
		{false, []string{"Authorization", "Bearer x"}, 401},
		{true, []string{"Authorization", "Bearer x"}, 401},
		{true, []string{"Authorization", "Basic eDp5"}, 401},
		{true, []string{"Authorization", "Bearer"}, 401},
		{true, []string{"Origin", "http://127.0.0.1:8080"}, 403},
		{true, nil, 200},
	} {
		f := serve(t, evidence.Report{matching(npmID)}, func(cfg *Config) { cfg.AllowAnonymous = c.anonymous })
		res, answer := send(t, "POST", f.URL+"/v0/publish", body, append(c.headers, "Content-Type", "application/json")...)
		if res.StatusCode != c.status {
			t.Errorf("%+v: %d %s", c, res.StatusCode, answer)
		}
		if (res.Header.Get("WWW-Authenticate") == "Bearer") != (c.status == 401) {
			t.Errorf("%+v: challenge %q", c, res.Header.Get("WWW-Authenticate"))
		}
		if c.status != 200 && (f.Checks.Load() != 0 || f.Counters.Unauthorized.Load() != 1) {
			t.Errorf("%+v: %d checks, %d counted", c, f.Checks.Load(), f.Counters.Unauthorized.Load())
		}
	}
}

func TestBody(t *testing.T) {
	f := serve(t, evidence.Report{matching(npmID)}, nil)
	doc := string(document("io.github.o/notes", "1.0.0"))
	pad := func(n int) string { return doc + strings.Repeat(" ", n-len(doc)) }
	for name, c := range map[string]struct {
		body, media string
		status      int
	}{
		"no type":           {doc, "", 415},
		"a form's type":     {doc, "text/plain", 415},
		"another":           {doc, "application/json+x", 415},
		"one byte too many": {pad(serverjson.MaxSize + 1), "application/json", 413},
		"much too large":    {pad(4 * serverjson.MaxSize), "application/json", 413},
		"empty":             {"", "application/json", 400},
		"not JSON":          {"{", "application/json", 422},
		"a range":           {strings.Replace(doc, `"version": "1.0.0"`, `"version": "latest"`, 1), "application/json", 422},
		"the largest":       {pad(serverjson.MaxSize), "application/json; charset=utf-8", 200},
	} {
		res, body := send(t, "POST", f.URL+"/v0.1/publish", c.body, "Content-Type", c.media)
		if res.StatusCode != c.status {
			t.Errorf("%s: %d %s, want %d", name, res.StatusCode, body, c.status)
		}
		if c.status == 422 && !strings.Contains(body, `"errors":[{"message":`) {
			t.Errorf("%s: %s has no errors", name, body)
		}
	}
	_, err := f.Publish(context.Background(), []byte(strings.Replace(doc, `"version": "1.0.0"`, `"version": "latest"`, 1)), "")
	p := wantProblem(t, err, 422)
	if len(p.Errors) == 0 || p.Errors[0].Location != "body.version" {
		t.Errorf("errors %+v", p.Errors)
	}
	if got := f.Counters.Invalid.Load(); got != 3 {
		t.Errorf("%d invalid, want 3", got)
	}
}

func TestValidate(t *testing.T) {
	f := serve(t, nil, func(c *Config) { c.AllowAnonymous = false })
	ctx := context.Background()
	v, err := f.Validate(ctx, document("io.github.o/notes", "1.0.0"))
	if err != nil || !v.Valid || len(v.Issues.Errors()) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	for name, raw := range map[string]string{"not JSON": "{", "a range": strings.Replace(string(document("io.github.o/notes", "1.0.0")), `"version": "1.0.0"`, `"version": "latest"`, 1)} {
		v, err = f.Validate(ctx, []byte(raw))
		if err != nil || v.Valid || len(v.Issues.Errors()) == 0 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	if _, body := send(t, "POST", f.URL+"/v0/validate", string(document("io.github.o/notes", "1.0.0")), "Content-Type", "application/json"); strings.Contains(body, "null") {
		t.Errorf("body %s", body)
	}
	if f.Checks.Load() != 0 {
		t.Error("something was fetched")
	}
	if page, err := f.List(ctx, Query{}); err != nil || page.Metadata.Count != 0 {
		t.Error("something was published")
	}
}

func TestTimeout(t *testing.T) {
	f := serve(t, nil, func(c *Config) {
		c.Timeout = 50 * time.Millisecond
		c.Check = func(ctx context.Context, _ *serverjson.Document) (evidence.Report, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	_, err := f.Publish(context.Background(), document("io.github.o/notes", "1.0.0"), "")
	if p := wantProblem(t, err, 503, "50ms"); p.RetryAfter != retryAfter {
		t.Errorf("retry after %v", p.RetryAfter)
	}
}

// A publisher that goes away ends its checks.
func TestClientGone(t *testing.T) {
	ended, began := make(chan struct{}), make(chan struct{})
	f := serve(t, nil, func(c *Config) {
		c.Check = func(ctx context.Context, _ *serverjson.Document) (evidence.Report, error) {
			close(began)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-began; cancel() }()
	if _, err := f.Publish(ctx, document("io.github.o/notes", "1.0.0"), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the check goes on")
	}
	if log := f.Log(); !strings.Contains(log, "status=499") || strings.Contains(log, "level=ERROR") {
		t.Errorf("log %s", log)
	}
}

// A record is verified only if a claim of the publisher was recomputed for each of its
// packages, and nothing failed.
func TestVerified(t *testing.T) {
	npm := serverjson.Package{RegistryType: "npm", Identifier: "@example/server", Version: "1.0.0"}
	pypi := serverjson.Package{RegistryType: "pypi", Identifier: "Other_Notes", Version: "1.0"}
	const wheel = "pypi:other-notes==1.0.0/other_notes-1.0-py3-none-any.whl"
	weak := matching(npmID)
	weak.Weak = true
	absent := evidence.Compare(evidence.Claim{Subject: npmID, Scheme: evidence.File, Authority: evidence.Publisher}, observed("x"))
	dist := matching(npmID)
	dist.Authority = evidence.Registry
	tree := matching(npmID)
	tree.Scheme = evidence.Tree
	one, two := []serverjson.Package{npm}, []serverjson.Package{npm, pypi}
	for name, c := range map[string]struct {
		packages []serverjson.Package
		report   evidence.Report
		want     bool
	}{
		"nothing":                       {one, nil, false},
		"no packages":                   {nil, nil, false},
		"an owner":                      {one, evidence.Report{owner("io.github.o/notes")}, false},
		"no claim":                      {one, evidence.Report{absent}, false},
		"a weak one":                    {one, evidence.Report{weak}, false},
		"the registry's":                {one, evidence.Report{dist}, false},
		"the registry's beside none":    {one, evidence.Report{absent, dist}, false},
		"of something else than a file": {one, evidence.Report{tree}, false},
		"one that matches":              {one, evidence.Report{matching(npmID)}, true},
		"an owner, and one":             {one, evidence.Report{owner(""), matching(npmID), dist}, true},
		"a mismatch":                    {one, evidence.Report{matching(npmID), mismatching("npm:b@1.0.0")}, false},
		"the registry does not match":   {one, evidence.Report{matching(npmID), func() evidence.Evidence { e := mismatching(npmID); e.Authority = evidence.Registry; return e }()}, false},
		"not found":                     {one, evidence.Report{unverifiable("npm:b@1.0.0", evidence.NotFound), matching(npmID)}, false},
		"of another package":            {one, evidence.Report{matching("npm:b@1.0.0")}, false},
		"one of two":                    {two, evidence.Report{matching(npmID)}, false},
		"the other of two":              {two, evidence.Report{matching(wheel), absent}, false},
		"one of two, twice":             {two, evidence.Report{matching(npmID), matching(npmID)}, false},
		"both":                          {two, evidence.Report{matching(npmID), matching(wheel)}, true},
		"of no Ref":                     {one, evidence.Report{matching("notes")}, false},
	} {
		if got := verified(&serverjson.Document{Packages: c.packages}, c.report); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}

	// The same through a publish.
	ctx := context.Background()
	two2 := strings.Replace(string(document("io.github.o/notes", "1.0.0")), `"packages": [`,
		`"packages": [{"registryType": "npm", "identifier": "b", "version": "1.0.0", "transport": {"type": "stdio"}},`, 1)
	none := absent
	none.Subject = "npm:b@1.0.0"
	env, err := serve(t, evidence.Report{matching(npmID), none}, nil).Publish(ctx, []byte(two2), "")
	if err != nil || env.Meta.Integrity.VerifiedAt != nil {
		t.Errorf("one package of two: %+v, %v", env, err)
	}
}

// What Check finds wrong with the document is the publisher's fault, not the registry's.
func TestCheckRefusesDocument(t *testing.T) {
	f := serve(t, nil, func(c *Config) {
		c.Check = func(context.Context, *serverjson.Document) (evidence.Report, error) {
			return nil, fmt.Errorf("checking: %w", evidence.Errorf(evidence.Validation, "server.json", "", errors.New("65 files; the limit is 64")))
		}
	})
	_, err := f.Publish(context.Background(), document("io.github.o/notes", "1.0.0"), "")
	p := wantProblem(t, err, 422, "validation failed", "65 files; the limit is 64")
	if len(p.Errors) != 1 || p.Errors[0].Location != "body" || f.Counters.Invalid.Load() != 1 {
		t.Errorf("problem %+v, %d invalid", p, f.Counters.Invalid.Load())
	}
	if _, err := f.Get(context.Background(), "io.github.o/notes", "1.0.0"); err == nil {
		t.Error("published")
	}
}

// A document with too much in it is refused before anything is fetched.
func TestTooManyFiles(t *testing.T) {
	f := serve(t, nil, nil)
	hashes := make([]string, 65)
	for i := range hashes {
		hashes[i] = fmt.Sprintf(`"npm:p%d@1.0.0": "sha256:%s"`, i, strings.Repeat("ab", 32))
	}
	raw := strings.Replace(string(document("io.github.o/notes", "1.0.0")), `"file_hashes": {`, `"file_hashes": {`+strings.Join(hashes, ",")+",", 1)
	_, err := f.Publish(context.Background(), []byte(raw), "")
	p := wantProblem(t, err, 422, "66 entries")
	if len(p.Errors) != 1 || p.Errors[0].Location != "body.file_hashes" || f.Checks.Load() != 0 {
		t.Errorf("problem %+v after %d checks", p, f.Checks.Load())
	}
	if v, err := f.Validate(context.Background(), []byte(raw)); err != nil || v.Valid || len(v.Issues) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestLocation(t *testing.T) {
	for pointer, want := range map[string]string{
		"":                             "body",
		"/version":                     "body.version",
		"/packages/0/version":          "body.packages[0].version",
		"/$schema":                     "body.$schema",
		"/file_hashes/npm:@a~1b@1.0.0": `body["npm"]`,
		"/a~1b~01":                     `body["a/b~1"]`,
		"/a/":                          `body.a[""]`,
		"/é\n":                         `body["\u00e9\n"]`,
	} {
		if pointer == "/file_hashes/npm:@a~1b@1.0.0" {
			want = `body.file_hashes["npm:@a/b@1.0.0"]`
		}
		if got := location(pointer); got != want {
			t.Errorf("%q: %s, want %s", pointer, got, want)
		}
	}
}

func TestProblemEscapes(t *testing.T) {
	p := &Problem{Status: 422, Title: "\x1b[31m", Detail: "a\nb", Errors: []ProblemError{{Message: "\u202e", Location: "\r"}},
		Details: map[string]HashFailure{"\x07": {Expected: "\x1b", Actual: "\x1b", Status: "\x1b", Reason: "\x1b"}}}
	text := p.Error()
	if strings.ContainsAny(text, "\x1b\x07\r\u202e") || strings.Contains(text, "a\nb") {
		t.Errorf("%q", text)
	}
}

func ExampleProblem() {
	p := &Problem{Title: "Unprocessable Entity", Status: 422, Detail: "1 of 3 file hashes did not match", Failure: HashFailed,
		Details: map[string]HashFailure{"npm:@example/server@1.0.0": {Expected: "sha256:9c1e", Actual: "sha256:41d0", Status: HashMismatch}}}
	fmt.Println(p)
	// Output:
	// 422 Unprocessable Entity: 1 of 3 file hashes did not match
	//   npm:@example/server@1.0.0: mismatch
	//     expected sha256:9c1e
	//     actual   sha256:41d0
}

// What is admitted is the document that was judged, and it is the one inserted.
func TestInsertAsksForAdmission(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "registry.db"))
	rec := record(t, "io.github.o/a", "1.0.0", 0)
	verdict, err := JudgeUnchecked(context.Background(), rec)
	if err != nil {
		t.Fatal(err)
	}
	rec.Digest = digest.FromBytes([]byte("other"))
	if _, err := db.Insert(context.Background(), verdict.Admitted(), rec); err == nil {
		t.Error("inserted")
	}
}
