package plugins

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Found is what was found of an installed plugin, beside what a check of it finds.
type Found struct {
	Files  digest.Digest // hallmark-tree-v1 of all that belongs to the plugin
	Packed digest.Digest // of the zip that 'plugin pack' makes of it; zero: not made
	Hashed []tree.File   // the files that dist.hash covers
}

// restoreInstallLock says how a lock that lacks something is made whole.
const restoreInstallLock = "install the plugin again from where it came from; " +
	"or, if what is there is what you want, 'hallmark plugin lock' writes the lock anew"

// Claims are what the lock says of the plugin's dist/ and manifest. What of it the lock owes
// and lacks is evidence: see [Lock.Evidence].
func (l *InstallLock) Claims() ([]evidence.Claim, error) {
	var out []evidence.Claim
	for _, c := range []struct {
		scheme  evidence.Scheme
		member  string
		text    string
		subject string
	}{
		{evidence.Dist, "distHash", l.DistHash, l.Subject()},
		{evidence.Tree, "treeHash", l.Tree, l.Subject()},
		{evidence.File, "manifestHash", l.Manifest, plugin.ManifestFile},
	} {
		claim, ok, err := l.claim(c.scheme, c.member, c.text)
		if err != nil {
			return nil, err
		}
		if claim.Subject = c.subject; ok {
			out = append(out, claim)
		}
	}
	return out, nil
}

// claim is what a member of the lock says; ok is false if that is nothing.
func (l *InstallLock) claim(scheme evidence.Scheme, member, text string) (c evidence.Claim, ok bool, err error) {
	c = evidence.Claim{
		Subject: l.Subject(), Scheme: scheme, Authority: evidence.Lock, Where: plugin.LockFile + ", " + member,
	}
	if text == "" {
		return c, false, nil
	}
	want, err := digest.Parse(text)
	if err != nil {
		return c, false, fmt.Errorf("%s: %s: %w", plugin.LockFile, member, err)
	}
	c.Want = []digest.Digest{want}
	return c, true, nil
}

// Evidence compares all else that the lock says with what was found, and names what it owes
// and lacks. Remembered is set where this machine knows the lock, member for member.
func (l *InstallLock) Evidence(r *plugin.Result, found Found, remembered bool) (evidence.Report, error) {
	report := l.missingMembers()
	claim := func(scheme evidence.Scheme, member string) evidence.Claim {
		c, _, _ := l.claim(scheme, member, "")
		return c
	}
	files, ok, err := l.claim(evidence.Installed, "filesHash", l.Files)
	if err != nil {
		return nil, err
	}
	if ok {
		report = append(report, evidence.Compare(files,
			evidence.Observed{Digests: []digest.Digest{found.Files}, From: "the plugin's directory"}))
	}
	for _, c := range []struct {
		member         string
		claimed, found int64
	}{{"fileCount", l.FileCount, int64(len(found.Hashed))}, {"totalBytes", l.TotalBytes, sumSizes(found.Hashed)}} {
		if l.has(c.member) {
			cl := claim(evidence.Extent, c.member)
			cl.Text = evidence.Group(c.claimed)
			report = append(report, evidence.Fact(cl, evidence.Group(c.found)))
		}
	}
	zip, err := l.zip(claim(evidence.File, "sha256"), found.Packed, remembered)
	if err != nil {
		return nil, err
	}
	if l.Format == 0 && l.DistHash == "" && l.Tree == "" && l.SHA256 == "" {
		report = append(report, evidence.Miss(claim(evidence.Tree, "treeHash"), evidence.Lock,
			"nothing else in the lock says what the plugin's code is", restoreInstallLock))
	}
	return append(append(report, zip...), l.signature(claim(evidence.Signed, "signature"), r)...), nil
}

// zip compares the digest of the zip, which is not kept, with the zip that packing gives. Where another program packed
// it, this machine has to remember the lock; what a lock of another form says of it is then not proved, see
// [Lock.Unproved].
func (l *InstallLock) zip(claim evidence.Claim, packed digest.Digest, remembered bool) (evidence.Report, error) {
	if l.SHA256 == "" {
		return nil, nil
	}
	want, err := digest.ParseHex(digest.SHA256, l.SHA256)
	if err != nil {
		return nil, fmt.Errorf("%s: sha256: %w", plugin.LockFile, err)
	}
	claim.Subject += ": zip"
	claim.Want = []digest.Digest{want}
	e := evidence.Compare(claim,
		evidence.Observed{Digests: []digest.Digest{packed}, From: "the zip that 'plugin pack' makes"})
	switch {
	case e.Outcome == evidence.Match:
		return evidence.Report{e}, nil
	case remembered, l.Format == 0: // compared with the lock as a whole; or not proved
		return nil, nil
	}
	return evidence.Report{evidence.Miss(claim, evidence.Machine,
		"packing the plugin gives another zip, and this machine did not install it: "+
			"nothing says whether this is the digest of the zip that it came in", restoreInstallLock)}, nil
}

// signature compares the signature that the lock records with those that hold, by keys that
// are trusted now.
func (l *InstallLock) signature(claim evidence.Claim, r *plugin.Result) evidence.Report {
	if l.Signature == "" && l.SignerKeyID == "" {
		return nil
	}
	claim.Text = shortSignature(l.SignerKeyID, l.Signature)
	e := evidence.Evidence{
		Claim: claim, Outcome: evidence.Mismatch, Reason: "no such signature by a key that is trusted now holds",
	}
	for _, s := range r.Signers {
		if (s.Signature == l.Signature || l.Signature == "") && (s.KeyID == l.SignerKeyID || l.SignerKeyID == "") {
			e.Outcome, e.Reason, e.Observed.Text = evidence.Match, "", claim.Text
			break
		}
		e.Observed.Text = shortSignature(s.KeyID, s.Signature)
	}
	// Other programs record a signature no matter who made it; what that is worth is evidence of
	// its own.
	same := func(s plugin.Signature) bool { return s.Signature == l.Signature }
	if l.Format == 0 && l.SignerKeyID == "" && slices.ContainsFunc(r.Manifest.Signatures, same) {
		e.Outcome, e.Reason, e.Observed.Text = evidence.Match, "", claim.Text
	}
	return evidence.Report{e}
}

// shortSignature names a signature for a person.
func shortSignature(key, signature string) string {
	key = cmp.Or(key, "a key that is not named")
	return fmt.Sprintf("%s… by %s", signature[:min(16, len(signature))], key)
}

// guideMembers are members that the guide's form has and that some hosts leave out.
var guideMembers = []string{"fileCount", "totalBytes", "policy"}

// maxNamed is how many members of another program's lock are named.
const maxNamed = 20

// Unproved says what of a lock of another form than ours is compared with nothing, so that nobody takes
// the lock for proof of it; "" if all of it is compared. Packed is the digest of the zip that packing gives,
// zero if this machine remembers the lock as a whole.
func (l *InstallLock) Unproved(packed digest.Digest) string {
	if l.Format != 0 {
		return ""
	}
	var parts, names []string
	if want, err := digest.ParseHex(digest.SHA256, l.SHA256); err == nil && !packed.IsZero() &&
		want.String() != packed.String() {
		parts = append(parts, "sha256 is of a zip that another program packed and that is not here: that the plugin "+
			"is what was in that zip is not proved")
	}
	for _, member := range []string{"sourceUrl", "installedAt"} {
		if l.has(member) {
			names = append(names, member)
		}
	}
	for _, member := range l.further {
		switch member {
		case "signatureVerified":
			parts = append(parts, "signatureVerified is the word of whoever wrote the lock: signatures are "+
				"verified anew")
		case "strictCapabilities", "requireSignature":
			// demands, which hold
		default:
			names = append(names, nameMember(member))
		}
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	if len(names) > 0 {
		parts = append(parts, "compared with nothing: "+strings.Join(names, ", "))
	}
	var lacks []string
	for _, member := range []string{"sourceUrl", "sha256", "treeHash", "manifestHash", "filesHash",
		"signature", "policy"} {
		if !l.has(member) {
			lacks = append(lacks, member)
		}
	}
	if len(lacks) > 0 {
		parts = append(parts, "it does not have "+strings.Join(lacks, ", "))
	}
	return strings.Join(parts, "; ")
}

// nameMember names a member of another program's lock for a person.
func nameMember(name string) string {
	const most = 40
	if len(name) > most || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' }) {
		return fmt.Sprintf("%+.*q", most, name)
	}
	return name
}

// missingMembers names the members that the lock owes and does not have. Which those are its
// version says, and with it what it was installed from.
func (l *InstallLock) missingMembers() evidence.Report {
	var out evidence.Report
	owed := func(scheme evidence.Scheme, member, why string) {
		if l.has(member) {
			return
		}
		claim, _, _ := l.claim(scheme, member, "")
		claim.Subject += ": " + member
		out = append(out, evidence.Miss(claim, evidence.Lock, why, restoreInstallLock))
	}
	const always = "each lock of its version has this member"
	owed(evidence.Document, "installedAt", always)
	if !l.hostForm() {
		for _, member := range guideMembers {
			owed(evidence.Document, member, always)
		}
	}
	if l.Format == 0 {
		if l.Files != "" || l.From != "" {
			owed(evidence.Document, "installLockVersion", "it has members that came with a version")
		}
		return out
	}
	for _, member := range []string{"from", "distHash", "manifestHash", "filesHash"} {
		owed(evidence.Document, member, always)
	}
	owed(evidence.Tree, "treeHash", always)
	_, flags := installMembers()
	for _, flag := range flags {
		if l.has("policy") {
			owed(evidence.Document, "policy."+flag, always)
		}
	}
	if l.From == FromZip {
		owed(evidence.Document, "sha256", "it was installed from a zip")
	}
	if l.From == FromZip || l.From == FromDirectory {
		owed(evidence.Document, "sourceUrl", "it was installed from somewhere")
	}
	if l.Policy.RequireSignatures || l.Signature != "" || l.SignerKeyID != "" {
		owed(evidence.Document, "signature", "the lock says that it is signed")
		owed(evidence.Document, "signerKeyId", "the lock says that it is signed")
	}
	return out
}
