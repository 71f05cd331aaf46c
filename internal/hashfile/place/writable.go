package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/names"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// checkWritable fails if the place must not be changed: an allowed directory itself, part of a
// repository, or protected by rules.
func (p *Place) CheckWritable() error {
	if p.Rel == "." {
		return refusal.New(refusal.ReadOnly, "%s is an allowed directory itself", refusal.Show(p.Asked))
	}
	if err := p.checkUnversioned(); err != nil {
		return err
	}
	return CheckWritableAt(p.Rules, p.Rel, p.Info, p.Asked)
}

// checkWritableAt fails if rules protect the path rel from the root, or info, the file that is there.
func CheckWritableAt(sets rules.Sets, rel string, info fs.FileInfo, asked string) error {
	if file, ok := sets.Protects(rel, info); ok {
		return refusal.New(refusal.ReadOnly, "%s is read-only by %s", refusal.Show(asked), refusal.Show(file))
	}
	return nil
}

// checkUnversioned refuses a place that is in a repository, or the name of one, or would make one
// of its directory: what is written there is run by whoever uses the directory next.
func (p *Place) checkUnversioned() error {
	for _, name := range slices.Concat(names.Elements(p.Asked), names.Elements(p.Real())) {
		if names.IsRepository(name) {
			return repositoryProblem(p.Asked, name)
		}
	}
	if err := p.CheckMakesNoRepository(); err != nil {
		return err
	}
	for _, dir := range slices.Backward(p.chain) {
		if names.IsGit(names.Holds(dir)) {
			return repositoryProblem(p.Asked, "a repository of git")
		}
		if names.IsWorkTree(dir.Stat) {
			return nil
		}
	}
	for at := p.Root.Path; filepath.Dir(at) != at; {
		at = filepath.Dir(at)
		stat := func(name string) (fs.FileInfo, error) { return os.Stat(filepath.Join(at, name)) }
		if names.IsGit(func(name string) bool { _, err := os.Lstat(filepath.Join(at, name)); return err == nil }) {
			return repositoryProblem(p.Asked, "a repository of git")
		}
		if names.IsWorkTree(stat) {
			return nil
		}
	}
	return nil
}

// checkMakesNoRepository fails if git would take the directory of the place for a repository once the place exists.
func (p *Place) CheckMakesNoRepository() error {
	if names.MakesGit(p.Parent(), p.Name) {
		return refusal.New(refusal.ReadOnly, "%s is not written: with it git would take its directory for a repository, "+
			"and run what its files name", refusal.Show(p.Asked))
	}
	return nil
}

func repositoryProblem(asked, what string) *refusal.Refusal {
	return refusal.New(refusal.ReadOnly, "%s is not written: it is, or lies in, %s, whose files name programs that version control runs; change it with that program itself", refusal.Show(asked), refusal.Show(what))
}
