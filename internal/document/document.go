// Package document works on a publisher's server.json: it reads one, hashes and verifies the
// files that it names, and writes the first one of a project ([Init]).
//
// A document may name at most [MaxFiles] files; the fetch client's limits may be lower.
package document

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Parse reads a server.json. It reports all problems of the document as one validation error.
func Parse(name string, data []byte) (*serverjson.Document, error) {
	doc, err := serverjson.Parse(data)
	if err != nil {
		return nil, InvalidError(name, err)
	}
	return doc, nil
}

// InvalidError returns the validation error of a document, with one line for each problem.
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
		Subject: name, Kind: evidence.Validation, Hint: RemakeHint(name, invalid.Issues),
		Err: errors.New(evidence.Count(len(invalid.Issues.Errors()), "problem")), Detail: lines.String(),
	}
}

// RemakeHint is the command that makes hashes anew which are not those of the document's packages; "" if none of issues
// is about such, or name is no file.
func RemakeHint(name string, issues serverjson.Issues) string {
	if _, err := os.Stat(name); err != nil || !slices.ContainsFunc(issues, func(i serverjson.Issue) bool {
		return i.Reference == "hash-key-stranger" || i.Reference == "hashes-disagree" || i.Reference == "hash-malformed"
	}) {
		return ""
	}
	return "'" + host.QuoteArguments([]string{"hallmark", "hash-gen", "--write", name}) + "' makes the hashes anew"
}

// Verify fetches the packages of a document, compares their bytes with every claim of the document
// and of the package registries, and reports the packages without any claim.
func Verify(ctx context.Context, h *host.Host, doc *serverjson.Document, where string,
	s policy.Settings) (policy.Verdict, error) {
	doc.AtRegistries(h.Fetch.AsksAt)
	if err := doc.Validate().Err(); err != nil {
		return policy.Verdict{}, InvalidError(where, err)
	}
	_, report, err := Observe(ctx, h, doc, where, true)
	if err != nil {
		return policy.Verdict{}, err
	}
	return policy.Judge(policy.Verify, s, report), nil
}

// OpenError returns the error of opening a file that the user named. A missing file is a
// mistake of the caller (class Validation), anything else a failure of this machine.
func OpenError(name string, err error) error {
	kind := evidence.Operation
	if errors.Is(err, os.ErrNotExist) {
		kind = evidence.Validation
	}
	return evidence.Errorf(kind, name, "", errors.Unwrap(err))
}
