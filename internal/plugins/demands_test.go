package plugins

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// What another program's lock demands holds; what cannot be read as a demand is refused, and never passed over.
func TestDemands(t *testing.T) {
	lock := func(more string) string {
		return `{"name": "a", "version": "1.0.0", "installedAt": "2025-09-09T12:00:00Z", "lockVersion": 1` + more + `}`
	}
	for text, want := range map[string][2]bool{
		"": {}, `, "requireSignature": true`: {true, false}, `, "strictCapabilities": true`: {false, true},
		`, "requireSignature": false, "strictCapabilities": null`: {},
	} {
		l, err := ParseInstallLock([]byte(lock(text)))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := l.Limits(); got.RequireSignatures != want[0] || got.StrictCapabilities != want[1] {
			t.Errorf("%s: %+v", text, got)
		}
		if why := l.Unproved(digest.Digest{}); strings.Contains(why, "requireSignature") || !strings.Contains(why, "lockVersion") {
			t.Errorf("%s: %s", text, why)
		}
	}
	for _, name := range []string{"requireSignature", "strictCapabilities"} {
		for _, value := range []string{`"true"`, "1", "[true]", "{}", `""`} {
			if _, err := ParseInstallLock([]byte(lock(`, "` + name + `": ` + value))); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %s: %v", name, value, err)
			}
		}
	}
}

// A lock of a host program may lack what the guide's has. Nothing else makes a lock one of these.
func TestHostForm(t *testing.T) {
	for more, owed := range map[string]bool{
		`"lockVersion": 1`: false, `"signatureVerified": true`: false, `"other": 1`: true,
		`"policy": {"lockVersion": 1}`: true, `"LockVersion": 1`: true,
	} {
		l, err := ParseInstallLock([]byte(`{"name": "a", "version": "1.0.0", "installedAt": "2025-09-09T12:00:00Z", ` + more + `}`))
		if err != nil {
			t.Fatal(more, err)
		}
		got := false
		for _, e := range l.missingMembers() {
			got = got || strings.Contains(e.Where+e.Reason+e.Subject, "fileCount")
		}
		if got != owed {
			t.Errorf("%s: fileCount is owed: %v", more, got)
		}
	}
}
