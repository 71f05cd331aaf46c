package document

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// maxIdentity bounds what is read of a package file to learn what it is, in bytes.
const maxIdentity = 4 << 20

// LocalFiles returns the files on this machine by what they are of doc, which is in the file where: by what each says
// of itself, or by as for a single one. A directory stands for all files in it, as Python's dist. Without a document
// any package counts.
func LocalFiles(doc *serverjson.Document, where string, paths []string, as string) (map[artifact.Ref]string, error) {
	files, err := listLocal(paths)
	if err != nil {
		return nil, err
	}
	if as != "" && len(files) != 1 {
		return nil, evidence.Errorf(evidence.Validation, "--as", "", errors.New("says what one file is, and there are "+
			evidence.Count(len(files), "file")))
	}
	found, taken := map[artifact.Ref]string{}, map[artifact.Ref]string{}
	for _, file := range files {
		ref, err := localRef(doc, where, file, as)
		if err != nil {
			return nil, err
		}
		if own, err := fetch.Identify(file, maxIdentity); as != "" && err == nil && own.Normal() != ref.Normal() &&
			own.Release() != ref.Normal() {
			return nil, evidence.Errorf(evidence.Validation, file, "leave out --as, or name the file of that package",
				fmt.Errorf("says itself that it is %s, and not %s", own, ref))
		}
		if other := taken[ref.Normal()]; other != "" {
			return nil, evidence.Errorf(evidence.Validation, file, "name one of the two",
				fmt.Errorf("is %s, as %s is", ref, other))
		}
		found[ref], taken[ref.Normal()] = file, file
	}
	return found, nil
}

// listLocal returns the files that paths name, with those in directories. A pipe is none: it can be read once, and may
// never end.
func listLocal(paths []string) (files []string, err error) {
	for _, p := range paths {
		if info, err := os.Stat(p); err != nil || !info.IsDir() {
			files = append(files, p)
			continue
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return nil, OpenError(p, err)
		}
		before := len(files)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(p, e.Name()))
			}
		}
		if len(files) == before {
			return nil, evidence.Errorf(evidence.Validation, p, "build the package first, or name its file",
				errors.New("holds no file"))
		}
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return nil, OpenError(file, err)
		}
		if !info.Mode().IsRegular() {
			return nil, evidence.Errorf(evidence.Validation, file, "write it into a file first",
				errors.New("is not a regular file"))
		}
	}
	return files, nil
}

// localRef returns what a file is.
func localRef(doc *serverjson.Document, where, file, as string) (artifact.Ref, error) {
	fail := func(hint string, err error) (artifact.Ref, error) {
		return artifact.Ref{}, evidence.Errorf(evidence.Validation, file, hint, err)
	}
	const sayAs = "say what it is: --as npm:name@1.2.3, or another key of file_hashes, such as the URL of a bundle"
	var ref artifact.Ref
	var err error
	if as != "" {
		if ref, err = artifact.Parse(as); err != nil {
			return artifact.Ref{}, evidence.Errorf(evidence.Validation, "--as", "", err)
		}
	} else if ref, err = fetch.Identify(file, maxIdentity); err != nil {
		bundles := bundlesOf(doc, filepath.Base(file))
		if bad := fetch.CheckBundle(file); len(bundles) != 1 || bad != nil {
			hint := sayAs
			if all := bundlesOf(doc, ""); bad == nil && len(all) > 0 {
				err = errors.New("the address of no bundle, or of several, ends with its name")
				hint = "say which one it is: --as " + joinRefs(all, " or --as ")
			}
			return fail(hint, fmt.Errorf("does not say which package it is: %w", err))
		}
		ref = bundles[0]
	}
	if doc == nil || doc.Covers(ref) {
		return ref, nil
	}
	var has []artifact.Ref
	for _, p := range doc.Packages {
		if r, err := p.Ref(); err == nil {
			has = append(has, r)
		}
	}
	return fail("give the file of one of these, or change the document",
		fmt.Errorf("is %s, and no package of %s; its packages: %s", ref, where, cmp.Or(joinRefs(has, ", "), "none")))
}

func joinRefs(refs []artifact.Ref, between string) string {
	var texts []string
	for _, r := range refs {
		texts = append(texts, host.QuoteArguments([]string{r.String()}))
	}
	return strings.Join(texts, between)
}

// bundlesOf returns the packages of doc that are found by a URL with that file name, which is any if it is "".
func bundlesOf(doc *serverjson.Document, name string) (named []artifact.Ref) {
	if doc == nil {
		return nil
	}
	for _, p := range doc.Packages {
		ref, err := p.Ref()
		if err != nil || ref.Kind() != artifact.HTTPS && ref.Kind() != artifact.GitHub {
			continue
		}
		if name == "" || path.Base(ref.URL()) == name || ref.Filename() == name {
			named = append(named, ref)
		}
	}
	return named
}

// HashLocal hashes files on this machine, as [LocalFiles] returns them for no document.
func HashLocal(ctx context.Context, h *host.Host, files map[artifact.Ref]string) ([]serverjson.FileHash, error) {
	var all []*Subject
	for ref := range files {
		all = append(all, &Subject{Ref: ref})
	}
	slices.SortFunc(all, func(a, b *Subject) int { return strings.Compare(a.Ref.String(), b.Ref.String()) })
	client := h.Fetch.WithFiles(files)
	var hashes []serverjson.FileHash
	for _, s := range all {
		d, err := client.Fetch(ctx, s.Ref)
		if err != nil {
			return nil, evidence.Errorf(evidence.Operation, files[s.Ref], "", err)
		}
		hashes = append(hashes, serverjson.FileHash{Key: KeyOf(s.Ref, all), Ref: s.Ref,
			Value: d.Observed.SHA256().String()})
	}
	return hashes, nil
}

// VerifyFile compares one file on this machine with what doc claims of it. Nothing is fetched.
func VerifyFile(ctx context.Context, h *host.Host, doc *serverjson.Document, where, file,
	as string) (policy.Verdict, error) {
	doc.AtRegistries(h.Fetch.AsksAt)
	if err := doc.Validate().Err(); err != nil {
		return policy.Verdict{}, InvalidError(where, err)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return policy.Verdict{}, evidence.Errorf(evidence.Validation, file, "name one file in it",
			errors.New("is a directory"))
	}
	if _, err := listLocal([]string{file}); err != nil {
		return policy.Verdict{}, err
	}
	ref, err := localRef(doc, where, file, as)
	if err != nil {
		return policy.Verdict{}, err
	}
	files := map[artifact.Ref]string{ref.Normal(): file}
	claimed, report, err := Subjects(h.Fetch, doc, where, false)
	if err != nil {
		return policy.Verdict{}, err
	}
	var keys []string
	about := slices.DeleteFunc(claimed, func(s *Subject) bool {
		if s.Ref.Normal() == ref.Normal() || s.Ref.Filename() == "" && s.Ref.Release() == ref.Release() {
			s.Of = nil // for whom the package is, is not asked here
			return false
		}
		keys = append(keys, s.Ref.String())
		return true
	})
	if len(about) == 0 {
		err = fmt.Errorf("claims no hash of %s, which %s is", ref, filepath.ToSlash(file))
		if len(keys) > 0 {
			err = fmt.Errorf("%w; it has hashes of %s", err, strings.Join(keys, ", "))
		}
		return policy.Verdict{}, evidence.Errorf(evidence.Validation, where, "its author adds it with 'hallmark "+
			"hash-gen --write'", err)
	}
	report = slices.DeleteFunc(report, func(e evidence.Evidence) bool {
		return !slices.ContainsFunc(about, func(s *Subject) bool { return SameRef(e.Subject, s.Ref) })
	})
	more, err := ObserveAll(ctx, h.Fetch.WithFiles(files), about, nil)
	if err != nil {
		return policy.Verdict{}, evidence.Errorf(evidence.Operation, file, "", err)
	}
	// which was not asked
	more = slices.DeleteFunc(more, func(e evidence.Evidence) bool { return e.Authority == evidence.Registry })
	return policy.Judge(policy.Verify, policy.Settings{}, append(report, more...)), nil
}
