// Package document hashes and verifies the files that a server.json names, and begins one.
package document

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// MaxFiles is how many files one document may make us fetch.
const MaxFiles = serverjson.MaxFiles

// checkFileCount is an error unless a document may have n files, of which f fetches no more.
func checkFileCount(f *fetch.Client, where string, n int) error {
	most := min(f.Limits().DocumentFiles, MaxFiles)
	if n <= most {
		return nil
	}
	return evidence.Errorf(evidence.Validation, where, "", fmt.Errorf("%s; the limit is %d", evidence.Count(n, "file"), most))
}

// Parse reads a server.json; problems come as one validation error.
func Parse(name string, data []byte) (*serverjson.Document, error) {
	doc, err := serverjson.Parse(data)
	if err != nil {
		return nil, InvalidError(name, err)
	}
	return doc, nil
}

func InvalidError(name string, err error) error {
	var invalid *serverjson.Invalid
	if !errors.As(err, &invalid) {
		return evidence.Errorf(evidence.Validation, name, "", err)
	}
	var lines strings.Builder
	for _, issue := range invalid.Issues.Errors() {
		fmt.Fprintf(&lines, "  %s\n", issue)
	}
	return &evidence.Error{
		Subject: name, Kind: evidence.Validation,
		Err: errors.New(evidence.Count(len(invalid.Issues.Errors()), "problem")), Detail: lines.String(),
	}
}

// Subject is one artifact of a document and what is claimed of it.
type Subject struct {
	Ref        artifact.Ref
	Claims     []evidence.Claim
	Algorithms []digest.Algorithm // to compute besides those that the claims need
}

// Subjects joins the packages of doc with its claims, by normalised Ref. Evidence that
// needs no bytes, such as of a malformed digest, comes in the report. With packages
// false only what is claimed is returned.
func Subjects(f *fetch.Client, doc *serverjson.Document, where string, packages bool) ([]*Subject, evidence.Report, error) {
	claims, report := doc.Claims(where)
	var all []*Subject
	find := func(ref artifact.Ref) *Subject {
		i := slices.IndexFunc(all, func(s *Subject) bool { return s.Ref.Normal() == ref.Normal() })
		if i < 0 {
			all = append(all, &Subject{Ref: ref})
			i = len(all) - 1
		}
		return all[i]
	}
	for _, c := range claims {
		ref, err := artifact.Parse(c.Subject)
		if err != nil {
			return nil, nil, evidence.Errorf(evidence.Validation, where, "", err)
		}
		s := find(ref)
		s.Claims = append(s.Claims, c)
	}
	claimed := all
	files := len(all)
	if packages {
		for _, p := range doc.Packages {
			ref, err := p.Ref()
			if err != nil {
				return nil, nil, evidence.Errorf(evidence.Validation, where, "", err)
			}
			// A release of which files are claimed is not one more.
			before := len(all)
			find(ref)
			if len(all) > before && !slices.ContainsFunc(claimed, func(c *Subject) bool { return p.Gives(c.Ref) }) {
				files++
			}
		}
	}
	return all, report, checkFileCount(f, where, files)
}

// ExpandReleases makes of each PyPI release that nothing is claimed of one subject for each of its
// files, joined with those that are there. A release that its index does not tell the
// files of stays, and what is at fault is found when it is fetched.
func ExpandReleases(ctx context.Context, f *fetch.Client, where string, all []*Subject) ([]*Subject, error) {
	var out []*Subject
	for _, s := range all {
		files := []artifact.Ref{s.Ref}
		if s.Ref.Kind() == artifact.PyPI && s.Ref.Filename() == "" && len(s.Claims) == 0 {
			found, err := f.Files(ctx, s.Ref)
			var outside *wire.Error
			switch {
			case err == nil:
				files = found
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case !errors.As(err, &outside):
				return nil, err
			}
		}
		for _, ref := range files {
			same := func(other *Subject) bool { return other.Ref.Normal() == ref.Normal() }
			switch {
			case ref == s.Ref:
				out = append(out, s)
			case !slices.ContainsFunc(all, same) && !slices.ContainsFunc(out, same):
				out = append(out, &Subject{Ref: ref})
			}
		}
	}
	return out, checkFileCount(f, where, len(out))
}

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

// Hashes is what [HashFiles] found.
type Hashes struct {
	Files   []serverjson.FileHash // sorted by key; Pointer is empty
	Verdict policy.Verdict
}

// HashFiles fetches every file of the document's packages and hashes it. Claims that the
// document holds already are not looked at. If the verdict refuses there are no hashes.
func HashFiles(ctx context.Context, h *host.Host, doc *serverjson.Document, where string) (*Hashes, error) {
	if err := doc.Validate().Err(); err != nil {
		return nil, InvalidError(where, err)
	}
	all, _, err := Subjects(h.Fetch, &serverjson.Document{Packages: doc.Packages}, where, true)
	if err != nil {
		return nil, err
	}
	client := h.Fetch.For(doc.Name).Asking(RefsOf(all)...)
	if all, err = ExpandReleases(ctx, client, where, all); err != nil {
		return nil, err
	}
	files := make([]serverjson.FileHash, len(all))
	report, err := ObserveAll(ctx, client, all, func(i int, d *fetch.Download) error {
		files[i] = serverjson.FileHash{Key: d.Ref.String(), Ref: d.Ref, Value: d.Observed.SHA256().String()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// That the publisher claims nothing yet is the reason for hashing, no finding.
	report = slices.DeleteFunc(report, func(e evidence.Evidence) bool { return e.Authority == evidence.Publisher })
	out := &Hashes{Verdict: policy.Judge(policy.Generate, policy.Settings{}, report)}
	if out.Verdict.Allowed() {
		slices.SortFunc(files, func(a, b serverjson.FileHash) int { return cmp.Compare(a.Key, b.Key) })
		out.Files = files
	}
	return out, nil
}

// WriteHashes puts hashes into the document at path, which held raw, and keeps the rest
// of the file byte for byte.
func WriteHashes(path string, raw []byte, hashes []serverjson.FileHash) error {
	data, err := serverjson.SetFileHashes(raw, hashes)
	if err != nil {
		return evidence.Errorf(evidence.Validation, path, "", err)
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, data, st.Mode().Perm())
}

// Verify recomputes every claim of the document and of the package registries,
// and names the packages that nobody claims.
func Verify(ctx context.Context, h *host.Host, doc *serverjson.Document, where string, s policy.Settings) (policy.Verdict, error) {
	if err := doc.Validate().Err(); err != nil {
		return policy.Verdict{}, InvalidError(where, err)
	}
	all, report, err := Subjects(h.Fetch, doc, where, true)
	if err != nil {
		return policy.Verdict{}, err
	}
	client := h.Fetch.For(doc.Name).Asking(RefsOf(all)...)
	if all, err = ExpandReleases(ctx, client, where, all); err != nil {
		return policy.Verdict{}, err
	}
	more, err := ObserveAll(ctx, client, all, nil)
	if err != nil {
		return policy.Verdict{}, err
	}
	return policy.Judge(policy.Verify, s, append(report, more...)), nil
}

// RefsOf are the Refs of files that somebody who gave their document wants to have asked for.
func RefsOf(all []*Subject) (refs []artifact.Ref) {
	for _, s := range all {
		refs = append(refs, s.Ref)
	}
	return refs
}

// OpenError is the error of a file that the user named.
func OpenError(name string, err error) error {
	kind := evidence.Operation
	if errors.Is(err, os.ErrNotExist) {
		kind = evidence.Validation
	}
	return evidence.Errorf(kind, name, "", errors.Unwrap(err))
}

// Clip is at most most characters of s.
func Clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}

func SameRef(subject string, ref artifact.Ref) bool {
	other, err := artifact.Parse(subject)
	return err == nil && other.Normal() == ref.Normal()
}
