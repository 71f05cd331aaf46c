package plugin

import (
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Members that are written every day in manifests beside which ours lies are none of ours misspelled.
func TestOrdinaryMembers(t *testing.T) {
	for _, c := range []struct{ from, members string }{
		{"plugins that others published", `id type build sdk metadata tags icon title runtime main category`},
		{"package.json", `bugs funding contributors files exports browser bin man directories scripts gypfile config
			devDependencies peerDependencies peerDependenciesMeta bundleDependencies bundledDependencies
			optionalDependencies overrides os cpu libc private publishConfig workspaces type types typings module
			sideEffects packageManager devEngines engineStrict licenses maintainers resolutions publisher imports main
			jsnext:main unpkg jsdelivr style sass babel jest eslintConfig prettier browserslist volta pnpm`},
		{"VS Code's", `publisher displayName categories galleryBanner preview main contributes activationEvents badges
			markdown qna sponsor extensionPack extensionDependencies extensionKind pricing l10n api
			enabledApiProposals icon browser vsce untrustedWorkspaces virtualWorkspaces`},
		{"a browser extension's", `action background chrome_settings_overrides chrome_url_overrides commands
			content_scripts content_security_policy cross_origin_embedder_policy cross_origin_opener_policy
			declarative_net_request default_locale devtools_page dictionaries externally_connectable
			file_browser_handlers file_system_provider_capabilities homepage_url host_permissions icons import incognito
			input_components key minimum_chrome_version oauth2 omnibox optional_host_permissions
			optional_permissions options_page options_ui requirements sandbox short_name side_panel storage
			tts_engine update_url version_name web_accessible_resources browser_action browser_specific_settings
			developer hidden offline_enabled page_action protocol_handlers sidebar_action theme theme_experiment
			user_scripts`},
		{"others'", `authors versions descriptions homepages internalDependencies list disk names game sentry session auth
			vision edition region features source sources server servers registry resources tools prompts
			$schema _comment schemaVersion mcpVersion namespace entries env args command transport remotes packages`},
	} {
		for _, name := range strings.Fields(c.members) {
			if meant := findMisspelled(name, memberNames()); meant != "" {
				t.Errorf("%s: %s is taken for %s", c.from, name, meant)
			}
			m, err := Parse([]byte(manifest(`"` + name + `":{"a":[1]}`)))
			if err != nil || !slices.ContainsFunc(m.Further, func(f Member) bool {
				return f.Path == "/"+name && string(f.Value) == `{"a":[1]}`
			}) {
				t.Errorf("%s: %s is not kept: %v", c.from, name, err)
			}
		}
	}
}

// A misspelled member of ours is named with the right one: what it says would be ignored.
func TestMisspelledMembers(t *testing.T) {
	for written, meant := range map[string]string{
		"Name": "name", "VERSION": "version", "ver\u017fion": "version", "Dist": "dist", "manifest_version": "manifestVersion",
		"manifest-version": "manifestVersion", "manifestversion": "manifestVersion", "manifesVersion": "manifestVersion",
		"permission": "permissions", "permisions": "permissions", "premissions": "permissions", "permisson": "permissions",
		"signature": "signatures", "singatures": "signatures", "externaldependencies": "externalDependencies",
		"external_dependencies": "externalDependencies", "externalDependency": "", "externalDependecies": "externalDependencies",
		"dependancies": "dependencies", "dependenciesPolcy": "dependenciesPolicy", "dependencies-policy": "dependenciesPolicy",
		"capabilites": "capabilities", "licence": "license", "licenses": "", "autor": "author", "engine": "engines",
		"hostRequirement": "hostRequirements", "x-hash-profil": "x-hash-profile", "x-hashProfile": "x-hash-profile",
		"x_hash_profile": "x-hash-profile", "hash-profile": "x-hash-profile", "X-Hash-Profile": "x-hash-profile",
		"x-hallmark-signature": "x-hallmark-signatures", "x-other": "", "verison": "version", "vresoin": "", "nmae": "",
		"name": "", "x-hash-profile": "", strings.Repeat("version", 100): "",
	} {
		if got := findMisspelled(written, memberNames()); got != meant {
			t.Errorf("%q is taken for %q, want %q", written, got, meant)
		}
		if written == "name" || written == "x-hash-profile" {
			continue
		}
		_, err := Parse([]byte(manifest(`"` + written + `":{"a":1}`)))
		if refused := err != nil && strings.Contains(err.Error(), "write "+meant); refused != (meant != "") {
			t.Errorf("%q: %v, want %q", written, err, meant)
		}
	}
	// of a closed object the right name is said too
	_, err := Parse([]byte(manifest(`"permissions":{"netwrok":true,"fsread":true,"root":true}`)))
	for _, want := range []string{`"netwrok"; write "network"`, `"fsread"; write "fsRead"`, `unknown member "root"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestLetterDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"version", "version", 0}, {"verison", "version", 1}, {"vrsion", "version", 1},
		{"versiion", "version", 1}, {"versoin", "version", 1}, {"session", "version", 2}, {"kitten", "sitting", 3}} {
		if got := spelling.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
