package local

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxNamed is how many names of files the arguments of one server may hold.
const maxNamed = 1 << 14

// codeSuffixes are those of files that programs load or run.
var codeSuffixes = strings.Fields(`.js .mjs .cjs .jsx .ts .mts .cts .tsx .node .wasm .wat .py .pyw .pyc .pyz .rb .pl .pm .php .phar
	.lua .luac .sh .bash .zsh .ksh .fish .csh .ps1 .psm1 .psd1 .bat .cmd .com .exe .msi .vbs .wsf .jar
	.war .class .java .jsh .groovy .gradle .kts .kt .scala .sc .clj .cljs .bb .rkt .scm .ss .sls .lisp
	.lsp .fasl .el .elc .fnl .hy .janet .r .jl .tcl .tk .exp .awk .gawk .sed .ed .sql .vim .so .dylib
	.dll .dart .cs .csx .fs .fsx .vb .go .rs .zig .nim .v .d .cr .swift .exs .ex .erl .escript .beam .hs
	.lhs .ml .mli .sml .nix .dhall .mk .gdb .gp .m .nu .raku .p6 .applescript .scpt`)

// isCode reports whether a file is executable, begins as a script or program does, or is called
// as code is. Everything else is data, which a server may change.
func isCode(name string, info os.FileInfo) bool {
	if slices.Contains(codeSuffixes, strings.ToLower(filepath.Ext(name))) {
		return true
	}
	return runtime.GOOS != "windows" && info.Mode()&0o111 != 0 || beginsAsProgram(name)
}

// beginsAsProgram reports whether a file begins as a script or a program does.
func beginsAsProgram(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return true // a file that cannot be read is not known to be data
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := io.ReadFull(f, head)
	for _, magic := range []string{"#!", "MZ", "\x7fELF", "\x00asm", "\xca\xfe\xba\xbe", "\xcf\xfa\xed\xfe",
		"\xce\xfa\xed\xfe", "\xfe\xed\xfa\xcf", "\xfe\xed\xfa\xce"} {
		if strings.HasPrefix(string(head[:n]), magic) {
			return true
		}
	}
	return false
}

// findNamedFiles finds the files of code that words name: what is named is covered, whatever the
// program does with it.
func findNamedFiles(r *readSet) error {
	w, p := r.w, r.p
	dirs := []string{w.Dir}
	var names []string
	for _, word := range r.arguments {
		for _, name := range argumentNames(word) {
			if info, err := os.Stat(w.Absolute(w.Dir, name)); err == nil && info.IsDir() {
				dirs = append(dirs, w.Absolute(w.Dir, name))
				continue
			}
			names = append(names, name)
		}
	}
	if len(names)*len(dirs) > maxNamed {
		return evidence.Errorf(evidence.Refused, p.Server, "put them into a file",
			errors.New("its arguments name too many files to be covered"))
	}
	seen := maps.Clone(r.taken)
	for _, name := range names {
		for _, dir := range dirs {
			if err := r.addNamed(w.Absolute(dir, name), name, seen); err != nil {
				return err
			}
		}
		if found, err := workspace.FindIn(p.Path, name); err == nil && !strings.ContainsAny(name, `/\`) &&
			w.Contains(found) {
			if err := r.addNamed(found, name, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// addNamed takes a file that is code and no program of the machine's, once by whatever name.
func (r *readSet) addNamed(file, name string, seen map[string]bool) error {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || !isCode(file, info) || !r.w.Contains(file) &&
		isMachineProgram(file, info) {
		return nil
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return evidence.Errorf(evidence.Operation, r.p.Server, "", err)
	}
	if !seen[real] {
		seen[real] = true
		r.addItem(r.w.LockKey(real, name), readItem{path: real, named: true})
	}
	return nil
}

// isMachineProgram reports whether a file is an executable that is started by itself.
func isMachineProgram(file string, info os.FileInfo) bool {
	return (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) && beginsAsProgram(file)
}

// argumentNames are the names that an argument may hold: itself, what stands in it between the marks
// of options, lists and command lines ("--load=x.js", "EXEC:x.sh", "@x.jar", "node x.js"), and
// what follows a short option ("-fx.awk").
func argumentNames(word string) []string {
	out := append([]string{word}, strings.FieldsFunc(word,
		func(r rune) bool { return strings.ContainsRune(" \t\r\n=,:;@!'\"`()[]{}<>|&$", r) })...)
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		out = append(out, word[2:])
	}
	if _, value, ok := strings.Cut(word, "="); ok { // a name with blanks
		out = append(out, value)
	}
	out = slices.DeleteFunc(out, func(s string) bool {
		return s == "" || s == "." || len(s) > 4096 ||
			strings.ContainsRune(s, 0)
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// refuseWrapper refuses a program that the launcher does not know and that starts another one, which
// its arguments name. own says that it is a file of the project, which is code that was
// approved: it may be told of the machine's programs, but of none that runs other code.
func refuseWrapper(p *program.Program, w *workspace.Workspace, command string, words []string, own bool) error {
	for i, word := range words {
		name, line := word, false
		if fields := strings.Fields(word); len(fields) > 1 {
			name, line = fields[0][strings.LastIndexAny(fields[0], "=:!'\"")+1:], true
		}
		if name == "" || name[0] == '-' {
			continue
		}
		found, ok := programAt(p, w, name)
		value := i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=")
		switch {
		case !ok:
		case launcher.RunsOtherCode(name) || launcher.RunsOtherCode(found):
			return wrapperError(p, command, name)
		case own || line || w.Contains(found): // covered, or a word
		case value && !strings.ContainsAny(name, `/\`): // as in "--log-level info"
		default:
			return wrapperError(p, command, name)
		}
	}
	return nil
}

func wrapperError(p *program.Program, command, name string) error {
	return evidence.Errorf(evidence.Refused, p.Server,
		"name what it starts in 'command' itself; "+
			"a value of its own that is called as a program is written --option=value",
		fmt.Errorf("%s may start %s, which its arguments name and no hash covers", surface.Escape(command),
			surface.Escape(name)))
}

// programAt is the executable that a word names, by its path or through PATH.
func programAt(p *program.Program, w *workspace.Workspace, name string) (string, bool) {
	if !strings.ContainsAny(name, `/\`) {
		found, err := workspace.FindIn(p.Path, name)
		if err != nil {
			return "", false
		}
		return host.RealPath(found), true
	}
	file := w.Absolute(w.Dir, name)
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || !isMachineProgram(file, info) {
		return "", false
	}
	return host.RealPath(file), true
}
