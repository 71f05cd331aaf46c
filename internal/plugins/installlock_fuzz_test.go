package plugins

import (
	"bytes"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// again demands that what was read is written, and read from that as the same.
func again[T interface{ Encode() ([]byte, error) }](t *testing.T, read T, err error, parse func([]byte) (T, error)) {
	t.Helper()
	if err != nil {
		return
	}
	first, err := read.Encode()
	if err != nil {
		t.Fatal(err)
	}
	second, err := parse(first)
	if err != nil {
		t.Fatalf("what was written is not read: %v\n%s", err, first)
	}
	if text, err := second.Encode(); err != nil || !bytes.Equal(text, first) {
		t.Fatalf("written again it differs: %v\n%s\n%s", err, first, text)
	}
}

const fuzzDigest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

func FuzzInstallLock(f *testing.F) {
	f.Add([]byte(`{"name":"a","version":"1.0.0","installedAt":"2026-01-31T12:00:00Z","fileCount":1,"totalBytes":2,"policy":{}}`))
	f.Add([]byte(`{"installLockVersion":2,"name":"a","version":"1.0.0","from":"zip","sourceUrl":"https://example.com/a.zip","sha256":"` + fuzzDigest[len("sha256:"):] + `","distHash":"` + fuzzDigest +
		`","treeHash":"` + fuzzDigest + `","manifestHash":"` + fuzzDigest + `","filesHash":"` + fuzzDigest + `","installedAt":"2026-01-31T12:00:00Z","signature":"AAAA","signerKeyId":"k","fileCount":1,"totalBytes":2,` +
		`"policy":{"PLUGIN_ALLOW_RUNTIME_DEPS":false,"PLUGIN_ALLOW_NATIVE":false,"REQUIRE_SIGNATURES":true,"STRICT_CAPABILITIES":false,"STRICT_TOOLS":false,"STRICT_INTEGRITY":false,"SANDBOX_AVAILABLE":false}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseInstallLock(data)
		again(t, l, err, ParseInstallLock)
	})
}

func FuzzInstalls(f *testing.F) {
	in, err := ParseInstalls(nil, "/p")
	if err != nil {
		f.Fatal(err)
	}
	in.Plugins["a@1.0.0"] = InstallRecord{Name: "a", Version: "1.0.0", Lock: digest.FromBytes(nil), Tree: digest.FromBytes(nil)}
	data, err := in.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		installs := func(data []byte) (*Installs, error) { return ParseInstalls(data, "/p") }
		in, err := installs(data)
		again(t, in, err, installs)
	})
}
