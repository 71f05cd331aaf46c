package wire

import (
	"net/url"
	"strings"
)

// HostOf returns the host that a URL names, in lower case, with the port unless that is 443. For
// another scheme than https it always has the port.
func HostOf(u *url.URL) string {
	usual := map[string]string{"http": "80", "ssh": "22"}[u.Scheme]
	if usual == "" || u.Port() != "" {
		return HostPort(u)
	}
	return strings.TrimSuffix(strings.ToLower(u.Host), ":") + ":" + usual
}

// HostOfText is HostOf for text, "" if it is no URL with a host.
func HostOfText(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return ""
	}
	return HostOf(u)
}

// HostPort returns the host in lower case, with the port unless that is 443, whatever the scheme.
func HostPort(u *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(u.Host), ":443")
}

// SameHost reports whether two URLs name one host and port.
func SameHost(a, b *url.URL) bool { return HostPort(a) == HostPort(b) }
