package machine

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

func FuzzReceipt(f *testing.F) {
	f.Add([]byte(`{"receipt_version":1,"project":"/p","facets":{"a":{"version":"1.0.0","assets":[{"scope":"project","target":"dir:x","type":"skill","name":"n","files":["x/y"]}]}}}`))
	f.Add([]byte(`{"materialized_version":1,"project":"/p","files":{"x/y":"` + fuzzDigest + `"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		receipt := func(data []byte) (*Receipt, error) { return ParseReceipt(data, "/p") }
		r, err := receipt(data)
		again(t, r, err, receipt)
		files := func(data []byte) (*Materialized, error) { return ParseMaterialized(data, "/p") }
		m, err := files(data)
		again(t, m, err, files)
	})
}

func FuzzLogs(f *testing.F) {
	f.Add([]byte(`{"logs_version":1,"registries":{"r.example.com":{"key":"k","since":"2026-01-31T12:00:00Z"}},"checkpoints":{"k":"note"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLogs(data)
		again(t, l, err, ParseLogs)
	})
}

func FuzzDrift(f *testing.F) {
	f.Add([]byte(`{"drift_version":1,"server":"a","at":"2026-01-31T12:00:00Z","items":{"tool/a":{"reason":"new","want":"","got":"` + fuzzDigest + `"}},"surface":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ParseDrift(data)
		again(t, n, err, ParseDrift)
	})
}
