package serverjson

import (
	"encoding/json"
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
	top, meta bool              // whether file_hashes stands there
	sums      map[int]string    // name of the member fileSha256 of packages, by index
	entries   map[string]string // file_hashes of both places
	values    map[int]string    // fileSha256
}

// findStated finds the places of hashes in raw, which is an object.
func findStated(raw []byte) stated {
	s := stated{sums: map[int]string{}, values: map[int]string{}, entries: map[string]string{}}
	doc := decodeMembers(raw)
	top, ok := doc["file_hashes"]
	s.top = ok
	meta, _ := doc["_meta"].(map[string]any)
	provided, _ := meta[publisherMeta].(map[string]any)
	moved, ok := provided["file_hashes"]
	s.meta = ok
	for _, object := range []any{moved, top} {
		entries, _ := object.(map[string]any)
		for key, value := range entries {
			s.entries[key], _ = value.(string)
		}
	}
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
	var old []FileHash
	for _, key := range slices.Sorted(maps.Keys(findStated(raw).entries)) {
		if ref, err := artifact.Parse(key); err == nil {
			old = append(old, FileHash{Key: key, Ref: ref})
		}
	}
	d.expandLocation(old, true)
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
// stays byte for byte. A key that is there already stays as it is spelled. It also returns what was replaced. The error is an [*Invalid]
// where the document would not be valid.
func SetHashes(raw []byte, hashes []FileHash, meta bool) ([]byte, []Replaced, error) {
	doc, err := ParseUnhashed(raw)
	if err != nil {
		return nil, nil, err
	}
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
		sum := onlySum(p, hashes)
		_, has := s.sums[i]
		if sum == "" || !has && p.RegistryType != model.RegistryTypeMCPB || p.Pointer == locationPointer {
			continue
		}
		if has && s.values[i] != sum && !slices.ContainsFunc(replaced, func(r Replaced) bool { return strings.HasSuffix(r.Now, sum) }) {
			replaced = append(replaced, Replaced{p.Identifier, s.values[i], "sha256:" + sum})
		}
		name := "fileSha256"
		if doc.underscored {
			name = "file_sha256"
		}
		if has {
			name = s.sums[i]
		}
		set(true, []string{"packages", strconv.Itoa(i), name}, sum)
	}
	some := len(hashes) > 0
	set(s.meta || meta && some, metaHashes, entries)
	set(s.top || some && !s.meta && !meta, topHashes, entries)
	if err != nil {
		return nil, nil, err
	}
	written, err := Parse(out)
	if err == nil {
		err = written.Validate().Err()
	}
	return out, replaced, err
}

// compare returns hashes under the keys that the document has for the same files, and what they replace.
func (s stated) compare(hashes []FileHash) (out []FileHash, replaced []Replaced) {
	left := maps.Clone(s.entries)
	for _, h := range hashes {
		for _, key := range slices.Sorted(maps.Keys(s.entries)) {
			if !names(key, h.Ref, hashes) {
				continue
			}
			h.Key = key
			delete(left, key)
			if was := s.entries[key]; was != h.Value {
				replaced = append(replaced, Replaced{key, was, h.Value})
			}
			break
		}
		out = append(out, h)
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		replaced = append(replaced, Replaced{Key: key, Was: left[key]})
	}
	return out, replaced
}

// names reports whether a key of file_hashes is one of the file: its own, or of PyPI that of a release with one file.
func names(key string, file artifact.Ref, hashes []FileHash) bool {
	ref, err := artifact.Parse(key)
	switch {
	case err != nil || file.IsZero():
		return false
	case ref.Normal() == file.Normal():
		return true
	}
	files := 0
	for _, h := range hashes {
		if h.Ref.Release() == ref.Normal() {
			files++
		}
	}
	return files == 1 && file.Release() == ref.Normal()
}

// onlySum is the SHA-256 of the one file that a package consists of, in hexadecimal digits; "" if it has several.
func onlySum(p Package, hashes []FileHash) string {
	var sum string
	for _, h := range hashes {
		if !p.Gives(h.Ref) {
			continue
		}
		d, err := digest.Parse(h.Value)
		if err != nil || sum != "" {
			return ""
		}
		sum = d.Hex()
	}
	return sum
}
