package project

import (
	"strings"
	"testing"
	"time"
)

// TestMinAge: min_age is a whole number of hours, days or weeks, and nothing else.
func TestMinAge(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"36h": 36 * time.Hour, "3d": 3 * day, "2w": 14 * day, "3650d": 3650 * day,
		"": 0, "3": -1, "d": -1, "0d": -1, "-3d": -1, "3D": -1, "3 days": -1, "1.5d": -1, "3651d": -1, "99999w": -1,
		"+3d": -1, "P3D": -1, "３d": -1, "3m": -1,
	} {
		c, err := ParseConfig([]byte("manifest_version = 1\n[policy]\nmin_age = \"" + text + "\"\n"))
		switch {
		case want < 0 && (err == nil || !strings.Contains(err.Error(), "line 2: policy: min_age is") ||
			!strings.Contains(err.Error(), "such as \"3d\"")):
			t.Errorf("%q: %v", text, err)
		case want >= 0 && (err != nil || c.Policy.MinAge != want):
			t.Errorf("%q: %v, %v, want %v", text, c, err, want)
		}
	}
}

// TestAdvisories: advisories is a directory or the URL of one, and nothing else.
func TestAdvisories(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "osv": "", "./osv dumps": "", "/srv/osv": "", `C:\\osv`: "", "https:osv": "",
		"https://osv.example.com": "https://osv.example.com", "https://osv.example.com/a/": "https://osv.example.com/a",
		"http://127.0.0.1:8080/": "http://127.0.0.1:8080", "http://localhost": "http://localhost",
		"http://osv.example.com": "plain http", "https://": "is no URL", "https://osv.example.com/?a=b": "is no URL",
		"https://osv.example.com?": "is no URL", "https://osv.example.com/#a": "is no URL",
		"https://me:secret@osv.example.com": "user name", "https://me@osv.example.com": "user name",
		"file://srv/osv": "the scheme", "ssh://osv.example.com": "the scheme", `osv\u0000`: "control characters",
		`o\nsv`: "control characters", "://osv": "is no URL", strings.Repeat("o", 3000): "longer than",
	} {
		c, err := ParseConfig([]byte("manifest_version = 1\n[policy]\nadvisories = \"" + text + "\"\n"))
		if err != nil {
			if want == "" || !strings.Contains(err.Error(), "line 2: policy: advisories: "+want) &&
				!strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
		} else if got := c.Policy.AdvisoriesURL(); got != want {
			t.Errorf("%q is the URL %q, want %q", text, got, want)
		}
	}
}
