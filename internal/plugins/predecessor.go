package plugins

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
)

// predecessor holds all versions of a plugin that this machine accepted in a directory of plugins.
// They stay until a person forgets them, even if the files are gone.
type predecessor struct {
	dir      string
	accepted map[string]InstallRecord // by the name of the plugin's directory
}

// findPredecessor reads what this machine accepted of a plugin in dir.
func findPredecessor(h *host.Host, dir, name string) (predecessor, error) {
	installed, err := readAllInstalls(h, dir)
	maps.DeleteFunc(installed, func(_ string, p InstallRecord) bool { return p.Name != name })
	return predecessor{dir, installed}, err
}

// wasStrict reports whether the plugin was installed on this machine with --strict.
func (b predecessor) wasStrict() bool {
	return b.anyInstall(func(p InstallRecord) bool { return p.Strict })
}

// wasSigned reports whether a signature of the plugin was required on this machine.
func (b predecessor) wasSigned() bool {
	return b.anyInstall(func(p InstallRecord) bool { return p.Signed })
}

// anyInstall reports whether is holds for one of the installs.
func (b predecessor) anyInstall(is func(InstallRecord) bool) bool {
	for _, p := range b.accepted {
		if is(p) {
			return true
		}
	}
	return false
}

// forgetHint returns the hint how to make this machine forget the plugin in the directory name.
func (b predecessor) forgetHint(name string) string {
	return fmt.Sprintf("remove %s, if it is there, and run '%s'", filepath.ToSlash(filepath.Join(b.dir, name)),
		forgetCommand(b.dir, name))
}

// forgetCommand returns the command that forgets a plugin.
func forgetCommand(dir, name string) string {
	args := []string{"hallmark", "plugin", "forget", name}
	if dir != pluginsDir {
		args = append(args, "--dir", dir)
	}
	return host.QuoteArguments(args)
}

// pluginsDir is the default directory of plugins.
const pluginsDir = "plugins"

// pluginsLock is the lock file in a directory of plugins, which may belong to a checkout: an install
// waits for it at most pluginsWait. External packages are downloaded under the lock.
const (
	pluginsLock = ".hallmark.lock"
	pluginsWait = 5 * time.Minute
)

// signatureEvidence compares a plugin's signatures with those of the accepted versions. A missing
// signature of a key that a version required is a failure. One that was merely present is a
// warning, and a failure if strict.
func (b predecessor) signatureEvidence(r *plugin.Result, strict bool) (report evidence.Report) {
	var seen []string
	last := ""
	for _, name := range slices.Sorted(maps.Keys(b.accepted)) {
		p := b.accepted[name]
		if len(p.SignedBy) == 0 {
			continue
		}
		last, seen = name, append(seen, p.SignedBy...)
		if (p.Signed || p.Strict) && !isSignedBy(r, p.SignedBy) {
			report = append(report, b.missingSignature(name, r, evidence.Machine, "was required"))
		}
	}
	if last == "" || len(report) > 0 || isSignedBy(r, seen) {
		return report
	}
	if strict {
		return evidence.Report{b.missingSignature(last, r, evidence.Caller, "was there")}
	}
	weaker := evidence.Evidence{Claim: installClaim(filepath.Join(b.dir, last)), Outcome: evidence.Absent,
		Observed: evidence.Observed{Text: signersOf(r)}}
	weaker.Text = "signed by " + keyNames(seen)
	weaker.Reason = fmt.Sprintf(
		"the signature of %s that this machine accepted is not on %s: --strict or REQUIRE_SIGNATURES demands it", last,
		r.Manifest.Subject())
	return evidence.Report{weaker}
}

// missingSignature returns evidence that no key of the install in the directory name signed r.
func (b predecessor) missingSignature(name string, r *plugin.Result, by evidence.Authority,
	was string) evidence.Evidence {
	p, next := b.accepted[name], "ask its publisher for one that is signed; if it may be without, "
	if len(r.Signers) > 0 {
		next = "ask its publisher for one that is signed by both keys, or whether the new one is theirs; if it is, "
	}
	claim := evidence.Claim{Subject: r.Manifest.Subject(), Scheme: evidence.Signed, Authority: evidence.Machine,
		Text: "signed by " + keyNames(p.SignedBy), Where: "this machine's record of what it installed"}
	e := evidence.Miss(claim, by, fmt.Sprintf("a signature by %s %s when %s was accepted on %s", keyNames(p.SignedBy),
		was, name, p.At.Format("2006-01-02")),
		next+b.forgetHint(name))
	e.Observed.Text = signersOf(r)
	return e
}

// checkVersion compares a plugin that is about to be placed with an install of its name and version
// that is gone. They must be the same, because a version never changes.
func (b predecessor) checkVersion(r *plugin.Result) error {
	var report evidence.Report
	for _, name := range slices.Sorted(maps.Keys(b.accepted)) {
		p := b.accepted[name]
		if p.Version != r.Manifest.Version {
			continue
		}
		same := func(what string, want, got digest.Digest) {
			claim := installClaim(filepath.Join(b.dir, name))
			claim.Want = []digest.Digest{want}
			e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{got}, From: what})
			if e.Outcome != evidence.Match {
				e.Reason = fmt.Sprintf("on %s this machine accepted other bytes as %s, and a version never changes",
					p.At.Format("2006-01-02"), r.Manifest.Subject())
				e.Fix = "install it again from where it came from; if these are the bytes that you want, " +
					b.forgetHint(name)
			}
			report = append(report, e)
		}
		same(plugin.DistDir+"/", p.Tree, r.Tree)
		if !p.Manifest.IsZero() { // of a record of version 1
			same(plugin.ManifestFile, p.Manifest, r.ManifestHash())
		}
		if len(p.SignedBy) > 0 && !isSignedBy(r, p.SignedBy) {
			report = append(report, b.missingSignature(name, r, evidence.Machine, "was there"))
		}
	}
	return policy.Judge(policy.Plugin, policy.Settings{}, report).Err()
}

// isSignedBy reports whether a signature by one of the keys holds.
func isSignedBy(r *plugin.Result, keys []string) bool {
	return slices.ContainsFunc(r.Signers, func(s plugin.Signer) bool { return slices.Contains(keys, s.KeyID) })
}

// signerIDs returns the keys whose signatures hold, each once.
func signerIDs(r *plugin.Result) (ids []string) {
	for _, s := range r.Signers {
		ids = append(ids, s.KeyID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// signersOf names the keys whose signatures hold, for a person.
func signersOf(r *plugin.Result) string {
	if len(r.Signers) == 0 {
		return "signed by no trusted key"
	}
	return "signed by " + keyNames(signerIDs(r))
}

// keyNames names keys for a person.
func keyNames(ids []string) string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return strings.Join(ids, " or ")
}
