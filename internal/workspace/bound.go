package workspace

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/project"
)

// whyUnbound returns why pin would not write this entry for its declaration, or "". The entry
// decides what is started, so an entry of one package with the launch of another would start what
// nobody declared. The file of a command is compared when it is opened: see startedFileEvidence of
// package kind.
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

// whyUnrooted returns why a closure does not belong to its entry: it is of another package or
// version, and the closure decides what is installed and started.
func whyUnrooted(entry project.ServerLock, c *project.Closure) string {
	ref, err := artifact.Parse(entry.Ref)
	own, root := ref.Normal(), c.Root.Normal()
	if err == nil && own.Kind() == root.Kind() && own.Name() == root.Name() && own.Version() == root.Version() {
		return ""
	}
	return fmt.Sprintf("it is the closure of %s, and the entry is of %+q", c.Root, entry.Ref)
}
