package removal

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// answerRemovals are all ways in which a registry, or who stands before it, leaves something
// out of an answer.
func answerRemovals(t *testing.T, path string, body []byte) (all []removal) {
	t.Helper()
	add := func(data []byte, at ...string) {
		all = append(all, removal{file: "answer " + path, path: path, at: at, data: data})
	}
	add(nil, "its contents")
	add(body[:len(body)-1], "its end")
	var tree map[string]any
	if decodeTree(body, &tree) {
		for _, p := range parts(tree) {
			left, ok := p.left.(map[string]any)
			if !ok {
				t.Fatal(p.at)
			}
			add(encodeTree(t, left), p.at...)
		}
		return all
	}
	if strings.HasPrefix(path, "/checkpoint") {
		for _, p := range parts(string(body)) {
			left, _ := p.left.(string)
			add([]byte(left), p.at...)
		}
	}
	return all
}

// outcome is what a command found out: how it ended, and what it matched.
type outcome struct {
	class   evidence.Class
	matches string
}

func outcomeOf(v policy.Verdict, err error) outcome {
	if err == nil {
		err = v.Err()
	}
	out := outcome{class: evidence.ClassOf(err)}
	for _, e := range v.Report() {
		if e.Outcome == evidence.Match {
			out.matches += e.Subject + " " + string(e.Scheme) + " " + string(e.Authority) + "\n"
		}
	}
	return out
}

// A registry that leaves a member, an element or a line out of an answer, or the answer, is
// refused, or what is found is the very same: the same evidence matches, and the same entries
// are locked.
func leadAnswers(t *testing.T, table *harmlessTable, seen *seenMembers) {
	w := hosttest.NewFacetWorld(t)
	w.Put("tools",
		map[string]string{"facet.json": `{"name":"tools","version":"1.0.0","agents":{"one":{"description":"d"}}}`,
			"agents/one.md": "1"})
	w.Put("suite",
		map[string]string{
			"facet.json": `{"name":"suite","version":"1.0.0","commands":{"go":{"description":"d"}},` +
				`"facets":["tools@1.0.0"]}`, "commands/go.md": "3"})
	w.Want("suite = \"1.*\"\n")
	r := &removalWorld{FacetProject: w.FacetProject}
	r.remember() // nothing is installed yet

	install := func() (outcome, string) {
		out, err := w.Install(facets.Options{})
		var v policy.Verdict
		if out != nil {
			v = out.Verdict
		}
		return outcomeOf(v, err), w.Read(project.LockFile)
	}
	check := func() (outcome, string) {
		out, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{})
		return outcomeOf(out.Verdict, err), ""
	}
	w.Host.SkipPauses = true
	w.Registry.Publish("1.0.0")
	record := func() (outcome, string) {
		h := hosttest.New(t)
		h.SkipPauses = true
		r, err := hosttest.RecordSeen(t, h, project.Registry{URL: w.Registry.URL, LogKey: w.Registry.Key}, "1.0.0",
			trail.Options{})
		if r == nil {
			return outcome{class: evidence.ClassOf(err)}, ""
		}
		return outcomeOf(policy.Judge(policy.Pin, policy.Settings{}, r.Report), err), ""
	}
	monitor := func() (outcome, string) {
		m, err := monitor.Monitor(t.Context(), w.Host,
			monitor.Options{URL: w.Registry.URL, Log: trail.Options{Key: w.Registry.Key}})
		if m == nil {
			return outcome{class: evidence.ClassOf(err)}, ""
		}
		return outcome{class: evidence.ClassOf(err)}, m.Root
	}
	for _, c := range []struct {
		name string
		run  func() (outcome, string)
	}{{"install", install}, {"check", check}, {"record", record}, {"monitor", monitor}} {
		var mu sync.Mutex
		answers := map[string][]byte{}
		w.Wire(func(path string, body []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			if len(body) > 0 {
				answers[path] = bytes.Clone(body)
			}
			return body
		})
		good, made := c.run()
		if good.class != evidence.OK || len(answers) < 3 {
			t.Fatalf("%s: %s, %d answers", c.name, good.class, len(answers))
		}
		if c.name != "install" {
			r.remember()
		}
		var all []removal
		for _, path := range slices.Sorted(maps.Keys(answers)) {
			all = append(all, answerRemovals(t, path, answers[path])...)
		}
		seen.add(all)
		whole, refused, same := len(all), 0, 0
		all = sampled(t, all, false, 12)
		for _, x := range all {
			r.restore()
			w.Wire(func(path string, body []byte) []byte {
				if path == x.path && len(body) > 0 {
					return x.data
				}
				return body
			})
			switch got, now := c.run(); {
			case got.class != evidence.OK:
				refused++
			case got == good && (now == made || sameLock(now, made)):
				same++
			case table.explains(x, c.name):
				same++
			default:
				t.Errorf("%s of %s: the evidence or what is locked is other:\n%s", c.name, x, got.matches)
			}
		}
		w.Wire(nil)
		r.restore()
		if c.name == "install" { // the others are about what is installed
			w.Must(w.Install(facets.Options{}))
		}
		t.Logf("%s: %d of %d removals from %d answers: %d refused, %d found the very same", c.name, len(all), whole,
			len(answers), refused, same)
	}
}

// sameLock reports whether two locks say the same, but for when, and for proofs, which are
// verified.
func sameLock(a, b string) bool {
	var x, y map[string]any
	return decodeTree([]byte(a), &x) && decodeTree([]byte(b), &y) && alike(any(x), any(y))
}

// A registry that answers no more, or not about one thing, is no agreement.
func TestAnswersGone(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	w.Must(w.Install(facets.Options{}))
	honest := *w.Registry.Handler.Load()
	seen := map[string]bool{}
	record := func(gone string) {
		var h http.Handler = http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			if seen[req.URL.Path] = true; req.URL.Path == gone {
				http.NotFound(rw, req)
				return
			}
			honest.ServeHTTP(rw, req)
		})
		w.Registry.Handler.Store(&h)
	}
	run := func() error {
		out, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{})
		_, monitored := monitor.Monitor(t.Context(), w.Host,
			monitor.Options{URL: w.Registry.URL, Log: trail.Options{Key: w.Registry.Key}})
		return errors.Join(err, out.Verdict.Err(), monitored)
	}
	record("")
	if err := run(); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		if path == "/v0.1/artifacts" || path == "/v0.1/plugins" {
			continue // there are none, so that nothing is withheld; a registry need not have them
		}
		record(path)
		if run() == nil {
			t.Errorf("%s is not there, and neither check nor the monitor says so", path)
		}
	}
}
