package hashfile

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
func (p *place) checkWritable() error {
	if p.rel == "." {
		return refusal.New(refusal.ReadOnly, "%s is an allowed directory itself", refusal.Show(p.asked))
	}
	if err := p.checkUnversioned(); err != nil {
		return err
	}
	return checkWritableAt(p.rules, p.rel, p.info, p.asked)
}

// checkWritableAt fails if rules protect the path rel from the root, or info, the file that is there.
func checkWritableAt(sets rules.Sets, rel string, info fs.FileInfo, asked string) error {
	if file, ok := sets.Protects(rel, info); ok {
		return refusal.New(refusal.ReadOnly, "%s is read-only by %s", refusal.Show(asked), refusal.Show(file))
	}
	return nil
}

// checkUnversioned refuses a place that is in a repository, or the name of one, or would make one
// of its directory: what is written there is run by whoever uses the directory next.
func (p *place) checkUnversioned() error {
	for _, name := range slices.Concat(names.Elements(p.asked), names.Elements(p.real())) {
		if names.IsRepository(name) {
			return repositoryProblem(p.asked, name)
		}
	}
	if err := p.checkMakesNoRepository(); err != nil {
		return err
	}
	for _, dir := range slices.Backward(p.chain) {
		if names.IsGit(names.Holds(dir)) {
			return repositoryProblem(p.asked, "a repository of git")
		}
		if names.IsWorkTree(dir.Stat) {
			return nil
		}
	}
	for at := p.root.Path; filepath.Dir(at) != at; {
		at = filepath.Dir(at)
		stat := func(name string) (fs.FileInfo, error) { return os.Stat(filepath.Join(at, name)) }
		if names.IsGit(func(name string) bool { _, err := os.Lstat(filepath.Join(at, name)); return err == nil }) {
			return repositoryProblem(p.asked, "a repository of git")
		}
		if names.IsWorkTree(stat) {
			return nil
		}
	}
	return nil
}

// checkMakesNoRepository fails if git would take the directory of the place for a repository once the place exists.
func (p *place) checkMakesNoRepository() error {
	if names.MakesGit(p.parent(), p.name) {
		return refusal.New(refusal.ReadOnly, "%s is not written: with it git would take its directory for a repository, "+
			"and run what its files name", refusal.Show(p.asked))
	}
	return nil
}

func repositoryProblem(asked, what string) *refusal.Refusal {
	return refusal.New(refusal.ReadOnly, "%s is not written: it is, or lies in, %s, whose files name programs that version control runs; change it with that program itself", refusal.Show(asked), refusal.Show(what))
}
