package plugin

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/nodecore"
)

// globalEvidence warns of globals whose permission is not declared. Much code asks for one by typeof and does
// without it, or calls it only where a browser is, and a host refuses it when it is called: unlike a module it is no
// reason to refuse a plugin, but under --strict.
func (c *check) globalEvidence(u *usage, at func(site, string) evidence.Claim) {
	for _, name := range slices.Sorted(maps.Keys(u.globals)) {
		all, need := u.globals[name], nodecore.NeedOfGlobal(name)
		if c.m.Permissions.has(need) {
			continue
		}
		e := evidence.CannotVerify(at(all[0], ManifestFile+", permissions"), evidence.Computed,
			"whether it calls this global is known only when it runs; the permission "+need+" is not declared"+all.others())
		e.Observed.Text, e.Fix = name, spellPermission(need)
		c.add(e)
	}
}
