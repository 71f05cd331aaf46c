package transfer

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// RefusePrivate returns a check for [Route].AllowAddr that refuses every address
// that is not a public unicast one: private, shared (CGNAT), loopback,
// link-local, multicast, reserved, unspecified, those of cloud metadata services,
// and IPv6 forms that carry such an IPv4 address (mapped, translated, NAT64, 6to4,
// ISATAP). Ranges for documentation are not refused. Hosts that are named in
// allowHosts (without port, in any case) may have any address.
func RefusePrivate(allowHosts ...string) func(host string, addr netip.Addr) error {
	allowed := make([]string, len(allowHosts))
	for i, h := range allowHosts {
		allowed[i] = normalHost(h)
	}
	return func(host string, addr netip.Addr) error {
		if slices.Contains(allowed, normalHost(host)) || isPublic(addr) {
			return nil
		}
		return errNotPublic // without the address: our resolver may know names that are not public
	}
}

var errNotPublic = errors.New("that is not a public address")

// normalHost returns a host in lower case, without a dot at its end.
func normalHost(h string) string { return strings.ToLower(strings.TrimSuffix(h, ".")) }

// special4 are the IPv4 ranges that are not public unicast, of IANA's registry of
// special purposes, without those for documentation.
var special4 = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared, behind a carrier's NAT; one cloud's metadata
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // one cloud's platform service, public by number only
	"169.254.0.0/16",   // link-local; most clouds' metadata
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments; one cloud's metadata
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
)

var (
	global6   = netip.MustParsePrefix("2000::/3")        // all that is assigned for public IPv6 unicast
	special6  = netip.MustParsePrefix("2001::/23")       // within it: protocol assignments, Teredo among them
	nat64     = netip.MustParsePrefix("64:ff9b::/96")    // IPv4 in the last four bytes
	siit      = netip.MustParsePrefix("::ffff:0:0:0/96") // the same
	sixToFour = netip.MustParsePrefix("2002::/16")       // IPv4 in bytes 2 to 5
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// isPublic reports whether a is a public unicast address, and does not stand for an IPv4
// address that is none.
func isPublic(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if !a.IsValid() {
		return false
	}
	if a.Is4() {
		return !slices.ContainsFunc(special4, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	b := a.As16()
	v4 := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case nat64.Contains(a) || siit.Contains(a):
		return isPublic(v4(12))
	case sixToFour.Contains(a):
		return isPublic(v4(2))
	case !global6.Contains(a) || special6.Contains(a):
		return false
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return isPublic(v4(12))
	}
	return true
}
