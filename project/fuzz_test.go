package project

import (
	"bytes"
	"testing"
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

func FuzzApprovals(f *testing.F) {
	f.Add([]byte(`{"approvals_version":1,"project":"/p","servers":{"a":{"entry":"` + fuzzDigest + `","path":"/bin","at":"2026-01-31T12:00:00Z"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		parse := func(data []byte) (*Approvals, error) { return ParseApprovals(data, "/p") }
		a, err := parse(data)
		again(t, a, err, parse)
	})
}

func FuzzClosure(f *testing.F) {
	f.Add([]byte(`{"name":"hallmark-closure","lockfileVersion":3,"packages":{"":{"dependencies":{"a":"1.0.0"}},"node_modules/a":{"version":"1.0.0","resolved":"https://npm.example.com/a.tgz","integrity":"sha512-AAAA"}}}`))
	f.Add([]byte(`lock-version = "1.0"
[[packages]]
name = "a"
version = "1.0"
wheels = [{url = "https://pypi.example.com/a-1.0-py3-none-any.whl", hashes = {sha256 = "0000000000000000000000000000000000000000000000000000000000000000"}}]
`))
	f.Add([]byte(`{"version":"1","install":[{"download_info":{"url":"https://pypi.example.com/a-1.0-py3-none-any.whl","archive_info":{"hashes":{"sha256":"0000000000000000000000000000000000000000000000000000000000000000"}}},"metadata":{"name":"a","version":"1.0"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseClosure(data)
		again(t, c, err, ParseClosure)
		c, err = ParsePackageLock(data)
		again(t, c, err, ParseClosure)
		if c, err = ParseDependencies(data); err == nil {
			if _, err := c.Encode(); err != nil {
				t.Fatal(err)
			}
		}
		c, err = ParsePylock(data, "a")
		again(t, c, err, ParseClosure)
		c, err = ParsePipReport(data, "a", "linux/amd64+cp311")
		again(t, c, err, ParseClosure)
	})
}
