package policy

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

var write = flag.Bool("write", false, "write the tables of docs/policy.md")

// docs/policy.md has the rows that decide, what the settings change of them, and what is said next.
func TestDocument(t *testing.T) {
	const document = "../docs/policy.md"
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	for _, part := range []struct{ name, text string }{
		{"schemes", wordTable(t, "../evidence/evidence.go", "Scheme")},
		{"authorities", wordTable(t, "../evidence/evidence.go", "Authority")},
		{"flows", flowTables(t)}, {"settings", settingTable()}, {"hints", hintTable()}, {"causes", generalHints()},
	} {
		start := fmt.Sprintf("<!-- %s: written by go test ./policy -write -->\n", part.name)
		end := fmt.Sprintf("<!-- end of %s -->\n", part.name)
		before, rest, ok := strings.Cut(want, start)
		_, after, ended := strings.Cut(rest, end)
		if !ok || !ended {
			t.Fatalf("%s has no place for %s", document, part.name)
		}
		want = before + start + "\n" + part.text + "\n" + end + after
	}
	if string(data) == want {
		return
	}
	if !*write {
		t.Fatalf("%s does not say what the rows do; run go test ./policy -write", document)
	}
	if err := os.WriteFile(document, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// word is a constant of a type of words, and the comment beside it.
type word struct{ value, means string }

// wordsOf reads the constants of a type from a Go file, in their order.
func wordsOf(t *testing.T, file, kind string) (words []word) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if of, ok := v.Type.(*ast.Ident); ok && of.Name == kind {
				value := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
				words = append(words, word{value, strings.TrimSpace(v.Comment.Text())})
			}
		}
		return true
	})
	return words
}

func wordTable(t *testing.T, file, kind string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | |\n|---|---|\n", strings.ToLower(kind))
	for _, w := range wordsOf(t, file, kind) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", w.value, w.means)
	}
	return b.String()
}

// flowTables has one table for each flow.
func flowTables(t *testing.T) string {
	var parts []string
	for _, flow := range wordsOf(t, "policy.go", "Flow") {
		var b strings.Builder
		fmt.Fprintf(&b, "### %s\n\n%s.\n\n| scheme | authority |", flow.value, upper(flow.means))
		for _, o := range outcomes {
			fmt.Fprintf(&b, " %s |", o)
		}
		b.WriteString("\n|" + strings.Repeat("---|", 2+len(outcomes)) + "\n")
		for _, r := range table[Flow(flow.value)] {
			fmt.Fprintf(&b, "| `%s` | `%s` |", r.scheme, r.authority)
			for _, o := range outcomes {
				fmt.Fprintf(&b, " %s |", r.does.of(o))
			}
			b.WriteByte('\n')
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, "\n")
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// given are the settings as users give them, with the flows in which they can.
var given = []struct {
	name     string
	flows    []Flow
	settings Settings
}{
	{"`verify --require-hashes`, and `require_hashes` of a registry", []Flow{Verify, Accept},
		Settings{RequireHashes: true}},
	{"`--missing-hashes allow` of `pin` and `upgrade`", []Flow{Pin}, Settings{MissingHashes: MissingAllow}},
	{"`--missing-hashes refuse` of `pin` and `upgrade`", []Flow{Pin}, Settings{MissingHashes: MissingRefuse}},
	{"`install --frozen`", []Flow{Install}, Settings{RequireLock: true}},
	{"`check --surface`", []Flow{Check}, Settings{RequireApproval: true}},
	{"`check --strict`", []Flow{Check}, Settings{RefuseWaived: true}},
	{"`scan --strict`", []Flow{Scan}, Settings{RefuseWaived: true}},
	{"`--strict`, of a plugin", []Flow{Plugin}, Settings{Strict: true}},
	{"`--strict-integrity`", []Flow{Plugin}, Settings{StrictIntegrity: true}},
	{"`--require-signatures`", []Flow{Plugin}, Settings{RequireSignatures: true}},
	{"`--strict-capabilities`", []Flow{Plugin}, Settings{StrictCapabilities: true}},
	{"`--strict-tools`", []Flow{Plugin}, Settings{StrictTools: true}},
}

// Each member of Settings is one that the page tells of.
func TestGiven(t *testing.T) {
	for i := range reflect.TypeFor[Settings]().NumField() {
		set := false
		for _, g := range given {
			set = set || !reflect.ValueOf(g.settings).Field(i).IsZero()
		}
		if name := reflect.TypeFor[Settings]().Field(i).Name; !set {
			t.Errorf("docs/policy.md does not say what %s changes", name)
		}
	}
}

// settingTable has each cell that a setting changes.
func settingTable() string {
	var b strings.Builder
	b.WriteString("| setting | flow | scheme | authority | outcome | without it | with it |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, s := range given {
		for _, flow := range s.flows {
			for _, r := range table[flow] {
				for _, o := range outcomes {
					e := made(r.scheme, r.authority, o)
					if was, is := (Settings{}).decide(flow, e), s.settings.decide(flow, e); was != is {
						fmt.Fprintf(&b, "| %s | %s | `%s` | `%s` | %s | %s | %s |\n",
							s.name, flow, r.scheme, r.authority, o, was, is)
					}
				}
			}
		}
	}
	return b.String()
}

// cases are what else than the outcome decides what is said next.
var cases = []struct {
	when    string
	schemes []evidence.Scheme // nil for all
	change  func(*evidence.Evidence)
}{
	{"", nil, func(*evidence.Evidence) {}},
	{"hallmark.toml was changed", nil, func(e *evidence.Evidence) { e.Observed.From = "hallmark.toml" }},
	{"a slot is left where it is", []evidence.Scheme{evidence.Tree},
		func(e *evidence.Evidence) { e.Observed.From = "/slot" }},
	{"there is a record", nil, func(e *evidence.Evidence) { e.Where = "the record" }},
	{"the lock itself was edited", nil, func(e *evidence.Evidence) { e.Where = "its self member" }},
	{"it is gone", nil, func(e *evidence.Evidence) { e.Observed.Text = "none" }},
	{"the registry has none", nil, func(e *evidence.Evidence) { e.Cause = evidence.NotFound }},
	{"a package of npm", packages, func(e *evidence.Evidence) { e.Subject = "npm:" }},
	{"a package of pypi, nuget or cargo", packages, func(e *evidence.Evidence) { e.Subject = "pypi:" }},
	{"an image", packages, func(e *evidence.Evidence) { e.Subject = "oci:" }},
	{"a bundle", packages, func(e *evidence.Evidence) { e.Subject = "https:" }},
}

var packages = []evidence.Scheme{evidence.Ownership, evidence.Form}

// said is what to do next: about which findings, by whom claimed, in which flows.
type said struct {
	of   [3][]string // findings, authorities, flows
	text string
}

// hintTable has what is said next about each outcome that is not allowed in silence.
func hintTable() string {
	var all []said
	for _, r := range rows {
		for _, o := range outcomes {
			for _, flow := range r.flows {
				for _, text := range r.hintsFor(flow, o) {
					all = append(all, said{[3][]string{
						{"`" + string(r.scheme) + "-" + string(o) + "`"}, {"`" + string(r.authority) + "`"}, {string(flow)},
					}, text})
				}
			}
		}
	}
	for _, field := range []int{2, 0, 1} {
		all = joinBy(field, all)
	}
	slices.SortStableFunc(all, func(a, b said) int { return cmp.Compare(a.of[0][0], b.of[0][0]) })
	var b strings.Builder
	b.WriteString("| finding | authority | flows | what to do |\n|---|---|---|---|\n")
	for _, a := range all {
		for _, names := range a.of {
			fmt.Fprintf(&b, "| %s ", strings.Join(names, ", "))
		}
		fmt.Fprintf(&b, "| %s |\n", a.text)
	}
	return b.String()
}

// joinBy makes one of those that differ in a field alone.
func joinBy(field int, all []said) (joined []said) {
	for _, a := range all {
		i := slices.IndexFunc(joined, func(b said) bool {
			for f := range a.of {
				if f != field && !slices.Equal(a.of[f], b.of[f]) {
					return false
				}
			}
			return a.text == b.text
		})
		if i < 0 {
			joined = append(joined, a)
			continue
		}
		joined[i].of[field] = append(joined[i].of[field], a.of[field]...)
	}
	return joined
}

// hintsFor is what a row says next about an outcome: one text for each case in which it says something else.
// What is missing says so itself.
func (r rule) hintsFor(flow Flow, o evidence.Outcome) (texts []string) {
	if r.does.of(o) == allow || o == evidence.Missing {
		return nil
	}
	var known []string
	for _, c := range cases {
		e := made(r.scheme, r.authority, o)
		e.Subject, e.Text = "NAME", "SERVER"
		if o == evidence.Unverifiable {
			e.Cause = evidence.Unsupported
		}
		c.change(&e)
		text := r.advise(flow, Finding{Evidence: e, Class: r.does.of(o).refuse})
		general := e.Cause == evidence.NotFound && text == missing(flow, e) // the page has it once
		if text == "" || general || slices.Contains(known, text) ||
			c.schemes != nil && !slices.Contains(c.schemes, r.scheme) {
			continue
		}
		known = append(known, text)
		text = strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
		if c.when != "" {
			text = "*" + c.when + ":* " + text
		}
		texts = append(texts, text)
	}
	return texts
}

// generalHints has what is said next, in most flows, where a row says nothing of its own.
func generalHints() string {
	var b strings.Builder
	b.WriteString("| cause | what to do |\n|---|---|\n")
	for _, c := range []evidence.Cause{evidence.Unreachable, evidence.Malformed, evidence.NotFound} {
		e := evidence.Evidence{Outcome: evidence.Unverifiable, Cause: c}
		fmt.Fprintf(&b, "| `%s` | %s |\n", c, strings.ReplaceAll(first(undecided, missing)(Pin, e), "<", "&lt;"))
	}
	return b.String()
}
