package facets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
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
	Skills []FoundSkill
	Into   string // directory of the project with slashes, below which their files are copied
	// Private takes files along that only their owner can read, or that are called as secrets are.
	Private bool
	Git     []project.Facet // instead, one for each: repositories that have them
}

// Adopt starts managing skills that are in clients' directories: it declares and locks them, all or none. Their files
// stay as they are there; what would change is shown to [Options.Confirm]. If a locked skill whose source is a
// directory was edited in place, the edit is copied into that source and locked.
func Adopt(ctx context.Context, h *host.Host, dir string, what Adopted, o Options) (*Installation, error) {
	req := facetRequest{add: what.Git, found: true, adopt: &adoption{skills: what.Skills,
		present: map[string]digest.Digest{},
		folders: map[string]string{}, copied: map[string][]string{}}}
	if len(what.Git) > 0 {
		o.Named = what.Git[0].URL()
	}
	for _, s := range what.Skills {
		if err := s.problem(what.Skills); err != nil {
			return nil, err
		}
		if s.Edited {
			f, err := s.source(ctx, h, dir, what)
			if err != nil {
				return nil, err
			}
			maps.Copy(req.adopt.present, s.present)
			req.adopt.private = append(req.adopt.private, s.private...)
			req.add, req.adopt.folders[s.Name] = append(req.add, f), s.folder
			continue
		}
		maps.Copy(req.adopt.present, s.present)
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
func (s FoundSkill) problem(all []FoundSkill) error {
	where := strings.Join(s.Dirs, ", ")
	same := func(o FoundSkill) bool { return o.Name == s.Name && !slices.Equal(o.Dirs, s.Dirs) }
	switch i := slices.IndexFunc(all, same); {
	case s.Err != nil:
		return s.Err
	case s.Facet != "" && !s.Edited:
		return evidence.Errorf(evidence.Refused, where, "'hallmark check' says whether it was changed since it "+
			"was locked",
			fmt.Errorf("is of the locked facet %s already", s.Facet))
	case i >= 0:
		return evidence.Errorf(evidence.Refused, s.Name,
			"say which of them: 'hallmark adopt PATH'; it replaces the other, after you have seen the difference",
			fmt.Errorf("lies in %s and, with other bytes, in %s", where, strings.Join(all[i].Dirs, ", ")))
	}
	return nil
}

// source is the declaration of a locked skill that was edited in place. It is an error unless the source is the
// directory of that skill alone, and as it was locked.
func (s FoundSkill) source(ctx context.Context, h *host.Host, dir string, what Adopted) (project.Facet, error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return project.Facet{}, err
	}
	defer done()
	where := strings.Join(s.Dirs, ", ")
	f := w.Config.Facets[s.Facet]
	entry, _ := w.Lock.Facet(s.Facet)
	if !isOwnSource(w, s) || what.Git != nil {
		return f, evidence.Errorf(evidence.Refused, where, "'hallmark install --force' puts back what is locked; "+
			"'hallmark remove --keep "+s.Facet+"' and then '"+
			host.QuoteArguments([]string{"hallmark", "adopt", s.Dirs[0]})+"' make it a skill of your own",
			fmt.Errorf("was edited, and the source of its facet %s is no directory of this one skill", s.Facet))
	}
	if s.lessHere {
		return f, evidence.Errorf(evidence.Refused, where, "make the same change in "+f.Path+
			", and run 'hallmark install --force'",
			errors.New("was edited, and its client has another front matter there than the skill: taking it would "+
				"lose the rest"))
	}
	there, err := obtain.ReadFolder(w.PlaceDir(), obtain.LocalPath(w, f.Path), s.Name, f.Private)
	if err == nil && !maps.EqualFunc(there.Members, skillMembers(entry, s.Name), evidence.Same) {
		err = errors.New("was changed too since it was locked")
	}
	if err != nil {
		return f, evidence.Errorf(evidence.Refused, f.Path, "make the two alike, and run 'hallmark install'", err)
	}
	f.Private = f.Private || what.Private
	return f, nil
}

// skillMembers are the files of a skill that an entry has, by path in the skill's folder.
func skillMembers(entry project.FacetLock, skill string) map[string]digest.Digest {
	members := map[string]digest.Digest{}
	for member, sum := range entry.Assets {
		if rest, ok := strings.CutPrefix(member, "skills/"+skill+"/"); ok {
			members[rest] = sum
		}
	}
	return members
}

// checkSource refuses a directory for the copy of a skill that has something else in it, or that a client reads.
func (s FoundSkill) checkSource(ctx context.Context, h *host.Host, dir, at string, private bool) error {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, false, true)
	if err != nil {
		return err
	}
	defer done()
	refuse := func(err error) error {
		return evidence.Errorf(evidence.Refused, at, "'--into DIR' names another directory for it; or move this "+
			"one away", err)
	}
	if err := w.RefuseLink(w.Path(at)); err != nil {
		return refuse(errors.Unwrap(err))
	}
	if slices.Contains(strings.Split(at, "/"), ".git") {
		return refuse(errors.New("is git's own"))
	}
	if w.Home == "" && installed.IsWhereClientsLook(at) {
		return refuse(errors.New("is in a directory in which a client looks for skills"))
	}
	for _, place := range installed.SkillDirs(w, s.Name) {
		if in, err := durable.Inside(w.Path(at), w.Place(path.Dir(place))); err != nil || in {
			return refuse(errors.Join(err, errors.New("is in a directory in which a client looks for skills")))
		}
	}
	if entries, err := os.ReadDir(w.Path(at)); errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if there, err := obtain.ReadFolder(w.PlaceDir(), w.Path(at), s.Name, private); err == nil &&
		maps.EqualFunc(there.Members, s.members, evidence.Same) && len(there.Links) == 0 {
		return nil
	}
	return refuse(errors.New("has something else in it"))
}

// maxCopied is the largest file of a skill that is compared with what lies in the place of its copy, in bytes.
const maxCopied = 512 << 20

// adoption is what a command adds that clients' directories have already. Nil adopts nothing.
type adoption struct {
	skills  []FoundSkill
	folders map[string]string        // by name, where the files are that are copied; none if a repository has them
	present map[string]digest.Digest // files in the clients' directories; zero for a link
	private []string                 // files there that are left out
	copied  map[string][]string      // by name, files of the source that were copied, relative to the project
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
		if !slices.ContainsFunc(d.skills, func(s FoundSkill) bool { return s.Name == c.Name }) {
			continue
		}
		dirs := installed.SkillDirs(a.Workspace, c.Name)
		for _, at := range p.Extra {
			if isBelow(at, dirs) {
				return evidence.Errorf(evidence.Refused, at, "move it away, and adopt the skill then",
					fmt.Errorf("lies in the directory of the skill %s, and would not belong to it", c.Name))
			}
		}
		for _, f := range p.Files {
			at := host.RelativeTo(a.Workspace.PlaceDir(), f.Path)
			if isBelow(at, dirs) {
				before, lies := d.present[at]
				x := placedChange(at, before, f)
				if lies && before.IsZero() {
					x.Unread = "takes the place of a link"
				}
				c.Placed = append(c.Placed, x)
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
	now, err := durable.ReadFile(f.Path, maxText)
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

// copies are the files of the skills where their declarations have them, as they are in the store: so they reproduce
// what is locked. What is there already may only be that, or what was locked until now.
func (d *adoption) copies(a *Assembly) (files []durable.File, err error) {
	if d == nil {
		return nil, nil
	}
	for name := range d.folders {
		x := a.Pieces[name]
		entry, _ := a.Workspace.Lock.Facet(name)
		before, after := skillMembers(entry, name), skillMembers(x.Entry, name)
		for rest, sum := range after {
			file, isNew, err := d.copyMember(a, x, rest, before[rest], sum)
			if err != nil {
				return nil, err
			}
			if file.Path != "" {
				files = append(files, file)
			}
			if isNew && filepath.IsLocal(filepath.FromSlash(x.want.Path)) {
				d.copied[name] = append(d.copied[name], path.Join(x.want.Path, rest))
			}
		}
		for rest, sum := range before {
			to := filepath.Join(obtain.LocalPath(a.Workspace, x.want.Path), filepath.FromSlash(rest))
			if now, err := host.ReadFile(to, maxCopied); err != nil || now == nil {
				if err != nil {
					return nil, err
				}
			} else if _, stays := after[rest]; !stays && evidence.Same(digest.FromBytes(now), sum) {
				files = append(files, durable.File{Path: to, Remove: true})
			}
		}
	}
	slices.SortFunc(files, func(a, b durable.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// copyMember is a file of a skill for its source, none if it is there already, and whether there was none of that name.
func (d *adoption) copyMember(a *Assembly, x *piece, rest string, before,
	sum digest.Digest) (_ durable.File, isNew bool,
	err error) {
	to := filepath.Join(obtain.LocalPath(a.Workspace, x.want.Path), filepath.FromSlash(rest))
	now, err := host.ReadFile(to, maxCopied)
	switch {
	case err != nil:
		return durable.File{}, false, err
	case now != nil && evidence.Same(digest.FromBytes(now), sum):
		return durable.File{}, false, nil
	case now != nil && before.IsZero():
		return durable.File{}, false, evidence.Errorf(evidence.Refused, to, "move it away, and run the command again",
			fmt.Errorf("is no file of the skill %s, and the skill has one of its name now", x.want.Name))
	case now != nil && !evidence.Same(digest.FromBytes(now), before):
		return durable.File{}, false, evidence.Errorf(evidence.Refused, to, "run the command again",
			errors.New("was written since this command began"))
	}
	member := path.Join("skills", x.want.Name, rest)
	data, err := x.ReadAudited(member)
	if err != nil {
		return durable.File{}, false, err
	}
	return durable.File{Path: to, Data: data, Perm: installed.PermOf(x.Archive, member, true, data)}, now == nil, nil
}

// record remembers what was adopted, with the plan of an installation.
func (d *adoption) record(p *installed.Plan) {
	if d == nil {
		return
	}
	for _, s := range d.skills {
		dirs := s.all
		if s.Edited {
			dirs = nil
		}
		p.Adopt(s.Name, dirs, d.copied[s.Name])
	}
}
