package obtain

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/frontmatter"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// Limits of contents that are looked at before anybody decided to install them.
const (
	maxLookedAt = 16 << 20  // bytes of an archive
	maxUnpacked = 128 << 20 // bytes of its contents
	maxHead     = 256 << 10 // bytes of a text that are searched for tools
)

// ArchiveContents are the members of an archive, which was hashed while it was read and not kept.
type ArchiveContents struct {
	Members []ArchiveMember
	Bytes   int64 // of all
}

// ArchiveMember is a file of an archive.
type ArchiveMember struct {
	Path    string        `json:"path"`
	Size    int64         `json:"size"`
	Sum     digest.Digest `json:"digest"`
	Program bool          `json:"program,omitempty"` // something that a client or a model may run
	Tools   string        `json:"tools,omitempty"`   // that its front matter allows, as it says it
}

// readContents fetches the archive of a record and looks at its members. The report compares the bytes
// with the record.
func (i *LookResult) readContents(ctx context.Context, w *workspace.Workspace, rec registry.ArchiveRecord,
	o LookOptions) (evidence.Report, error) {
	switch {
	case rec.Status == registry.Deleted:
		i.Unread = "it was deleted"
		return nil, nil
	case rec.Size > maxLookedAt:
		i.Unread = fmt.Sprintf("the archive is larger than %s bytes", evidence.Group(maxLookedAt))
		return nil, nil
	}
	body, size, err := w.Registry().OpenArchive(ctx, rec.Kind, rec.Name, rec.Version)
	if err != nil {
		return nil, explainRegistry(rec.Subject(), err)
	}
	defer body.Close()
	found := &ArchiveContents{}
	transport := RecordClaim(rec.Subject(), evidence.File, "content_hash", rec.ContentHash)
	h := digest.NewHasher()
	from := io.TeeReader(&host.ProgressReader{Body: body, What: rec.Subject(), Total: size, Tell: o.Progress}, h)
	a, err := facet.Read(from, archive.Limits{Packed: maxLookedAt, Unpacked: maxUnpacked},
		func(e archive.Entry, r io.Reader) error {
			if e.Outer {
				return nil
			}
			m, err := lookAtMember(e, r)
			found.Members, found.Bytes = append(found.Members, m), found.Bytes+e.Size
			return err
		})
	if err != nil {
		return explainUnread(w, transport, from, h, err)
	}
	for at, m := range found.Members {
		found.Members[at].Sum = a.Digests[m.Path]
	}
	slices.SortFunc(found.Members, func(a, b ArchiveMember) int { return cmp.Compare(a.Path, b.Path) })
	i.Contents = found
	return a.Evidence(rec.Subject(), w.Registry().Base, transport,
		RecordClaim(rec.Subject(), evidence.FacetTar, "content_integrity", rec.ContentIntegrity)), nil
}

// explainUnread says why an archive cannot be read. One that was changed on its way is one that differs, and not one
// that its author made so.
func explainUnread(w *workspace.Workspace, transport evidence.Claim, from io.Reader, h *digest.Hasher,
	cause error) (evidence.Report, error) {
	if _, drained := io.Copy(io.Discard, io.LimitReader(from, maxLookedAt+1)); drained != nil {
		return nil, explainRegistry(transport.Subject, drained)
	}
	e := evidence.Compare(transport, evidence.Observed{Digests: []digest.Digest{h.Digest(digest.SHA256)},
		Size: h.Size(), From: w.Registry().Base})
	if e.Outcome == evidence.Match {
		return nil, evidence.Errorf(evidence.ClassOf(cause), transport.Subject, "it was published so; tell its "+
			"publisher",
			cause)
	}
	return evidence.Report{e}, nil
}

// lookAtMember looks at one member.
func lookAtMember(e archive.Entry, r io.Reader) (ArchiveMember, error) {
	m := ArchiveMember{Path: e.Path, Size: e.Size}
	head, err := io.ReadAll(io.LimitReader(r, maxHead))
	if err != nil {
		return m, err
	}
	m.Program = e.Exec || bytes.HasPrefix(head, []byte("#!")) ||
		slices.Contains(programSuffixes, strings.ToLower(path.Ext(e.Path)))
	if path.Ext(e.Path) == ".md" {
		m.Tools = allowedTools(head)
	}
	_, err = io.Copy(io.Discard, r)
	return m, err
}

// programSuffixes are the ends of names of files that are usually run, and not read.
var programSuffixes = []string{".sh", ".bash", ".zsh", ".fish", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl",
	".php", ".lua", ".ps1", ".bat", ".cmd", ".exe", ".dll", ".so", ".dylib", ".jar", ".wasm", ".go", ".swift",
	".applescript"}

// allowedTools is what the front matter of a skill, agent or command says of tools that may be used
// without a question, as it is written there.
func allowedTools(text []byte) string {
	// Blanks before the first line make it text for clients. What it says is shown all the same.
	m, _ := frontmatter.Split(bytes.TrimLeft(text, " \t"))
	var found []string
	inside := false
	for line := range strings.Lines(string(m.YAML)) {
		line = strings.TrimRight(line, "\r\n")
		key, value, ok := strings.Cut(line, ":")
		switch {
		case ok && slices.Contains([]string{"allowed-tools", "tools"},
			strings.ToLower(strings.Trim(strings.TrimRight(key, " \t"), `"'`))):
			inside = true
			if value = strings.TrimSpace(value); value != "" {
				found = append(found, value)
			}
		case inside && strings.TrimLeft(line, " \t-") != strings.TrimRight(line, " "): // a list below the key
			found = append(found, strings.TrimLeft(line, " \t-"))
		default:
			inside = false
		}
	}
	return strings.Join(found, " ")
}
