package document

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// MaxFiles bounds the files that one document may make us fetch.
const MaxFiles = serverjson.MaxFiles

// checkFileCount fails if n files are more than a document may name, or than f may fetch for one. all are what is known
// of them.
func checkFileCount(f *fetch.Client, where string, n int, all []*Subject) error {
	most := min(f.Limits().DocumentFiles, MaxFiles)
	if n <= most {
		return nil
	}
	hint, files := "", map[artifact.Ref]int{}
	for _, s := range all {
		if files[s.Ref.Release()]++; files[s.Ref.Release()] > most/2 {
			hint = fmt.Sprintf("%s alone has more than %d: 'publish --no-hash' publishes it without hashes, or name "+
				"another package",
				s.Ref.Release(), most/2)
		}
	}
	return evidence.Errorf(evidence.Validation, where, hint,
		fmt.Errorf("%s; the limit is %d", evidence.Count(n, "file"), most))
}

// Subject is one artifact of a document and what is claimed of it.
type Subject struct {
	Ref        artifact.Ref
	Claims     []evidence.Claim
	Algorithms []digest.Algorithm // computed besides those that the claims need

	Of *serverjson.Document // that names the artifact, and is asked about; nil if none is

	Hash serverjson.FileHash // what [Observe] computed of it; without a Key if it was not fetched
}

// Subjects joins the packages of doc with its claims, by normalised Ref. The report holds evidence
// that needs no bytes, such as of a malformed digest. Without packages only subjects with a claim
// are returned.
func Subjects(f *fetch.Client, doc *serverjson.Document, where string,
	packages bool) ([]*Subject, evidence.Report, error) {
	claims, report := doc.Claims(where)
	var all []*Subject
	find := func(ref artifact.Ref) *Subject {
		i := slices.IndexFunc(all, func(s *Subject) bool { return s.Ref.Normal() == ref.Normal() })
		if i < 0 {
			all = append(all, &Subject{Ref: ref, Of: doc})
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
			// A release whose files are claimed was counted with these files.
			before := len(all)
			find(ref)
			if len(all) > before && !slices.ContainsFunc(claimed, func(c *Subject) bool { return p.Gives(c.Ref) }) {
				files++
			}
		}
	}
	return all, report, checkFileCount(f, where, files, all)
}

// expandReleases replaces each PyPI release without claims by one subject for each of its files,
// unless a subject of that file exists. If the index does not list a release's files the release
// stays, and fetching it reports the cause.
func expandReleases(ctx context.Context, f *fetch.Client, where string, all []*Subject) ([]*Subject, error) {
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
				out = append(out, &Subject{Ref: ref, Of: s.Of})
			}
		}
	}
	return out, checkFileCount(f, where, len(out), out)
}

// SameRef reports whether a subject of evidence is ref, both normalised.
func SameRef(subject string, ref artifact.Ref) bool {
	other, err := artifact.Parse(subject)
	return err == nil && other.Normal() == ref.Normal()
}
