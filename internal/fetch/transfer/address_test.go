package transfer

import (
	"net/netip"
	"testing"
)

func TestRefusePrivate(t *testing.T) {
	check := RefusePrivate()
	for _, tt := range []struct {
		ok    bool
		addrs []string
	}{
		{true, []string{
			"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
			"126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
			"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.17",
			"192.0.2.1", "198.51.100.1", "203.0.113.7", "2001:db8::1", // documentation
			"2606:4700::1111", "2a00::1", "2001:200::1", "2003::1",
			"::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1", "::ffff:0:1.1.1.1",
			"2606:4700::5efe:1.1.1.1", "2606:4700::200:5efe:1.1.1.1",
		}},
		{false, []string{
			"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
			"127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255",
			"192.0.0.1", "192.0.0.192", "192.168.1.1", "198.18.0.1", "198.19.255.255",
			"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
			"::", "::1", "::2", "::127.0.0.1", "::1.1.1.1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1",
			"fc00::1", "fd00:ec2::254", "fdff::1", "ff02::1", "100::1", "4000::1", "5f00::1",
			"2001::1", "2001:0:a9fe:a9fe::1", "2001:10::1", "2001:1ff::1",
			"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:100.64.0.1", "::ffff:7f00:1",
			"64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b:1::1.1.1.1",
			"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:c0a8:101::1", "2002:a00:1::1",
			"::ffff:0:127.0.0.1", "::ffff:0:10.1.1.1",
			"2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1", "2606:4700::5efe:169.254.169.254",
		}},
	} {
		for _, s := range tt.addrs {
			if err := check("host.example.com", netip.MustParseAddr(s)); (err == nil) != tt.ok {
				t.Errorf("%s: %v", s, err)
			}
		}
	}
	if check("host.example.com", netip.Addr{}) == nil {
		t.Error("no address is allowed")
	}
}

func TestRefusePrivateAllowHosts(t *testing.T) {
	check := RefusePrivate("NPM.internal.example.com", "other.example.com.")
	private := netip.MustParseAddr("10.1.2.3")
	for host, ok := range map[string]bool{
		"npm.internal.example.com":  true,
		"npm.Internal.example.com.": true,
		"other.example.com":         true,
		"x.other.example.com":       false,
		"internal.example.com":      false,
		"10.1.2.3":                  false,
		"":                          false,
	} {
		if err := check(host, private); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
}
