package userconfig

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Ignored collects what a checkout's files say and is not taken, to be told once. Nil has
// nothing to tell.
type Ignored struct {
	mu    sync.Mutex
	lines []string
	told  bool
}

// note says that a setting is not taken, by its key if that looks like one, and never in more
// of the file's words.
func (i *Ignored) note(file, key, why string) {
	what := "a line that is no setting"
	if oneWord.MatchString(key) {
		what = `"` + key + `"`
		if len(key) > maxKey {
			what = `"` + strings.ToValidUTF8(key[:maxKey], "") + `…"`
		}
	}
	line := fmt.Sprintf("%s: %s is not taken from a checkout's file: %s", file, what,
		cmp.Or(why, "only where packages come from and how to get there is"))
	i.add(line)
}

func (i *Ignored) add(line string) {
	if !slices.Contains(i.lines, line) {
		i.lines = append(i.lines, line)
	}
}

// oneWord is what a key may be: one word, which whoever prints it escapes.
var oneWord = regexp.MustCompile(`^[^\s=]+$`)

// maxKey bounds how much of a key is shown, in bytes.
const maxKey = 40

// Lines returns, the first time, what the files of the checkout say to resolvers and is not
// taken from them.
func (i *Ignored) Lines() []string {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.told {
		return nil
	}
	i.told = true
	return i.lines
}
