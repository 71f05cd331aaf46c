package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Finding is one piece of evidence and what was decided about it.
type Finding struct {
	Evidence evidence.Evidence `json:"evidence"`
	Class    evidence.Class    `json:"class"` // OK unless refused
	Warning  bool              `json:"warning,omitempty"`
}

// Verdict is the result of judging a report.
type Verdict struct {
	Flow     Flow      `json:"flow"`
	Findings []Finding `json:"findings"`
	admitted Admitted
}

// Judge decides about report. An empty report admits nothing but is no refusal.
func Judge(flow Flow, s Settings, report evidence.Report) Verdict {
	v := Verdict{Flow: flow, Findings: make([]Finding, 0, len(report))}
	for _, e := range report {
		d := s.decide(flow, e)
		v.Findings = append(v.Findings, Finding{Evidence: e, Class: d.refuse, Warning: d.warn})
	}
	if v.Class() == evidence.OK && len(report) > 0 {
		v.admitted = Admitted{flow: flow}
		for _, e := range report {
			if d := e.Observed.SHA256(); !d.IsZero() {
				v.admitted.grants = append(v.admitted.grants, grant{e.Subject, d})
			}
		}
	}
	return v
}

// Allowed reports whether nothing was refused.
func (v Verdict) Allowed() bool { return v.Class() == evidence.OK }

// Class is the most urgent class of the refusals, or OK.
func (v Verdict) Class() evidence.Class {
	worst := evidence.OK
	for _, f := range v.Findings {
		worst = evidence.Worse(worst, f.Class)
	}
	return worst
}

// Report is the evidence that was judged.
func (v Verdict) Report() evidence.Report {
	var report evidence.Report
	for _, f := range v.Findings {
		report = append(report, f.Evidence)
	}
	return report
}

// Refused returns the findings that were refused.
func (v Verdict) Refused() []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return f.Class == evidence.OK })
}

// Deciding returns the finding that the class of the verdict comes from: the first one of that class, in
// the order in which evidence was gathered. It is false if nothing was refused.
func (v Verdict) Deciding() (Finding, bool) {
	class := v.Class()
	i := slices.IndexFunc(v.Findings, func(f Finding) bool { return f.Class == class })
	if class == evidence.OK || i < 0 {
		return Finding{}, false
	}
	return v.Findings[i], true
}

// Headline says in one line what decided the verdict, why, and how many findings more were refused. It is
// empty if nothing was.
func (v Verdict) Headline() string {
	f, ok := v.Deciding()
	if !ok {
		return ""
	}
	text := f.Evidence.Headline()
	if more := len(v.Refused()) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s more)", evidence.Count(more, "refused finding"))
	}
	return text
}

// Warnings returns the findings that were allowed with a warning.
func (v Verdict) Warnings() []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return !f.Warning })
}

// Advice says what to do next about a finding that was refused or warned about; "" if there is
// nothing to say.
func (v Verdict) Advice(f Finding) string {
	rule, _ := findRule(v.Flow, f.Evidence)
	return rule.advise(v.Flow, f)
}

// Admitted is the proof that the verdict allows its subjects; it is the zero value,
// which permits nothing, if it does not.
func (v Verdict) Admitted() Admitted { return v.admitted }

// Err is nil if the verdict allows, else a [*Refusal].
func (v Verdict) Err() error {
	if v.Allowed() {
		return nil
	}
	return &Refusal{v}
}

// Refusal is the error of a verdict that refuses. It prints every refused finding.
type Refusal struct{ Verdict Verdict }

// Class is the most urgent class of the findings.
func (r *Refusal) Class() evidence.Class { return r.Verdict.Class() }

// Error says what was refused and why, with the hint that leads on. About plugins it begins with the finding
// that decided the class: its name stands before the message.
func (r *Refusal) Error() string {
	var parts []string
	refused := r.Verdict.Refused()
	if flow := r.Verdict.Flow; flow == Plugin || flow == Validate {
		class := r.Class()
		if i := slices.IndexFunc(refused, func(f Finding) bool { return f.Class == class }); i > 0 {
			first := refused[i]
			refused = slices.Insert(slices.Delete(refused, i, i+1), 0, first)
		}
	}
	for _, f := range refused {
		text := f.Evidence.Title() + "\n" + f.Evidence.Detail()
		if next := r.Verdict.Advice(f); next != "" {
			text += "  hint: " + next + "\n"
		}
		parts = append(parts, strings.TrimSuffix(text, "\n"))
	}
	return strings.Join(parts, "\n")
}

// advise returns what to do next about a finding that r refuses: the advice of the evidence itself,
// else the hint of the row, else the hint for its outcome or class under any scheme.
func (r rule) advise(flow Flow, f Finding) string {
	e := f.Evidence
	if next := e.Next(); next != "" {
		return next
	}
	switch flow {
	case Scan:
		return "" // its evidence says what to write
	case Plugin, Validate:
		return first(r.plugin)(flow, e)
	}
	text := first(r.hint, undecided, missing)(flow, e)
	if text == "" && f.Class == evidence.Drift {
		text = "run 'hallmark review' for this server"
	}
	return nameEntry(text, e.Of)
}
