package main

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/postgres"
)

// TestRows runs every benchmark once, at its smallest size: it fails nowhere and adds its rows. What they say is not
// looked at. Where a program of another project is missing the benchmark is skipped, but not under CI=true.
func TestRows(t *testing.T) {
	for _, b := range benchmarks {
		t.Run(b.names[0], func(t *testing.T) {
			t.Parallel()
			results := new(table)
			err := b.run(t.Context(), options{sizes: small(), rounds: 1, time: 10 * time.Millisecond}, results)
			missing := errors.Is(err, postgres.ErrMissing) || errors.Is(err, exec.ErrNotFound)
			if missing && os.Getenv("CI") != "true" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := len(results.rows) + len(results.sections); n < b.rows {
				t.Errorf("%d rows of %d:\n%s", n, b.rows, results)
			}
			for _, row := range results.rows {
				name, _, _ := strings.Cut(row[0], " ")
				if !slices.Contains(b.names, name) {
					t.Errorf("-only %s adds the row %q", b.names[0], row[0])
				}
			}
		})
	}
}
