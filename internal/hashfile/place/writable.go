package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// CheckWritable fails if the place must not be changed: because it is an allowed directory itself, belongs to a
// repository, or is protected by rules.
func (p *Place) CheckWritable() error {
	if p.Rel == "." {
		return Refuse(ReadOnly, "%s is an allowed directory itself; give a path in it", Show(p.Asked))
	}
	if err := p.checkUnversioned(); err != nil {
		return err
	}
	return CheckWritableAt(p.Rules, p.Rel, p.Info, p.Asked)
}

// CheckWritableAt fails if rules protect the path rel, from the root, or info, the file that is there; nil if there is
// none. Asked is the path that the error names.
func CheckWritableAt(sets RuleSets, rel string, info fs.FileInfo, asked string) error {
	if file, ok := sets.Protects(rel, info); ok {
		return Refuse(ReadOnly, "%s is read-only by %s", Show(asked), Show(file))
	}
	return nil
}

// checkUnversioned fails if a place lies in a repository, has a name of one, or would make a repository of its
// directory: version control runs the programs that such files name when somebody uses the directory.
func (p *Place) checkUnversioned() error {
	for _, name := range slices.Concat(SplitPath(p.Asked), SplitPath(p.Real())) {
		if spelling.IsRepository(name) {
			return repositoryProblem(p.Asked, name)
		}
	}
	if err := p.CheckMakesNoRepository(); err != nil {
		return err
	}
	for _, dir := range slices.Backward(p.chain) {
		if IsGit(Holds(dir)) {
			return repositoryProblem(p.Asked, "a repository of git")
		}
		if isWorkTree(dir.Stat) {
			return nil
		}
	}
	for at := p.Root.Path; filepath.Dir(at) != at; {
		at = filepath.Dir(at)
		if IsGit(func(name string) bool { _, err := os.Lstat(filepath.Join(at, name)); return err == nil }) {
			return repositoryProblem(p.Asked, "a repository of git")
		}
		if isTop(at) {
			return nil
		}
	}
	return nil
}

// CheckMakesNoRepository fails if git would take the directory of the place for a repository once something is at the
// place.
func (p *Place) CheckMakesNoRepository() error {
	if makesGit(p.Parent(), p.Name) {
		return Refuse(ReadOnly,
			"%s is not written: with it git would take its directory for a repository, "+
				"and run what its files name", Show(p.Asked))
	}
	return nil
}

func repositoryProblem(asked, what string) *Refusal {
	return Refuse(ReadOnly,
		"%s is not written: it is, or lies in, %s, whose files name programs that version control runs; change it "+
			"with that program itself", Show(asked), Show(what))
}
