package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Audit reads and hashes the slot for want, which the caller has from the lock.
//
// The report holds first the tree as the lock claims it and then the tree as the
// sidecar claims it. If either does not match, one piece of evidence follows for each file that
// differs from the sidecar's list: changed, missing, added, or not a regular file; at most
// 20, and then their number. Their subject is "subject: path".
//
// The slot is nil unless all of the report matches. The error is [ErrNotStored] if
// there is no slot. Any other error means that the audit could not be done; what is wrong with
// a slot is in the report.
func (s *Store) Audit(ctx context.Context, subject string, want digest.Digest) (*Slot, evidence.Report, error) {
	return s.AuditClaim(ctx, evidence.Claim{
		Subject: subject, Want: []digest.Digest{want}, Authority: evidence.Lock, Where: "hallmark.lock",
	})
}

// AuditClaim is [Store.Audit] for a caller that has the fingerprint from another authority than the
// lock. The claim must have one digest; its scheme is set to that of the store.
func (s *Store) AuditClaim(ctx context.Context, claim evidence.Claim) (*Slot, evidence.Report, error) {
	if len(claim.Want) != 1 {
		return nil, nil, errors.New("store: an audit needs one digest")
	}
	claim.Scheme = s.scheme
	return s.audit(ctx, claim, false)
}

// audit is AuditClaim for a claim with its scheme. full decodes the whole sidecar even if nothing differs.
func (s *Store) audit(ctx context.Context, claim evidence.Claim, full bool) (*Slot, evidence.Report, error) {
	at, err := address(claim.Want[0])
	if err != nil {
		return nil, nil, err
	}
	r, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%+q: %s: %w", claim.Subject, claim.Want[0], ErrNotStored)
	}
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	a := &audit{store: s, claim: claim, dir: filepath.Join(s.root, at), full: full}
	if err := a.run(ctx, r, at); err != nil {
		return nil, nil, err
	}
	if a.isBad() {
		return nil, a.report, nil
	}
	return a.sidecar.slot(a.found, a.files, a.dir), a.report, nil
}

// audit is one run of Audit.
type audit struct {
	store      *Store
	claim      evidence.Claim // of the tree
	dir        string         // of the slot, absolute
	sidecar    *sidecar       // nil if it is missing or bad
	files      int            // in the content
	found      treeSums       // of the content
	full       bool           // decode all of the sidecar even if nothing differs
	executable *string        // result of executableFile; nil until it was called
	report     evidence.Report
}

// isBad reports whether something does not match, so that the slot must not be used.
func (a *audit) isBad() bool {
	return a.report.Count(evidence.Match) < len(a.report) || a.sidecar == nil
}

// run opens the slot at address at, and reports what is wrong with it.
func (a *audit) run(ctx context.Context, r *os.Root, at string) error {
	slot, err := a.openSlot(r, at)
	if slot == nil || err != nil {
		return err
	}
	defer slot.Close()
	found, err := a.inspectSlot(slot)
	if err != nil {
		a.reportUnreadable(err)
		return nil
	}
	switch {
	case a.sidecar == nil || a.sidecar.fingerprint() == a.claim.Scheme:
	case a.full: // Verify knows the scheme of a slot from its sidecar only
		a.claim.Scheme = a.sidecar.fingerprint()
	default:
		found = append(found, a.unexpectedEntry(filepath.Join(a.dir, sidecarName), sidecarName,
			"is of another fingerprint, "+
				string(a.sidecar.fingerprint())))
	}
	content, err := openDir(slot, contentDir)
	var notDir *notDirError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.reportNoTree("there is no content")
		a.report = append(a.report, found...)
		return nil
	case errors.As(err, &notDir):
		a.reportNoTree("content is " + notDir.kind)
		a.report = append(a.report, found...)
		return nil
	case err != nil:
		a.reportUnreadable(err)
		return nil
	}
	defer content.Close()
	return a.inspectContent(ctx, content, found)
}

// openSlot opens the directory of the slot at address at, one element of the path after the other, so
// that no link is followed. It returns nil if it reported why the slot cannot be opened.
func (a *audit) openSlot(r *os.Root, at string) (*os.Root, error) {
	slot := r
	for i, name := range strings.Split(filepath.ToSlash(at), "/") {
		sub, err := openDir(slot, name)
		if i > 0 {
			slot.Close()
		}
		var notDir *notDirError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%+q: %s: %w", a.claim.Subject, a.claim.Want[0], ErrNotStored)
		case errors.As(err, &notDir):
			a.reportNoTree("the slot's directory is " + notDir.kind)
			return nil, nil
		case err != nil:
			a.reportUnreadable(err)
			return nil, nil
		}
		slot = sub
	}
	return slot, nil
}

// inspectSlot reports every entry beside the content that is no part of a slot, and reads the sidecar.
func (a *audit) inspectSlot(slot *os.Root) (found evidence.Report, err error) {
	entries, err := fs.ReadDir(slot.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if name := entry.Name(); name != contentDir && name != sidecarName {
			found = append(found, a.unexpectedEntry(filepath.Join(a.dir, name), name, "not part of a slot"))
		}
	}
	for _, name := range []string{".", contentDir, sidecarName} {
		info, err := slot.Lstat(name)
		if err != nil {
			continue // the step that needs it reports the error
		}
		if odd, ok := tree.SpecialMode(name, info.Mode()); ok {
			found = append(found, a.unexpectedEntry(filepath.Join(a.dir, name), name, "is "+odd.Kind))
		}
	}
	data, wrong, err := readSidecar(slot)
	if err != nil {
		return nil, err
	}
	if wrong == "" {
		if a.sidecar, err = parseSidecar(data); err != nil {
			wrong = err.Error()
		}
	}
	if wrong != "" {
		found = append(found, a.unexpectedEntry(filepath.Join(a.dir, sidecarName), sidecarName, wrong))
	}
	return found, nil
}

// readSidecar returns the sidecar's bytes, or in wrong what is wrong with the file. An error means that it
// could not be read.
func readSidecar(slot *os.Root) (data []byte, wrong string, err error) {
	info, err := slot.Lstat(sidecarName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "missing", nil
	case err != nil:
		return nil, "", err
	case !info.Mode().IsRegular():
		return nil, "is " + tree.Kind(info.Mode()), nil
	case info.Size() > maxSidecar:
		return nil, fmt.Sprintf("has more than %s bytes", evidence.Group(maxSidecar)), nil
	}
	f, err := slot.Open(sidecarName)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, "was replaced while it was read", err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxSidecar+1))
	if err == nil && len(data) > maxSidecar {
		return nil, "grew while it was read", nil
	}
	return data, "", err
}

// inspectContent hashes the files and completes the report with found, what inspectSlot reported.
func (a *audit) inspectContent(ctx context.Context, content *os.Root, found evidence.Report) error {
	open, done := durable.Opener(content)
	defer done()
	in, err := tree.Inspect(content.FS(), a.store.limits)
	files, refused := in.Files, in.Refused
	switch {
	case errors.Is(err, tree.ErrTooLarge):
		a.reportNoTree(err.Error())
		a.report = append(a.report, found...)
		return nil
	case err != nil:
		a.reportUnreadable(err)
		a.report = append(a.report, found...)
		return nil
	case len(refused) > 0:
		a.reportNoTree("no tree: " + refused[0].Error())
	default:
		a.found, err = measureTree(ctx, a.claim.Scheme, files, open)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			a.reportUnreadable(err)
			break
		}
		a.reportTree(evidence.Observed{Digests: []digest.Digest{a.found.tree}, Size: a.found.size,
			From: filepath.Join(a.dir, contentDir)})
	}
	a.files = len(files)
	if len(found)+len(in.Unhashed) == 0 && !a.isBad() && !a.full && a.matchesSidecar(files, open) {
		return nil
	}
	differing, err := a.compareFiles(ctx, in, open)
	if err != nil {
		return err
	}
	a.report = append(a.report, shorten(a.claim.Subject, append(found, differing...))...)
	return nil
}

// matchesSidecar reports whether the sidecar is exactly the one that the files call for: with a
// complete head, and a list of these files and the digests that were computed of them. A tree that
// was hashed as one stream has no digests of files; [Store.Verify] compares those. Under facet-tar
// no file but a server's program may be executable.
func (a *audit) matchesSidecar(files []tree.File, open tree.Open) bool {
	for _, f := range files {
		if f.Exec && a.claim.Scheme == evidence.FacetTar && f.Path != a.executableFile(open) {
			return false
		}
	}
	return a.sidecar.listsExactly(files, a.found.files)
}

// sidecarClaim is the sidecar's claim about the tree.
func (a *audit) sidecarClaim() evidence.Claim {
	c := evidence.Claim{Subject: a.claim.Subject, Scheme: a.claim.Scheme, Authority: evidence.Sidecar,
		Where: sidecarName}
	if a.sidecar != nil {
		c.Want = []digest.Digest{a.sidecar.Integrity}
	}
	return c
}

// reportTree compares the observed tree with the claim and with the sidecar.
func (a *audit) reportTree(o evidence.Observed) {
	a.report = append(a.report, evidence.Compare(a.claim, o))
	if a.sidecar != nil {
		a.report = append(a.report, evidence.Compare(a.sidecarClaim(), o))
	}
}

// reportNoTree reports a mismatch for content that is no tree; what says why.
func (a *audit) reportNoTree(what string) {
	a.report = append(a.report, mismatch(a.claim, what, filepath.Join(a.dir, contentDir)))
	if a.sidecar != nil {
		a.report = append(a.report, mismatch(a.sidecarClaim(), what, filepath.Join(a.dir, contentDir)))
	}
}

// reportUnreadable reports that the tree could not be computed, because of err.
func (a *audit) reportUnreadable(err error) {
	a.report = append(a.report, evidence.CannotVerify(a.claim, evidence.Unreadable, err.Error()))
}

// unexpectedEntry is a mismatch: the entry at path, relative to the slot or content, is what no slot has there.
func (a *audit) unexpectedEntry(from, path, what string) evidence.Evidence {
	return mismatch(evidence.Claim{
		Subject: a.claim.Subject + ": " + path, Scheme: evidence.File,
		Authority: evidence.Sidecar, Where: sidecarName,
	}, what, from)
}

// mismatch is the evidence that something without a digest, described by what, does not match c.
func mismatch(c evidence.Claim, what, from string) evidence.Evidence {
	e := evidence.Fact(c, what)
	e.Observed.From = from
	return e
}
