package foreign

import (
	"slices"
	"strings"
)

// projectNPMKeys are the keys that are read from the .npmrc of a checkout, besides those for a
// scope or a host: registries, proxies and certificates, timeouts and retries.
var projectNPMKeys = []string{
	"registry", "cafile", "ca", "proxy", "https-proxy", "noproxy", "replace-registry-host",
	"fetch-retries", "fetch-retry-factor", "fetch-retry-mintimeout", "fetch-retry-maxtimeout",
}

// userNPMKeys are the keys that are read from the user's own files and variables: the above, and
// those that decide how packages are reached and which versions are chosen. Keys that name
// programs, files to write or code to load are in neither list, and neither are keys that a later
// npm may add.
var userNPMKeys = slices.Concat(projectNPMKeys, []string{
	"cert", "key", "strict-ssl", "local-address", "maxsockets", "prefer-online", "before", "min-release-age",
	"min-release-age-exclude", "fetch-timeout", "legacy-peer-deps", "strict-peer-deps", "engine-strict",
})

// hostNPMKeys are the last parts of keys "//HOST/PATH/:NAME", the credentials for a host.
var hostNPMKeys = []string{"_authToken", "_auth", "username", "_password", "email", "certfile", "keyfile"}

// ProjectNPMKey reports whether a key is read from the .npmrc of a checkout.
func ProjectNPMKey(key string) bool {
	if _, name, ok := HostKey(key); ok {
		// A checkout must not choose which files of the user's are read.
		return name != "certfile" && name != "keyfile"
	}
	return isScopeKey(key) || slices.Contains(projectNPMKeys, key)
}

// UserNPMKey reports whether a key is read from the user's own configuration of npm.
func UserNPMKey(key string) bool {
	if _, _, ok := HostKey(key); ok {
		return true
	}
	return isScopeKey(key) || slices.Contains(userNPMKeys, key)
}

// isScopeKey reports whether key names the registry of a scope.
func isScopeKey(key string) bool {
	scope, ok := strings.CutSuffix(key, ":registry")
	return ok && len(scope) > 1 && scope[0] == '@' && !strings.ContainsAny(scope, "/: \t")
}

// HostKey splits a key "//HOST/PATH/:NAME" into the host, with its port and in lower case, and the
// name of a credential. ok is false for every other key.
func HostKey(key string) (host, name string, ok bool) {
	at := strings.LastIndex(key, ":")
	if !strings.HasPrefix(key, "//") || at < 0 || !slices.Contains(hostNPMKeys, key[at+1:]) {
		return "", "", false
	}
	host, _, _ = strings.Cut(key[2:at], "/")
	return strings.ToLower(host), key[at+1:], host != ""
}
