//go:build unix

package main

import (
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/script"
)

func TestScript(t *testing.T) { script.Run(t) }

// TestHintsLeadOn follows the commands that hints of scripts name, whatever room the scripts are in.
func TestHintsLeadOn(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scripts again")
	}
	script.FollowHints(t, script.Find(t, filepath.Join("..", "..")))
}
