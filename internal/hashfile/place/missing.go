package place

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// maxSiblings is how many entries of a directory are looked at for a name that is like a missing one.
const maxSiblings = 2000

// RefuseMissing refuses a place where nothing is. It says what may have been meant, of the names that the caller may
// list, and which call finds out more.
func (p *Place) RefuseMissing() *Refusal {
	asked := Show(p.Asked)
	if p.odd != "" {
		return Refuse(NotFound, "%s does not exist: it %s", asked, p.odd)
	}
	if !p.listable {
		return Refuse(NotFound, "%s does not exist", asked)
	}
	dir := p.shownDirectory()
	message := asked + " does not exist"
	if len(p.Missing) > 0 {
		message = fmt.Sprintf("%s does not exist, nor does %s", asked, Show(filepath.Join(dir, p.Name)))
	}
	if first, rest, ok := strings.Cut(filepath.ToSlash(p.Asked), "/"); ok && p.base != "" &&
		filepath.Base(p.base) == first {
		return Refuse(NotFound, "%s; paths are from %s, so that it may be %s", message, Show(p.base),
			Show(rest))
	}
	if near := nearNames(p.Name, p.siblings()); len(near) > 0 {
		for i, name := range near {
			near[i] = Show(filepath.Join(dir, name))
		}
		message += "; is it " + strings.Join(near, " or ") + "?"
	} else {
		message += ";"
	}
	message += " list_directory with path " + Show(dir) + " shows what is there"
	switch last := filepath.Base(p.Asked); {
	case strings.ContainsRune(p.Asked, '*'):
		message += "; this path is a pattern: give it to search_files as glob"
	case filepath.Separator == '/' && strings.ContainsRune(p.Asked, '\\'):
		message += "; directories are separated by /, not by backslashes"
	case lineSuffix().MatchString(last):
		message += "; lines are given in start_line and end_line"
	case !strings.ContainsAny(last, `\?[]{}!#`) && strings.TrimSpace(last) == last:
		message += ", search_files with glob " + Show(last) + " finds the name elsewhere"
	}
	return Refuse(NotFound, "%s", message)
}

// shownDirectory returns the directory that holds the name as the caller may write it: relative if the path was, and
// if that has one meaning.
func (p *Place) shownDirectory() string {
	dir := p.Directory()
	if p.base != "" && !filepath.IsAbs(p.Asked) {
		if rel, err := filepath.Rel(p.base, dir); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return dir
}

// siblings returns names in the directory that holds the name, without those that its rules forbid.
func (p *Place) siblings() (found []string) {
	d, err := p.Parent().Open(".")
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxSiblings)
	rel := path.Join(SplitPath(p.Rel)[:len(p.chain)-1]...)
	for _, e := range entries {
		if _, forbidden := p.Rules.Forbids(path.Join(rel, e.Name())); !forbidden {
			found = append(found, e.Name())
		}
	}
	return found
}
