package lockentry

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/project"
)

// whyUnbound says why an entry is none that pin would write of the declaration that it is locked
// with, or "": what is started is what the entry names, so an entry of one package with the
// launch of another would start what nobody declared. What a command is, who opens it compares:
// startedFileEvidence of package local.
func whyUnbound(s project.Server, locked *project.ServerLock) string {
	if locked == nil {
		return ""
	}
	declared := s.Kind()
	switch {
	case declared == "" && !locked.Source.HasClosure():
		return fmt.Sprintf("it names a record, which is of a package, and the entry is of %q", locked.Source)
	case declared == "":
		return ""
	case locked.Source != declared:
		return fmt.Sprintf("it is of the source %q, and the entry of %q", declared, locked.Source)
	}
	return locked.WhyOther(s)
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
