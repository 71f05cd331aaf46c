package evidence

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/surface"
)

func isUnknownAlgorithm(err error) bool {
	var unknown *digest.UnknownAlgorithmError
	return errors.As(err, &unknown)
}

// unknownAlgorithm is the name of the algorithm of a claim that cannot be computed, in
// either form of a digest, or "".
func unknownAlgorithm(text string) string {
	_, err := digest.Parse(text)
	_, integrity := digest.ParseSRI(text)
	for _, err := range []error{err, integrity} {
		if unknown, ok := errors.AsType[*digest.UnknownAlgorithmError](err); ok {
			return unknown.Algorithm
		}
	}
	return ""
}

// Report is evidence in the order in which it was gathered.
type Report []Evidence

// About says of each piece of r which entry it is about, so that hints name it, and returns r.
func (r Report) About(entry Entry) Report {
	for i := range r {
		r[i].Of = entry
	}
	return r
}

// Count is the number of pieces with outcome o.
func (r Report) Count(o Outcome) int {
	n := 0
	for _, e := range r {
		if e.Outcome == o {
			n++
		}
	}
	return n
}

// WriteText writes one line for each piece and, for what did not match, the lines
// of [Evidence.Detail]. Text from outside is escaped.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, e := range r {
		fmt.Fprintf(&b, "%-12s  %s  %s  (%s)\n", e.Outcome, surface.Escape(e.Subject), e.fingerprintName(),
			e.claimant())
		if e.Outcome != Match {
			b.WriteString(e.Detail())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fingerprintName is the short name of the fingerprint: the algorithm of a file, else the scheme.
func (e Evidence) fingerprintName() string {
	name := string(e.Scheme)
	if e.Rule != "" {
		return e.Rule
	}
	if e.Scheme == File {
		name = string(digest.SHA256)
		if len(e.Want) > 0 {
			name = string(e.Want[0].Algorithm())
		} else if e.Outcome == Unverifiable {
			name = cmp.Or(unknownAlgorithm(e.Text), name)
		}
	}
	if e.Weak {
		name += ", weak"
	}
	return name
}

// claimant is who makes the claim: its place, where it has one.
func (e Evidence) claimant() string {
	switch {
	case e.Where != "":
		return surface.Escape(e.Where)
	case e.Outcome == Absent:
		return "nobody claims it"
	}
	return string(e.Authority)
}

// Title is the first line of a message about e: the subject and what is wrong.
func (e Evidence) Title() string {
	subject := surface.Escape(e.Subject)
	if e.Rule != "" && e.Outcome != Match && e.Outcome != Waived {
		return subject + ": " + e.Rule // says itself what is wrong
	}
	if e.Scheme == Form && e.Outcome == Mismatch {
		return subject + " is not valid: " + surface.EscapeSentence(e.Reason)
	}
	switch e.Outcome {
	case Mismatch:
		return subject + ": " + e.fingerprintName() + " mismatch"
	case Unverifiable:
		return subject + ": " + e.fingerprintName() + " cannot be verified: " +
			strings.ReplaceAll(string(e.Cause), "_", " ")
	}
	return subject + ": " + e.fingerprintName() + " " + string(e.Outcome)
}

// Headline is the title on one line with what was found and why, where these are texts.
func (e Evidence) Headline() string {
	text := e.Title()
	if e.Scheme == Form && e.Outcome == Mismatch {
		return text // which has the reason
	}
	for _, more := range []string{e.Observed.Text, e.Reason} {
		if more != "" {
			text += ": " + surface.Escape(more)
		}
	}
	return text
}

// Detail is the indented lines below a title: expected and by whom it was claimed,
// actual and from what it was computed, and why. Each ends with a newline.
func (e Evidence) Detail() string {
	var b strings.Builder
	if want := e.FormatExpected(); want != "" {
		fmt.Fprintf(&b, "  expected %s  (claimed by %s)\n", surface.Escape(want), e.claimant())
	}
	if got := e.Actual(); got != "" {
		from := surface.Escape(e.Observed.From)
		switch {
		case e.Observed.Size > 0 && from != "":
			from = "  (" + Group(e.Observed.Size) + " bytes of " + from + ")"
		case from != "":
			from = "  (" + from + ")"
		}
		fmt.Fprintf(&b, "  actual   %s%s\n", surface.Escape(got), from)
	}
	if e.Reason != "" && (e.Scheme != Form || e.Outcome != Mismatch) { // where it is the title
		fmt.Fprintf(&b, "  reason   %s\n", surface.EscapeSentence(e.Reason))
	}
	if e.Outcome == Missing {
		owners := make([]string, len(e.Owed))
		for i, by := range e.Owed {
			owners[i] = surface.Escape(by.owner())
		}
		fmt.Fprintf(&b, "  owed     by %s\n", strings.Join(owners, "; by "))
	}
	if e.Fix != "" && e.Next() == "" { // which is the hint
		fmt.Fprintf(&b, "  write    %s\n", surface.EscapeSentence(e.Fix))
	}
	return b.String()
}

// owner says in words who was told to expect a claim.
func (a Authority) owner() string {
	switch a {
	case Project:
		return "the project (hallmark.toml)"
	case Lock:
		return "the lock (hallmark.lock)"
	case Machine:
		return "this machine, which accepted it before"
	case Caller:
		return "the caller, who required it"
	case Log:
		return "the registry's log"
	}
	return string(a)
}

// Group prints n with commas between groups of three digits.
func Group(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// NameSome lists names for people: the first of them, and how many more there are.
func NameSome(names []string, most int) string {
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

// Count says how many there are of what noun names, in the singular: "1 record",
// "2,000 records", "3 hashes", "4 entries".
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "day"):
		noun = noun[:len(noun)-1] + "ies"
	case strings.HasSuffix(noun, "h"), strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return Group(int64(n)) + " " + noun
}

// evidenceJSON is the JSON form of Evidence. Its names are stable.
type evidenceJSON struct {
	Subject   string      `json:"subject"`
	Scheme    Scheme      `json:"scheme"`
	Outcome   Outcome     `json:"outcome"`
	Authority Authority   `json:"authority,omitempty"`
	Where     string      `json:"where,omitempty"`
	Expected  string      `json:"expected,omitempty"`
	Actual    string      `json:"actual,omitempty"`
	Size      int64       `json:"size,omitempty"`
	From      string      `json:"from,omitempty"`
	Weak      bool        `json:"weak,omitempty"`
	Cause     Cause       `json:"cause,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	Rule      string      `json:"rule,omitempty"`
	Fix       string      `json:"fix,omitempty"`
	Owed      []Authority `json:"owed_by,omitempty"`
	File      string      `json:"file,omitempty"`
	Line      int         `json:"line,omitempty"`
	Column    int         `json:"column,omitempty"`
}

// MarshalJSON writes one flat object with stable names: subject, scheme, outcome,
// and where known authority, where, expected, actual, size (bytes), from, weak,
// cause, reason, rule, fix, owed_by, file, line and column.
func (e Evidence) MarshalJSON() ([]byte, error) {
	return json.Marshal(evidenceJSON{
		Subject: e.Subject, Scheme: e.Scheme, Outcome: e.Outcome,
		Authority: e.Authority, Where: e.Where,
		Expected: e.FormatExpected(), Actual: e.Actual(),
		Size: e.Observed.Size, From: e.Observed.From,
		Weak: e.Weak, Cause: e.Cause, Reason: e.Reason, Rule: e.Rule, Fix: e.Fix, Owed: e.Owed,
		File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column,
	})
}
