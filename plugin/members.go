package plugin

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// maxInteger is the largest integer that all readers of JSON hold exactly.
const maxInteger = 1<<53 - 1

// manifestForm is the form of a manifest: that of spec/plugin.schema.json, which a test
// compares it with.
var manifestForm = sync.OnceValue(func() form {
	check, _ := manifestTable()
	return check
})

// memberNames are the members of a manifest that mean something to us, in order.
var memberNames = sync.OnceValue(func() []string {
	_, names := manifestTable()
	return names
})

const (
	numberRE     = `(0|[1-9][0-9]*)`
	preReleaseRE = `(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)`
	versionRE    = `^` + numberRE + `\.` + numberRE + `\.` + numberRE +
		`(-` + preReleaseRE + `(\.` + preReleaseRE + `)*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`
	pluginNameRE = `^[a-z0-9_-]+$`
	npmNameRE    = `^(@[a-zA-Z0-9~_-][a-zA-Z0-9._~-]*/)?[a-zA-Z0-9~_-][a-zA-Z0-9._~-]*$`
	noPluginName = "is no name of a plugin: [a-z0-9-_]"
)

// manifestTable is the form of a manifest, and the names of the members at its top.
func manifestTable() (form, []string) {
	var (
		plugin  = text(0, 100, like(pluginNameRE, noPluginName))
		path    = text(1, 4096, clean)
		version = like(versionRE, "is no semantic version")
		exactly = like(versionRE, "is no exact version; ranges are refused")
		names   = unique(array(500, capability))
		few     = unique(array(5, text(1, 100)))
		hashes  = object(map[string]form{"alg!": text(1, 30), "value!": text(8, 200)})
		signed  = array(5, object(map[string]form{"alg!": text(2, 40), "signature!": text(16, 4096),
			"keyId": text(1, 200), "ts": text(0, 40)}))
	)
	members := map[string]form{
		"manifestVersion!": generation,
		"name!":            plugin,
		"version!":         text(0, 100, version),
		"entry!":           text(1, 4096, clean, like(`^dist/.*[^/]\.m?js$`, "is not a .js or .mjs file below dist/")),
		"description":      text(0, 300),
		"author":           text(0, 120),
		"license":          text(0, 50),
		"homepage":         text(0, 2048),
		"repository":       text(0, 200),
		"keywords":         unique(array(25, text(0, 30))),
		"capabilities":     object(map[string]form{"tools": names, "resources": names, "prompts": names}),
		"dependencies":     unique(array(50, plugin)),
		"permissions": object(map[string]form{"network": boolean, "fsRead": boolean, "fsWrite": boolean,
			"exec": boolean}),
		"externalDependencies": array(40, object(map[string]form{
			"name!": text(0, 214, like(npmNameRE, "is no name of an npm package")), "version!": text(0, 100, exactly),
			"integrity": text(1, 200), "integrities": array(5, hashes), "optional": boolean,
			"source": word("npm", "git", "url"), "registry": text(0, 2048),
		})),
		"dependenciesPolicy": word(string(BundledOnly), string(ExternalAllowed), string(ExternalAllowlist),
			string(SandboxRequired)),
		"signatures": signed,
		"sbom":       object(map[string]form{"path!": path, "format!": word("spdx-2.3")}),
		"engines":    namedMembers(20, text(0, 40)),
		"hostRequirements": object(map[string]form{"os": few, "cpuArch": few,
			"features": unique(array(20, text(1, 100)))}),

		"x-hash-profile":        word("guide", "od"),
		"x-hallmark-signatures": signed,
	}
	dist := distForm(path, hashes)
	// A dist that is missing or no object is a dist.hash that is missing.
	members["dist"] = func(p *problems, at string, v any) {
		if _, ok := v.(map[string]any); !ok {
			at = hashPath
		}
		dist(p, at, v)
	}
	top := make([]string, 0, len(members))
	for name := range members {
		top = append(top, strings.TrimSuffix(name, "!"))
	}
	slices.Sort(top)
	manifest := openObject(members)
	check := func(p *problems, at string, v any) {
		manifest(p, at, v)
		all, _ := v.(map[string]any)
		if _, there := all["dist"]; !there {
			p.add(hashPath, "is missing")
		}
	}
	return check, top
}

// distForm is the form of dist, of which path and hashes are forms of members.
func distForm(path, hashes form) form {
	return object(map[string]form{
		"hash!":     text(0, MaxManifest, like(`^sha256:[a-fA-F0-9]{64}$`, "is not sha256: and 64 hex digits")),
		"hashes":    array(6, hashes),
		"fileCount": whole(1, maxInteger), "totalBytes": whole(0, maxInteger),
		"coverage": word("all", "partial"),
		"checksums": object(map[string]form{"files": array(2000, object(map[string]form{
			"path!": path, "sha256!": text(0, MaxManifest, sum),
		}))}),
	})
}

// generation is the version of the format. A number is what most people write first.
func generation(p *problems, at string, v any) {
	switch {
	case v == "2":
	case v == json.Number("2"):
		p.add(at, `is the number 2; write it as a string: "manifestVersion": "2"`)
	default:
		p.add(at, `must be "2"`)
	}
}

// capability is an element of capabilities: a name, or an object that has one and says more.
func capability(p *problems, at string, v any) {
	name := text(1, 200)
	switch v.(type) {
	case string:
		name(p, at, v)
	case map[string]any:
		openObject(map[string]form{"name!": name})(p, at, v)
	default:
		p.add(at, "is %s, and must be a name, or an object with a name", typeOf(v))
	}
}

// sum is a hex SHA-256. There may be thousands, for which a pattern takes long.
func sum(p *problems, at string, v any) {
	s, ok := v.(string)
	if _, err := hex.DecodeString(s); ok && (err != nil || len(s) != 64) {
		p.add(at, "%+q is not 64 hex digits", clip(s))
	}
}
