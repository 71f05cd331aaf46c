package official

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	flow "github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
)

// perKind is the number of mutations of each kind, and wholePerKind that of 'make agree'. More look for differences
// that are not listed yet.
const perKind, wholePerKind = 40, 300

// difference is one line of docs/registry-compat.json.
type difference struct {
	RefusedBy string `json:"refused_by"` // "hallmark" or "official"
	Rule      string `json:"rule"`
	Where     string `json:"where"`
	Why       string `json:"why,omitempty"`
}

// examples are the example documents of the official documentation.
func examples(t *testing.T) [][]byte {
	t.Helper()
	fence := regexp.MustCompile("(?s)```json(?: [^\r\n]+)?\r?\n(.*?)\r?\n```")
	var docs [][]byte
	for _, file := range []string{
		"reference/server-json/generic-server-json.md", "modelcontextprotocol-io/package-types.mdx",
		"modelcontextprotocol-io/quickstart.mdx", "modelcontextprotocol-io/remote-servers.mdx",
	} {
		data, err := os.ReadFile(filepath.Join(moduleDir(t), "docs", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllSubmatch(data, -1) {
			var probe struct {
				Schema string `json:"$schema"`
				Server json.RawMessage
			}
			switch {
			case json.Unmarshal(m[1], &probe) != nil:
			case probe.Server != nil: // an answer of the registry
				docs = append(docs, probe.Server)
			case probe.Schema != "" || strings.Contains(file, "generic"):
				docs = append(docs, m[1])
			}
		}
	}
	if len(docs) != 31 {
		t.Fatalf("%d example documents, want 31", len(docs))
	}
	return docs
}

// startHallmark serves this module's registry and returns the URL of its validate
// endpoint.
func startHallmark(t *testing.T) string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "registry.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	handler, err := pages.NewSite(api.Config{Records: db, Validation: registry.Off})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/v0/validate"
}

// TestAgreement compares the verdicts on the examples, on their mutations and on the
// documents of cases. 'make agree' tries more mutations, and looks for what is listed and
// does not occur.
func TestAgreement(t *testing.T) {
	ours, theirs := startHallmark(t), startOfficial(t)
	docs := examples(t)
	trees := make([]*node, len(docs))
	for i, doc := range docs {
		var err error
		if trees[i], err = parse(doc); err != nil {
			t.Fatal(err)
		}
		for name, url := range map[string]string{"hallmark": ours, "official": theirs} {
			if a := ask(t, url, doc); !a.Valid {
				t.Errorf("%s refuses an official example: %v\n%s", name, a.Reasons, doc)
			}
		}
	}
	found := map[difference]string{} // with an example
	try := func(kind, text string) answer {
		a, b := ask(t, ours, []byte(text)), ask(t, theirs, []byte(text))
		differ(t, found, kind, text, a, b)
		return a
	}
	n, seed := perKind, sample.Rand(t).Uint64()
	if sample.Whole() {
		n, seed = wholePerKind, 2025_12_11 // with which all that is listed occurs
	}
	for k, m := range mutations {
		verdicts := map[bool]int{}
		r := rand.New(rand.NewPCG(seed, uint64(k)))
		for done := 0; done < n; {
			tree, err := parse([]byte(trees[r.IntN(len(trees))].String()))
			if err != nil {
				t.Fatal(err)
			}
			if m.mutate(r, tree) {
				verdicts[try(m.kind, tree.String()).Valid]++
				done++
			}
		}
		// Mutations that all fail, or all pass, would show little.
		if verdicts[true] < n/30 || verdicts[false] < n/30 {
			t.Errorf("%s: %d valid, %d invalid", m.kind, verdicts[true], verdicts[false])
		}
	}
	for _, c := range cases {
		try("case", c)
	}
	compare(t, found)
}

// differ adds to found what one side alone refuses of a document.
func differ(t *testing.T, found map[difference]string, kind, text string, ours, theirs answer) {
	t.Helper()
	if ours.Valid == theirs.Valid {
		return
	}
	side, reasons := "hallmark", ours.Reasons
	if ours.Valid {
		side, reasons = "official", theirs.Reasons
	}
	if len(reasons) == 0 {
		t.Errorf("%s: %s refuses without a reason: %s", kind, side, text)
	}
	if side == "official" {
		said := saidOfOfficial(t, text)
		for _, why := range reasons {
			// Of an unexpected property the official place may be that of another member.
			if object, _, _ := cutLast(why.where); !said[why.where] && !said[object+".*"] && (why.rule != "unexpected property" || len(said) == 0) {
				t.Errorf("%s: validate does not say that the official registry refuses this: %s\n%.2000s", kind, why, text)
			}
		}
	}
	for _, why := range reasons {
		d := difference{RefusedBy: side, Rule: why.rule, Where: why.where}
		if _, ok := found[d]; !ok {
			found[d] = kind + ": " + text
		}
	}
}

// saidOfOfficial returns the places at which validate says what the official registry would refuse.
func saidOfOfficial(t *testing.T, text string) map[string]bool {
	t.Helper()
	issues, err := flow.IssuesOf([]byte(text), func(artifact.Kind, string, string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, i := range issues {
		if strings.Contains(i.Message, "the official registry") {
			said[place(i.Path)] = true
			if object, _, ok := cutLast(place(i.Path)); ok {
				said[object+".*"] = true // a member may be right for one beside it
			}
		}
	}
	return said
}

// cutLast cuts the last member off a place.
func cutLast(where string) (object, member string, ok bool) {
	i := strings.LastIndexByte(where, '.')
	if i < 0 {
		return "", where, false
	}
	return where[:i], where[i+1:], true
}

// compare holds what was found against what is listed.
func compare(t *testing.T, found map[difference]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "registry-compat.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Differences []difference }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("docs/registry-compat.json: %v", err)
	}
	occurs := make([]bool, len(file.Differences))
	var missing []string
	for d, example := range found {
		listed := false
		for i, l := range file.Differences {
			if l.covers(d) {
				occurs[i], listed = true, true
			}
		}
		if !listed {
			missing = append(missing, fmt.Sprintf("%s: %s at %s\n    %.2000s", d.RefusedBy, d.Rule, d.Where, example))
		}
	}
	slices.Sort(missing)
	for _, m := range missing {
		t.Errorf("docs/registry-compat.json does not list: %s", m)
	}
	for i, l := range file.Differences {
		if !occurs[i] && sample.Whole() {
			t.Errorf("docs/registry-compat.json lists what does not occur: %s: %s at %s", l.RefusedBy, l.Rule, l.Where)
		}
		if l.Why == "" {
			t.Errorf("docs/registry-compat.json gives no reason: %s: %s at %s", l.RefusedBy, l.Rule, l.Where)
		}
	}
}

// covers reports whether d is the difference that l lists. "**" at the start of where
// stands for any place.
func (l difference) covers(d difference) bool {
	if l.RefusedBy != d.RefusedBy || l.Rule != d.Rule {
		return false
	}
	end, anywhere := strings.CutPrefix(l.Where, "**")
	return l.Where == d.Where || anywhere && strings.HasSuffix(d.Where, end)
}
