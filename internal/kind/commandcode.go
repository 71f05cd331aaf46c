package kind

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// codeSuffixes are the suffixes of files that programs load or run.
var codeSuffixes = strings.Fields(`
	.js .mjs .cjs .jsx .ts .mts .cts .tsx .node .wasm .wat .py .pyw .pyc .pyz .rb .pl .pm .php .phar
	.lua .luac .sh .bash .zsh .ksh .fish .csh .ps1 .psm1 .psd1 .bat .cmd .com .exe .msi .vbs .wsf .jar
	.war .class .java .jsh .groovy .gradle .kts .kt .scala .sc .clj .cljs .bb .rkt .scm .ss .sls .lisp
	.lsp .fasl .el .elc .fnl .hy .janet .r .jl .tcl .tk .exp .awk .gawk .sed .ed .sql .vim .so .dylib
	.dll .dart .cs .csx .fs .fsx .vb .go .rs .zig .nim .v .d .cr .swift .exs .ex .erl .escript .beam .hs
	.lhs .ml .mli .sml .nix .dhall .mk .gdb .gp .m .nu .raku .p6 .applescript .scpt`)

// isCode reports whether a file is executable, begins like a script or a program, or has a suffix of code.
// Everything else is data, which a server may change.
func isCode(name string, info os.FileInfo) bool {
	if slices.Contains(codeSuffixes, strings.ToLower(filepath.Ext(name))) {
		return true
	}
	return runtime.GOOS != "windows" && info.Mode()&0o111 != 0 || beginsAsProgram(name)
}

// beginsAsProgram reports whether a file begins like a script or a program.
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

// isMachineProgram reports whether a file is an executable that the system starts without an interpreter
// being named.
func isMachineProgram(file string, info os.FileInfo) bool {
	return (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) && beginsAsProgram(file)
}
