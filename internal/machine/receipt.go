// Package machine holds the formats of files in the user's state directory. This machine
// remembers there what it must not learn from a checkout, which others write: which files were
// installed into a project ([Receipt]) and their digests ([Materialized]), what the logs of
// registries showed ([Logs]), which variables may be sent to which hosts ([Variables]), and
// what a guard saw that differs from the lock ([DriftNote]).
//
// They are JSON with a digest of itself ([EncodeSealed]), as other files of Hallmark are.
//
// Package project reads what was approved of a project's entries. The package does no I/O.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// Receipt says what was installed into one project on this machine. It lies in the state
// directory and is the only authority for deleting: a checkout can bring a lock along,
// but nothing that removes files. What was there before Hallmark is told apart from what it wrote. A receipt
// holds no digests, and proves nothing about bytes.
type Receipt struct {
	Version int                       `json:"receipt_version"`
	Self    digest.Digest             `json:"self"`    // as that of a lock; set by Encode
	Project string                    `json:"project"` // the directory, all links resolved
	Facets  map[string]ReceiptOfFacet `json:"facets"`
	// Clients are the files of the user's own clients into which servers of facets were written, by path, with the
	// client that reads each. The environment says where a client looks, and may say something else later.
	Clients map[string]string `json:"clients,omitempty"`
}

// ReceiptOfFacet lists what was installed of one facet.
type ReceiptOfFacet struct {
	Version string         `json:"version"`
	Assets  []ReceiptAsset `json:"assets"`
	// Private are files in the directories of its skills that are the user's own and of no facet, such as those of
	// secrets: they were left out when the skills were adopted. They are neither written nor deleted.
	Private []string `json:"private,omitempty"`
	// Adopted are the directories in which its skill lay when it was adopted, and Copies the files of its source that
	// were copied from there, relative to the project's own directory: what undoing that is about.
	Adopted []string `json:"adopted,omitempty"`
	Copies  []string `json:"copies,omitempty"`
}

// ReceiptAsset is one deliverable that was installed for one target.
type ReceiptAsset struct {
	Scope  string   `json:"scope"`  // "project"
	Target string   `json:"target"` // "claude-code", "dir:PATH", …
	Type   string   `json:"type"`   // "skill", "agent" or "command"
	Name   string   `json:"name"`
	Files  []string `json:"files"` // that Hallmark wrote, relative to the project, with slashes
	// Found are files of the deliverable that were there already, as they were to be. They are not Hallmark's, and
	// are deleted only where their deliverable stays and has them no more.
	Found []string `json:"found,omitempty"`
}

// Materialized holds the digests of the files that were written into one project, by
// path, to tell what a user edited since. It never authorises to delete anything; but which files Hallmark wrote
// follows from it for a receipt that was lost, as long as they are so.
type Materialized struct {
	Version int                      `json:"materialized_version"`
	Self    digest.Digest            `json:"self"` // as that of a lock; set by Encode
	Project string                   `json:"project"`
	Files   map[string]digest.Digest `json:"files"`
	Found   map[string]digest.Digest `json:"found,omitempty"` // of what was there already, as it was to be
}

// Sum is the digest of an installed file, whether Hallmark or another wrote it; zero for others.
func (m *Materialized) Sum(file string) digest.Digest {
	if d, ok := m.Files[file]; ok {
		return d
	}
	return m.Found[file]
}

const (
	receiptVersion      = 1
	materializedVersion = 1
	scopeProject        = "project"
)

// MaxReceipt is the largest file of a [Receipt] or of [Materialized], in bytes.
const MaxReceipt = MaxSealed

// ErrOtherProject says that a file of the state directory was written for another project, and
// so says nothing about this one.
var ErrOtherProject = errors.New("was written for another project")

// NewReceipt returns an empty receipt for the project in a directory.
func NewReceipt(project string) *Receipt {
	return &Receipt{Version: receiptVersion, Project: project, Facets: map[string]ReceiptOfFacet{}}
}

// NewMaterialized returns empty digests for the project in a directory.
func NewMaterialized(project string) *Materialized {
	return &Materialized{Version: materializedVersion, Project: project, Files: map[string]digest.Digest{},
		Found: map[string]digest.Digest{}}
}

// NewAsset returns a deliverable in the project: its files that Hallmark wrote, and those that were there.
func NewAsset(target string, kind facet.Kind, name string, files, found []string) ReceiptAsset {
	if files == nil {
		files = []string{}
	}
	return ReceiptAsset{Scope: scopeProject, Target: target, Type: string(kind), Name: name, Files: files, Found: found}
}

// ParseReceipt reads the receipt of a project; nil data gives an empty one. The error
// wraps [ErrOtherProject] for that of another project.
func ParseReceipt(data []byte, project string) (*Receipt, error) {
	if data == nil {
		return NewReceipt(project), nil
	}
	r := &Receipt{} // a member that is not there has no value, and not that of a new one
	if err := DecodeSealed(data, r); err != nil {
		return nil, err
	}
	switch {
	case r.Version != receiptVersion:
		return nil, fmt.Errorf("receipt_version is %d; this build reads %d", r.Version, receiptVersion)
	case r.Project != project:
		return nil, ErrOtherProject
	}
	if err := CheckSeal(data, r.Self); err != nil {
		return nil, err
	}
	if r.Facets == nil {
		return nil, errors.New("has no facets")
	}
	for file, client := range r.Clients {
		if file == "" || client == "" {
			return nil, errors.New("does not say which client reads a file, or which file")
		}
	}
	for name, f := range r.Facets {
		if f.Version == "" || f.Assets == nil {
			return nil, fmt.Errorf("%+q: does not say which version was installed, or what of it", name)
		}
		for _, file := range slices.Concat(f.Private, f.Adopted, f.Copies) {
			if err := checkInstalled(file); err != nil {
				return nil, err
			}
		}
		for _, a := range f.Assets {
			if a.Target == "" || a.Type == "" || a.Name == "" || a.Files == nil || len(a.Files)+len(a.Found) == 0 {
				return nil, fmt.Errorf("%+q: does not say what was installed, and where", name)
			}
			if a.Scope != scopeProject {
				return nil, fmt.Errorf("%+q: the scope %+q is not known", name, a.Scope)
			}
			for _, file := range slices.Concat(a.Files, a.Found) {
				if err := checkInstalled(file); err != nil {
					return nil, err
				}
			}
		}
	}
	return r, nil
}

// ParseMaterialized reads the digests of a project; nil data gives none. The error wraps
// [ErrOtherProject] for those of another project.
func ParseMaterialized(data []byte, project string) (*Materialized, error) {
	if data == nil {
		return NewMaterialized(project), nil
	}
	m := &Materialized{}
	if err := DecodeSealed(data, m); err != nil {
		return nil, err
	}
	switch {
	case m.Version != materializedVersion:
		return nil, fmt.Errorf("materialized_version is %d; this build reads %d", m.Version, materializedVersion)
	case m.Project != project:
		return nil, ErrOtherProject
	}
	if err := CheckSeal(data, m.Self); err != nil {
		return nil, err
	}
	if m.Files == nil {
		return nil, errors.New("has no files")
	}
	for _, files := range []map[string]digest.Digest{m.Files, m.Found} {
		for file, d := range files {
			if err := checkInstalled(file); err != nil {
				return nil, err
			}
			if d.Algorithm() != digest.SHA256 {
				return nil, fmt.Errorf("%+q: its digest is not sha256", file)
			}
		}
	}
	return m, nil
}

// checkInstalled refuses a path that no installed file can have. It is less strict than
// [archive.CheckPath], because files that an older release installed must still be deletable.
func checkInstalled(file string) error {
	if file == "." || !fs.ValidPath(file) || strings.ContainsAny(file, "\\:\x00\n") {
		return fmt.Errorf("%+q is not a path below the project", file)
	}
	return nil
}

// Encode returns the file's JSON.
func (r *Receipt) Encode() ([]byte, error) { return EncodeSealed(r, &r.Self) }

// Encode returns the file's JSON.
func (m *Materialized) Encode() ([]byte, error) { return EncodeSealed(m, &m.Self) }

// Same reports whether r and o have the same content.
func (r *Receipt) Same(o *Receipt) bool {
	same := func(a, b ReceiptOfFacet) bool {
		return a.Version == b.Version && slices.Equal(a.Private, b.Private) && slices.Equal(a.Adopted, b.Adopted) &&
			slices.Equal(a.Copies, b.Copies) && slices.EqualFunc(a.Assets, b.Assets, ReceiptAsset.same)
	}
	return r.Version == o.Version && r.Project == o.Project && maps.EqualFunc(r.Facets, o.Facets, same) &&
		maps.Equal(r.Clients, o.Clients)
}

func (a ReceiptAsset) same(b ReceiptAsset) bool {
	return a.Scope == b.Scope && a.Target == b.Target && a.Type == b.Type && a.Name == b.Name &&
		slices.Equal(a.Files, b.Files) && slices.Equal(a.Found, b.Found)
}

// Same reports whether m and o have the same content.
func (m *Materialized) Same(o *Materialized) bool {
	return m.Version == o.Version && m.Project == o.Project && maps.EqualFunc(m.Files, o.Files, evidence.Same) &&
		maps.EqualFunc(m.Found, o.Found, evidence.Same)
}

// Files returns all files that Hallmark wrote.
func (r *Receipt) Files() map[string]bool {
	return r.collect(func(a ReceiptAsset) []string { return a.Files })
}

// Found returns all files of what was installed that were there before.
func (r *Receipt) Found() map[string]bool {
	return r.collect(func(a ReceiptAsset) []string { return a.Found })
}

// Installed returns all files of what was installed, also those that others wrote.
func (r *Receipt) Installed() map[string]bool {
	return r.collect(func(a ReceiptAsset) []string { return slices.Concat(a.Files, a.Found) })
}

// Private returns all files that are the user's own.
func (r *Receipt) Private() map[string]bool {
	out := map[string]bool{}
	for _, f := range r.Facets {
		for _, file := range f.Private {
			out[file] = true
		}
	}
	return out
}

func (r *Receipt) collect(files func(ReceiptAsset) []string) map[string]bool {
	out := map[string]bool{}
	for _, f := range r.Facets {
		for _, asset := range f.Assets {
			for _, file := range files(asset) {
				out[file] = true
			}
		}
	}
	return out
}
