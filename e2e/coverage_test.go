package e2e

import (
	"os"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/coverage"
)

// TestCoverage holds coverage.json against the requirements and the sources.
// That the named tests passed is checked by e2e/results, which sees the run.
func TestCoverage(t *testing.T) {
	f, err := os.Open("../spec/requirements.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ids, err := coverage.ReadRequirements(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("coverage.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := coverage.ReadMap(data)
	if err != nil {
		t.Fatal(err)
	}
	root := os.DirFS("..")
	for _, fault := range m.Check(ids, func(test coverage.Test) error { return coverage.Exists(root, test) }) {
		t.Error(fault)
	}
}
