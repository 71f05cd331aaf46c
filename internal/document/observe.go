package document

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// ObserveAll fetches every subject, compares it with all that is claimed of it and by its
// own registry, and returns the evidence in the order of the subjects. An error means
// that this machine failed; what the outside did is in the report. use, if not nil, is
// given each download before it is removed, one at a time for each subject.
func ObserveAll(ctx context.Context, f *fetch.Client, all []*Subject, use func(int, *fetch.Download) error) (evidence.Report, error) {
	reports := make([]evidence.Report, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(f.Limits().DocumentAtOnce)
	for i, s := range all {
		group.Go(func() (err error) {
			reports[i], err = s.observe(ctx, f, func(d *fetch.Download) error {
				if use == nil {
					return nil
				}
				return use(i, d)
			})
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(reports...), err
}

func (s *Subject) observe(ctx context.Context, f *fetch.Client, use func(*fetch.Download) error) (evidence.Report, error) {
	algorithms := slices.Clone(s.Algorithms)
	for _, c := range s.Claims {
		for _, d := range c.Want {
			algorithms = append(algorithms, d.Algorithm())
		}
	}
	d, err := f.Fetch(ctx, s.Ref, algorithms...)
	if err != nil {
		return s.unfetchedEvidence(ctx, err)
	}
	defer d.Close()
	var report evidence.Report
	claims := s.Claims
	if len(claims) == 0 {
		claims = []evidence.Claim{{Subject: s.Ref.String(), Scheme: evidence.File, Authority: evidence.Publisher}}
	}
	for _, c := range claims {
		report = append(report, evidence.Compare(c, d.Observed))
	}
	report = append(report, RegistryEvidence(d)...)
	return report, use(d)
}

// RegistryEvidence compares a download with what its own registry says of it.
func RegistryEvidence(d *fetch.Download) evidence.Report {
	var report evidence.Report
	for _, c := range d.Claims {
		report = append(report, evidence.Compare(c, d.Observed))
	}
	report = append(report, d.Unverifiable...)
	if len(report) == 0 {
		report = evidence.Report{evidence.Compare(
			evidence.Claim{Subject: d.Ref.String(), Scheme: evidence.File, Authority: evidence.Registry}, d.Observed)}
	}
	if said := describeNotes(d); said != "" {
		if report[0].Reason != "" {
			said = report[0].Reason + "; " + said
		}
		report[0].Reason = said
	}
	return report
}

// describeNotes are what a person should know of a download beside the outcome.
func describeNotes(d *fetch.Download) string {
	said := slices.Clone(d.Notes)
	if d.Yanked != "" {
		said = append(said, "withdrawn by its publisher: "+d.Yanked)
	}
	return Clip(strings.Join(said, "; "), MaxReason)
}

// MaxReason is how much of what the outside says of a package becomes evidence, in
// characters. A record is shown with its evidence, in lists too: without a limit a
// publisher could make a record that nobody can read.
const MaxReason = 2000

// unfetchedEvidence is the evidence of a subject whose bytes could not be had.
func (s *Subject) unfetchedEvidence(ctx context.Context, err error) (evidence.Report, error) {
	var outside *wire.Error
	if !errors.As(err, &outside) {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	claims := s.Claims
	if len(claims) == 0 {
		claims = []evidence.Claim{{Subject: s.Ref.String(), Scheme: evidence.File, Authority: evidence.Registry}}
	}
	var report evidence.Report
	for _, c := range claims {
		report = append(report, evidence.CannotVerify(c, outside.Cause, Reason(outside)))
	}
	return report, nil
}

// Reason is what a fetch error says beside the subject, which evidence names itself.
func Reason(e *wire.Error) string {
	text := e.Err.Error()
	if e.URL != "" && !strings.Contains(text, e.URL) {
		text = e.URL + ": " + text
	}
	return Clip(text, MaxReason)
}

// Clip is at most most characters of s.
func Clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}
