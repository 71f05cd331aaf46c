package main

import (
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
)

// needsReading are the kinds of which a refusal may leave it to the model to read again: the
// lines that it shows need not be those that are meant.
var needsReading = map[string]bool{
	"wrong line number": true,
	"stale file":        true,
}

// TestEdits makes mistakes of models on our server: it never edits what was not meant if it
// can know, and what it refuses can be said right at the next try.
func TestEdits(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	program := filepath.Join(dir, "server.exe") // a name that every system starts
	if err := built.Write(program, "cmd/hashfile-mcp"); err != nil {
		t.Fatal(err)
	}
	m, err := newTaskMaker(2, false)
	if err != nil {
		t.Fatal(err)
	}
	tasks := m.tasks(200)
	ours := editors{dir: dir, ours: program}.on(root)[0]
	counts, err := runTasks(t.Context(), ours, tasks)
	if err != nil {
		t.Fatal(err)
	}
	for kind, c := range counts {
		wrong, reread := c.of[wrongEdit], c.of[rightReread]
		switch {
		case unknowable(kind):
			continue
		case relocates(kind) && c.reported < wrong:
			t.Errorf("%s: %d of %d edits of another line do not say so", kind, wrong-c.reported, wrong)
		case !relocates(kind) && wrong > 0:
			t.Errorf("%s: %d of %d edits are wrong", kind, wrong, c.sum())
		case c.of[refusedOnly] > 0:
			t.Errorf("%s: %d of %d are refused to the end", kind, c.of[refusedOnly], c.sum())
		case reread > 0 && !needsReading[kind] && !relocates(kind):
			t.Errorf("%s: %d of %d refusals are not enough for a second try", kind, reread, c.sum())
		}
	}
	t.Log("\n" + editTable(tasks, map[string]map[string]*outcomes{oursName: counts}))
}
