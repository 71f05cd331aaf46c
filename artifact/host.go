package artifact

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether a host, without port and brackets, is this machine for certain:
// its name is localhost, or it is an address that leads nowhere else. Only there plain http
// is as good as https.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Zone() == "" && addr.Unmap().IsLoopback()
}
