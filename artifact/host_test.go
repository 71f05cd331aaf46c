package artifact

import "testing"

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"::ffff:127.0.0.1": true,
		"":                 false, "localhost.": false, "localhost.example.com": false, "oci.example.com": false,
		"0.0.0.0": false, "::": false,
		"10.0.0.1": false, "128.0.0.1": false, "127.1": false, "0177.0.0.1": false, "::2": false, "::1%eth0": false,
		"[::1]": false, "127.0.0.1:80": false,
	} {
		if IsLoopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
