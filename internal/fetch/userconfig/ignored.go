package userconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// IgnoredSettings collects the settings of a checkout's files that are not taken, to report them once.
// Nil has none.
type IgnoredSettings struct {
	mu       sync.Mutex
	lines    []string
	reported bool
}

// note adds that a setting is not taken, and why. Of the file's text it shows the key only, and
// that only if it looks like one.
func (i *IgnoredSettings) note(file, key, why string) {
	what := "a line that is no setting"
	if oneWord().MatchString(key) {
		what = `"` + key + `"`
		if len(key) > maxKey {
			what = `"` + strings.ToValidUTF8(key[:maxKey], "") + `…"`
		}
	}
	line := fmt.Sprintf("%s: %s is not taken from a checkout's file: %s", file, what,
		cmp.Or(why, "only where packages come from and how to get there is"))
	i.add(line)
}

// add adds a line, once.
func (i *IgnoredSettings) add(line string) {
	if !slices.Contains(i.lines, line) {
		i.lines = append(i.lines, line)
	}
}

// oneWord matches a key that may be shown: one word, which is escaped when it is printed.
var oneWord = spelling.Form(`^[^\s=]+$`)

// maxKey bounds how much of a key is shown, in bytes.
const maxKey = 40

// Lines returns, when it is first called, the settings that are not taken, as lines of text.
func (i *IgnoredSettings) Lines() []string {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.reported {
		return nil
	}
	i.reported = true
	return i.lines
}
