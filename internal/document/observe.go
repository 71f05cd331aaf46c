package document

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Observe fetches every file of a document and compares it with the claims of the document and of the package
// registries. With owners it compares for which server each package is, too. The Hash of each subject is taken of its
// file.
func Observe(ctx context.Context, h *host.Host, doc *serverjson.Document, where string,
	owners bool) ([]*Subject, evidence.Report, error) {
	all, report, err := Subjects(h.Fetch, doc, where, true)
	if err != nil {
		return nil, nil, err
	}
	var refs []artifact.Ref
	for _, s := range all {
		refs = append(refs, s.Ref)
	}
	// who gives a document agrees that the hosts of its files are asked
	client := h.Fetch.For(doc.Name).ForRefs(refs...)
	if all, err = expandReleases(ctx, client, where, all); err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		if !owners {
			s.Of = nil
		}
	}
	more, err := ObserveAll(ctx, client, all, func(i int, d *fetch.Download) error {
		all[i].Hash = serverjson.FileHash{Key: KeyOf(d.Ref, all), Ref: d.Ref, Value: d.Observed.SHA256().String()}
		return nil
	})
	if err == nil && owners {
		more, err = addOwners(ctx, client, doc, more)
	}
	return all, append(report, more...), err
}

// ObserveAll fetches every subject, compares it with the document's claims and with those of its
// own registry, and returns the evidence in the order of the subjects; of those of a document also which server their
// files say that they are for. An error means that this
// machine failed; failures of other hosts are evidence. use, if not nil, gets each download
// before it is removed; calls for different subjects run at once.
func ObserveAll(ctx context.Context, f *fetch.Client, all []*Subject,
	use func(int, *fetch.Download) error) (evidence.Report, error) {
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
	return joinOwners(slices.Concat(reports...)), err
}

// observe fetches one subject and compares it with its claims.
func (s *Subject) observe(ctx context.Context, f *fetch.Client,
	use func(*fetch.Download) error) (evidence.Report, error) {
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
	for _, c := range s.claimsOr(evidence.Publisher) {
		report = append(report, evidence.Compare(c, d.Observed))
	}
	report = append(report, RegistryEvidence(d)...)
	report = append(report, s.readOwner(d, f.Limits().DocumentSize)...)
	return report, use(d)
}

// claimsOr returns the claims about a subject, or one without a digest of the authority that owes it.
func (s *Subject) claimsOr(by evidence.Authority) []evidence.Claim {
	if len(s.Claims) > 0 {
		return s.Claims
	}
	return []evidence.Claim{{Subject: s.Ref.String(), Scheme: evidence.File, Authority: by}}
}

// RegistryEvidence compares a download with the claims of its own registry. The first piece of
// evidence carries the notes about the download.
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
	if notes := describeNotes(d); notes != "" {
		if report[0].Reason != "" {
			notes = report[0].Reason + "; " + notes
		}
		report[0].Reason = notes
	}
	return report
}

// describeNotes joins what a person should know of a download besides the outcome.
func describeNotes(d *fetch.Download) string {
	notes := slices.Clone(d.Notes)
	if d.Yanked != "" {
		notes = append(notes, "withdrawn by its publisher: "+d.Yanked)
	}
	return Clip(strings.Join(notes, "; "), MaxReason)
}

// MaxReason bounds the text about a package that becomes evidence, in characters. Records are
// shown with their evidence, in lists too: without a limit a publisher could make a record that
// nobody can read.
const MaxReason = 2000

// unfetchedEvidence returns evidence that a subject's claims could not be verified, because its
// bytes could not be fetched.
func (s *Subject) unfetchedEvidence(ctx context.Context, err error) (evidence.Report, error) {
	var outside *wire.Error
	if !errors.As(err, &outside) {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var report evidence.Report
	for _, c := range s.claimsOr(evidence.Registry) {
		e := evidence.CannotVerify(c, outside.Cause, Reason(outside))
		e.Fix = outside.Hint
		report = append(report, e)
	}
	return report, nil
}

// Reason returns the text of a fetch error with its URL, for evidence that names the subject.
func Reason(e *wire.Error) string {
	text := e.Err.Error()
	if e.URL != "" && !strings.Contains(text, e.URL) {
		text = e.URL + ": " + text
	}
	return Clip(text, MaxReason)
}

// Clip returns the first characters of s, at most most of them.
func Clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}
