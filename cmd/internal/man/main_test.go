package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every program has its pages, and none tells of the machine on which they were made.
func TestPages(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dir := filepath.Join(t.TempDir(), "man1")
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"hallmark.1":                "hallmark-registry(1)",
		"hallmark-pin.1":            `--write-config`,
		"hallmark-registry-serve.1": `--blobs`,
		"mcp-publisher-publish.1":   `--no-hash`,
		"hashfile-mcp.1":            `--root`,
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(text), want) || !strings.Contains(string(text), "Nov 2023") {
			t.Errorf("%s has no %q, or another date:\n%.400s", name, want, text)
		}
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), home) || strings.Contains(string(text), cwd) {
			t.Errorf("%s names a directory of this machine", filepath.Base(page))
		}
	}
}
