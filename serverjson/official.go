package serverjson

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/registry/pkg/model"
)

// officialRegistry is how warnings name it.
const officialRegistry = "the official registry (schema of " + model.CurrentSchemaVersion + ")"

// officialBundleHosts are those of MCPB bundles that every registry takes.
var officialBundleHosts = []string{strings.TrimPrefix(model.RegistryURLGitHub, "https://"),
	strings.TrimPrefix(model.RegistryURLGitLab, "https://")}

// OfficialIssues returns warnings of what is valid here and what the official registry refuses at /validate or /publish, as
// docs/registry-compat.json lists it, and of what its client drops.
func (d *Document) OfficialIssues() Issues {
	v := &validation{}
	if d.underscored {
		v.warn("/$schema", "official-spelling", "%s refuses the spelling of the schema of %s", officialRegistry, schemaDate(d.Schema))
	}
	for _, path := range d.beyond {
		if path == "/file_hashes" {
			if slices.ContainsFunc(d.FileHashes, func(h FileHash) bool { return strings.HasPrefix(h.Pointer, metaPointer) }) {
				continue
			}
			v.add(SeverityInfo, path, "official-hashes", "%s refuses this member, and its client drops it; what hash-gen writes "+
				"with --write --meta is kept by both", officialRegistry)
			continue
		}
		v.warn(path, "official-member", "%s refuses this member, which its schema does not have", officialRegistry)
	}
	v.warnOfRange("/version", d.Version)
	for _, p := range d.Packages {
		if p.Pointer != locationPointer {
			v.warnOfRange(p.Pointer+"/version", p.Version)
		}
		if u, err := url.Parse(p.Identifier); p.RegistryType == model.RegistryTypeMCPB && err == nil && u.Host != "" &&
			!slices.Contains(officialBundleHosts, strings.TrimPrefix(strings.ToLower(u.Host), "www.")) {
			v.warn(p.Pointer+"/identifier", "official-bundle-host", "%s takes bundles from %s alone", officialRegistry,
				strings.Join(officialBundleHosts, " and "))
		}
		known := variablesBeside(p)
		for _, m := range placeholder().FindAllStringSubmatch(p.Transport.URL, -1) {
			if _, declared := p.Transport.Variables[m[1]]; declared && !known[m[1]] {
				v.warn(p.Pointer+"/transport/url", "official-variable", "%s knows variables of arguments and of the environment in the URL of a "+
					"package, and refuses %+q", officialRegistry, clip(m[0]))
			}
		}
	}
	return sortIssues(v.issues)
}

// officialRange matches, besides what is a range here, what the official registry takes for one: a wildcard or an x anywhere, also
// in the word of a pre-release, and a hyphen with white space before it alone.
var officialRange = sync.OnceValue(func() *regexp.Regexp {
	const wild = `(?:v?\d+|[xX*])(?:\.(?:\d+|[xX*])){1,2}(?:-[0-9A-Za-z.-]+)?`
	return regexp.MustCompile(`^(?:` + wild + `|` + oneVersion + `\s-\s*` + oneVersion + `)$`)
})

// warnOfRange warns of an exact version that the official registry takes for a range.
func (v *validation) warnOfRange(path, version string) {
	if s := strings.TrimSpace(version); officialRange().MatchString(s) && strings.ContainsAny(s, "xX* ") {
		v.warn(path, "official-range", "%s takes %+q for a range, and refuses it", officialRegistry, clip(version))
	}
}
