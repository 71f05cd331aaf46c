package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes a checkout with these documents.
func repository(t *testing.T, documents map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range documents {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestSite(t *testing.T) {
	root := repository(t, map[string]string{
		"README.md": "# Hallmark\n\n[a](docs/a.md#two-words), [code](go.mod), [out](https://example.com/x.md)\n",
		"docs/a.md": "# Page A & B\n\n[home](../README.md) [here](#two-words)\n\n## Two `words`\n\n## Two words\n\n" +
			"[second](#two-words-1)\n",
		"docs/start/README.md": "# Start\n\n[a](../a.md)\n",
		"docs/start/b.md":      "# B\n\n[all](README.md)\n",
		"go.mod":               "module x\n",
	})
	if err := write(root, "out"); err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"index.html": {
			`<a href="docs/a.html#two-words">a</a>`, `<a href="` + source + `go.mod">code</a>`, `href="https://example.com/x.md"`,
			`<a href="docs/a.html">Page A &amp; B</a>`, `<a href="index.html" aria-current="page">Hallmark</a>`,
		},
		"docs/a.html":           {`<a href="../index.html">home</a>`, `<h2 id="two-words">`, `<h2 id="two-words-1">`},
		"docs/start/index.html": {`<a href="../a.html">a</a>`, `<a href="b.html">B</a>`},
		"docs/start/b.html":     {`<a href="index.html">all</a>`},
	} {
		text, err := os.ReadFile(filepath.Join(root, "out", name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not have %s", name, want)
			}
		}
	}
}

func TestDeadLinks(t *testing.T) {
	for link, want := range map[string]string{
		"docs/none.md": "no such file", "none.go": "no such file", "docs/a.md#none": "no such heading", "#none": "no such heading",
	} {
		root := repository(t, map[string]string{"README.md": "# R\n\n[x](" + link + ")\n", "docs/a.md": "# A\n"})
		err := write(root, "out")
		if err == nil || !strings.Contains(err.Error(), "README.md: "+link+": "+want) {
			t.Errorf("%s: %v", link, err)
		}
		if _, err := os.Stat(filepath.Join(root, "out")); err == nil {
			t.Errorf("%s: a site was written", link)
		}
	}
}

// Every link of our own documents leads somewhere.
func TestOwnSite(t *testing.T) {
	if err := write(filepath.Join("..", ".."), filepath.Join("bin", "site-test")); err != nil {
		t.Error(err)
	}
	os.RemoveAll(filepath.Join("..", "..", "bin", "site-test"))
}
