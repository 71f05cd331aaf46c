package check

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Explained is the result of [Explain].
type Explained struct {
	policy.Verdict
	Chains []Chain // of a server, and of a facet that has the same name
}

// Chain is all that is known about one server or facet: who said what, and what was computed from which bytes.
type Chain struct {
	Kind  string `json:"kind"` // facets.PartServer or facets.PartFacet
	Name  string `json:"name"`
	What  string `json:"what,omitempty"` // its artifact; "" if it is not locked
	Links []Link `json:"links"`
}

// Link is one claim, and how a reader can check it.
type Link struct {
	Step  string `json:"step"`
	State State  `json:"state"`
	Text  string `json:"text"`
	// Check is a command for a shell that shows the same: of Hallmark, or one that hashes a file. With a registry it
	// may ask that registry, unlike what is said here.
	Check  string          `json:"check"`
	Report evidence.Report `json:"evidence,omitempty"` // that Text is about; empty if it was only read
}

// State is the most urgent outcome of the evidence of a link, or one of those below.
type State string

const (
	// Kept is of what hallmark.lock keeps from when it was pinned, and nothing on this machine can be hashed for.
	Kept State = "kept"
	// Unknown is of what no file on this machine says.
	Unknown State = "unknown"
)

// urgency are the outcomes of evidence, the most urgent first.
var urgency = []evidence.Outcome{evidence.Mismatch, evidence.Missing, evidence.Absent, evidence.Unverifiable,
	evidence.Waived, evidence.Match}

// stateOf returns the most urgent outcome in a report that is not empty.
func stateOf(report evidence.Report) State {
	for _, outcome := range urgency {
		if report.Count(outcome) > 0 {
			return State(outcome)
		}
	}
	return Unknown
}

// chain is a [Chain] that is being made. Each piece of evidence that [Check] would find belongs to one link.
type chain struct {
	w     *workspace.Workspace
	logs  *trail.Logs
	dir   string // as the caller named it, for the files in commands
	name  string
	found evidence.Report // all, in the order of [Check]
	rest  evidence.Report // of no link yet
	Chain
}

// Explain says why the server or the facet called name is trusted, as a chain of claims. The evidence comes from
// [Check] offline: nothing is fetched or started. Beside it stands what was claimed when it was pinned, and can
// only be read now.
func Explain(ctx context.Context, h *host.Host, dir, name string) (out Explained, err error) {
	ways, err := facets.Why(ctx, h, dir, name) // it knows which names there are
	if err != nil {
		return out, err
	}
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return out, err
	}
	defer done()
	logs := w.Logs(trail.Options{})
	demands, err := w.Demands(logs)
	if err != nil {
		return out, err
	}
	var report evidence.Report
	explained := map[string]bool{}
	for _, way := range ways {
		part := way[len(way)-1]
		if explained[part.Kind] {
			continue
		}
		explained[part.Kind] = true
		c := &chain{w: w, logs: logs, dir: dir, name: name, Chain: Chain{Kind: part.Kind, Name: name}}
		if part.Kind == facets.PartServer {
			if c.rest, err = checkServer(ctx, w, logs, name, Options{Offline: true}); err == nil {
				c.rest = demands.Server(name).Settle(c.rest).About(w.ServerEntry(name))
				err = c.explainServer(ctx, way)
			}
		} else {
			err = c.explainFacet(ctx, demands, way)
		}
		if err != nil {
			return out, err
		}
		c.addRest()
		report = append(report, c.found...)
		out.Chains = append(out.Chains, c.Chain)
	}
	out.Verdict = policy.Judge(policy.Check, policy.Settings{}, report)
	return out, nil
}

// take removes the evidence that belongs to a link from what is left.
func (c *chain) take(belongs func(e evidence.Evidence) bool) (taken evidence.Report) {
	c.rest = slices.DeleteFunc(slices.Clone(c.rest), func(e evidence.Evidence) bool {
		if belongs(e) {
			taken = append(taken, e)
			return true
		}
		return false
	})
	return taken
}

// add adds a link about evidence, of which text says what holds if all of it matches. Otherwise other says what was
// compared, and the evidence what was found.
func (c *chain) add(step, check, text, other string, report evidence.Report) {
	link := Link{Step: step, State: stateOf(report), Text: text, Check: check, Report: report}
	if report.Count(evidence.Match) < len(report) {
		link.Text = other
	}
	c.Links = append(c.Links, link)
}

// state adds a link about what was only read.
func (c *chain) state(step string, state State, check, text string) {
	c.Links = append(c.Links, Link{Step: step, State: state, Text: text, Check: check})
}

// addRest adds a link for each piece of evidence that belongs to no other, so that nothing is left out.
func (c *chain) addRest() {
	for _, e := range c.rest {
		c.add("other", c.checkAll(), "Hallmark compared "+e.Subject+" ("+string(e.Scheme)+") with "+e.Where+".",
			"Hallmark looked at "+e.Subject+" ("+string(e.Scheme)+").", evidence.Report{e})
	}
	c.rest = nil
}

// checkAll is the command that compares everything once more.
func (c *chain) checkAll() string { return "hallmark check --offline --verbose" }

// command is a command about what the chain is about.
func (c *chain) command(words ...string) string { return "hallmark " + host.QuoteArguments(words) }

// path is a file of the project as the caller can open it.
func (c *chain) path(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

// hashOf is the command that computes a file's digest, which is shown.
func hashOf(digest, path string) string {
	algorithm, _, _ := strings.Cut(digest, ":")
	return algorithm + "sum " + host.QuoteArguments([]string{path})
}

// searchIn is the command that finds text in a file.
func searchIn(path, text string) string {
	return "grep -F -e " + host.QuoteArguments([]string{text, path})
}

// addHashed adds a link for each subject of evidence about bytes on this machine. as says what the bytes are.
func (c *chain) addHashed(step, as string, report evidence.Report) {
	// A tree comes before the files in it that were changed.
	report = slices.Clone(report)
	slices.SortStableFunc(report, func(a, b evidence.Evidence) int { return len(a.Subject) - len(b.Subject) })
	var subjects []string
	of := map[string]evidence.Report{}
	for _, e := range report {
		subject := e.Subject
		for _, known := range subjects {
			if strings.HasPrefix(subject, known+": ") {
				subject = known
			}
		}
		if of[subject] == nil {
			subjects = append(subjects, subject)
		}
		of[subject] = append(of[subject], e)
	}
	for _, subject := range subjects {
		c.addHashedOne(step, as, subject, of[subject])
	}
}

// addHashedOne adds the link of one subject, which the first piece of evidence is about.
func (c *chain) addHashedOne(step, as, subject string, rows evidence.Report) {
	first := rows[0]
	if first.Scheme != evidence.File && first.Scheme != evidence.Tree && first.Scheme != evidence.FacetTar {
		text := "Hallmark compared " + subject + " with " + first.Where + "."
		if first.Scheme != evidence.Pin {
			c.add(step, c.checkAll(), text, text, rows)
			return
		}
		c.add("name", c.checkAll(), text, text, rows)
		if first.Reason != "" { // a name is all that is compared here
			c.state(step, Unknown, c.checkAll(), "Hallmark read no byte of "+subject+": "+first.Reason+".")
		}
		return
	}
	if first.Scheme == evidence.FacetTar {
		as = "the contents of"
	}
	check := c.checkAll()
	switch from := first.Observed.From; {
	case first.Outcome != evidence.Match && first.Outcome != evidence.Mismatch:
	case first.Scheme == evidence.File && filepath.IsAbs(from):
		check = hashOf(first.Actual(), from)
	case first.Scheme != evidence.File && filepath.Base(from) == "content":
		check = "hallmark store verify"
	}
	at := ""
	if from := first.Observed.From; from != subject && from != "" {
		at = " at " + from
	}
	text := fmt.Sprintf("Hallmark hashed now %s %s%s: %s, as %s.", as, subject, at, first.Actual(), claimedBy(rows))
	other := fmt.Sprintf("Hallmark compared %s %s%s with %s.", as, subject, at, first.Where)
	if state := stateOf(rows); state == State(evidence.Unverifiable) {
		other = "Hallmark can hash nothing of " + as + " " + subject + " now."
	}
	c.add(step, check, text, other, rows)
}

// claimedBy says who claims what matched.
func claimedBy(rows evidence.Report) string {
	var all []string
	for _, e := range rows {
		who := ""
		switch e.Authority {
		case evidence.Lock:
			who = "hallmark.lock says"
		case evidence.Machine:
			who = "it was when Hallmark made it on this machine"
			if e.Scheme == evidence.File {
				who = "you approved it on this machine"
			}
		case evidence.Verify:
			who = "you say in 'verify'"
		}
		if who != "" && !slices.Contains(all, who) {
			all = append(all, who)
		}
	}
	if all == nil {
		return rows[0].Where + " says"
	}
	return strings.Join(all, " and ")
}
