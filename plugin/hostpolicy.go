package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// flagEvidence states whether the host sets a flag that the plugin needs, and why it does.
func (c *check) flagEvidence(name string, on bool, why string) {
	claim := c.claim(evidence.Permission, name)
	claim.Authority = evidence.Caller
	e := evidence.Evidence{Claim: claim, Outcome: evidence.Absent, Reason: why + "; the host does not set " + name}
	if on {
		e.Outcome, e.Observed.Text, e.Reason = evidence.Match, name, ""
	}
	c.add(e)
}

// hostEvidence states which rights the plugin needs of its host, and which of its
// external packages the host allows.
func (c *check) hostEvidence(u *usage) {
	native := slices.Sorted(maps.Keys(u.native))
	for _, f := range c.b.Files {
		if strings.HasSuffix(strings.ToLower(f.Path), ".node") {
			native = append(native, DistDir+"/"+f.Path)
		}
	}
	if len(native) > 0 {
		why := fmt.Sprintf("there are native addons (%s)", clip(native[len(native)-1]))
		c.flagEvidence("PLUGIN_ALLOW_NATIVE", c.host.Flags.AllowNative, why)
		c.flagEvidence("SANDBOX_AVAILABLE", c.host.Flags.SandboxAvailable, why)
	}
	if c.m.Policy == SandboxRequired {
		c.flagEvidence("SANDBOX_AVAILABLE", c.host.Flags.SandboxAvailable, "the plugin's policy is "+
			string(SandboxRequired))
	}
	if c.m.Policy == BundledOnly {
		return // no flag permits what the plugin's own policy forbids
	}
	if c.m.countExternals()+c.neededExternals(u) > 0 {
		c.flagEvidence("PLUGIN_ALLOW_RUNTIME_DEPS", c.host.Flags.AllowRuntimeDeps, "there are external packages")
	}
	if c.m.Policy == "" {
		return // a problem of the manifest's form: nobody knows what is to be compared
	}
	for _, e := range c.m.Externals {
		if e.Version == "" {
			continue // another one
		}
		c.allowlistEvidence(e)
		c.integrityEvidence(e)
	}
}

// allowlistEvidence looks a declared package up in the host's allowlist. It is a failure if the policy
// needs one and there is none.
func (c *check) allowlistEvidence(e External) {
	claim := evidence.Claim{Subject: e.Subject(), Scheme: evidence.Allowlist, Authority: evidence.Caller,
		Where: c.host.AllowlistName}
	found := evidence.Evidence{Claim: claim, Outcome: evidence.Match, Observed: evidence.Observed{Text: e.Name}}
	switch list, needed := c.host.Allowlist, c.m.Policy != ExternalAllowed; {
	case list == nil && needed:
		found = evidence.CannotVerify(claim, evidence.NotFound, "policy "+string(c.m.Policy)+
			" needs an allowlist, and there is none")
	case list == nil:
		found.Outcome, found.Observed.Text, found.Reason = evidence.Absent, "", "there is no allowlist"
	case list.Allows(e.Name, e.Version):
	case needed:
		found.Outcome, found.Text, found.Reason = evidence.Mismatch, "a package of the allowlist",
			"policy "+string(c.m.Policy)+": "+list.lacks(e.Name)
	default:
		found.Outcome, found.Reason = evidence.Absent, list.lacks(e.Name)
	}
	c.add(found)
}

// countExternals is how many external packages are declared at an exact version. The others are a problem of the
// manifest's form, and nothing more follows from them.
func (m *Manifest) countExternals() (n int) {
	for _, e := range m.Externals {
		if e.Version != "" {
			n++
		}
	}
	return n
}

// modulesDir is where external packages are installed beside a plugin, as a Bundle names it.
const modulesDir = "node_modules/"

// ExternalClaim is the claim of another source about an external package: of a package-lock.json beside
// the plugin, or of the package's registry.
type ExternalClaim struct {
	Name, Version string
	Integrity     string // subresource integrity; may be empty
	From          string // who says so
}

// integrityEvidence compares the integrity that the manifest claims of an external package with the
// claims of others about the one that is installed.
func (c *check) integrityEvidence(e External) {
	claim := evidence.Claim{Subject: e.Subject(), Scheme: evidence.File, Authority: evidence.Publisher,
		Where: ManifestFile + ", externalDependencies"}
	claims := c.claimedIntegrity(e, claim)
	vouched := false
	for _, v := range c.host.ExternalClaims {
		if v.Name != e.Name {
			continue
		}
		vouched = true
		if v.Version != e.Version {
			other := claim
			other.Text = "version " + e.Version
			c.add(evidence.Evidence{Claim: other, Outcome: evidence.Mismatch, Rule: "another version is installed",
				Observed: evidence.Observed{Text: "version " + v.Version, From: v.From}})
			continue
		}
		said, err := digest.ParseSRI(v.Integrity)
		for _, cl := range claims {
			if err != nil {
				c.add(evidence.CannotVerify(cl, evidence.Unsupported, v.From+" says no integrity of the package"))
				continue
			}
			c.add(evidence.Compare(cl, evidence.Observed{Digests: said, From: v.From}))
		}
	}
	if e.Optional && !c.b.HasModule(e.Name) {
		vouched = true // there is nothing to vouch for
	}
	if c.host.Flags.StrictIntegrity && !vouched && slices.Contains(c.b.Beside, modulesDir) {
		owed := claim
		owed.Where = "STRICT_INTEGRITY"
		c.add(evidence.Miss(owed, evidence.Caller, modulesDir+" is there, and nothing says what is installed in it",
			"put the package-lock.json of "+modulesDir+" beside the plugin, or remove "+modulesDir))
	}
}

// claimedIntegrity is what the manifest claims of the bytes of an external package. A claim that cannot be read, and
// that there is none, is evidence.
func (c *check) claimedIntegrity(e External, claim evidence.Claim) (claims []evidence.Claim) {
	texts := e.Claimed()
	for _, text := range texts {
		cl := claim
		cl.Text = text
		want, err := digest.ParseSRI(text)
		if err != nil {
			c.add(evidence.CannotVerify(cl, evidence.Malformed, err.Error()))
			continue
		}
		cl.Want = want
		claims = append(claims, cl)
	}
	if len(texts) == 0 {
		none := evidence.Compare(claim, evidence.Observed{})
		none.Reason = "the manifest claims no integrity of the package"
		c.add(none)
	}
	return claims
}

// neededExternals counts the packages that the code imports, without those that it does without and that are
// neither declared nor there: a host refuses to load them.
func (c *check) neededExternals(u *usage) (n int) {
	for name, all := range u.external {
		if !all.optional() || c.b.HasModule(name) || slices.ContainsFunc(c.m.Externals, func(e External) bool {
			return e.Name == name
		}) {
			n++
		}
	}
	return n
}
