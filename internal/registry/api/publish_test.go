package api_test

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
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/dbtest"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func TestPublish(t *testing.T) {
	f := servertest.Serve(t, evidence.Report{registrytest.Owner("io.github.o/notes"), registrytest.Matching(registrytest.NpmID)}, nil)
	ctx := context.Background()
	raw := registrytest.Document("io.github.o/notes", "1.0.0")
	env, err := f.Publish(ctx, raw, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Get(ctx, "io.github.o/notes", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	registrytest.Equal(t, "read back", got, env)

	// The document is served as it was sent: markup is not escaped, order is kept.
	_, body := registrytest.Send(t, "GET", f.URL+"/v0/servers/io.github.o%2Fnotes/versions/1.0.0", "")
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
	if len(found) != 2 || found[1]["subject"] != registrytest.NpmID || found[1]["outcome"] != "match" || found[1]["size"] != 5.0 ||
		found[1]["from"] != "https://npm.example.com/server-1.0.0.tgz?a=1&b=2" || found[1]["actual"] != registrytest.Sum("bytes").String() {
		t.Errorf("evidence %s", i.Evidence)
	}
	if f.Counters.Published.Load() != 1 {
		t.Errorf("published %d", f.Counters.Published.Load())
	}
}

// The body of a refusal for hashes, byte for byte.
func TestHashRefusalGolden(t *testing.T) {
	f := servertest.Serve(t, evidence.Report{registrytest.Matching("npm:a@1.0.0"), registrytest.Mismatching(registrytest.NpmID), registrytest.Matching("npm:b@1.0.0")}, nil)
	res, body := registrytest.Send(t, "POST", f.URL+"/v0/publish", string(registrytest.Document("io.github.o/notes", "1.0.0")), "Content-Type", "application/json")
	want := `{"title":"Unprocessable Entity","status":422,"detail":"1 of 3 file hashes did not match",` +
		`"error":"Hash validation failed","details":{"npm:@example/server@1.0.0":{` +
		`"expected":"` + registrytest.Sum("claimed").String() + `","actual":"` + registrytest.Sum("actual").String() + `","status":"mismatch"}}}` + "\n"
	if res.StatusCode != 422 || body != want || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s\n got %s\nwant %s", res.StatusCode, res.Header.Get("Content-Type"), body, want)
	}
	if _, err := f.Get(context.Background(), "io.github.o/notes", "1.0.0"); err == nil {
		t.Error("published")
	}
	if f.Counters.Refused.Load() != 1 || f.Counters.Failures(registry.HashMismatch) != 1 || f.Counters.Published.Load() != 0 {
		t.Error("not counted")
	}
}

func TestRefusals(t *testing.T) {
	registryClaim := registrytest.Mismatching(registrytest.NpmID)
	registryClaim.Authority, registryClaim.Where = evidence.Registry, "dist.integrity"
	registryClaim.Want = []digest.Digest{registrytest.Sum("the registry's")}
	absent := evidence.Compare(evidence.Claim{Subject: registrytest.NpmID, Scheme: evidence.File, Authority: evidence.Publisher}, registrytest.Observed("bytes"))
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
			report: evidence.Report{registrytest.Mismatching("https://example.com/m"), registrytest.Unverifiable("https://example.com/n", evidence.NotFound),
				registrytest.Unverifiable("https://example.com/u", evidence.Unreachable), registrytest.Unverifiable("https://example.com/l", evidence.TooLarge),
				registrytest.Unverifiable("https://example.com/a", evidence.Ambiguous), registrytest.Unverifiable("https://example.com/s", evidence.Unsupported)},
			status: 422, detail: "6 of 6 file hashes failed",
			statuses: map[string]registry.HashStatus{"https://example.com/m": registry.HashMismatch, "https://example.com/n": registry.HashNotFound, "https://example.com/u": registry.HashUnreachable,
				"https://example.com/l": registry.HashTooLarge, "https://example.com/a": registry.HashAmbiguous, "https://example.com/s": registry.HashUnsupported},
		},
		"all unreachable": {
			report: evidence.Report{registrytest.Unverifiable("npm:a@1.0.0", evidence.Unreachable), registrytest.Unverifiable("npm:b@1.0.0", evidence.Unreadable), registrytest.Matching(registrytest.NpmID)},
			status: 503, detail: "2 of 3 file hashes could not be computed",
			statuses: map[string]registry.HashStatus{"npm:a@1.0.0": registry.HashUnreachable, "npm:b@1.0.0": registry.HashUnreachable},
		},
		"unreachable and not found": {
			report: evidence.Report{registrytest.Unverifiable("npm:a@1.0.0", evidence.Unreachable), registrytest.Unverifiable(registrytest.NpmID, evidence.NotFound)},
			status: 422, detail: "2 of 2 file hashes could not be computed",
			statuses: map[string]registry.HashStatus{"npm:a@1.0.0": registry.HashUnreachable, registrytest.NpmID: registry.HashNotFound},
		},
		"one hash":                 {report: evidence.Report{registrytest.Mismatching(registrytest.NpmID)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
		"owner unknown":            {report: evidence.Report{registrytest.Owner(""), registrytest.Matching(registrytest.NpmID)}, status: 422, detail: "1 other check failed", errors: 1},
		"another owner":            {report: evidence.Report{registrytest.Owner("io.github.evil/x"), registrytest.Matching(registrytest.NpmID)}, status: 422, detail: "1 other check failed", errors: 1},
		"owner and hash":           {report: evidence.Report{registrytest.Owner("io.github.evil/x"), registrytest.Mismatching(registrytest.NpmID)}, status: 422, detail: "1 of 1 file hash did not match; 1 other check failed", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}, errors: 1},
		"owner unreachable":        {report: evidence.Report{evidence.CannotVerify(registrytest.Owner("").Claim, evidence.Unreachable, "no route"), registrytest.Matching(registrytest.NpmID)}, status: 503, detail: "1 other check failed", errors: 1},
		"unreachable, not owner":   {report: evidence.Report{registrytest.Owner(""), registrytest.Unverifiable(registrytest.NpmID, evidence.Unreachable)}, status: 422, detail: "1 of 1 file hash could not be computed; 1 other check failed", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashUnreachable}, errors: 1},
		"the package registry's":   {report: evidence.Report{registrytest.Matching(registrytest.NpmID), registryClaim}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
		"both claims, ours first":  {report: evidence.Report{registrytest.Mismatching(registrytest.NpmID), registryClaim}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}, expected: "claimed"},
		"both claims, ours second": {report: evidence.Report{registryClaim, registrytest.Mismatching(registrytest.NpmID)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}, expected: "claimed"},
		"not all is claimed":       {report: evidence.Report{unclaimed, registrytest.Owner("io.github.o/notes"), registrytest.Mismatching(registrytest.NpmID)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
		"required":                 {report: evidence.Report{absent}, require: true, status: 422, detail: "1 other check failed", errors: 1},
		"evidence of a stranger":   {report: evidence.Report{stranger}, status: 422, detail: "1 other check failed", errors: 1},
		"mismatch before unknown":  {report: evidence.Report{registrytest.Mismatching(registrytest.NpmID), registrytest.Unverifiable(registrytest.NpmID, evidence.TooLarge)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
		"mismatch after unknown":   {report: evidence.Report{registrytest.Unverifiable(registrytest.NpmID, evidence.TooLarge), registrytest.Mismatching(registrytest.NpmID)}, status: 422, detail: "1 of 1 file hash did not match", statuses: map[string]registry.HashStatus{registrytest.NpmID: registry.HashMismatch}},
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
				if p.Details[id].Status != s || p.Details[id].Expected == "" || (p.Details[id].Actual == "") == (s == registry.HashMismatch) {
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

// Without file_hashes there is nothing to recompute; that is allowed, and said.
func TestNoHashes(t *testing.T) {
	absent := evidence.Compare(evidence.Claim{Subject: registrytest.NpmID, Scheme: evidence.File, Authority: evidence.Publisher}, evidence.Observed{})
	f := servertest.Serve(t, evidence.Report{registrytest.Owner("io.github.o/notes"), absent}, nil)
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
	observe := func(c *api.Config) { c.Validation = registry.Observe }
	f := servertest.Serve(t, evidence.Report{registrytest.Owner("io.github.o/notes"), registrytest.Mismatching(registrytest.NpmID), registrytest.Unverifiable("npm:b@1.0.0", evidence.NotFound)}, observe)
	env, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.0"), "")
	if err != nil {
		t.Fatal(err)
	}
	if env.Meta.Integrity.VerifiedAt != nil || !strings.Contains(string(env.Meta.Integrity.Evidence), `"mismatch"`) {
		t.Errorf("a failure is stored as %+v %s", env.Meta.Integrity, env.Meta.Integrity.Evidence)
	}
	c := f.Counters
	if c.Failures(registry.HashMismatch) != 1 || c.Failures(registry.HashNotFound) != 1 || c.Failures(registry.HashTooLarge) != 0 || c.Tolerated.Load() != 1 || c.Refused.Load() != 0 || c.Published.Load() != 1 {
		t.Errorf("counted %d mismatches, %d not found, %d tolerated, %d refused", c.Failures(registry.HashMismatch), c.Failures(registry.HashNotFound), c.Tolerated.Load(), c.Refused.Load())
	}
	if log := f.Log(); !strings.Contains(log, "status=mismatch") || !strings.Contains(log, "identifier="+registrytest.NpmID) {
		t.Errorf("log %s", log)
	}

	f = servertest.Serve(t, evidence.Report{registrytest.Owner("io.github.evil/x"), registrytest.Mismatching(registrytest.NpmID)}, observe)
	_, err = f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.0"), "")
	if p := registrytest.WantProblem(t, err, 422, "ownership"); len(p.Details) != 0 || len(p.Errors) != 1 {
		t.Errorf("problem %+v", p)
	}
}

func TestOff(t *testing.T) {
	f := servertest.Serve(t, nil, func(c *api.Config) { c.Validation = registry.Off })
	env, err := f.Publish(context.Background(), registrytest.Document("io.github.o/notes", "1.0.0"), "")
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
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil)
	raw := registrytest.Document("io.github.o/notes", "1.0.0")
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
		registrytest.Equal(t, name, again, first)
	}
	other := []byte(strings.Replace(string(raw), "& more", "& less", 1))
	_, err = f.Publish(ctx, other, "")
	registrytest.WantProblem(t, err, 409, "1.0.0", "new version")
	hashes := []byte(strings.Replace(string(raw), "abab", "cdcd", 1))
	_, err = f.Publish(ctx, hashes, "")
	registrytest.WantProblem(t, err, 409)
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
	registrytest.Equal(t, "the record", got, first)
}

// Publishes that pass the first look together are settled by the transaction.
func TestPublishRace(t *testing.T) {
	const n = 8
	var together sync.WaitGroup
	together.Add(n)
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Check = func(context.Context, *serverjson.Document) (evidence.Report, error) {
			together.Done()
			together.Wait()
			return evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil
		}
	})
	raw := string(registrytest.Document("io.github.o/notes", "1.0.0"))
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
			} else if p := (*registry.Problem)(nil); errors.As(err, &p) && p.Status == 409 {
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
	body := string(registrytest.Document("io.github.o/notes", "1.0.0"))
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
		f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, func(cfg *api.Config) { cfg.AllowAnonymous = c.anonymous })
		res, answer := registrytest.Send(t, "POST", f.URL+"/v0/publish", body, append(c.headers, "Content-Type", "application/json")...)
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
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil)
	doc := string(registrytest.Document("io.github.o/notes", "1.0.0"))
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
		res, body := registrytest.Send(t, "POST", f.URL+"/v0.1/publish", c.body, "Content-Type", c.media)
		if res.StatusCode != c.status {
			t.Errorf("%s: %d %s, want %d", name, res.StatusCode, body, c.status)
		}
		if c.status == 422 && !strings.Contains(body, `"errors":[{"message":`) {
			t.Errorf("%s: %s has no errors", name, body)
		}
	}
	_, err := f.Publish(context.Background(), []byte(strings.Replace(doc, `"version": "1.0.0"`, `"version": "latest"`, 1)), "")
	p := registrytest.WantProblem(t, err, 422)
	if len(p.Errors) == 0 || p.Errors[0].Location != "body.version" {
		t.Errorf("errors %+v", p.Errors)
	}
	if got := f.Counters.Invalid.Load(); got != 3 {
		t.Errorf("%d invalid, want 3", got)
	}
}

func TestValidate(t *testing.T) {
	f := servertest.Serve(t, nil, func(c *api.Config) { c.AllowAnonymous = false })
	ctx := context.Background()
	v, err := f.Validate(ctx, registrytest.Document("io.github.o/notes", "1.0.0"))
	if err != nil || !v.Valid || len(v.Issues.Errors()) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	for name, raw := range map[string]string{"not JSON": "{", "a range": strings.Replace(string(registrytest.Document("io.github.o/notes", "1.0.0")), `"version": "1.0.0"`, `"version": "latest"`, 1)} {
		v, err = f.Validate(ctx, []byte(raw))
		if err != nil || v.Valid || len(v.Issues.Errors()) == 0 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	if _, body := registrytest.Send(t, "POST", f.URL+"/v0/validate", string(registrytest.Document("io.github.o/notes", "1.0.0")), "Content-Type", "application/json"); strings.Contains(body, "null") {
		t.Errorf("body %s", body)
	}
	if f.Checks.Load() != 0 {
		t.Error("something was fetched")
	}
	if page, err := f.List(ctx, registry.Query{}); err != nil || page.Metadata.Count != 0 {
		t.Error("something was published")
	}
}

func TestTimeout(t *testing.T) {
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Timeout = 50 * time.Millisecond
		c.Check = func(ctx context.Context, _ *serverjson.Document) (evidence.Report, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	_, err := f.Publish(context.Background(), registrytest.Document("io.github.o/notes", "1.0.0"), "")
	if p := registrytest.WantProblem(t, err, 503, "50ms"); p.RetryAfter != api.RetryAfter {
		t.Errorf("retry after %v", p.RetryAfter)
	}
}

// A publisher that goes away ends its checks.
func TestClientGone(t *testing.T) {
	ended, began := make(chan struct{}), make(chan struct{})
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Check = func(ctx context.Context, _ *serverjson.Document) (evidence.Report, error) {
			close(began)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-began; cancel() }()
	if _, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.0"), ""); !errors.Is(err, context.Canceled) {
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
	weak := registrytest.Matching(registrytest.NpmID)
	weak.Weak = true
	absent := evidence.Compare(evidence.Claim{Subject: registrytest.NpmID, Scheme: evidence.File, Authority: evidence.Publisher}, registrytest.Observed("x"))
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
		"an owner, and one":             {one, evidence.Report{registrytest.Owner(""), registrytest.Matching(registrytest.NpmID), dist}, true},
		"a mismatch":                    {one, evidence.Report{registrytest.Matching(registrytest.NpmID), registrytest.Mismatching("npm:b@1.0.0")}, false},
		"the registry does not match": {one, evidence.Report{registrytest.Matching(registrytest.NpmID), func() evidence.Evidence {
			e := registrytest.Mismatching(registrytest.NpmID)
			e.Authority = evidence.Registry
			return e
		}()}, false},
		"not found":          {one, evidence.Report{registrytest.Unverifiable("npm:b@1.0.0", evidence.NotFound), registrytest.Matching(registrytest.NpmID)}, false},
		"of another package": {one, evidence.Report{registrytest.Matching("npm:b@1.0.0")}, false},
		"one of two":         {two, evidence.Report{registrytest.Matching(registrytest.NpmID)}, false},
		"the other of two":   {two, evidence.Report{registrytest.Matching(wheel), absent}, false},
		"one of two, twice":  {two, evidence.Report{registrytest.Matching(registrytest.NpmID), registrytest.Matching(registrytest.NpmID)}, false},
		"both":               {two, evidence.Report{registrytest.Matching(registrytest.NpmID), registrytest.Matching(wheel)}, true},
		"of no Ref":          {one, evidence.Report{registrytest.Matching("notes")}, false},
	} {
		if got := api.Verified(&serverjson.Document{Packages: c.packages}, c.report); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}

	// The same through a publish.
	ctx := context.Background()
	two2 := strings.Replace(string(registrytest.Document("io.github.o/notes", "1.0.0")), `"packages": [`,
		`"packages": [{"registryType": "npm", "identifier": "b", "version": "1.0.0", "transport": {"type": "stdio"}},`, 1)
	none := absent
	none.Subject = "npm:b@1.0.0"
	env, err := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID), none}, nil).Publish(ctx, []byte(two2), "")
	if err != nil || env.Meta.Integrity.VerifiedAt != nil {
		t.Errorf("one package of two: %+v, %v", env, err)
	}
}

// What Check finds wrong with the document is the publisher's fault, not the registry's.
func TestCheckRefusesDocument(t *testing.T) {
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Check = func(context.Context, *serverjson.Document) (evidence.Report, error) {
			return nil, fmt.Errorf("checking: %w", evidence.Errorf(evidence.Validation, "server.json", "", errors.New("65 files; the limit is 64")))
		}
	})
	_, err := f.Publish(context.Background(), registrytest.Document("io.github.o/notes", "1.0.0"), "")
	p := registrytest.WantProblem(t, err, 422, "validation failed", "65 files; the limit is 64")
	if len(p.Errors) != 1 || p.Errors[0].Location != "body" || f.Counters.Invalid.Load() != 1 {
		t.Errorf("problem %+v, %d invalid", p, f.Counters.Invalid.Load())
	}
	if _, err := f.Get(context.Background(), "io.github.o/notes", "1.0.0"); err == nil {
		t.Error("published")
	}
}

// A document with too much in it is refused before anything is fetched.
func TestTooManyFiles(t *testing.T) {
	f := servertest.Serve(t, nil, nil)
	hashes := make([]string, 65)
	for i := range hashes {
		hashes[i] = fmt.Sprintf(`"npm:p%d@1.0.0": "sha256:%s"`, i, strings.Repeat("ab", 32))
	}
	raw := strings.Replace(string(registrytest.Document("io.github.o/notes", "1.0.0")), `"file_hashes": {`, `"file_hashes": {`+strings.Join(hashes, ",")+",", 1)
	_, err := f.Publish(context.Background(), []byte(raw), "")
	p := registrytest.WantProblem(t, err, 422, "66 entries")
	if len(p.Errors) != 1 || p.Errors[0].Location != "body.file_hashes" || f.Checks.Load() != 0 {
		t.Errorf("problem %+v after %d checks", p, f.Checks.Load())
	}
	if v, err := f.Validate(context.Background(), []byte(raw)); err != nil || v.Valid || len(v.Issues) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestProblemEscapes(t *testing.T) {
	p := &registry.Problem{Status: 422, Title: "\x1b[31m", Detail: "a\nb", Errors: []registry.ProblemError{{Message: "\u202e", Location: "\r"}},
		Details: map[string]registry.HashFailure{"\x07": {Expected: "\x1b", Actual: "\x1b", Status: "\x1b", Reason: "\x1b"}}}
	text := p.Error()
	if strings.ContainsAny(text, "\x1b\x07\r\u202e") || strings.Contains(text, "a\nb") {
		t.Errorf("%q", text)
	}
}

// What is admitted is the document that was judged, and it is the one inserted.
func TestInsertAsksForAdmission(t *testing.T) {
	db := dbtest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	rec := registrytest.Record(t, "io.github.o/a", "1.0.0", 0)
	verdict, err := api.JudgeUnchecked(context.Background(), rec)
	if err != nil {
		t.Fatal(err)
	}
	rec.Digest = digest.FromBytes([]byte("other"))
	if _, err := db.Insert(context.Background(), verdict.Admitted(), rec); err == nil {
		t.Error("inserted")
	}
}
