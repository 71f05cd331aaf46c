package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// exactName is the column of ours without relocation.
const exactName = "ours, --exact-anchors"

// benchEdits makes the mistakes of models on real files, on ours and on its peers, and counts
// what becomes of the edits.
func benchEdits(ctx context.Context, o options, t *table) error {
	dir, err := temporary("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	e, err := installEditors(ctx, dir, o)
	if err != nil {
		return err
	}
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		return err
	}
	m, err := newTaskMaker(1, true)
	if err != nil {
		return err
	}
	tasks := m.tasks(o.tasks)
	counts := map[string]map[string]*outcomes{}
	servers := e.on(root)
	exact := *servers[0]
	exact.name, exact.argv = exactName, append(slices.Clone(exact.argv), "--exact-anchors")
	for _, s := range append(servers, &exact) {
		if counts[s.name], err = runTasks(ctx, s, tasks); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "bench: %d edits by %s\n", len(tasks), s.name)
	}
	t.section("Edits with mistakes of models", editTable(tasks, counts))
	return nil
}

// outcome is what became of a task.
type outcome int

// The outcomes, from the best to the worst.
const (
	rightAtOnce  outcome = iota
	rightSecond          // by the refusal alone
	rightReread          // after reading again
	refusedRight         // nothing was left to edit
	refusedOnly          // and no try helped
	wrongEdit            // the file became something else
	outcomeCount
)

// outcomes counts the tasks of a kind.
type outcomes struct {
	of       [outcomeCount]int
	reported int // wrong ones whose answer said what was done
}

// runTasks has a server do all tasks.
func runTasks(ctx context.Context, e *editor, tasks []task) (map[string]*outcomes, error) {
	if err := e.start(ctx); err != nil {
		return nil, err
	}
	defer e.stop()
	counts := map[string]*outcomes{}
	for i, t := range tasks {
		o, said, err := t.run(e, filepath.Join(e.root, fmt.Sprintf("file%d.go", i)))
		if err != nil {
			return nil, fmt.Errorf("task %d (%s) on %s: %w", i, t.kind, e.name, err)
		}
		c := counts[t.kind]
		if c == nil {
			c = &outcomes{}
			counts[t.kind] = c
		}
		c.of[o]++
		if o == wrongEdit && e.tools.anchors() && tellsWhat.MatchString(taggedLine.ReplaceAllString(said, "")) {
			c.reported++
		}
	}
	return counts, nil
}

// tellsWhat is how an answer says, beside the lines of the file, that it did what may not be
// meant.
var tellsWhat = regexp.MustCompile(`(?i)relocat|moved to|repeat|double|twice|indented`)

// run makes the mistaken call, and whatever a refusal makes of it. It returns what the
// server said to the call that decided.
func (t task) run(e *editor, path string) (o outcome, said string, err error) {
	if err := os.WriteFile(path, []byte(t.read.String()), 0o600); err != nil {
		return 0, "", err
	}
	defer os.Remove(path)
	given, err := t.look(e, path)
	if err != nil {
		return 0, "", err
	}
	if err := os.WriteFile(path, []byte(t.now.String()), 0o600); err != nil {
		return 0, "", err
	}
	hash := t.hash(given.hash + strings.Repeat("0", max(0, 4-len(given.hash))))
	tool, arguments := e.tools.edit(path, hash, t.sent, t.replaced)
	said, done, err := t.attempt(e, path, tool, arguments)
	if err != nil {
		return 0, "", err
	}
	switch {
	case done != refusedOnly:
		return done, said, nil
	case t.nothing:
		return refusedRight, said, nil
	}
	if ops, hash, ok := t.secondTry(e.tools, said, given.hash, hash); ok {
		tool, arguments := e.tools.edit(path, hash, ops, nil)
		again, done, err := t.attempt(e, path, tool, arguments)
		if err != nil || done == wrongEdit {
			return done, again, err
		}
		if done == rightAtOnce {
			return rightSecond, again, nil
		}
	}
	return t.reread(e, path)
}

// look reads the lines that the task is about, and some around them.
func (t task) look(e *editor, path string) (shown, error) {
	const more = 40
	first, last := len(t.read.lines), 1
	for _, c := range t.meant {
		first, last = min(first, c.first), max(last, c.last)
	}
	text, refused, err := e.try("read_text_file", e.tools.window(path, max(first-more, 1), last+more))
	if err == nil && refused {
		err = fmt.Errorf("the file cannot be read: %.300s", text)
	}
	return e.tools.shown(text), err
}

// reread reads the file anew and makes the call that is right for what it shows.
func (t task) reread(e *editor, path string) (outcome, string, error) {
	given, err := t.look(e, path)
	if err != nil {
		return 0, "", err
	}
	var ops []sent
	var edits []replacement
	var ok bool
	if e.tools.anchors() {
		ops, ok = t.anchoredIn(given, "")
	} else {
		edits, ok = t.quotedIn(given)
	}
	if !ok {
		return refusedOnly, "", nil
	}
	tool, arguments := e.tools.edit(path, given.hash, ops, edits)
	said, done, err := t.attempt(e, path, tool, arguments)
	if done == rightAtOnce {
		done = rightReread
	}
	return done, said, err
}

// attempt makes one call. It is right, wrong, or refused with nothing changed; a call that
// is said to be done and changed nothing is wrong.
func (t task) attempt(e *editor, path, tool string, arguments any) (said string, done outcome, err error) {
	said, refused, err := e.try(tool, arguments)
	if err != nil {
		return "", 0, err
	}
	after, err := os.ReadFile(path)
	switch {
	case err != nil:
		return "", 0, err
	case !refused && !t.nothing && string(after) == t.want:
		return said, rightAtOnce, nil
	case refused && string(after) == t.now.String():
		return said, refusedOnly, nil
	}
	return said, wrongEdit, nil
}
