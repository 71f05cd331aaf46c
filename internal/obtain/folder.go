package obtain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/publish"
)

// TakeFrom lets facets of this machine be packed from other directories than those of their declarations, by their
// names: their files are copied there from the store, in the same step as they are locked.
func (s *Sources) TakeFrom(folders map[string]string) { s.folders = folders }

// Folder is a folder with a skill that is no facet yet.
type Folder struct {
	facet.Item
	Members map[string]digest.Digest // files that belong to the skill, by path in the folder
	Links   []string                 // those of them that are symbolic links
	Private []string                 // files that are left out of it, as only their owner is to read them
}

// ReadFolder reads the folder of a skill on this machine, for the project in a directory, as the facet of a name, with
// what is private if that is asked for. A facet and a plugin are none.
func ReadFolder(in, dir, name string, private bool) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d, _, err := listPublic(root, in, private)
	if err != nil {
		return nil, publish.DirError(name, err)
	}
	if form, _ := d.Form(); form != facet.FormSkill {
		return nil, evidence.Errorf(evidence.Validation, name, "'hallmark add NAME --path DIR' adds it from elsewhere",
			fmt.Errorf("is no skill alone, but %s", cmp.Or(string(form), "has no "+facet.SkillFile+" of its own")))
	}
	wrapped, err := facet.Wrap(d, name)
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), name, "", err)
	}
	items, err := facet.List(d)
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), name, "", err)
	}
	f := &Folder{Members: map[string]digest.Digest{}, Private: slices.Sorted(maps.Keys(d.Private))}
	if i := slices.IndexFunc(items, func(x facet.Item) bool { return x.Path == "." }); i >= 0 {
		f.Item = items[i]
	}
	for _, file := range wrapped.Files {
		if file.Path == facet.ManifestFile {
			continue
		}
		r, err := wrapped.Open(file.Path)
		if err != nil {
			return nil, err
		}
		sum, _, err := digest.FromReader(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		_, rest, _ := strings.Cut(strings.TrimPrefix(file.Path, "skills/"), "/") // below the skill's own name
		f.Members[rest] = sum
		if _, ok := d.Links[rest]; ok {
			f.Links = append(f.Links, rest)
		}
	}
	return f, nil
}
