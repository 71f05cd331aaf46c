package local

import (
	"cmp"
	"path/filepath"
	"slices"
)

// findLoadedFiles adds the code that an interpreter may load besides the script that it is given.
func findLoadedFiles(r *readSet) error {
	s := r.p.Script
	if s == nil {
		return nil
	}
	switch s.Language {
	case "python":
		if !isIsolated(s) {
			if err := r.addPythonModules(filepath.Dir(s.File), 0); err != nil {
				return err
			}
		}
		dir := findEnvironment(r.w, r.p)
		installed := dir != "" && !slices.Contains(s.Words, "-S")
		if installed {
			if err := r.addEnvironment(dir); err != nil {
				return err
			}
		}
		before := r.count
		if err := r.addNamedByPython(s); err != nil {
			return err
		}
		return ignoreBytecode(r.p, installed || !isIsolated(s) || r.count > before)
	case "node", "bun", "deno":
		if s.Language == "bun" {
			if err := r.restrictBun(); err != nil {
				return err
			}
		}
		return r.addImports(s.File)
	case "java":
		return r.addClassPath(s.File)
	}
	r.noteUnknown("what " + cmp.Or(s.Language, "the interpreter") + " loads besides the script is not known")
	return nil
}
