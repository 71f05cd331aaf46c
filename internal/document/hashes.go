package document

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Hashes is what [HashFiles] found.
type Hashes struct {
	Files   []serverjson.FileHash // sorted by key; Pointer is empty
	Verdict policy.Verdict
}

// ParseUnhashed reads a server.json whose hashes are to be made anew: see [serverjson.ParseUnhashed].
func ParseUnhashed(name string, data []byte) (*serverjson.Document, error) {
	doc, err := serverjson.ParseUnhashed(data)
	if err != nil {
		return nil, InvalidError(name, err)
	}
	return doc, nil
}

// IssuesOf returns the issues of a server.json, as far as it can be parsed: those for which publish and registries
// refuse it, and then what the official registry alone refuses.
// isAsked tells which registries packages are asked of besides the usual ones.
func IssuesOf(data []byte, isAsked func(kind artifact.Kind, name, base string) bool) (serverjson.Issues, error) {
	doc, err := serverjson.Parse(data)
	if err == nil {
		doc.AtRegistries(isAsked)
		return append(doc.ValidateForPublish(), doc.OfficialIssues()...), nil
	}
	if invalid := new(serverjson.Invalid); errors.As(err, &invalid) {
		return invalid.Issues.ForPublish(), nil
	}
	return nil, err
}

// HashFiles fetches every file of the document's packages and hashes it. It ignores the hashes
// that the document has already. It returns no hashes if the verdict refuses, as it does if a file was not fetched.
func HashFiles(ctx context.Context, h *host.Host, doc *serverjson.Document, where string) (*Hashes, error) {
	doc, err := serverjson.ParseUnhashed(doc.Raw)
	if err == nil {
		doc.AtRegistries(h.Fetch.AsksAt)
		err = doc.Validate().Err()
	}
	if err != nil {
		return nil, InvalidError(where, err)
	}
	all, report, err := Observe(ctx, h, doc, where, false)
	if err != nil {
		return nil, err
	}
	for i, e := range report { // a file has one name: that of its hash
		if ref, err := artifact.Parse(e.Subject); err == nil {
			report[i].Subject = KeyOf(ref, all)
		}
	}
	// The publisher claims nothing yet, so a missing claim is not a finding here.
	report = slices.DeleteFunc(report, func(e evidence.Evidence) bool {
		return e.Authority == evidence.Publisher && e.Outcome == evidence.Absent
	})
	out := &Hashes{Verdict: policy.Judge(policy.Generate, policy.Settings{}, report)}
	if out.Verdict.Allowed() {
		for _, s := range all {
			out.Files = append(out.Files, s.Hash)
		}
		slices.SortFunc(out.Files, func(a, b serverjson.FileHash) int { return cmp.Compare(a.Key, b.Key) })
	}
	return out, nil
}

// WriteHashes writes hashes into doc, which is the document that was read from path as was, or that with more of it
// set, and keeps every other byte of it: see [serverjson.SetHashes]. It returns what it replaced. It writes nothing
// that is not valid, and nothing if the file is not what was read any more.
func WriteHashes(path string, was, doc []byte, hashes []serverjson.FileHash, meta bool) ([]serverjson.Replaced, error) {
	data, replaced, err := serverjson.SetHashes(doc, hashes, meta)
	if err != nil {
		return nil, InvalidError(path, err)
	}
	real := path
	st, err := os.Lstat(path)
	if err == nil && st.Mode().Type() == os.ModeSymlink { // it stays one
		if real, err = filepath.EvalSymlinks(path); err == nil {
			st, err = os.Stat(real)
		}
	}
	if err != nil {
		return nil, OpenError(path, err)
	}
	_, now, err := ReadFile(real, os.Open)
	if err == nil && !bytes.Equal(now, was) {
		err = evidence.Errorf(evidence.Operation, path, "run the command again",
			errors.New("was changed by another program meanwhile; nothing was written"))
	}
	if err != nil {
		return nil, err
	}
	return replaced, durable.WriteFile(real, data, st.Mode().Perm())
}

// KeyOf is the key that file_hashes has for a file, one of those of a document, as source 000 writes it: the release
// alone for the only file of a release of PyPI, and "github:" for an asset of a release that the document names by its
// URL. Other files have the spelling of the document.
func KeyOf(file artifact.Ref, all []*Subject) string {
	if file.Kind() == artifact.PyPI && file.Filename() != "" {
		release := func(s *Subject) bool { return s.Ref.Release() == file.Release() }
		whole, err := artifact.NewPyPI(file.Name(), file.Version(), "")
		if i := slices.IndexFunc(all, release); err == nil && i >= 0 && !slices.ContainsFunc(all[i+1:], release) {
			return whole.String()
		}
	}
	if asset, ok := file.ReleaseAsset(); ok {
		return asset.String()
	}
	return file.String()
}
