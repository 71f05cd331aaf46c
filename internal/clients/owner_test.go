package clients

import (
	"path/filepath"
	"testing"
)

// TestHolder: a client's directory is part of the project that holds it, however deep and in
// whatever case; the directory that is looked at is nobody's.
func TestHolder(t *testing.T) {
	root, err := filepath.Abs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		".":                           ".",
		"sub/tools":                   "sub/tools",
		".cursor":                     ".",
		".Cursor/deep/er":             ".",
		"sub/.vscode":                 "sub",
		"sub/.kiro/agents/.cursor":    "sub",
		".claude/skills/x":            ".",
		".claude/worktrees":           ".",
		".claude/worktrees/x":         ".claude/worktrees/x",
		".claude/worktrees/x/.codex":  ".claude/worktrees/x",
		"config":                      "config",
		"cursor":                      "cursor",
		".claude/worktrees/.cursor/y": ".claude/worktrees/.cursor/y", // the name of a checkout
	} {
		at := filepath.Join(root, filepath.FromSlash(dir))
		if got := OwnerDir(root, at); got != filepath.Join(root, filepath.FromSlash(want)) {
			t.Errorf("%s is held by %s", dir, got)
		}
	}
	inside := filepath.Join(root, ".cursor")
	if got := OwnerDir(inside, filepath.Join(inside, "sub")); got != filepath.Join(inside, "sub") {
		t.Errorf("what is looked at is held by %s", got)
	}
	if got := OwnerDir(filepath.Join(root, "other"), inside); got != root {
		t.Errorf("a file from elsewhere is held by %s", got)
	}
}
