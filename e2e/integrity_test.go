package e2e

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// Wherever a person is told of hashes, they are told what these do not show; and nobody
// is told elsewhere that something is authentic.
func TestIntegrityNotAuthenticity(t *testing.T) {
	const said = "integrity, not authenticity"
	hallmark := world.Build(t, "hallmark")
	texts := map[string]string{}
	for _, command := range []string{"hash-gen", "verify"} {
		out, err := exec.Command(hallmark, command, "--help").CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		texts[command+" --help"] = string(out)
	}
	registry := world.StartRegistry(t, "--data", t.TempDir(), "--allow-anonymous")
	for _, page := range []string{"/", "/docs", "/openapi.yaml"} {
		status, body := world.Get(t, registry.URL+page)
		if status != 200 {
			t.Fatalf("%s: %d", page, status)
		}
		texts[page] = string(body)
	}
	for _, page := range []string{"README.md", "SECURITY.md", "docs/registry.md"} {
		texts[page] = read(t, page)
	}
	space, word := regexp.MustCompile(`\s+`), regexp.MustCompile(`(?i)\bauthentic(ity|ally)?\b`)
	for name, text := range texts {
		text = space.ReplaceAllString(text, " ")
		if !strings.Contains(strings.ToLower(text), said) {
			t.Errorf("%s does not say that hashes show %s", name, said)
		}
		for _, at := range word.FindAllStringIndex(text, -1) {
			if before := text[max(0, at[0]-len("integrity, not ")):at[1]]; !strings.EqualFold(before, said) {
				t.Errorf("%s speaks of what hashes do not show: …%s…", name,
					text[max(0, at[0]-60):min(len(text), at[1]+60)])
			}
		}
	}
}
