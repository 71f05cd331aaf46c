package kind

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// maxNamed bounds the names of files that are looked up for the arguments of one server.
const maxNamed = 1 << 14

// addNamedFiles adds the files of code that arguments name, whatever the program does with them.
func (r *commandFiles) addNamedFiles() error {
	w, p := r.w, r.p
	start := cmp.Or(p.Dir, w.Dir) // where the program reads names
	dirs := []string{start}
	var names []string
	for _, word := range r.arguments {
		for _, name := range argumentNames(word) {
			if below, ok := strings.CutPrefix(name, "~/"); ok { // which programs may take for the home directory
				name = filepath.Join(w.Host.Getenv("HOME"), below)
			}
			if info, err := os.Stat(w.Absolute(start, name)); err == nil && info.IsDir() {
				dirs = append(dirs, w.Absolute(start, name))
				continue
			}
			names = append(names, name)
		}
	}
	if len(names)*len(dirs) > maxNamed {
		return evidence.Errorf(evidence.Refused, p.Server, "put them into a file",
			errors.New("its arguments name too many files to be covered"))
	}
	for _, name := range names {
		for _, dir := range dirs {
			if err := r.addNamed(w.Absolute(dir, name), name); err != nil {
				return err
			}
		}
		if found, err := workspace.FindIn(p.Path, name); err == nil && !strings.ContainsAny(name, `/\`) &&
			w.Contains(found) {
			if err := r.addNamed(found, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// addNamed adds a file that is code and not a program of the machine.
func (r *commandFiles) addNamed(file, name string) error {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || !isCode(file, info) || !r.w.Contains(file) &&
		isMachineProgram(file, info) {
		return nil
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return evidence.Errorf(evidence.Operation, r.p.Server, "", err)
	}
	if !r.seen[real] {
		r.seen[real] = true
		r.addItem(r.w.LockKey(real, name), commandItem{path: real, named: true})
	}
	return nil
}

// argumentNames returns the names of files that an argument may hold: itself, its parts between the
// separators of options, lists and command lines ("--load=x.js", "EXEC:x.sh", "@x.jar", "node x.js"), and
// the rest of a short option ("-fx.awk").
func argumentNames(word string) []string {
	out := append([]string{word}, strings.FieldsFunc(word,
		func(r rune) bool { return strings.ContainsRune(" \t\r\n=,:;@!'\"`()[]{}<>|&$", r) })...)
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		out = append(out, word[2:])
	}
	if _, value, ok := strings.Cut(word, "="); ok { // a name may have blanks
		out = append(out, value)
	}
	out = slices.DeleteFunc(out, func(s string) bool {
		return s == "" || s == "." || len(s) > 4096 ||
			strings.ContainsRune(s, 0)
	})
	slices.Sort(out)
	return slices.Compact(out)
}
