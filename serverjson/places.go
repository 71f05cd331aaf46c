package serverjson

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
)

// The places of a hash in a document: file_hashes, the same object in the metadata that publishers
// fill, and fileSha256 of a package.
var (
	topHashes  = []string{"file_hashes"}
	metaHashes = []string{"_meta", publisherMeta, "file_hashes"}
)

// stated is what a document has of hashes, however it is formed.
type stated struct {
	top, meta bool           // whether file_hashes stands there
	sums      map[int]string // name of the member fileSha256 of packages, by index
	entries   []FileHash     // of both places, sorted by key; Ref is zero where the key is none
	values    map[int]string // fileSha256
}

// findStated finds the places of hashes in raw, which is an object.
func findStated(raw []byte) stated {
	s := stated{sums: map[int]string{}, values: map[int]string{}}
	doc := decodeMembers(raw)
	top, ok := doc["file_hashes"]
	s.top = ok
	meta, _ := doc["_meta"].(map[string]any)
	provided, _ := meta[publisherMeta].(map[string]any)
	moved, ok := provided["file_hashes"]
	s.meta = ok
	for _, object := range []any{top, moved} {
		entries, _ := object.(map[string]any)
		for key, value := range entries {
			h := FileHash{Key: key}
			h.Value, _ = value.(string)
			h.Ref, _ = artifact.Parse(key)
			s.entries = append(s.entries, h)
		}
	}
	slices.SortFunc(s.entries, func(a, b FileHash) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
	})
	s.entries = slices.Compact(s.entries)
	packages, _ := doc["packages"].([]any)
	for i, p := range packages {
		members, _ := p.(map[string]any)
		for _, name := range []string{"fileSha256", "file_sha256"} {
			if value, ok := members[name]; ok {
				s.sums[i] = name
				s.values[i], _ = value.(string)
			}
		}
	}
	return s
}

// decodeMembers decodes an object without a judgement of what is in it; nil if raw is none.
func decodeMembers(raw []byte) (members map[string]any) {
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// ParseUnhashed reads a document whose hashes are to be made anew: what they say, and how they are formed, does
// not matter. The document has none. Of a GitHub release that its package_location names, it has the files for which
// there are hashes, if only of another tag.
func ParseUnhashed(raw []byte) (*Document, error) {
	bare, err := withoutHashes(raw)
	if err != nil {
		bare = raw // Parse says what is wrong
	}
	d, err := Parse(bare)
	if err != nil {
		return nil, err
	}
	d.Raw = slices.Clone(raw)
	d.expandLocation(findStated(raw).entries, true)
	for i := range d.Packages {
		d.Packages[i].FileSHA256 = ""
	}
	return d, nil
}

// withoutHashes returns raw with no hashes in it. Where a package had fileSha256, that is zeros.
func withoutHashes(raw []byte) ([]byte, error) {
	if _, err := findLayout(raw, ""); err != nil {
		return nil, err
	}
	s, out := findStated(raw), raw
	var err error
	set := func(there bool, path []string, value any) {
		if there && err == nil {
			out, err = setAt(out, path, value, "")
		}
	}
	set(s.top, topHashes, []member{})
	set(s.meta, metaHashes, []member{})
	for _, i := range slices.Sorted(maps.Keys(s.sums)) {
		set(true, []string{"packages", strconv.Itoa(i), s.sums[i]}, strings.Repeat("0", 64))
	}
	return out, err
}

// Replaced is a hash that [SetHashes] replaced by another one.
type Replaced struct {
	Key string `json:"key"` // as it was written: a key of file_hashes, or a package's identifier for fileSha256
	Was string `json:"was"`
	Now string `json:"now,omitempty"` // "" for a file that no package of the document gives any more
}

// SetHashes returns raw with these hashes in all places where hashes stand already, and else in its top-level
// file_hashes; with meta also in the metadata that registries leave to publishers, which clients of the official schema
// keep: alone, if the document has no file_hashes. Each mcpb package gets its fileSha256. Everything else
// stays byte for byte. A key that is there already stays as it is spelled. It also returns what was replaced. The error
// is an [*Invalid] where the document would not be valid.
func SetHashes(raw []byte, hashes []FileHash, meta bool) ([]byte, []Replaced, error) {
	doc, err := ParseUnhashed(raw)
	if err != nil {
		return nil, nil, err
	}
	doc.AtRegistries(func(artifact.Kind, string, string) bool { return true }) // the caller fetched them
	s, out := findStated(raw), raw
	hashes, replaced := s.compare(hashes)
	entries, err := hashObject(hashes)
	if err != nil {
		return nil, nil, err
	}
	set := func(wanted bool, path []string, value any) {
		if wanted && err == nil {
			out, err = setAt(out, path, value, "")
		}
	}
	for i, p := range doc.Packages {
		sum, several := onlySum(p, hashes)
		_, has := s.sums[i]
		if has && several {
			return nil, nil, fmt.Errorf("/packages/%d/%s: the package has several files, and one digest cannot be "+
				"that of all: take the member out", i, s.sums[i])
		}
		if sum == "" || !has && p.RegistryType != model.RegistryTypeMCPB || p.Pointer == locationPointer {
			continue
		}
		if has && s.values[i] != sum && !slices.ContainsFunc(replaced, func(r Replaced) bool {
			return strings.HasSuffix(r.Now, sum)
		}) {
			replaced = append(replaced, Replaced{p.Identifier, s.values[i], "sha256:" + sum})
		}
		set(true, []string{"packages", strconv.Itoa(i), s.sumMember(doc, i)}, sum)
	}
	some := len(hashes) > 0
	set(s.meta || meta && some, metaHashes, entries)
	set(s.top || some && !s.meta && !meta, topHashes, entries)
	if err != nil {
		return nil, nil, err
	}
	written, err := Parse(out)
	if err == nil {
		written.AtRegistries(func(artifact.Kind, string, string) bool { return true }) // the caller fetched them
		err = written.Validate().Err()
	}
	return out, replaced, err
}

// sumMember is the member of a package that has the digest of its file: the one that is there, or that of the schema.
func (s stated) sumMember(doc *Document, i int) string {
	if name, has := s.sums[i]; has {
		return name
	}
	if doc.underscored {
		return "file_sha256"
	}
	return "fileSha256"
}

// compare returns hashes under the keys that the document has for the same files, and what they replace.
func (s stated) compare(hashes []FileHash) (out []FileHash, replaced []Replaced) {
	files := map[artifact.Ref][]int{} // hashes by what may name them: the file, and the release
	for i, h := range hashes {
		files[h.Ref.Normal()] = append(files[h.Ref.Normal()], i)
		if release := h.Ref.Release(); release != h.Ref.Normal() {
			files[release] = append(files[release], i)
		}
	}
	out = slices.Clone(hashes)
	spelled := map[int]bool{} // hashes that have the document's spelling
	for _, old := range s.entries {
		of := files[old.Ref.Normal()]
		if old.Ref.IsZero() || len(of) != 1 { // a release with several files names none
			replaced = append(replaced, Replaced{Key: old.Key, Was: old.Value})
			continue
		}
		i := of[0]
		if !spelled[i] {
			spelled[i], out[i].Key = true, old.Key
		}
		if old.Value != out[i].Value {
			replaced = append(replaced, Replaced{old.Key, old.Value, out[i].Value})
		}
	}
	return out, replaced
}

// onlySum is the SHA-256 of the one file that a package consists of, in hexadecimal digits; "" if it has none or
// several.
func onlySum(p Package, hashes []FileHash) (sum string, several bool) {
	for _, h := range hashes {
		if !p.Gives(h.Ref) {
			continue
		}
		d, err := digest.Parse(h.Value)
		if err != nil || sum != "" {
			return "", sum != ""
		}
		sum = d.Hex()
	}
	return sum, false
}
