package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// inShort says in a few words what breaks a rule.
var inShort = map[string]string{
	launcher.RuleUnpinned: "no version", launcher.RuleRange: "a version that moves",
	launcher.RuleImage: "a tag that moves",
	launcher.RuleInner: "starts another program", launcher.RuleShell: "a shell line",
	launcher.RuleUnknown: "Hallmark cannot tell what runs",
	launcher.RuleVerify:  "hashes the launcher, not the server", launcher.RuleChecksum: "checksum is deprecated",
	launcher.RuleWeak: "sha1", launcher.RulePlainHTTP: "not encrypted",
	launcher.RuleSecret:     "a secret in the arguments",
	launcher.RuleSecretText: "a secret in the file", launcher.RuleWritable: "others can replace the program",
	launcher.RuleMalformed: "cannot be read as one server", launcher.RuleUnguarded: "not started as it is locked",
	launcher.RuleAround: "bypasses Hallmark", launcher.RuleRoot: "may edit more than the project",
	launcher.RuleAutoApprove: "its tools are called without asking",
}

// showScanned prints a line for each server, what needs the user first, and then what is no server's.
func showScanned(out io.Writer, found *scan.Result) error {
	w := &failing{to: out}
	servers := slices.DeleteFunc(slices.Clone(found.Servers), func(s scan.Server) bool {
		declared := s.Client == "hallmark" && !isRefused(s) // which a client's file starts, or nobody
		return s.Starts != clients.StartsServer || declared
	})
	slices.SortStableFunc(servers, func(a, b scan.Server) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), slices.Compare(urgency(a), urgency(b)))
	})
	var t table
	for _, s := range servers {
		word := statusWords[rankOf(s)].word
		if s.State == scan.StateGuarded && word != "withheld" {
			word = "guarded"
		}
		name := s.Name
		if s.Scope != "" {
			name = s.Scope + ": " + name
		}
		t.add(word, surface.Escape(name), clients.Title(s.Client), surface.Escape(scannedText(s)))
	}
	t.writeTo(w)
	if shown := showRules(w, found.Rules); !shown && len(servers) == 0 {
		fmt.Fprint(w, describeNothing(found))
		return w.err
	}
	if len(found.Rules) > 0 {
		fmt.Fprintln(w, "\nAdd -v to see what is wrong with each, and what to write.")
	}
	if next := nextCommand(servers); next != "" && !strings.Contains(next, "hallmark scan") {
		writeFolded(w, next, "  ")
	}
	return w.err
}

// showRules prints what is wrong and is no server's. It reports whether there was anything.
func showRules(w io.Writer, rules []policy.Finding) (shown bool) {
	programs := 0
	for _, f := range rules {
		what := "refused"
		switch e := f.Evidence; {
		case e.Rule == launcher.RuleProgram:
			programs++
			continue
		case e.Rule != launcher.RuleUnreadable && e.Rule != launcher.RuleRemoved && e.Rule != launcher.RuleUnlocked:
			continue
		case f.Warning:
			what = "warning"
		}
		shown = true
		writeFolded(w, what+"  "+surface.Escape(f.Evidence.Subject)+": "+firstLine(f.Evidence.Reason), "    ")
		if f.Evidence.Fix != "" && !f.Warning {
			writeFolded(w, "  hint: "+surface.EscapeSentence(f.Evidence.Fix), "    ")
		}
	}
	if programs > 0 {
		shown = true
		fmt.Fprintf(w, "warning  %s that clients run themselves, without Hallmark\n",
			evidence.Count(programs, "command line"))
	}
	return shown
}

// isRefused reports whether a rule refuses a server.
func isRefused(s scan.Server) bool {
	return slices.ContainsFunc(s.Findings, func(f policy.Finding) bool { return f.Class != evidence.OK })
}

// urgency orders servers of one state: what is refused, then what is new, before the others.
func urgency(s scan.Server) []int {
	out := []int{1, 1}
	if isRefused(s) {
		out[0] = 0
	}
	if s.News != "" {
		out[1] = 0
	}
	return out
}

// scannedText says what a server is, and in a few words what is wrong with it.
func scannedText(s scan.Server) string {
	text := s.CommandLine()
	if s.Runs != nil {
		text = cmp.Or(s.Runs.Ref, text)
	}
	var wrong []string
	if s.News != "" {
		wrong = append(wrong, string(s.News))
	}
	if s.Withheld != nil {
		wrong = append(wrong, evidence.Count(len(s.Withheld.Items), "item")+" changed")
	}
	for _, f := range s.Findings {
		if what := inShort[f.Evidence.Rule]; what != "" && (f.Class != evidence.OK || f.Warning) &&
			!slices.Contains(wrong, what) {
			wrong = append(wrong, what)
		}
	}
	if len(wrong) == 0 || text == "" {
		return text + strings.Join(wrong, ", ")
	}
	return strings.Join(wrong, ", ") + ": " + text
}
