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

// officialBundleHosts are the hosts of MCPB bundles that every registry takes.
var officialBundleHosts = []string{strings.TrimPrefix(model.RegistryURLGitHub, "https://"),
	strings.TrimPrefix(model.RegistryURLGitLab, "https://")}

// isOfficialBundle reports whether the official registry takes a bundle from a URL.
func isOfficialBundle(address string) bool {
	u, err := url.Parse(address)
	if err != nil || !strings.Contains(strings.ToLower(address), "mcp") {
		return false
	}
	host := strings.TrimPrefix(strings.ToLower(u.Host), "www.")
	if host == officialBundleHosts[0] {
		parts := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
		return len(parts) == 6 && parts[2] == "releases" && parts[3] == "download" && !slices.Contains(parts, "")
	}
	_, file, ok := strings.Cut(u.Path, "/-/")
	return host == officialBundleHosts[1] && ok && (strings.HasPrefix(file, "releases/") &&
		strings.Contains(file, "/downloads/") ||
		strings.HasPrefix(file, "package_files/") && strings.HasSuffix(file, "/download"))
}

// OfficialIssues returns warnings of what is valid here and what the official registry refuses at /validate or
// /publish, as docs/registry-compat.json lists it, and of what its client drops.
func (d *Document) OfficialIssues() Issues {
	v := &validation{}
	if d.underscored {
		v.warn("/$schema", "official-spelling", "%s refuses the spelling of the schema of %s", officialRegistry,
			schemaDate(d.Schema))
	}
	for _, path := range d.beyond {
		if path == "/file_hashes" {
			if slices.ContainsFunc(d.FileHashes, func(h FileHash) bool {
				return strings.HasPrefix(h.Pointer, metaPointer)
			}) {
				continue
			}
			v.add(SeverityInfo, path, "official-hashes", "%s refuses this member, and its client drops it; what "+
				"hash-gen writes with --write --meta is kept by both", officialRegistry)
			continue
		}
		v.warn(path, "official-member", "%s refuses this member, which its schema does not have", officialRegistry)
	}
	v.warnOfRange("/version", d.Version)
	for _, p := range d.Packages {
		if p.Pointer != locationPointer {
			v.warnOfRange(p.Pointer+"/version", p.Version)
		}
		if usual := registries[p.RegistryType]; usual != "" && p.RegistryBaseURL != "" && p.RegistryBaseURL != usual {
			v.warn(p.Pointer+"/registryBaseUrl", "official-base-url", "%s takes packages of type %s from %s alone, "+
				"spelled so", officialRegistry,
				p.RegistryType, usual)
		}
		if p.RegistryType == model.RegistryTypeMCPB && !isOfficialBundle(p.Identifier) {
			v.warn(p.Pointer+"/identifier", "official-bundle-host", "%s takes bundles that are files of releases at "+
				"%s alone, with mcp in their URL",
				officialRegistry, strings.Join(officialBundleHosts, " or "))
		}
		known := variablesBeside(p)
		for _, m := range placeholder().FindAllStringSubmatch(p.Transport.URL, -1) {
			if _, declared := p.Transport.Variables[m[1]]; declared && !known[m[1]] {
				v.warn(p.Pointer+"/transport/url", "official-variable", "%s knows variables of arguments and of the "+
					"environment in the URL of a package, and refuses %+q", officialRegistry, clip(m[0]))
			}
		}
	}
	return sortIssues(v.issues)
}

// officialRange matches, besides what is a range here, what the official registry takes for one: a wildcard or an x
// anywhere, also in the word of a pre-release, and a hyphen with white space before it alone.
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
