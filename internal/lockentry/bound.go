package lockentry

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// whyUnbound says why an entry is none that pin would write of the declaration that it is locked
// with, or "": what is started is what the entry names, so an entry of one package with the
// launch of another would start what nobody declared. What a command is, who opens it compares:
// see ownEvidence.
func whyUnbound(s project.Server, locked *project.ServerLock) string {
	if locked == nil {
		return ""
	}
	t := launcher.Parse(s.Command, s.Arguments)
	source, named := project.KindCommand, launcher.Package{}
	switch {
	case s.Type == "http":
		source = "http"
	case s.Record != "": // which says of what
		if source = locked.Source; !source.HasClosure() {
			return fmt.Sprintf("it names a record, which is of a package, and the entry is of %q", source)
		}
	case s.Source != "":
		source = project.KindArtifact
	case RunsImage(t):
		source, named = "image", t.Packages[0]
	case Downloads(t, s.Arguments):
		source, named = project.ServerKind(t.Packages[0].Ecosystem), t.Packages[0]
	}
	switch {
	case locked.Source != source:
		return fmt.Sprintf("it is of the source %q, and the entry of %q", source, locked.Source)
	case named.Name != "" && !isNamed(named, locked):
		return fmt.Sprintf("it names %+q, and the entry %+q", named.Text, locked.Ref)
	}
	return whyUntagged(s, locked)
}

// isNamed reports whether what an entry is of is what a declaration names: of a range or a tag any
// version.
func isNamed(named launcher.Package, locked *project.ServerLock) bool {
	ref, err := artifact.Parse(locked.Ref)
	if err != nil {
		return false
	}
	switch named.Ecosystem {
	case launcher.OCI:
		return ref.Name() == named.Repository() && (!named.Pinned() || evidence.Same(ref.Digest(), named.Ref.Digest()))
	case launcher.Go: // a package of the module that is the Ref
		return locked.Entry == named.Name && (named.Pin != launcher.Version || strings.TrimSuffix(ref.Version(), "+incompatible") == strings.TrimSuffix(named.Spec, "+incompatible"))
	}
	if pinned := named.Ref.Normal(); named.Pinned() && !named.Ref.IsZero() {
		want, _, _ := strings.Cut(pinned.Version(), "+")
		got, _, _ := strings.Cut(ref.Normal().Version(), "+")
		return pinned.Name() == ref.Normal().Name() && got == want
	}
	if named.Ecosystem == launcher.PyPI {
		if plain, err := artifact.NewPyPI(named.Name, "0", ""); err == nil {
			named.Name = plain.Normal().Name()
		}
	}
	return ref.Normal().Name() == named.Name
}

// whyUnrooted says that a closure is of another package than the entry, or of another version: what
// is installed and started is the closure's.
func whyUnrooted(entry project.ServerLock, c *project.Closure) string {
	ref, err := artifact.Parse(entry.Ref)
	own, root := ref.Normal(), c.Root.Normal()
	if err == nil && own.Kind() == root.Kind() && own.Name() == root.Name() && own.Version() == root.Version() {
		return ""
	}
	return fmt.Sprintf("it is the closure of %s, and the entry is of %+q", c.Root, entry.Ref)
}
