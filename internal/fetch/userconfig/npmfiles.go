package userconfig

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// writeNPMRC returns the text of an .npmrc from which npm reads exactly these settings, and
// looks up no variable.
func writeNPMRC(settings map[string]string) string {
	var b strings.Builder
	for _, key := range sortedKeys(settings) {
		if strings.ContainsFunc(key, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
				strings.ContainsRune("@._~:/%[]-", r))
		}) {
			continue // no registry and no host has such characters
		}
		fmt.Fprintf(&b, "%s=%s\n", key, quoteNPM(settings[key]))
	}
	return b.String()
}

// Files returns the texts of the files that npm is to read in place of those of the user and
// of the checkout: the user's settings, and those that are taken of the checkout's. It is an
// error if a registry that npm may ask needs a variable that nobody agreed to send there.
func (n NPM) Files(hosts wire.Hosts) (user, checkout string, err error) {
	mine, theirs := map[string]string{}, maps.Clone(n.project.settings)
	if theirs == nil {
		theirs = map[string]string{}
	}
	for key, value := range n.user {
		if foreign.UserNPMKey(key) && !(isHostKey(key) && n.project.trust != "") {
			mine[key] = value
		}
	}
	var asked []string // hosts of registries
	for key, t := range n.project.templates {
		if isHostKey(key) {
			continue
		}
		if theirs[key], err = n.valueToSend(key); err != nil {
			return "", "", err
		}
		asked = append(asked, t.uses[0].Host)
	}
	for _, settings := range []map[string]string{mine, theirs} {
		named, err := registryHosts(settings)
		if err != nil {
			return "", "", err
		}
		asked = append(asked, named...)
	}
	if u, err := url.Parse(n.Value("registry")); err == nil {
		asked = append(asked, wire.HostPort(u))
	}
	if err := n.addCredentials(theirs, asked); err != nil {
		return "", "", err
	}
	if err := checkURLs(theirs, hosts); err != nil {
		return "", "", err
	}
	if n.project.settings["cafile"] != "" {
		theirs["cafile"] = n.cafile
	} else if mine["cafile"] != "" {
		mine["cafile"] = n.cafile
	}
	return writeNPMRC(mine), writeNPMRC(theirs), nil
}

// registryHosts returns the hosts of the registries in settings.
func registryHosts(settings map[string]string) (hosts []string, err error) {
	for key, value := range settings {
		if !isRegistryKey(key) || value == "" {
			continue
		}
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			// npm would warn, and tell another registry what may be a private name.
			return nil, &wire.Error{Ref: "npm", Cause: evidence.Malformed,
				Err: fmt.Errorf("%s of .npmrc is no URL of a registry", key)}
		}
		hosts = append(hosts, wire.HostPort(u))
	}
	return hosts, nil
}

// addCredentials adds the checkout's credentials for the hosts that npm may ask to settings.
func (n NPM) addCredentials(settings map[string]string, asked []string) error {
	for key, t := range n.project.templates {
		if !isHostKey(key) || !slices.Contains(asked, t.uses[0].Host) {
			continue // npm asks no such host
		}
		value, err := n.valueToSend(key)
		if err != nil {
			return err
		}
		if !strings.Contains(value, "${") { // a variable that is not set is no credential
			settings[key] = value
		}
	}
	return nil
}

// checkURLs returns an error if a registry or proxy of a checkout's settings may not be asked. It
// removes those that are no URLs.
func checkURLs(settings map[string]string, hosts wire.Hosts) error {
	for key, value := range settings {
		if !isRegistryKey(key) && !isProxyKey(key) || isProxyKey(key) && isNoProxy(value) {
			continue
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" {
			delete(settings, key) // npm might take it for another URL
			continue
		}
		if err := hosts.Check(u, wire.ByConfig); err != nil {
			return err
		}
	}
	return nil
}
