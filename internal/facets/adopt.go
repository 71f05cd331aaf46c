package facets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/adapter"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Adopted says which skills are adopted, and what their source is then.
type Adopted struct {
	Skills []Lying
	Into   string // directory of the project with slashes, below which their files are copied
	// Private takes files along that only their owner can read, or that are called as secrets are.
	Private bool
	Git     []project.Facet // instead, one for each: repositories that have them
}

// Adopt takes skills that lie in clients' directories under the lock, all or none. What clients have of them stays as it
// lies there, or what changes of it is shown to [Options.Confirm].
func Adopt(ctx context.Context, h *host.Host, dir string, what Adopted, o Options) (*Installation, error) {
	req := facetRequest{add: what.Git, found: true, adopt: &adoption{skills: what.Skills, lying: map[string]digest.Digest{},
		folders: map[string]string{}}}
	for _, s := range what.Skills {
		if err := s.problem(what.Skills); err != nil {
			return nil, err
		}
		maps.Copy(req.adopt.lying, s.lying)
		req.adopt.private = append(req.adopt.private, s.private...)
		if what.Git != nil {
			continue
		}
		at := path.Join(what.Into, s.Name)
		if err := s.checkSource(ctx, h, dir, at, what.Private); err != nil {
			return nil, err
		}
		req.add = append(req.add, project.Facet{Name: s.Name, Path: at, Private: what.Private})
		req.adopt.folders[s.Name] = s.folder
	}
	return addFacets(ctx, h, dir, o, req)
}

// problem is why a skill cannot be adopted with the others.
func (s Lying) problem(all []Lying) error {
	where := strings.Join(s.Dirs, ", ")
	same := func(o Lying) bool { return o.Name == s.Name && !slices.Equal(o.Dirs, s.Dirs) }
	switch i := slices.IndexFunc(all, same); {
	case s.Err != nil:
		return s.Err
	case s.Facet != "":
		return evidence.Errorf(evidence.Refused, where, "", fmt.Errorf("is of the locked facet %s already", s.Facet))
	case i >= 0:
		return evidence.Errorf(evidence.Refused, s.Name,
			"say which of them: 'hallmark adopt PATH'; it takes the place of the other, which is shown first",
			fmt.Errorf("lies in %s and, with other bytes, in %s", where, strings.Join(all[i].Dirs, ", ")))
	}
	return nil
}

// checkSource refuses a directory for the copy of a skill that has something else in it, or that a client reads.
func (s Lying) checkSource(ctx context.Context, h *host.Host, dir, at string, private bool) error {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, false, true)
	if err != nil {
		return err
	}
	defer done()
	refuse := func(err error) error {
		return evidence.Errorf(evidence.Refused, at, "'--into DIR' names another directory for it", err)
	}
	if err := w.RefuseLink(w.Path(at)); err != nil {
		return refuse(errors.Unwrap(err))
	}
	for _, place := range installed.SkillDirs(w, s.Name) {
		if in, err := beneath.Inside(w.Path(at), w.Place(path.Dir(place))); err != nil || in {
			return refuse(errors.Join(err, errors.New("is in a directory in which a client looks for skills")))
		}
	}
	if _, err := os.Lstat(w.Path(at)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if there, err := obtain.ReadFolder(w.Path(at), s.Name, private); err == nil && maps.EqualFunc(there.Members, s.members, evidence.Same) && len(there.Links) == 0 {
		return nil
	}
	return refuse(errors.New("has something else in it"))
}

// maxCopied is the largest file of a skill that is compared with what lies in the place of its copy, in bytes.
const maxCopied = 512 << 20

// adoption is what a command adds and already lies in clients' directories. Nil adopts nothing.
type adoption struct {
	skills  []Lying
	folders map[string]string        // by name, where the files are that are copied; none if a repository has them
	lying   map[string]digest.Digest // files in the clients' directories; zero for a link
	private []string                 // files there that are left out
}

// review finds out what clients get otherwise than it lies there, for consent, and refuses what would lie there beside
// a skill without being of it: nothing would cover it.
func (d *adoption) review(a *Assembly, adm policy.Admitted, parts []installed.Part, out *Installation) error {
	if d == nil {
		return nil
	}
	p, err := a.PlanFiles(adm, parts)
	if err != nil {
		return err
	}
	for i := range out.Facets {
		c := &out.Facets[i]
		if !slices.ContainsFunc(d.skills, func(s Lying) bool { return s.Name == c.Name }) {
			continue
		}
		dirs := installed.SkillDirs(a.Workspace, c.Name)
		for _, at := range p.Extra {
			if isBelow(at, dirs) {
				return evidence.Errorf(evidence.Refused, at, "move it away, and adopt the skill then",
					fmt.Errorf("lies in the directory of the skill %s, and would be no file of it", c.Name))
			}
		}
		for _, f := range p.Files {
			at := host.RelativeTo(a.Workspace.PlaceDir(), f.Path)
			if isBelow(at, dirs) {
				c.Placed = append(c.Placed, placedChange(at, d.lying[at], f))
			}
		}
	}
	return nil
}

// placedChange is how a file that a client gets differs from what lies there.
func placedChange(at string, before digest.Digest, f durable.File) AssetChange {
	x := AssetChange{Path: at, Before: before, After: digest.FromBytes(f.Data)}
	if before.IsZero() || evidence.Same(before, x.After) {
		return x
	}
	isText := func(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }
	now, err := beneath.ReadFile(f.Path, maxText)
	switch {
	case err != nil || len(f.Data) > maxText:
		x.Unread = fmt.Sprintf("is larger than %s bytes", evidence.Group(maxText))
	case !isText(now) || !isText(f.Data):
		x.Unread = "is not text"
	default:
		x.Diff = udiff.Unified(at, at, string(now), string(f.Data))
	}
	return x
}

// isBelow reports whether a path is in one of the directories.
func isBelow(at string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(at, dir+"/") })
}

// copies are the files of the skills where their declarations have them, as they are in the store: so they reproduce what
// is locked.
func (d *adoption) copies(a *Assembly) (files []durable.File, err error) {
	if d == nil {
		return nil, nil
	}
	for name := range d.folders {
		x := a.Pieces[name]
		for member, sum := range x.Entry.Assets {
			rest, ok := strings.CutPrefix(member, "skills/"+name+"/")
			if !ok {
				continue
			}
			to := a.Workspace.Path(x.want.Path, rest)
			now, err := host.ReadFile(to, maxCopied)
			switch {
			case err != nil:
				return nil, err
			case now != nil && evidence.Same(digest.FromBytes(now), sum):
				continue // the source is there already
			case now != nil:
				return nil, evidence.Errorf(evidence.Refused, to, "run the command again",
					errors.New("was written since this command began"))
			}
			data, err := x.ReadAudited(member)
			if err != nil {
				return nil, err
			}
			perm := installed.PermOf(x.Archive, member, adapter.IsExecutable(data[:min(len(data), adapter.ExecutableHead)]))
			files = append(files, durable.File{Path: to, Data: data, Perm: perm})
		}
	}
	slices.SortFunc(files, func(a, b durable.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}
