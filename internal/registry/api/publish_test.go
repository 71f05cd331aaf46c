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
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func TestPublish(t *testing.T) {
	f := servertest.Serve(t,
		evidence.Report{registrytest.Owner("io.github.o/notes"), registrytest.Matching(registrytest.NpmID)}, nil)
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
	if len(found) != 2 || found[1]["subject"] != registrytest.NpmID || found[1]["outcome"] != "match" ||
		found[1]["size"] != 5.0 ||
		found[1]["from"] != "https://npm.example.com/server-1.0.0.tgz?a=1&b=2" ||
		found[1]["actual"] != registrytest.Sum("bytes").String() {
		t.Errorf("evidence %s", i.Evidence)
	}
	if f.Counters.Published.Load() != 1 {
		t.Errorf("published %d", f.Counters.Published.Load())
	}
}

// Without file_hashes there is nothing to recompute; that is allowed, and said.
func TestNoHashes(t *testing.T) {
	absent := evidence.Compare(
		evidence.Claim{Subject: registrytest.NpmID, Scheme: evidence.File, Authority: evidence.Publisher},
		evidence.Observed{})
	f := servertest.Serve(t, evidence.Report{registrytest.Owner("io.github.o/notes"), absent}, nil)
	env, err := f.Publish(context.Background(),
		[]byte(`{"$schema":"`+serverjson.CurrentSchema+
			`","name":"io.github.o/notes","version":"1.0.0","description":"d","packages":[{"registryType":"npm",`+
			`"identifier":"@example/server","version":"1.0.0","transport":{"type":"stdio"}}]}`), "")
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
	f := servertest.Serve(t,
		evidence.Report{registrytest.Owner("io.github.o/notes"), registrytest.Mismatching(registrytest.NpmID),
			registrytest.Unverifiable("npm:b@1.0.0", evidence.NotFound)}, observe)
	env, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.0"), "")
	if err != nil {
		t.Fatal(err)
	}
	if env.Meta.Integrity.VerifiedAt != nil || !strings.Contains(string(env.Meta.Integrity.Evidence), `"mismatch"`) {
		t.Errorf("a failure is stored as %+v %s", env.Meta.Integrity, env.Meta.Integrity.Evidence)
	}
	c := f.Counters
	if c.Failures(registry.HashMismatch) != 1 || c.Failures(registry.HashNotFound) != 1 ||
		c.Failures(registry.HashTooLarge) != 0 || c.Tolerated.Load() != 1 || c.Refused.Load() != 0 ||
		c.Published.Load() != 1 {
		t.Errorf("counted %d mismatches, %d not found, %d tolerated, %d refused", c.Failures(registry.HashMismatch),
			c.Failures(registry.HashNotFound), c.Tolerated.Load(), c.Refused.Load())
	}
	if log := f.Log(); !strings.Contains(log, "status=mismatch") ||
		!strings.Contains(log, "identifier="+registrytest.NpmID) {
		t.Errorf("log %s", log)
	}

	f = servertest.Serve(t,
		evidence.Report{registrytest.Owner("io.github.evil/x"), registrytest.Mismatching(registrytest.NpmID)}, observe)
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
		f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, func(cfg *api.Config) {
			cfg.AllowAnonymous = c.anonymous
		})
		res, answer := registrytest.Send(t, "POST", f.URL+"/v0/publish", body,
			append(c.headers, "Content-Type", "application/json")...)
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
		"a range": {strings.Replace(doc, `"version": "1.0.0"`, `"version": "latest"`, 1), "application/json",
			422},
		"the largest": {pad(serverjson.MaxSize), "application/json; charset=utf-8", 200},
	} {
		res, body := registrytest.Send(t, "POST", f.URL+"/v0.1/publish", c.body, "Content-Type", c.media)
		if res.StatusCode != c.status {
			t.Errorf("%s: %d %s, want %d", name, res.StatusCode, body, c.status)
		}
		if c.status == 422 && !strings.Contains(body, `"errors":[{"message":`) {
			t.Errorf("%s: %s has no errors", name, body)
		}
	}
	_, err := f.Publish(context.Background(),
		[]byte(strings.Replace(doc, `"version": "1.0.0"`, `"version": "latest"`, 1)), "")
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
	for name, raw := range map[string]string{"not JSON": "{",
		"a range": strings.Replace(string(registrytest.Document("io.github.o/notes", "1.0.0")), `"version": "1.0.0"`,
			`"version": "latest"`, 1)} {
		v, err = f.Validate(ctx, []byte(raw))
		if err != nil || v.Valid || len(v.Issues.Errors()) == 0 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	if _, body := registrytest.Send(t, "POST", f.URL+"/v0/validate",
		string(registrytest.Document("io.github.o/notes", "1.0.0")), "Content-Type",
		"application/json"); strings.Contains(body, "null") {
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
	if _, err := f.Publish(ctx, registrytest.Document("io.github.o/notes", "1.0.0"), ""); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v", err)
	}
	hang.Ends(t, "the check", func() { <-ended })
	if log := f.Log(); !strings.Contains(log, "status=499") || strings.Contains(log, "level=ERROR") {
		t.Errorf("log %s", log)
	}
}

// What Check finds wrong with the document is the publisher's fault, not the registry's.
func TestCheckRefusesDocument(t *testing.T) {
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Check = func(context.Context, *serverjson.Document) (evidence.Report, error) {
			return nil, fmt.Errorf("checking: %w",
				evidence.Errorf(evidence.Validation, "server.json", "", errors.New("65 files; the limit is 64")))
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
	raw := strings.Replace(string(registrytest.Document("io.github.o/notes", "1.0.0")), `"file_hashes": {`,
		`"file_hashes": {`+strings.Join(hashes, ",")+",", 1)
	_, err := f.Publish(context.Background(), []byte(raw), "")
	p := registrytest.WantProblem(t, err, 422, "66 entries")
	if len(p.Errors) != 1 || p.Errors[0].Location != "body.file_hashes" || f.Checks.Load() != 0 {
		t.Errorf("problem %+v after %d checks", p, f.Checks.Load())
	}
	if v, err := f.Validate(context.Background(), []byte(raw)); err != nil || v.Valid || len(v.Issues) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// What is admitted is the document that was judged, and it is the one inserted.
func TestInsertAsksForAdmission(t *testing.T) {
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
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
