//go:build unix

package packages

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// packageFault is what is said of a fault in every place.
type packageFault struct {
	verify int    // exit code
	title  string // of verify's message, after the subject; "" if there is none
	status int    // of the registry's answer
	why    string // its details' status
	gen    int    // exit code of hash-gen, which looks at no claim of the author
}

var packageFaults = map[string]packageFault{
	"good":        {status: 200},
	"yanked":      {status: 200}, // the bytes are those that were claimed; a note says the rest
	"wrong-digit": {3, "sha256 mismatch", 422, "mismatch", 0},
	"replaced":    {3, "sha256 mismatch", 422, "mismatch", 3},
	"rewritten":   {3, "sha256 mismatch", 422, "mismatch", 0},
	"missing":     {1, "sha256 cannot be verified: not found", 422, "not_found", 1},
	"no-file":     {1, "sha256 cannot be verified: not found", 422, "not_found", 0},
	"too-large":   {1, "sha256 cannot be verified: too large", 422, "too_large", 1},
	"unreachable": {1, "sha256 cannot be verified: unreachable", 503, "unreachable", 1},
	"plain-http":  {1, "sha256 cannot be verified: unsupported", 422, "unsupported", 1},
	"ambiguous":   {1, "sha256 cannot be verified: ambiguous", 422, "ambiguous", 0},
	"algorithm":   {1, "blake3 cannot be verified: unsupported", 422, "unsupported", 0},
}

// TestPackageFaults: what is wrong with a package has one status, exit code and message
// in every place, alone and together with all other faults.
func TestPackageFaults(t *testing.T) {
	t.Parallel()
	m := newMirror(t, filepath.Dir(world.Build(t, "hallmark")))
	registry := m.serve(t).URL
	names := slices.Sorted(maps.Keys(packageFaults))
	for n, fault := range names {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			m, w, key := m.in(t), packageFaults[fault], m.claims[fault][0]
			doc := m.write(t, fmt.Sprintf("1.0.%d", n), true, fault)
			out, errs := m.Run(t, w.verify, "hallmark", "verify")
			if !strings.HasPrefix(errs, "hallmark: "+key+": "+w.title+"\n") && errs+w.title != "" {
				t.Errorf("verify says\n%s", errs)
			}
			if note := "note: " + key +
				": withdrawn by its publisher: it leaks\n"; strings.Contains(out, note) != (fault == "yanked") {
				t.Errorf("verify prints\n%s", out)
			}
			status, r, body := post(t, registry, doc)
			if status != w.status {
				t.Errorf("the registry says %d %s", status, body)
			}
			if w.why != "" {
				d := r.Details[key]
				if len(r.Details) != 1 || len(r.Errors) > 0 || d.Status != w.why ||
					r.Error != "Hash validation failed" || d.Expected != m.claims[fault][1] ||
					(w.why == "mismatch") != (strings.HasPrefix(d.Actual, "sha256:") && d.Actual != d.Expected) ||
					(w.why == "mismatch") == (d.Reason != "") {
					t.Errorf("the registry says %s", body)
				}
				_, errs = m.Run(t, w.verify, "hallmark", "publish", "--no-hash", "--registry", registry)
				if !strings.Contains(errs, "\n  "+key+": "+w.why+"\n    expected "+m.claims[fault][1]+"\n") {
					t.Errorf("publish says\n%s", errs)
				}
				if w.status == 422 &&
					strings.Contains(errs, "hint: the file changed after hashing") != (w.why == "mismatch") {
					t.Errorf("publish says\n%s", errs)
				}
			} else if !strings.Contains(body, `"verifiedAt"`) ||
				strings.Contains(body, "withdrawn by its publisher: it leaks") != (fault == "yanked") {
				t.Errorf("the record is %s", body)
			}
			m.write(t, "1.0.0", false, fault)
			out, errs = m.Run(t, w.gen, "hallmark", "hash-gen")
			if (out == "") != (w.gen != 0) || strings.Contains(errs, "note: ") != (fault == "yanked") {
				t.Errorf("hash-gen prints %q and says\n%s", out, errs)
			}
		})
	}

	t.Run("all at once", func(t *testing.T) {
		t.Parallel()
		m := m.in(t)
		doc := m.write(t, "2.0.0", true, names...)
		out, errs := m.Run(t, 3, "hallmark", "verify")
		status, r, body := post(t, registry, doc)
		if status != 422 || r.Detail != "10 of 12 file hashes failed" || len(r.Details) != 10 || len(r.Errors) > 0 {
			t.Errorf("the registry says %d %s", status, body)
		}
		_, sent := m.Run(t, 3, "hallmark", "publish", "--no-hash", "--registry", registry)
		if _, own := m.Run(t, 3, "hallmark", "publish", "--registry", registry); !strings.Contains(own,
			"sha256 mismatch") {
			t.Errorf("publish says\n%s", own)
		}
		for fault, w := range packageFaults {
			key := m.claims[fault][0]
			if w.title != "" &&
				!strings.Contains("\n"+strings.TrimPrefix(errs, "hallmark: "), "\n"+key+": "+w.title+"\n") {
				t.Errorf("verify does not say %s: %s\n%s", key, w.title, errs)
			}
			if w.title == "" && !strings.Contains(out, "match         "+key) {
				t.Errorf("verify does not print that %s matches\n%s", key, out)
			}
			if r.Details[key].Status != w.why || w.why != "" && !strings.Contains(sent, "  "+key+": "+w.why+"\n") {
				t.Errorf("%s: the registry says %s, publish\n%s", key, body, sent)
			}
		}
		m.write(t, "2.0.0", false, names...)
		if out, errs := m.Run(t, 3, "hallmark", "hash-gen", "--write"); out != "" ||
			!strings.Contains(errs, "npm:replaced@1.0.0: sha512 mismatch") ||
			!strings.Contains(errs, "npm:missing@1.0.0: ") {
			t.Errorf("hash-gen prints %q and says\n%s", out, errs)
		}
		if doc, err := os.ReadFile(filepath.Join(m.Project, "server.json")); err != nil ||
			strings.Contains(string(doc), "file_hashes") {
			t.Errorf("hash-gen wrote %s, %v", doc, err)
		}
	})

	t.Run("observed", func(t *testing.T) {
		t.Parallel()
		m := m.in(t)
		registry := m.serve(t, "--validation", "observe").URL
		status, _, body := post(t, registry, m.write(t, "2.0.0", true, names...))
		if status != 200 || strings.Contains(body, `"verifiedAt"`) {
			t.Errorf("%d %s", status, body)
		}
		var record struct {
			Meta map[string]struct {
				Evidence []struct{ Subject, Authority, Outcome, Cause string }
			} `json:"_meta"`
		}
		world.Decode(t, []byte(body), &record)
		outcomes := map[string]string{}
		for _, e := range record.Meta["hallmark/integrity"].Evidence {
			if e.Authority == "publisher" {
				outcomes[e.Subject] = e.Outcome
			}
		}
		_, metrics := world.Get(t, registry+"/metrics")
		counts := map[string]int{}
		for fault, w := range packageFaults {
			counts[w.why]++
			want := "unverifiable"
			switch w.why {
			case "":
				want = "match"
			case "mismatch":
				want = "mismatch"
			}
			if got := outcomes[m.claims[fault][0]]; got != want {
				t.Errorf("%s is stored as %q, want %q", fault, got, want)
			}
		}
		delete(counts, "")
		for why, n := range counts {
			if line := fmt.Sprintf("hallmark_registry_hash_failures_total{status=%q} %d\n", why,
				n); !strings.Contains(string(metrics), line) {
				t.Errorf("/metrics has no %s", line)
			}
		}
		if line := `hallmark_registry_publishes_total{result="tolerated"} 1`; !strings.Contains(string(metrics), line) {
			t.Errorf("/metrics has no %s", line)
		}
	})
}

// A record is of the moment of its publishing. What is replaced later is a finding beside
// the record, which stays; new bytes are a new version.
func TestReplacedAfterPublishing(t *testing.T) {
	t.Parallel()
	m := newMirror(t, filepath.Dir(world.Build(t, "hallmark")))
	built.Into(t, filepath.Join(m.Bin, "hallmark-registry"), "cmd/hallmark-registry")
	data := t.TempDir()
	registry := m.serve(t, "--data", data).URL
	doc := m.write(t, "1.0.0", true, "good")
	if status, _, body := post(t, registry, doc); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	at := registry + "/v0/servers/io.github.acme%2Fnotes/versions/"
	_, before := world.Get(t, at+"1.0.0")
	reverify := []string{"registry", "reverify", "--data", data, "--npm-registry", m.NPM.URL, "--allow-host",
		"127.0.0.1"}
	m.Run(t, 0, "hallmark", reverify...)
	if _, after := world.Get(t, at+"1.0.0"); string(after) != string(before) {
		t.Errorf("the record changed\n%s\n%s", before, after)
	}

	err := m.NPM.Publish(
		npmtest.Package{Name: "good", Version: "1.0.0", Manifest: map[string]any{"mcpName": mirrored},
			Files: map[string]string{"index.js": "changed"}})
	if err != nil {
		t.Fatal(err)
	}
	changed := sumOf(m.NPM.Tarball("good", "1.0.0"))
	if out, errs := m.Run(t, 3, "hallmark", reverify...); !strings.Contains(out+errs, "mismatch") {
		t.Errorf("reverify says\n%s%s", out, errs)
	}
	_, after := world.Get(t, at+"1.0.0")
	var old, now struct {
		Server json.RawMessage
		Meta   map[string]map[string]any `json:"_meta"`
	}
	world.Decode(t, before, &old)
	world.Decode(t, after, &now)
	findings, _ := json.Marshal(now.Meta["hallmark/integrity"]["findings"])
	delete(now.Meta["hallmark/integrity"], "findings")
	if string(old.Server) != string(now.Server) || !reflect.DeepEqual(old.Meta, now.Meta) {
		t.Errorf("the record changed\n%s\n%s", before, after)
	}
	if !strings.Contains(string(findings), changed) || !strings.Contains(string(findings), "mismatch") {
		t.Errorf("findings %s", findings)
	}

	// Hashes alone cannot be changed, and neither can anything else.
	m.claims["good"] = [2]string{"npm:good@1.0.0", changed}
	if status, _, body := post(t, registry, m.write(t, "1.0.0", true, "good")); status != 409 {
		t.Errorf("%d %s", status, body)
	}
	if status, _, body := post(t, registry, m.write(t, "1.0.1", true, "good")); status != 200 ||
		!strings.Contains(body, changed) {
		t.Errorf("%d %s", status, body)
	}
}
