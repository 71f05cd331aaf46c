package wire

import (
	"net/url"
	"testing"
)

func TestHostOf(t *testing.T) {
	for text, want := range map[string]string{
		"https://Registry.example.com/x":     "registry.example.com",
		"https://registry.example.com:443/":  "registry.example.com",
		"https://registry.example.com:8443/": "registry.example.com:8443",
		"http://127.0.0.1/":                  "127.0.0.1:80", "http://127.0.0.1:8080/": "127.0.0.1:8080",
		"ssh://git@git.example.com/kit.git":      "git.example.com:22",
		"ssh://git@git.example.com:2222/kit.git": "git.example.com:2222",
		"https://[::1]/":                         "[::1]", "http://[::1]/": "[::1]:80",
		"https://user:x@example.com/": "example.com",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := HostOf(u); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
